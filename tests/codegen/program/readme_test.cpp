// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// codegen/README.md is right: its commands print the shown text, where a line "..." matches any lines.
#include "tests/codegen/program/run_qgen.h"
#include "tests/support/document.h"

namespace qgen::tests {
namespace {

// "qgen a 'b c'" -> {"a", "b c"}.
Arguments words_of(std::string_view command) {
  Arguments words(1);
  bool is_quoted = false;
  for (const char c : command) {
    if (c == '\'') is_quoted = !is_quoted;
    else if (c == ' ' && !is_quoted) words.emplace_back();
    else words.back() += c;
  }
  words.erase(words.begin());
  return words;
}

// Whether `text` is `shown`, whose lines "..." stand for any lines.
bool is_shown(std::string_view text, std::string_view shown) {
  constexpr std::string_view kAny = "...\n";
  const size_t gap = shown.find(kAny);
  if (gap == shown.npos) return text == shown;
  if (!text.starts_with(shown.substr(0, gap))) return false;
  text.remove_prefix(gap);
  shown.remove_prefix(gap + kAny.size());
  for (;; text.remove_prefix(text.find('\n') + 1)) {
    if (is_shown(text, shown)) return true;
    if (text.empty()) return false;
  }
}

TEST_F(Program, TheReadmeShowsWhatItsCommandsPrint) {
  constexpr std::string_view kPrompt = "$ ", kMisspelled = "templates/twice.comp, misspelled: numel -> nume1";
  fs::remove_all(here());
  size_t commands = 0;
  for (const Example& example : examples_of(read_document("codegen/README.md"))) {
    if (example.language != "console") {
      write_text(here() / example.name, example.text);
      continue;
    }
    if (!example.name.empty()) {
      ASSERT_EQ(example.name, kMisspelled);
      replace_in(here() / "templates/twice.comp", "numel", "nume1");
    }
    ASSERT_TRUE(example.text.starts_with(kPrompt)) << example.text;
    const std::string command = example.text.substr(kPrompt.size(), example.text.find('\n') - kPrompt.size());
    Arguments words = words_of(command);
    words.push_back("-q");
    const Answer answer = qgen(words);
    EXPECT_EQ(answer.code, example.name.empty() ? 0 : 2);
    EXPECT_PRED2(is_shown, answer.out + answer.err, example.text.substr(example.text.find('\n') + 1)) << command;
    ++commands;
  }
  EXPECT_EQ(commands, 8u);
}

TEST(Readme, NamesEveryRoomAndWhereThingsAre) {
  const std::string page = read_document("codegen/README.md");
  for (const char* room : {"spec", "expand", "render", "compile", "reflect", "emit"}) {
    EXPECT_THAT(page, testing::HasSubstr("| `" + std::string(room) + "` |")) << room;
    EXPECT_TRUE(fs::is_directory(source_folder() + "/codegen/" + room)) << room;
  }
  for (const char* file :
       {"pipeline.cpp", "inputs.cpp", "run.cpp", "run.h", "listing.cpp", "qgen_main.cpp", "CMakeLists.txt",
        "render/glsl.cpp", "render/declarations.h", "render/directive.h", "expression/resolve.cpp",
        "expression/evaluate.cpp", "expression/print.cpp", "spec/keys.cpp", "spec/parse_spec.cpp", "emit/products.h"}) {
    EXPECT_TRUE(fs::exists(source_folder() + "/codegen/" + file)) << file;
    EXPECT_THAT(page, testing::HasSubstr(fs::path(file).filename().string())) << file;
  }
}

}  // namespace
}  // namespace qgen::tests
