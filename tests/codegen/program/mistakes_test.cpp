// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A user of the program makes the mistakes of tests/bad_specs and tests/bad_templates. The program reports each like
// the rooms do, with exit code 2, and writes nothing.
#include "tests/codegen/program/run_qgen.h"
#include "tests/support/source_folder.h"

namespace qgen::tests {
namespace {

std::vector<std::string> folders(const std::string& kind) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fs::path(source_folder()) / "tests" / kind)) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Mistakes : public Program, public testing::WithParamInterface<std::string> {
 protected:
  static fs::path source(const std::string& kind) { return fs::path(source_folder()) / "tests" / kind / GetParam(); }

  void expect_told(const Answer& answer, const fs::path& expected) {
    EXPECT_EQ(answer.code, 2) << answer.err;
    EXPECT_EQ(answer.out, "");
    const size_t sum = answer.err.rfind('\n', answer.err.size() - 2) + 1;
    EXPECT_EQ(answer.err.substr(0, sum), read_text(expected));
    EXPECT_THAT(answer.err.substr(sum), testing::MatchesRegex("[0-9]+ errors?\n"));
    EXPECT_FALSE(fs::exists(here() / "out"));
  }
};

class BadSpecs : public Mistakes {};
TEST_P(BadSpecs, AreToldWithCodeTwo) {
  Arguments arguments;
  for (const auto& entry : fs::directory_iterator(source("bad_specs"))) {
    const fs::path name = entry.path().filename();
    if (name.extension() != ".yaml" || name == "good.yaml") continue;
    write_text(here() / name, read_text(entry.path()));
    arguments.push_back(name.string());
  }
  arguments.insert(arguments.end(), {"-o", "out", "--max-variants", "1000", "--no-cache", "-q"});
  expect_told(qgen(arguments), source("bad_specs") / "expected.txt");
}
INSTANTIATE_TEST_SUITE_P(All, BadSpecs, testing::ValuesIn(folders("bad_specs")),
                         [](const auto& row) { return row.param; });

class BadTemplates : public Mistakes {};
TEST_P(BadTemplates, AreToldWithCodeTwo) {
  fs::remove_all(here());
  const fs::path from = source("bad_templates");
  write_text(here() / "specs/scale.yaml", read_text(from / "spec.yaml"));
  write_text(here() / "templates/scale.comp", read_text(from / "bad.comp"));
  for (const auto& entry : fs::recursive_directory_iterator(from)) {
    if (entry.path().extension() != ".glsl") continue;
    write_text(here() / "templates" / entry.path().lexically_relative(from), read_text(entry.path()));
  }
  expect_told(qgen({"specs/scale.yaml", "-o", "out", "--no-cache", "-q"}), from / "expected.txt");
}
INSTANTIATE_TEST_SUITE_P(All, BadTemplates, testing::ValuesIn(folders("bad_templates")),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace qgen::tests
