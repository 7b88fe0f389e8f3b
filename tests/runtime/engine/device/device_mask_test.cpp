// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/device/device_mask.h"

#include <gmock/gmock.h>

#include "tests/support/device_test.h"

namespace qgen {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr CooperativeMatrixShape kHalves{16, 16, 16, DType::f16, DType::f16, DType::f32, DType::f32, false};
constexpr CooperativeMatrixShape kBytes{16, 16, 32, DType::i8, DType::i8, DType::i32, DType::i32, false};

DeviceProfile large() {
  DeviceProfile device{.name = "large"};
  device.api_version = 1U << 22U | 3U << 12U;
  device.features = bit(Feature::shader_int8) | bit(Feature::shader_int64) | bit(Feature::cooperative_matrix);
  device.cooperative_matrices = {kHalves, kBytes};
  device.max_workgroup_size = {1024, 1024, 64};
  device.storage_buffer_alignment_bytes = 16;
  device.numbers.max_workgroup_size_x = 1024;
  device.numbers.shared_memory_bytes = 49152;
  device.numbers.subgroup_size = 32;
  device.numbers.bytes_per_us = 3e6;
  return device;
}

DeviceProfile small() {
  DeviceProfile device{.name = "small"};
  device.architecture = "mali-valhall";
  device.api_version = 1U << 22U | 1U << 12U;
  device.features = bit(Feature::shader_int8) | bit(Feature::shader_float16) | bit(Feature::cooperative_matrix);
  device.cooperative_matrices = {kHalves};
  device.max_workgroup_size = {512, 512, 512};
  device.storage_buffer_alignment_bytes = 64;
  device.numbers.max_workgroup_size_x = 512;
  device.numbers.shared_memory_bytes = 65536;
  device.numbers.subgroup_size = 16;
  device.numbers.bytes_per_us = 4e4;
  return device;
}

TEST(DeviceMask, EmptyLeavesTheDevice) { EXPECT_EQ(masked(large(), {}), large()); }

TEST(DeviceMask, TakesFeatures) {
  const DeviceProfile less = masked(large(), {.without = bit(Feature::shader_int64)});
  EXPECT_EQ(less.features, bit(Feature::shader_int8) | bit(Feature::cooperative_matrix));
  EXPECT_EQ(less.numbers, large().numbers);
}

TEST(DeviceMask, ADeviceWithoutMatricesHasNoShapes) {
  EXPECT_THAT(masked(large(), {.without = bit(Feature::cooperative_matrix)}).cooperative_matrices, IsEmpty());
}

TEST(DeviceMask, LowersLimitsAndRaisesNone) {
  DeviceMask mask;
  for (const LimitRow& row : kLimits) {
    if (row.name == "shared_memory_bytes") mask.limits.push_back({&row, {16384, 16384, 16384}});
    if (row.name == "workgroup_size") mask.limits.push_back({&row, {128, 2048, 64}});
  }
  const DeviceProfile less = masked(large(), mask);
  EXPECT_EQ(less.numbers.shared_memory_bytes, 16384);
  EXPECT_THAT(less.max_workgroup_size, ElementsAre(128, 1024, 64));
  EXPECT_EQ(less.numbers.max_workgroup_size_x, 128);
}

TEST(DeviceMask, AnotherDeviceLeavesWhatBothHave) {
  const DeviceProfile less = masked(large(), {.as = small()});
  EXPECT_EQ(less.features, bit(Feature::shader_int8) | bit(Feature::cooperative_matrix));
  EXPECT_THAT(less.cooperative_matrices, ElementsAre(kHalves));
  EXPECT_THAT(less.max_workgroup_size, ElementsAre(512, 512, 64));
  EXPECT_EQ(less.numbers.max_workgroup_size_x, 512);
  EXPECT_EQ(less.numbers.shared_memory_bytes, 49152);
  EXPECT_EQ(less.storage_buffer_alignment_bytes, 64U);
  EXPECT_EQ(less.api_version, small().api_version);
}

TEST(DeviceMask, AnotherDevicesRatesDecideAndOwnSubgroupsStay) {
  const DeviceProfile less = masked(large(), {.as = small()});
  EXPECT_EQ(less.numbers.bytes_per_us, 4e4);
  EXPECT_EQ(less.architecture, "mali-valhall");
  EXPECT_EQ(less.numbers.subgroup_size, 32);
}

// Stores of times and pipelines find a device by its UUID.
TEST(DeviceMask, EachMaskIsADeviceOfItsOwn) {
  const auto uuid = [](const DeviceMask& mask) { return masked(large(), mask).device_uuid; };
  EXPECT_NE(uuid({.without = bit(Feature::shader_int8)}), large().device_uuid);
  EXPECT_NE(uuid({.without = bit(Feature::shader_int8)}), uuid({.without = bit(Feature::shader_int64)}));
  EXPECT_EQ(uuid({.as = small()}), uuid({.as = small()}));
}

class MaskedDevice : public testing::DeviceTest {};

TEST_F(MaskedDevice, IsOpenedWithWhatIsLeft) {
  const auto listed = list_devices();
  ASSERT_TRUE(listed) << to_text(listed.error());
  const auto opened = Device::open("0", {.mask = {.without = bit(Feature::shader_int8)}});
  ASSERT_TRUE(opened) << to_text(opened.error());
  EXPECT_EQ(opened->profile().features, listed->front().features & ~bit(Feature::shader_int8));
}

TEST_F(MaskedDevice, IsUsedAsAnOlderVulkan) {
  const auto listed = list_devices();
  ASSERT_TRUE(listed) << to_text(listed.error());
  const DeviceProfile& whole = listed->front();
  for (const uint32_t minor : {1U, 2U}) {
    const uint32_t version = 1U << 22U | minor << 12U;
    const auto opened =
        Device::open("0", {.validation = testing::validation_is_wanted(), .mask = {.api_version = version}});
    ASSERT_TRUE(opened) << to_text(opened.error());
    EXPECT_EQ(opened->profile().api_version, std::min(version, whole.api_version));
    if (whole.numbers.is_cpu) {  // llvmpipe has the features of newer versions by extensions too
      EXPECT_EQ(opened->profile().features, whole.features);
      EXPECT_EQ(opened->profile().driver_name, whole.driver_name);
      EXPECT_EQ(opened->profile().driver_uuid, whole.driver_uuid);
      EXPECT_EQ(opened->profile().has_subgroup_size_control, whole.has_subgroup_size_control);
      EXPECT_EQ(opened->profile().has_fast_integer_dot, whole.has_fast_integer_dot);
    }
    EXPECT_THAT(opened->validation_messages(), ::testing::IsEmpty());
  }
}

TEST_F(MaskedDevice, OfVulkan10IsRefusedInWords) {
  const auto opened = Device::open({}, {.mask = {.api_version = 1U << 22U}});
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, ::testing::HasSubstr("offers Vulkan 1.0, and qgen needs 1.1"));
}

// Features that a Vulkan version guarantees are there, whether a device file lists them or not.
TEST(DeviceMask, KeepsWhatTheVersionGuarantees) {
  DeviceProfile device = large();
  device.features |= guaranteed_features(device.api_version);
  const FeatureMask layout = bit(Feature::uniform_buffer_standard_layout);
  EXPECT_TRUE(masked(device, {.without = layout}).features & layout);
  DeviceProfile other = small();
  other.features = 0;
  other.api_version = 1U << 22U | 2U << 12U;
  EXPECT_TRUE(masked(device, {.as = other}).features & layout);
  other.api_version = 1U << 22U | 1U << 12U;
  EXPECT_FALSE(masked(device, {.as = other}).features & layout);
  EXPECT_EQ(masked(device, {.as = other}).missing(layout), layout);
}

}  // namespace
}  // namespace qgen
