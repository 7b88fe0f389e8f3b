// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A device of the caller: its profile has the enabled features.
#include "runtime/engine/device/adopt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/engine/device/enabled_features.h"
#include "tests/support/guest.h"

namespace qgen {
namespace {

using ::testing::HasSubstr;
using testing::Lease;

template <typename Struct>
const Struct* find(const void* chain, VkStructureType type) {
  for (auto* next = static_cast<const VkBaseInStructure*>(chain); next; next = next->pNext) {
    if (next->sType == type) return reinterpret_cast<const Struct*>(next);
  }
  return nullptr;
}

class AdoptTest : public testing::DeviceTest {
 protected:
  static std::string reason(const Expected<Device>& adopted) {
    return adopted ? "not refused" : adopted.error().message;
  }
};

TEST_F(AdoptTest, HasTheProfileOfWhatIsEnabled) {
  const Lease lease(device());
  const auto adopted = Device::adopt(lease.info);
  ASSERT_TRUE(adopted) << to_text(adopted.error());
  EXPECT_TRUE(adopted->is_adopted());
  EXPECT_FALSE(device().is_adopted());
  const auto listed = list_devices();
  ASSERT_TRUE(listed);
  if (device().profile() == listed->front()) {  // else it is opened under a mask
    EXPECT_EQ(adopted->profile(), device().profile());
  }
  const auto profile = profile_of(lease.info);
  ASSERT_TRUE(profile) << to_text(profile.error());
  EXPECT_EQ(*profile, adopted->profile());
}

// A feature of the card that nobody enabled is not there.
TEST_F(AdoptTest, LacksWhatIsNotEnabled) {
  if (device().profile().api_version < VK_API_VERSION_1_3)
    GTEST_SKIP() << "a mask: the structs below are of Vulkan 1.3";
  Lease lease(device());
  VkPhysicalDeviceVulkan12Features only12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  only12.uniformBufferStandardLayout = only12.shaderSubgroupExtendedTypes = only12.shaderInt8 = VK_TRUE;
  VkPhysicalDeviceMaintenance4Features maintenance4{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES};
  maintenance4.maintenance4 = VK_TRUE;
  maintenance4.pNext = &only12;
  VkPhysicalDeviceFeatures core{};
  core.shaderInt16 = VK_TRUE;
  lease.created_with.pNext = &maintenance4;
  lease.created_with.pEnabledFeatures = &core;
  lease.created_with.enabledExtensionCount = 0;
  const auto adopted = Device::adopt(lease.info);
  ASSERT_TRUE(adopted) << to_text(adopted.error());
  const FeatureMask features = adopted->profile().features;
  EXPECT_TRUE(features & bit(Feature::shader_int8));
  EXPECT_TRUE(features & bit(Feature::shader_int16));
  EXPECT_TRUE(features & bit(Feature::subgroup_basic)) << "a property";
  EXPECT_FALSE(features & bit(Feature::storage_buffer_8bit));
  EXPECT_FALSE(features & bit(Feature::shader_float16));
  EXPECT_FALSE(features & bit(Feature::cooperative_matrix));
  EXPECT_TRUE(adopted->profile().cooperative_matrices.empty());
  EXPECT_FALSE(adopted->profile().has_subgroup_size_control);
}

TEST_F(AdoptTest, SaysWhatIsMissing) {
  struct Case {
    const char* expected;
    void (*spoil)(AdoptInfo& info);
  };
  static constexpr VkDeviceCreateInfo kNothingEnabled{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO}, kWithoutType{};
  constexpr Case kCases[] = {
      {"the field 'instance' is null", [](AdoptInfo& info) { info.instance = nullptr; }},
      {"the field 'physical_device' is null", [](AdoptInfo& info) { info.physical_device = nullptr; }},
      {"the field 'device' is null", [](AdoptInfo& info) { info.device = nullptr; }},
      {"the field 'get_instance_proc_addr' is null", [](AdoptInfo& info) { info.get_instance_proc_addr = nullptr; }},
      {"the field 'created_with' is null", [](AdoptInfo& info) { info.created_with = nullptr; }},
      {"the field 'created_with' has the sType 0, and must be a VkDeviceCreateInfo",
       [](AdoptInfo& info) { info.created_with = &kWithoutType; }},
      {"the instance was made for Vulkan 1.0, and qgen needs 1.1",
       [](AdoptInfo& info) { info.api_version = VK_API_VERSION_1_0; }},
      {"the device was made without maintenance4",
       [](AdoptInfo& info) {
         info.created_with = &kNothingEnabled;
         info.api_version = VK_API_VERSION_1_3;
       }},
      {"the device was made without uniformBufferStandardLayout",
       [](AdoptInfo& info) {
         info.created_with = &kNothingEnabled;
         info.api_version = VK_API_VERSION_1_2;
       }},
      {"queue family 1000 of", [](AdoptInfo& info) { info.queue_family = 1000; }},
      {"the fields 'lock_queue' and 'unlock_queue' go together", [](AdoptInfo& info) { info.lock_queue = [] {}; }},
  };
  for (const Case& row : kCases) {
    Lease lease(device());
    row.spoil(lease.info);
    EXPECT_THAT(reason(Device::adopt(lease.info)), HasSubstr(row.expected));
  }
}

// Structs of one extension have the same effect as those of a version.
TEST_F(AdoptTest, ReadsStructsOfEitherKind) {
  VkPhysicalDevice8BitStorageFeatures of_8bit{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES};
  of_8bit.storageBuffer8BitAccess = VK_TRUE;
  VkPhysicalDeviceShaderFloat16Int8Features of_small{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES};
  of_small.shaderInt8 = VK_TRUE;
  of_small.pNext = &of_8bit;
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  info.pNext = &of_small;
  vulkan::FeatureChain enabled{vulkan::ExtensionSet()};
  vulkan::read_enabled(info, enabled);
  EXPECT_TRUE(enabled.vulkan12.storageBuffer8BitAccess);
  EXPECT_TRUE(enabled.vulkan12.shaderInt8);
  EXPECT_FALSE(enabled.vulkan12.shaderFloat16);
  EXPECT_FALSE(enabled.vulkan12.uniformAndStorageBuffer8BitAccess);
}

// ---- what to enable -------------------------------------------------------------------------------------------------

// A caller whose instance is of an older version, with structs of one feature.
TEST_F(AdoptTest, TakesDevicesOfOlderVersions) {
  for (const uint32_t minor : {1U, 2U}) {
    const uint32_t version = VK_MAKE_API_VERSION(0, 1, minor, 0);
    const auto owner =
        Device::open({}, {.validation = testing::validation_is_wanted(), .mask = {.api_version = version}});
    ASSERT_TRUE(owner) << to_text(owner.error());
    const Lease lease(*owner);
    const auto* bytes = find<VkPhysicalDevice8BitStorageFeatures>(
        lease.created_with.pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES);
    EXPECT_EQ(bytes != nullptr, minor == 1);
    const auto adopted = Device::adopt(lease.info);
    ASSERT_TRUE(adopted) << to_text(adopted.error());
    EXPECT_EQ(adopted->profile().features, owner->profile().features);
    EXPECT_EQ(adopted->profile().api_version, owner->profile().api_version);
    const std::string text = lease.features->to_text();
    EXPECT_EQ(text.find("vulkan13") == std::string::npos, true) << text;
    EXPECT_EQ(text.find("storage_8bit.storageBuffer8BitAccess = VK_TRUE;") != std::string::npos, minor == 1) << text;
    EXPECT_THAT(owner->validation_messages(), ::testing::IsEmpty());
  }
}

TEST_F(AdoptTest, RecommendsWhatOpenEnables) {
  if (device().profile().api_version < VK_API_VERSION_1_3) GTEST_SKIP() << "a mask: structs of one feature";
  const auto recommended = RecommendedFeatures::of(device());
  ASSERT_TRUE(recommended) << to_text(recommended.error());
  const auto* vulkan13 = find<VkPhysicalDeviceVulkan13Features>(recommended->chain(),
                                                                VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES);
  ASSERT_TRUE(vulkan13);
  EXPECT_TRUE(vulkan13->maintenance4);
  const std::string text = recommended->to_text();
  EXPECT_THAT(text, HasSubstr("vulkan13.maintenance4 = VK_TRUE;\n"));
  EXPECT_THAT(text, HasSubstr("features.pNext = &vulkan11;\n"));
  for (const char* extension : recommended->extensions()) EXPECT_THAT(text, HasSubstr(extension));
}

TEST_F(AdoptTest, JoinsTheCallersStructs) {
  if (device().profile().api_version < VK_API_VERSION_1_3) GTEST_SKIP() << "a mask: structs of one feature";
  auto recommended = RecommendedFeatures::of(device());
  ASSERT_TRUE(recommended);
  VkPhysicalDeviceVulkan12Features mine{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  mine.samplerMirrorClampToEdge = VK_TRUE;
  const auto chain = recommended->joined(&mine);
  ASSERT_TRUE(chain) << to_text(chain.error());
  EXPECT_EQ(*chain, &mine);
  EXPECT_TRUE(mine.samplerMirrorClampToEdge);
  EXPECT_TRUE(mine.uniformBufferStandardLayout);
  size_t of_12 = 0;
  for (auto* next = static_cast<const VkBaseInStructure*>(*chain); next; next = next->pNext)
    of_12 += next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  EXPECT_EQ(of_12, 1u) << "Vulkan allows a struct once";
  EXPECT_TRUE(find<VkPhysicalDeviceFeatures2>(*chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2));
  EXPECT_TRUE(find<VkPhysicalDeviceVulkan13Features>(*chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES));
}

TEST_F(AdoptTest, RefusesStructsThatVulkanAllowsNotBesideOurs) {
  if (device().profile().api_version < VK_API_VERSION_1_2)
    GTEST_SKIP() << "a mask: Vulkan allows them beside each other";
  auto recommended = RecommendedFeatures::of(device());
  ASSERT_TRUE(recommended);
  VkPhysicalDevice8BitStorageFeatures mine{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES};
  const auto chain = recommended->joined(&mine);
  ASSERT_FALSE(chain);
  EXPECT_THAT(chain.error().message, HasSubstr("the chain has a struct of one feature"));
}

}  // namespace
}  // namespace qgen
