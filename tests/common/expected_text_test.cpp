// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "tests/support/expected_text.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/source_folder.h"

namespace qgen::tests {
namespace {

constexpr std::string_view kSource = R"x(// "too long" in a comment
constexpr Row kRows[] = {{'"', "too long"}, {1'000, "a\n\"b\""}};
constexpr char kRaw[] = R"(too
wide)";
TEST(X, Y) {
  EXPECT_TEXT(message, "too long");
  EXPECT_TEXT(message, "too "
                       "high");
}
)x";

std::string replaced(size_t line, std::string_view expected, std::string_view actual) {
  return with_text_replaced(kSource, line, expected, actual).value_or("no literal");
}

// The source with `from` replaced by `to`, where it stands last.
std::string source_with(std::string_view from, std::string_view to) {
  std::string source(kSource);
  return source.replace(source.rfind(from), from.size(), to);
}

TEST(ExpectedText, ReplacesTheLiteralNearestToTheLine) {
  EXPECT_EQ(replaced(6, "too long", "2 m"), source_with(R"("too long")", R"("2 m")"));
  std::string first(kSource);
  const size_t row = first.find(R"("too long"})");
  EXPECT_EQ(replaced(2, "too long", "2 m"), first.replace(row, 10, R"("2 m")"));
}

TEST(ExpectedText, ReadsEscapesRawLiteralsAndAdjacentOnes) {
  EXPECT_EQ(replaced(2, "a\n\"b\"", "\\c"), source_with(R"("a\n\"b\"")", R"("\\c")"));
  EXPECT_EQ(replaced(3, "too\nwide", "too\nslow"), source_with("wide)\"", "slow)\""));
  EXPECT_EQ(replaced(7, "too high", "low"), source_with("\"too \"\n                       \"high\"", "\"low\""));
}

TEST(ExpectedText, LeavesASourceWithoutTheText) { EXPECT_EQ(replaced(6, "too short", "2 m"), "no literal"); }

TEST(ExpectedText, BreaksLongTextsAtBlanksAndLineEnds) {
  const std::string words =
      "twenty characters of "  // 21
      "twenty characters of twenty characters of twenty characters of twenty characters of it";
  EXPECT_EQ(with_text_replaced(R"(  f("x");)", 1, "x", words + "\nnext"),
            R"(  f("twenty characters of twenty characters of twenty characters of twenty characters of twenty )"
            "\"\n    \"characters of it\\n\"\n    \"next\");");
}

TEST(ExpectedText, KnowsWhatAnotherRunWouldNotGive) {
  const std::string process = std::to_string(getpid());
  EXPECT_EQ(only_of_this_run("rank 9 is above 8\n\tof x"), "");
  EXPECT_EQ(only_of_this_run("process " + process + " ended"), "the number of this process");
  EXPECT_EQ(only_of_this_run("1" + process + " bytes"), "");
  EXPECT_EQ(only_of_this_run(source_folder() + "/specs/x.yaml"), "the folder " + source_folder());
  EXPECT_EQ(only_of_this_run(std::string("a\0b", 3)), "a control character");
  EXPECT_EQ(only_of_this_run("\x1b[1m"), "a control character");
}

TEST(ExpectedText, ComparesTexts) {
  EXPECT_TEXT("the same", std::string("the same"));
  const ::testing::AssertionResult differs = SameText("x.cpp", 1)("f()", "\"b\"", "a", "b");
  EXPECT_FALSE(differs);
  EXPECT_STREQ(differs.message(),
               "the text of\n  f()\nis\na\nand should be\nb\n"
               "(QGEN_UPDATE_EXPECTED=1 writes it into the test: tests/README.md)");
}

}  // namespace
}  // namespace qgen::tests
