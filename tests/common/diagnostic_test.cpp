// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "common/diagnostic.h"

#include <gtest/gtest.h>

#include "tests/support/expected_text.h"

namespace qgen {
namespace {

const SourceTexts kSources = {{"a.yaml", "first\n  - width % vce\r\n\tlast"}};

struct Case {
  std::string_view name;
  SourceLocation where;
  std::string_view text;  // of "m" at that place
};

const Case kCases[] = {
    {"a line, and a caret under the word",
     {"a.yaml", 2, 13, 3},
     "a.yaml:2:13: error: m\n    2 |   - width % vce\n      |             ^~~\n"},
    {"tabs before the caret stay tabs", {"a.yaml", 3, 2, 2}, "a.yaml:3:2: error: m\n    3 | \tlast\n      | \t^~\n"},
    {"the caret may stand one past the end", {"a.yaml", 1, 6}, "a.yaml:1:6: error: m\n    1 | first\n      |      ^\n"},
    {"an underline stops at the end of the line",
     {"a.yaml", 1, 4, 99},
     "a.yaml:1:4: error: m\n    1 | first\n      |    ^~\n"},
    {"no column: the line alone", {"a.yaml", 1}, "a.yaml:1: error: m\n    1 | first\n"},
    {"a line past the end: the place alone", {"a.yaml", 9, 1}, "a.yaml:9:1: error: m\n"},
    {"a file that is not at hand: the place alone", {"b.yaml", 1, 1}, "b.yaml:1:1: error: m\n"},
    {"no place", {}, "error: m\n"},
};

TEST(Diagnostic, QuotesItsPlace) {
  for (const Case& row : kCases) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(to_text(Diagnostic{row.where, "m"}, kSources), row.text);
  }
}

TEST(Diagnostic, SaysWhatWasExpectedAHintAndNotes) {
  Diagnostic diagnostic;
  diagnostic.where = {"b.yaml", 2};
  diagnostic.message = "unknown name 'vce'";
  diagnostic.expected = "one of vec, width";
  diagnostic.hint = "did you mean 'vec'?";
  diagnostic.notes.push_back({{"a.yaml", 1, 1}, "declared here"});
  diagnostic.notes.push_back({{}, "in all variants"});
  EXPECT_TEXT(to_text(diagnostic, kSources),
              "b.yaml:2: error: unknown name 'vce'\n"
              "  expected: one of vec, width\n"
              "  hint: did you mean 'vec'?\n"
              "a.yaml:1:1: note: declared here\n"
              "  in all variants\n");
}

TEST(Diagnostics, ArePrintedInTheOrderOfPlacesAndOnce) {
  const Diagnostic first{{"a.yaml", 1}, "x"};
  const Diagnostic second{{"a.yaml", 2}, "a"};
  const Diagnostic third{{"b.yaml", 1}, "a"};
  EXPECT_TEXT(to_text(Diagnostics{third, second, first, second}, {}),
              "a.yaml:1: error: x\na.yaml:2: error: a\nb.yaml:1: error: a\n");
}

TEST(Suggest, NamesTheNearestCandidate) {
  const std::vector<std::string> candidates = {"vec", "workgroup", "width", "wide"};
  EXPECT_TEXT(suggest("vce", candidates), "did you mean 'vec'?");
  EXPECT_EQ(suggest("v", candidates), "");
  EXPECT_TEXT(suggest("wrokgruop", candidates), "did you mean 'workgroup'?");
  EXPECT_TEXT(suggest("wdth", candidates), "did you mean 'width'?");
  EXPECT_TEXT(suggest("widt", candidates), "did you mean 'wide'?") << "equally near: the first by name";
  EXPECT_EQ(suggest("height", candidates), "");
  EXPECT_EQ(suggest("x", {}), "");
}

TEST(JoinSorted, Joins) {
  EXPECT_EQ(join_sorted({"b", "a", "c"}), "a, b, c");
  EXPECT_EQ(join_sorted({}), "");
}

TEST(Diagnostic, QuotesAPartOfALongLine) {
  const SourceTexts sources = {{"a.yaml", std::string(1'000'000, 'x') + "vce" + std::string(1'000'000, 'y')}};
  const std::string text = to_text(Diagnostic{{"a.yaml", 1, 1'000'001, 3}, "m"}, sources);
  const std::string before(80, 'x'), behind(77, 'y');
  EXPECT_EQ(text, "a.yaml:1:1000001: error: m\n    1 | ..." + before + "vce" + behind + "...\n      |    " +
                      std::string(80, ' ') + "^~~\n");
  EXPECT_LT(to_text(Diagnostic{{"a.yaml", 1, 1, 2'000'000}, "m"}, sources).size(), 500u) << "nor is all underlined";
}

TEST(Diagnostic, LettersOfSeveralBytesAreOneColumn) {
  const SourceTexts sources = {{"a.yaml", "\xc3\xa4\xe2\x82\xac vce"}};
  EXPECT_EQ(to_text(Diagnostic{{"a.yaml", 1, 7, 3}, "m"}, sources),
            "a.yaml:1:7: error: m\n    1 | \xc3\xa4\xe2\x82\xac vce\n      |    ^~~\n");
}

TEST(Diagnostic, ShowsNothingThatATerminalObeys) {
  const SourceTexts sources = {{"a\x1b.yaml", "b\x1b[2Jc vce"}};
  EXPECT_TEXT(to_text(Diagnostic{{"a\x1b.yaml", 1, 8, 3}, "no '\x1b'"}, sources),
              "a\\x1b.yaml:1:8: error: no '\\x1b'\n    1 | b\\x1b[2Jc vce\n      |           ^~~\n");
}

TEST(Diagnostics, AreBounded) {
  Diagnostics many;
  for (uint32_t i = 1; i <= 5000; ++i) many.push_back({{"a.yaml", i}, "m"});
  const std::string text = to_text(many, {});
  EXPECT_TRUE(text.starts_with("a.yaml:1: error: m\na.yaml:2: error: m\n"));
  EXPECT_TRUE(text.ends_with("a.yaml:100: error: m\nand 4900 more, which are not printed\n"));
  const std::string word(100'000, 'w');
  const Diagnostic large{{"a.yaml", 1}, word, word, word, Diagnostic{}.notes};
  EXPECT_LT(to_text(large, {}).size(), 10'000u);
  EXPECT_LT(to_text(Diagnostics(150, large), {}).size(), 200'000u);
}

}  // namespace
}  // namespace qgen
