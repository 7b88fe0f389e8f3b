// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Each folder of tests/bad_templates has a spec, a template with one fault, the expected messages, and the corrected
// template, which must compile in every variant. With QGEN_UPDATE_EXPECTED set in the environment, expected.txt is
// written instead; read the diff before committing it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/codegen/render/run_template.h"
#include "tests/support/source_folder.h"

namespace qgen::render {
namespace {

struct Pair {
  std::filesystem::path folder;
  friend std::ostream& operator<<(std::ostream& out, const Pair& pair) {
    return out << pair.folder.filename().string();
  }
};

std::vector<Pair> pairs() {
  std::vector<Pair> all;
  for (const auto& entry : std::filesystem::directory_iterator(tests::source_folder() + "/tests/bad_templates")) {
    if (entry.is_directory()) all.push_back({entry.path()});
  }
  std::sort(all.begin(), all.end(), [](const Pair& a, const Pair& b) { return a.folder < b.folder; });
  return all;
}

// The template is scale.comp, next to every .glsl of the folder.
tests::Run run_pair(const Pair& pair, const std::string& template_name) {
  TemplateSet templates;
  tests::add_template(templates, "scale.comp", tests::read_file(pair.folder / template_name));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(pair.folder)) {
    if (entry.path().extension() != ".glsl") continue;
    tests::add_template(templates, std::filesystem::relative(entry.path(), pair.folder).generic_string(),
                        tests::read_file(entry.path()));
  }
  return tests::run("specs/scale.yaml", tests::read_file(pair.folder / "spec.yaml"), templates);
}

class BadTemplates : public testing::TestWithParam<Pair> {};

TEST_P(BadTemplates, say_exactly_this) {
  const std::filesystem::path expected = GetParam().folder / "expected.txt";
  const std::string reported = run_pair(GetParam(), "bad.comp").errors;
  if (std::getenv("QGEN_UPDATE_EXPECTED")) std::ofstream(expected, std::ios::binary) << reported;
  EXPECT_EQ(reported, tests::read_file(expected));
}

TEST_P(BadTemplates, pass_when_mended) {
  const tests::Run mended = run_pair(GetParam(), "good.comp");
  EXPECT_EQ(mended.errors, "");
  EXPECT_GT(mended.modules, 0u);
}

INSTANTIATE_TEST_SUITE_P(Pairs, BadTemplates, testing::ValuesIn(pairs()),
                         [](const auto& row) { return row.param.folder.filename().string(); });

}  // namespace
}  // namespace qgen::render
