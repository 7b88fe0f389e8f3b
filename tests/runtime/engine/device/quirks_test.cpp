// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/device/quirks.h"

#include <gmock/gmock.h>

#include "runtime/engine/device/architecture.h"

namespace qgen {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

FeatureMask distrusted_in(const DeviceProfile& device) { return distrusted_features(quirks_of(device)); }

constexpr CooperativeMatrixShape kHalfMatrix = {8, 16, 16, DType::f16, DType::f16, DType::f32, DType::f32, false};
constexpr CooperativeMatrixShape kByteMatrix = {8, 16, 32, DType::i8, DType::i8, DType::i32, DType::i32, false};

DeviceProfile intel(std::string version) {
  DeviceProfile device{.name = "Intel(R) Arc(TM) 140V GPU (16GB)", .driver_name = "Intel Corporation"};
  device.vendor_id = 0x8086;
  device.driver_info = std::move(version);
  device.features = bit(Feature::cooperative_matrix);
  device.cooperative_matrices = {kHalfMatrix, kByteMatrix};
  return device;
}

DeviceProfile amd(std::string driver, std::string architecture) {
  DeviceProfile device{.name = "AMD Radeon", .driver_name = std::move(driver), .driver_info = "26.3.1 (LLPC)"};
  device.vendor_id = 0x1002;
  device.architecture = std::move(architecture);
  device.kind = DeviceProfile::Kind::discrete;
  return device;
}

TEST(Quirks, EachSaysWhatWhyAndWhere) {
  for (const Quirk& quirk : quirks()) {
    EXPECT_TRUE(quirk.distrusted != 0 || quirk.matrices || !quirk.kernels.empty()) << quirk.why;
    EXPECT_THAT(quirk.source, StartsWith("https://"));
    EXPECT_FALSE(quirk.why.empty()) << quirk.source;
  }
}

TEST(Quirks, FitByDriverAndArchitecture) {
  EXPECT_EQ(distrusted_in(amd("AMD proprietary driver", "rdna2")), bit(Feature::integer_dot_product));
  EXPECT_EQ(distrusted_in(amd("AMD proprietary driver", "rdna3")), 0U);
  EXPECT_EQ(distrusted_in(amd("AMD proprietary driver", "rdna")), 0U) << "a part of a name is no architecture";
  EXPECT_EQ(distrusted_in(amd("radv", "rdna2")), 0U);
}

TEST(Quirks, FitByKind) {
  DeviceProfile device = amd("AMD proprietary driver", "");
  device.kind = DeviceProfile::Kind::integrated;
  EXPECT_EQ(distrusted_in(device), bit(Feature::cooperative_matrix));
}

TEST(Quirks, FitByVersion) {
  EXPECT_EQ(quirks_of(intel("Intel driver 101.999")).size(), 1);
  EXPECT_EQ(quirks_of(intel("101.8247")).size(), 0);
}

TEST(Quirks, RemoveMatrices) {
  DeviceProfile device = intel("Intel driver 101.999");
  distrust_parts(quirks_of(device), device);
  EXPECT_EQ(device.cooperative_matrices, std::vector{kByteMatrix});
  EXPECT_EQ(device.features, bit(Feature::cooperative_matrix));
  EXPECT_THAT(to_text(device), HasSubstr("products of f16 matrices are wrong"));
}

// A driver composes them of the wrong ones, whatever their sides.
TEST(Quirks, RemoveFlexibleMatricesOfTheDtypes) {
  DeviceProfile device = intel("");
  device.flexible_cooperative_matrices = {kHalfMatrix, kByteMatrix};
  distrust_matrices({.m = 8, .n = 16, .k = 1, .a = DType::f16}, device);
  EXPECT_EQ(device.cooperative_matrices, (std::vector{kHalfMatrix, kByteMatrix}));
  EXPECT_EQ(device.flexible_cooperative_matrices, std::vector{kByteMatrix});
}

TEST(Quirks, WithoutTheLastMatrixThereIsNoFeature) {
  DeviceProfile device = intel("Intel driver 101.999");
  device.cooperative_matrices = {kHalfMatrix};
  distrust_parts(quirks_of(device), device);
  EXPECT_EQ(device.features, 0U);
  EXPECT_EQ(device.distrusted, bit(Feature::cooperative_matrix));
}

TEST(Quirks, MatricesFitBySidesAndDtypes) {
  EXPECT_TRUE(fits({}, kByteMatrix));
  EXPECT_TRUE(fits({.m = 8, .k = 32, .a = DType::i8}, kByteMatrix));
  EXPECT_FALSE(fits({.k = 16}, kByteMatrix));
  EXPECT_FALSE(fits({.result = DType::f16}, kHalfMatrix));
}

TEST(Quirks, NameKernelsByTheBeginningOfTheirIds) {
  const Quirk quirk{.kernels = "bmm_coopmat conv_tile.forward"};
  const Quirk* const all[] = {&quirk};
  DeviceProfile device = amd("radv", "rdna2");
  distrust_parts(all, device);
  EXPECT_EQ(device.distrusted_kernels, (std::vector<std::string>{"bmm_coopmat", "conv_tile.forward"}));
}

TEST(Quirks, FitByName) {
  DeviceProfile device{.name = "PowerVR Rogue GE8320"};
  device.vendor_id = 0x1010;
  EXPECT_EQ(distrusted_in(device), bit(Feature::shader_float16));
  device.name = "PowerVR D-Series DXT-48-1536 MC1";
  EXPECT_EQ(distrusted_in(device), bit(Feature::cooperative_matrix) | bit(Feature::integer_dot_product));
}

TEST(Quirks, FitByNameAndDriver) {
  DeviceProfile device{.name = "Adreno (TM) 840", .driver_name = "Qualcomm Technologies Inc. Adreno Vulkan Driver"};
  device.vendor_id = 0x5143;
  EXPECT_EQ(distrusted_in(device), bit(Feature::cooperative_matrix));
  device.driver_name = "turnip Mesa driver";
  EXPECT_EQ(distrusted_in(device), 0U);
}

TEST(Quirks, VersionsAreComparedNumberByNumber) {
  EXPECT_TRUE(is_older_version("101.999", "101.8247"));
  EXPECT_TRUE(is_older_version("Mesa 24.1", "24.1.1"));
  EXPECT_TRUE(is_older_version("", "0"));
  EXPECT_FALSE(is_older_version("101.8247", "101.8247"));
  EXPECT_FALSE(is_older_version("Mesa 24.1.0-devel", "24.1"));
}

TEST(Quirks, AreToldWithTheDevice) {
  DeviceProfile device = amd("AMD proprietary driver", "rdna1");
  device.distrusted = bit(Feature::integer_dot_product);
  EXPECT_THAT(to_text(device), HasSubstr("distrusted"));
  EXPECT_THAT(to_text(device), HasSubstr("integer_dot_product"));
  EXPECT_THAT(to_text(device), HasSubstr("https://"));
}

}  // namespace
}  // namespace qgen
