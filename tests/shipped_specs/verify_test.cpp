// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The `verify` section of each shipped spec is used: its reference exists, and its tolerance is in the tables. Nothing
// else compares the two.
#include <gmock/gmock.h>

#include <filesystem>

#include "codegen/spec/parse_spec.h"
#include "runtime/engine/operators/shipped.h"
#include "runtime/workshop/reference/references.h"
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

TEST(Verify, NamesAReferenceThatThereIs) {
  for (const auto& [name, spec] : shipped_specs()) {
    if (!spec.verify) continue;
    EXPECT_NE(reference::find(spec.verify->reference.value), nullptr) << name;
    EXPECT_NE(spec.verify->why, "") << name;
  }
}

TEST(Verify, IsWhatTheTablesSay) {
  const auto specs = shipped_specs();
  for (const OperatorEntry& entry : operators()) {
    SCOPED_TRACE(std::string(entry.name));
    const auto spec = specs.find(entry.op->name);
    ASSERT_NE(spec, specs.end());
    ASSERT_TRUE(spec->second.verify);
    const spec::Verify& verify = *spec->second.verify;
    EXPECT_EQ(entry.op->tolerance.others, verify.tolerance);
    EXPECT_EQ(entry.op->tolerance.f16, verify.tolerance_f16.value_or(verify.tolerance));
    EXPECT_EQ(entry.op->tolerance.is_computed, !verify.computed.empty());
  }
}

// Where the spec leaves a part to the reference, the reference has it, and nowhere else.
TEST(Verify, ReferencesComputeWhatSpecsLeaveToThem) {
  for (const OperatorEntry& entry : operators()) {
    EXPECT_NE(reference::find(entry.name), nullptr) << entry.name;
    EXPECT_EQ(reference::has_exact_values(entry.name), entry.op->tolerance.is_computed) << entry.name;
  }
}

}  // namespace
}  // namespace qgen
