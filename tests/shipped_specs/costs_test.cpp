// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The costs of the shipped specs are readable: fitted constants are named outside the expressions, with a comment. So
// can the C++ that qgen makes of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "codegen/spec/cost_sum.h"
#include "codegen/spec/parse_spec.h"
#include "common/files.h"
#include "runtime/engine/profiles/device_file.h"
#include "tests/support/source_folder.h"

namespace qgen::spec {
namespace {

namespace fs = std::filesystem;

struct SpecFile {
  std::string path, name, text;
};

// In the order of their paths.
std::vector<SpecFile> shipped_files() {
  std::vector<SpecFile> files;
  for (const auto& entry : fs::recursive_directory_iterator(tests::source_folder() + "/specs")) {
    if (entry.path().extension() == ".yaml")
      files.push_back({entry.path().string(), entry.path().filename().string(), *read_file(entry.path().string())});
  }
  std::ranges::sort(files, {}, &SpecFile::path);
  return files;
}

TEST(ShippedCosts, AreInFilesOfTheirOwn) {
  for (const auto& [path, name, text] : shipped_files()) {
    const bool may_have_constants = name.ends_with(".cost.yaml") || text.find("\nfragment: ") != text.npos;
    const bool is_cost = name.ends_with(".cost.yaml");
    EXPECT_TRUE(may_have_constants || text.find("\nfit:") == text.npos) << name << ": constants belong in a cost file";
    EXPECT_TRUE(!is_cost || text.find("\nmeasured: ") != text.npos) << name;
  }
}

TEST(ShippedCosts, SayTheUnitAndTheMeaningOfEachConstant) {
  const std::vector<SpecFile> files = shipped_files();
  std::vector<SpecText> texts;
  for (const auto& [path, name, text] : files) texts.push_back({name, text});
  const auto specs = parse_specs(texts);
  ASSERT_TRUE(specs) << to_text(specs.error(), {});
  size_t constants = 0;
  for (const Spec& spec : *specs) {
    for (const FitConstant& constant : spec.fit) {
      EXPECT_FALSE(constant.unit.empty()) << constant.label;
      EXPECT_FALSE(constant.help.empty()) << constant.label;
      ++constants;
    }
  }
  EXPECT_GT(constants, 100U);
}

// ---- examples -------------------------------------------------------------------------------------------------------

// At the end of a cost file, as comments:
//
//   Example: m=512, unit=4                     values of what the cost reads
//     21.4 us
//     = 2.4    device.launch_us
//     + 19     tiles_us
constexpr std::string_view kExample = "# Example: ";

NamedValues values_in(std::string_view example) {
  NamedValues values;
  std::string text;
  for (std::istringstream lines{std::string(example)}; std::getline(lines, text);) {
    if (text.find('=') == text.npos || text.starts_with("#   = ")) break;
    text = text.substr(text.starts_with(kExample) ? kExample.size() : 1);
    std::istringstream pairs(text);
    for (std::string pair; pairs >> pair;) {
      if (pair.ends_with(',')) pair.pop_back();
      values.emplace_back(pair.substr(0, pair.find('=')), pair.substr(pair.find('=') + 1));
    }
  }
  return values;
}

// The example with the sum that is right.
std::string corrected(std::string_view example, const CostPart& cost) {
  std::string text;
  std::string line;
  for (std::istringstream lines{std::string(example)}; std::getline(lines, line);) {
    if (line.find('=') == line.npos || line.starts_with("#   = ")) break;
    text += line + "\n";
  }
  text += fmt::format("#   {:.3g} us\n", cost.value);
  for (size_t i = 0; i < cost.terms.size(); ++i) {
    const CostTerm& term = cost.terms[i];
    text += fmt::format("#   {} {:<6.3g} {}\n", i == 0 ? "=" : term.is_subtracted ? "-" : "+", term.value, term.text);
  }
  return text;
}

// The first spec with a constant of this cost file, which is the spec's own or that of a fragment.
std::vector<Spec>::const_iterator spec_with_cost(const std::vector<Spec>& specs, const SpecFile& cost_file) {
  const std::string part = cost_file.name.substr(0, cost_file.name.find('.'));
  const auto is_of_part = [&](const FitConstant& constant) { return constant.label.starts_with(part + "."); };
  return std::ranges::find_if(specs, [&](const Spec& spec) { return std::ranges::any_of(spec.fit, is_of_part); });
}

// QGEN_UPDATE_EXPECTED=1 writes the sums.
TEST(ShippedCosts, HaveExamplesThatAreRight) {
  const DeviceNumbers device = profiles::load_device(tests::source_folder() + "/devices/nvidia-h200.yaml")->numbers;
  std::vector<SpecText> texts;
  const std::vector<SpecFile> files = shipped_files();
  for (const SpecFile& file : files) texts.push_back({file.name, file.text});
  const auto specs = parse_specs(texts);
  ASSERT_TRUE(specs) << to_text(specs.error(), {});
  for (const SpecFile& file : files) {
    if (!file.name.ends_with(".cost.yaml")) continue;
    SCOPED_TRACE(file.path);
    const auto spec = spec_with_cost(*specs, file);
    ASSERT_NE(spec, specs->end());
    const size_t begin = file.text.find(kExample);
    ASSERT_NE(begin, file.text.npos) << "a cost file ends with an example: qgen --explain-cost says what a cost reads";
    const std::string example = file.text.substr(begin);
    const auto parts = cost_sum(*spec, values_in(example), device);
    ASSERT_TRUE(parts) << to_text(parts.error(), {});
    const std::string right = corrected(example, parts->front());
    if (std::getenv("QGEN_UPDATE_EXPECTED")) {
      ASSERT_TRUE(write_file(file.path, file.text.substr(0, begin) + right));
    } else {
      EXPECT_EQ(example, right) << "QGEN_UPDATE_EXPECTED=1 writes it";
    }
  }
}

TEST(GeneratedSources, HaveNoLongLines) {
  constexpr size_t kWidest = 160;
  for (const auto& entry : fs::recursive_directory_iterator(tests::source_folder() + "/generated/cpp")) {
    if (!entry.is_regular_file()) continue;
    std::istringstream text(*read_file(entry.path().string()));
    size_t number = 0;
    for (std::string line; std::getline(text, line);) {
      ++number;
      EXPECT_LE(line.size(), kWidest) << entry.path() << ":" << number;
    }
  }
}

}  // namespace
}  // namespace qgen::spec
