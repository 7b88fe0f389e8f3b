// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// specs/README.md is right: its examples are specs, and its lists are complete.
#include <gtest/gtest.h>

#include "codegen/spec/device_names.h"
#include "codegen/spec/keys.h"
#include "codegen/spec/parse_spec.h"
#include "codegen/spec/words.h"
#include "tests/support/document.h"

namespace qgen::spec {
namespace {

const std::string kPath = "specs/README.md";

// The examples that are whole specs.
std::vector<std::string> example_specs() {
  std::vector<std::string> specs;
  for (const tests::Example& example : tests::examples_of(tests::read_document(kPath))) {
    for (const char* head : {"operator:", "kernel:", "fragment:", "cost_of:"}) {
      if (example.text.starts_with(head)) specs.push_back(example.text);
    }
  }
  return specs;
}

std::string name_in(const std::string& yaml) {
  const size_t begin = yaml.find(": ") + 2;
  return yaml.substr(begin, yaml.find_first_of(" \n", begin) - begin);
}

TEST(Readme, ItsExamplesAreSpecs) {
  const auto examples = example_specs();
  ASSERT_EQ(examples.size(), 17U);
  std::vector<SpecText> files = {{"with_rounding.yaml", "fragment: with_rounding\nproblem: {rounding: u32}\n"}};
  for (const std::string& yaml : examples) files.push_back({name_in(yaml) + ".yaml", yaml});
  const auto specs = parse_specs(files, UnusedFragments::are_errors);
  ASSERT_TRUE(specs) << to_text(specs.error(), {});
  const Diagnostics errors = check_specs(*specs);
  EXPECT_TRUE(errors.empty()) << to_text(errors, {});
}

TEST(Readme, NamesEveryKeyWordAndDeviceNumber) {
  const std::string text = tests::read_document(kPath);
  const auto names = [&](std::string_view what) { return text.find(what) != std::string::npos; };
  for (const Key& key : spec_keys()) EXPECT_TRUE(names("| `" + std::string(key.name) + "` |")) << key.name;
  for (const Key& key : spec_keys()) {
    const bool is_for_callers = key.name == "operands" || key.name == "attributes" || key.name == "operators";
    if (!is_for_callers) continue;
    for (const Key& inner : key.object) EXPECT_TRUE(names("`" + std::string(inner.name))) << inner.name;
  }
  for (const DeviceName& number : device_names())
    EXPECT_TRUE(names("`device." + std::string(number.name) + "`")) << number.name;
  for (const auto& words : {dtype_words(), storage_words(), layout_words()}) {
    for (const std::string& word : words) EXPECT_TRUE(names(word)) << word;
  }
}

}  // namespace
}  // namespace qgen::spec
