// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What the shipped specs say under `verify` is how their kernels are judged: by a reference that there is, to the bit
// or within a bound. Without this nobody would hold the one to the other.
#include <gmock/gmock.h>

#include <filesystem>

#include "codegen/spec/parse_spec.h"
#include "runtime/operators/shipped.h"
#include "runtime/reference/references.h"
#include "tests/support/document.h"

namespace qgen {
namespace {

namespace fs = std::filesystem;

// By the names of their operators and kernels.
std::map<std::string, spec::Spec, std::less<>> shipped_specs() {
  std::map<std::string, std::string> documents;
  const fs::path root = tests::source_folder();
  for (const auto& entry : fs::recursive_directory_iterator(root / "specs")) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string file = entry.path().lexically_relative(root).generic_string();
    documents.emplace(file, tests::read_document(file));
  }
  std::vector<spec::SpecText> texts;
  for (const auto& [file, text] : documents) texts.push_back({file, text});
  auto parsed = spec::parse_specs(texts, spec::UnusedFragments::are_errors);
  EXPECT_TRUE(parsed) << to_text(parsed.error(), {});
  std::map<std::string, spec::Spec, std::less<>> specs;
  for (spec::Spec& spec : *parsed) specs.emplace(spec.name.value, std::move(spec));
  return specs;
}

bool is_exact(const spec::Tolerance& tolerance) { return tolerance.absolute == 0 && tolerance.relative == 0; }

TEST(Verify, NamesAReferenceThatThereIs) {
  for (const auto& [name, spec] : shipped_specs()) {
    if (!spec.verify) continue;
    EXPECT_NE(reference::find(spec.verify->reference.value), nullptr) << name;
    EXPECT_NE(spec.verify->tolerance.why, "") << name;
  }
}

TEST(Verify, SaysOfEveryOperatorWhetherItGivesBitsOrABound) {
  const auto specs = shipped_specs();
  for (const OperatorEntry& entry : operators()) {
    SCOPED_TRACE(std::string(entry.name));
    EXPECT_NE(reference::find(entry.name), nullptr);
    const auto spec = specs.find(entry.op->name);
    ASSERT_NE(spec, specs.end());
    ASSERT_TRUE(spec->second.verify);
    EXPECT_EQ(is_exact(spec->second.verify->tolerance), reference::find_bounds(entry.name) == nullptr);
  }
}

}  // namespace
}  // namespace qgen
