// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Every mistake in tests/bad_specs: bad.yaml gives exactly the report in expected.txt, and good.yaml, the same spec
// mended, passes. Other specs in a folder are read along with both.
//
// With QGEN_UPDATE_EXPECTED set in the environment, expected.txt is written instead; read the diff before committing
// it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "codegen/expand/variant.h"
#include "codegen/spec/parse_spec.h"
#include "tests/support/source_folder.h"

namespace qgen::expand {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxVariants = 1000;
const fs::path kFolder = fs::path(tests::source_folder()) / "tests" / "bad_specs";

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Everything that reading and expanding the files says, as the program prints it. Files are named as seen from the
// folder.
std::string report(const fs::path& folder, const std::vector<std::string>& files) {
  SourceTexts sources;
  std::vector<spec::SpecText> texts;
  for (const std::string& file : files) {
    sources[file] = read_text(folder / file);
    texts.push_back({file, sources[file]});
  }
  const auto specs = spec::parse_specs(texts);
  if (!specs) return to_text(specs.error(), sources);
  Diagnostics errors = spec::check_specs(*specs);
  if (!errors.empty()) return to_text(errors, sources);
  for (const spec::Spec& spec : *specs) {
    const auto variants = expand(spec, kMaxVariants);
    if (!variants && spec.template_path) append(errors, spec::with_uses(variants.error(), spec));
  }
  return to_text(errors, sources);
}

class BadSpec : public testing::TestWithParam<std::string> {};

TEST_P(BadSpec, IsReportedAndPassesWhenMended) {
  const fs::path folder = kFolder / GetParam();
  std::vector<std::string> companions;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() == ".yaml" && name != "bad.yaml" && name != "good.yaml") companions.push_back(name);
  }
  std::vector<std::string> bad = companions;
  bad.push_back("bad.yaml");
  std::vector<std::string> good = companions;
  good.push_back("good.yaml");
  const std::string reported = report(folder, bad);
  if (std::getenv("QGEN_UPDATE_EXPECTED")) std::ofstream(folder / "expected.txt", std::ios::binary) << reported;
  EXPECT_EQ(reported, read_text(folder / "expected.txt"));
  EXPECT_NE(reported.find("bad.yaml:"), std::string::npos) << "a fault is located by file and line";
  EXPECT_EQ(report(folder, good), "");
}

std::vector<std::string> folders() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kFolder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, BadSpec, testing::ValuesIn(folders()), [](const auto& row) { return row.param; });

}  // namespace
}  // namespace qgen::expand
