// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Verdicts of self-tests are kept by device and driver, and take from a device what is wrong.
#include "runtime/engine/profiles/verdict.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include "common/files.h"
#include "runtime/engine/profiles/stored.h"
#include "tests/support/expected_text.h"

namespace qgen::profiles {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr CooperativeMatrixShape kInt8{16, 16, 32, DType::i8, DType::i8, DType::i32, DType::i32, false};
constexpr CooperativeMatrixShape kHalf{16, 16, 16, DType::f16, DType::f16, DType::f32, DType::f32, false};

Verdict example() {
  return {.date = "2026-11-27",
          .wrong = {{Feature::integer_dot_product, std::nullopt, "0x80, 0x7f: the result is 0x3f80, not 0xffffc080"},
                    {std::nullopt, kInt8, "element (0, 0) is 12, not 31"}}};
}

class StoredVerdicts : public ::testing::Test {
 protected:
  StoredVerdicts() {
    std::string folder = ::testing::TempDir() + "verdict_XXXXXX";
    ::setenv("XDG_CACHE_HOME", ::mkdtemp(folder.data()), 1);
    device_.name = "Example GPU 1";
    device_.device_uuid[0] = 0xab;
    device_.driver_version = 0x10;
    device_.features = bit(Feature::integer_dot_product) | bit(Feature::cooperative_matrix) | bit(Feature::shader_int8);
    device_.cooperative_matrices = {kInt8, kHalf};
    device_.flexible_cooperative_matrices = {kInt8, kHalf};
  }
  ~StoredVerdicts() override { ::unsetenv("XDG_CACHE_HOME"); }

  DeviceProfile device_;
};

TEST_F(StoredVerdicts, AreFoundAgain) {
  EXPECT_FALSE(stored_verdict(device_).verdict);
  ASSERT_TRUE(store_verdict(device_, example()));
  const StoredVerdict found = stored_verdict(device_);
  EXPECT_EQ(found.warning, "");
  EXPECT_EQ(found.verdict, example());
  EXPECT_THAT(verdict_path(device_), EndsWith("/qgen/checks/ab000000-0000-0000-0000-000000000000-10.yaml"));
}

TEST_F(StoredVerdicts, AreOfOneDriver) {
  ASSERT_TRUE(store_verdict(device_, example()));
  device_.driver_version = 0x11;
  EXPECT_FALSE(stored_verdict(device_).verdict);
  EXPECT_EQ(with_all_that_is_stored(device_, false).profile, device_);
}

TEST_F(StoredVerdicts, TakeWhatIsWrong) {
  const DeviceProfile left = with_verdict(device_, example());
  EXPECT_EQ(left.features, bit(Feature::cooperative_matrix) | bit(Feature::shader_int8));
  EXPECT_EQ(left.distrusted, bit(Feature::integer_dot_product));
  EXPECT_EQ(left.cooperative_matrices, std::vector{kHalf});
  EXPECT_EQ(left.flexible_cooperative_matrices, std::vector{kHalf}) << "larger ones are made of the wrong ones";
}

TEST_F(StoredVerdicts, WithoutAShapeThereAreNoMatrices) {
  const Verdict verdict{.date = "2026-11-27", .wrong = {{std::nullopt, kInt8, "x"}, {std::nullopt, kHalf, "x"}}};
  const DeviceProfile left = with_verdict(device_, verdict);
  EXPECT_EQ(left.distrusted, bit(Feature::cooperative_matrix));
  EXPECT_TRUE(left.cooperative_matrices.empty() && left.flexible_cooperative_matrices.empty());
}

// A driver may compose matrices without one shape that kernels use, as llvmpipe does on arm64.
TEST_F(StoredVerdicts, ChangeNothingIfNothingIsWrong) {
  EXPECT_EQ(with_verdict(device_, {}), device_);
  device_.features &= ~bit(Feature::cooperative_matrix);
  EXPECT_EQ(with_verdict(device_, {}), device_);
}

TEST_F(StoredVerdicts, CountUnlessTheDriverIsTrusted) {
  ASSERT_TRUE(store_verdict(device_, example()));
  EXPECT_EQ(with_all_that_is_stored(device_, false).profile, with_verdict(device_, example()));
  EXPECT_EQ(with_all_that_is_stored(device_, true).profile, device_);
}

TEST_F(StoredVerdicts, ABrokenFileIsAWarning) {
  ASSERT_TRUE(write_file(verdict_path(device_), "wrong: [{found: x}]\nchecked: today\n"));
  const StoredProfile stored = with_all_that_is_stored(device_, false);
  EXPECT_EQ(stored.profile, device_);
  ASSERT_EQ(stored.warnings.size(), 1U);
  EXPECT_THAT(stored.warnings[0], HasSubstr("the verdict on 'Example GPU 1' is not used: "));
  EXPECT_THAT(stored.warnings[0], EndsWith("qgen-info --check makes it anew"));
}

TEST_F(StoredVerdicts, HaveAText) {
  EXPECT_TEXT(to_yaml(example()), R"(checked: 2026-11-27
wrong:
- feature: integer_dot_product
  found: "0x80, 0x7f: the result is 0x3f80, not 0xffffc080"
- matrix: {m: 16, n: 16, k: 32, a: i8, b: i8, c: i32, result: i32, scope: subgroup}
  found: "element (0, 0) is 12, not 31"
)");
  EXPECT_EQ(*read_verdict(to_yaml({.date = "2026-11-27", .wrong = {}}), "x"),
            (Verdict{.date = "2026-11-27", .wrong = {}}));
  const auto refused = read_verdict("checked: 2026-11-27\nwrong:\n- {feature: shader_int7, found: x}\n", "x.yaml");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("shader_int7"));
}

}  // namespace
}  // namespace qgen::profiles
