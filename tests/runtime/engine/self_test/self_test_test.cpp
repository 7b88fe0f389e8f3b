// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The checks on a real device, which computes right: what is there works, and what a mask hides is not there.
#include "runtime/engine/self_test/self_test.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>

#include "registry.h"
#include "runtime/engine/profiles/verdict.h"
#include "tests/runtime/engine/dispatch/temporary_folder.h"
#include "tests/support/device_test.h"
#include "tests/support/expected_text.h"

namespace qgen::self_test {
namespace {

using ::testing::HasSubstr;
using Verdict = Finding::Verdict;

class SelfTestOnDevice : public qgen::testing::DeviceTest {
 protected:
  const KernelLibrary library_ = *KernelLibrary::open(generated::library());
};

TEST_F(SelfTestOnDevice, NothingIsWrong) {
  const auto findings = run(device(), library_);
  ASSERT_TRUE(findings) << findings.error().message;
  for (const Finding& finding : *findings)
    EXPECT_NE(finding.verdict, Verdict::wrong) << finding.name << ": " << finding.text;
  EXPECT_EQ(without_wrong(device().profile(), *findings), device().profile());
}

// Each check of a feature runs exactly where the device has the feature.
TEST_F(SelfTestOnDevice, WhatIsThereIsChecked) {
  const auto findings = run(device(), library_);
  ASSERT_TRUE(findings) << findings.error().message;
  const FeatureMask has = device().profile().features | guaranteed_features(device().profile().api_version);
  for (const Finding& finding : *findings) {
    for (const FeatureRow& row : feature_table()) {
      if (row.name != finding.name || row.feature == Feature::cooperative_matrix) continue;
      const bool is_missing = finding.verdict == Verdict::missing;
      EXPECT_EQ(is_missing, !(has & bit(row.feature))) << finding.name << ": " << finding.text;
      if (is_missing) {
        EXPECT_THAT(finding.text, HasSubstr("which the device lacks"));
      }
    }
  }
}

// A program asks at its first start; later ones read the verdict.
TEST_F(SelfTestOnDevice, TheVerdictIsRemembered) {
  const qgen::testing::TemporaryFolder folder;
  const char* const before = ::getenv("XDG_CACHE_HOME");
  const std::string kept = before ? before : "";
  ::setenv("XDG_CACHE_HOME", folder.path().c_str(), 1);
  const auto first = checked_profile(device(), library_);
  const auto second = checked_profile(device(), library_);
  // As if a check had found something.
  ASSERT_TRUE(profiles::store_verdict(
      device().profile(), {.date = "2026-11-27", .wrong = {{Feature::shader_int8, std::nullopt, "0x80 is 0x7f"}}}));
  const auto third = checked_profile(device(), library_);
  if (before) ::setenv("XDG_CACHE_HOME", kept.c_str(), 1);
  else ::unsetenv("XDG_CACHE_HOME");
  ASSERT_TRUE(first && second && third);
  EXPECT_FALSE(first->was_stored);
  EXPECT_EQ(first->warning, "");
  EXPECT_TRUE(second->was_stored);
  EXPECT_EQ(second->profile, device().profile());
  EXPECT_FALSE(third->profile.features & bit(Feature::shader_int8));
}

TEST_F(SelfTestOnDevice, NeedsItsKernels) {
  const auto none = KernelLibrary::open({{}, generated::library().blob});
  ASSERT_TRUE(none);
  const auto findings = run(device(), *none);
  ASSERT_FALSE(findings);
  EXPECT_TEXT(findings.error().message, "the library has no kernels of 'check_feature'");
}

}  // namespace
}  // namespace qgen::self_test
