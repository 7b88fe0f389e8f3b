// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Feature structs filled by hand: granted, linked and enabled features.
#include "runtime/engine/device/feature_chain.h"

#include <gtest/gtest.h>

namespace qgen::vulkan {
namespace {

const ExtensionSet kNone;
const ExtensionSet kMatrices({"VK_KHR_cooperative_matrix", "VK_EXT_unrelated", "VK_NV_cooperative_matrix2"});

VkPhysicalDeviceVulkan11Properties no_subgroups() { return {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES}; }
VkPhysicalDeviceVulkan12Properties no_float_controls() {
  return {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES};
}

FeatureMask granted_by_bits(FeatureChain& offered) { return granted(offered, {no_subgroups(), no_float_controls()}); }
FeatureMask granted_by_properties(const VkPhysicalDeviceVulkan11Properties& properties) {
  FeatureChain offered(kNone);
  return granted(offered, {properties, no_float_controls()});
}
FeatureMask granted_by_properties(const VkPhysicalDeviceVulkan12Properties& properties) {
  FeatureChain offered(kNone);
  return granted(offered, {no_subgroups(), properties});
}

size_t chained_structs(const FeatureChain& chain) {
  size_t count = 0;
  for (auto* next = static_cast<const VkBaseInStructure*>(chain.features.pNext); next; next = next->pNext) ++count;
  return count;
}

TEST(FeatureChain, LinksOnlyWhatTheDeviceHas) {
  EXPECT_EQ(chained_structs(FeatureChain(kNone)), 3u) << "Vulkan 1.1, 1.2, 1.3";
  EXPECT_EQ(chained_structs(FeatureChain(kMatrices)), 5u);
  EXPECT_EQ(linked_extensions(kMatrices).size(), 2u);
  EXPECT_TRUE(linked_extensions(kNone).empty());
}

// A device of Vulkan 1.1 that has bytes by extensions.
const ExtensionSet kBytes({"VK_KHR_8bit_storage", "VK_KHR_shader_float16_int8", "VK_KHR_shader_float_controls"});

TEST(FeatureChain, LinksStructsOfOneFeatureOnOlderDevices) {
  EXPECT_EQ(chained_structs(FeatureChain(kNone, VK_API_VERSION_1_1)), 2u) << "16-bit storage, pointers";
  EXPECT_EQ(chained_structs(FeatureChain(kBytes, VK_API_VERSION_1_1)), 4u);
  EXPECT_EQ(linked_extensions(kBytes, VK_API_VERSION_1_1).size(), 3u);
  EXPECT_EQ(chained_structs(FeatureChain(kBytes, VK_API_VERSION_1_2)), 2u) << "Vulkan 1.1, 1.2";
  EXPECT_TRUE(linked_extensions(kBytes, VK_API_VERSION_1_2).empty());
  const ExtensionSet sizes({"VK_EXT_subgroup_size_control"});
  EXPECT_EQ(chained_structs(FeatureChain(sizes, VK_API_VERSION_1_2)), 3u);
  EXPECT_EQ(chained_structs(FeatureChain(sizes, VK_API_VERSION_1_3)), 3u);
  EXPECT_TRUE(linked_extensions(sizes, VK_API_VERSION_1_3).empty());
}

TEST(FeatureChain, EnablesOnOlderDevicesByStructsOfOneFeature) {
  FeatureChain offered(kBytes, VK_API_VERSION_1_1), wanted(kBytes, VK_API_VERSION_1_1);
  offered.storage_8bit.storageBuffer8BitAccess = VK_TRUE;
  offered.storage_16bit.storageBuffer16BitAccess = VK_TRUE;
  offered.gather();
  EXPECT_EQ(granted_by_bits(offered), bit(Feature::storage_buffer_8bit) | bit(Feature::storage_buffer_16bit));
  enable_granted(offered, wanted, bit(Feature::storage_buffer_8bit));
  EXPECT_TRUE(wanted.storage_8bit.storageBuffer8BitAccess);
  EXPECT_FALSE(wanted.storage_16bit.storageBuffer16BitAccess);
  EXPECT_FALSE(wanted.small_numbers.shaderInt8);
}

TEST(FeatureChain, NeedsSpirv14ForSharedBlocks) {
  const auto is_granted = [](uint32_t version, std::vector<std::string> extensions) {
    extensions.emplace_back("VK_KHR_workgroup_memory_explicit_layout");
    FeatureChain offered(ExtensionSet(std::move(extensions)), version);
    offered.explicit_layout.workgroupMemoryExplicitLayout = VK_TRUE;
    return (granted_by_bits(offered) & bit(Feature::shared_memory_explicit_layout)) != 0;
  };
  EXPECT_FALSE(is_granted(VK_API_VERSION_1_1, {}));
  EXPECT_TRUE(is_granted(VK_API_VERSION_1_1, {"VK_KHR_spirv_1_4"}));
  EXPECT_TRUE(is_granted(VK_API_VERSION_1_2, {}));
}

TEST(FeatureChain, SpellsBitsByTheVersion) {
  EXPECT_EQ(spelled_for(VK_API_VERSION_1_1, "vulkan12.shaderInt8"), "small_numbers.shaderInt8");
  EXPECT_EQ(spelled_for(VK_API_VERSION_1_2, "vulkan12.shaderInt8"), "vulkan12.shaderInt8");
  EXPECT_EQ(spelled_for(VK_API_VERSION_1_2, "vulkan13.subgroupSizeControl"), "subgroup_sizes.subgroupSizeControl");
  EXPECT_EQ(spelled_for(VK_API_VERSION_1_1, "features.features.shaderInt16"), "features.features.shaderInt16");
}

TEST(FeatureChain, GrantsNothingUnasked) {
  FeatureChain offered(kNone);
  EXPECT_EQ(granted_by_bits(offered), FeatureMask{0});
}

// A module that needs a feature which nothing grants would be refused on every device, whatever it can do.
TEST(FeatureChain, EachFeatureHasAGrant) {
  auto subgroups = no_subgroups();
  subgroups.subgroupSupportedStages = VK_SHADER_STAGE_COMPUTE_BIT;
  subgroups.subgroupSupportedOperations = ~VkSubgroupFeatureFlags{0};
  auto floats = no_float_controls();
  floats.shaderDenormPreserveFloat16 = VK_TRUE;
  floats.denormBehaviorIndependence = VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL;
  const auto nothing_11 = no_subgroups();
  const auto nothing_12 = no_float_controls();
  for (const FeatureRow& row : feature_table()) {
    FeatureChain nothing(kNone), offered(kNone);
    for (VkBool32& is_offered : offered.bits_of(row.feature)) is_offered = VK_TRUE;
    EXPECT_TRUE(granted(offered, {subgroups, floats}) & bit(row.feature)) << row.name;
    EXPECT_FALSE(granted(nothing, {nothing_11, nothing_12}) & bit(row.feature)) << row.name << " rests on nothing";
    for (VkBool32& is_offered : offered.bits_of(row.feature)) {
      is_offered = VK_FALSE;
      EXPECT_FALSE(granted(offered, {subgroups, floats}) & bit(row.feature)) << row.name << " needs all of its bits";
      is_offered = VK_TRUE;
    }
  }
}

TEST(FeatureChain, EnablesEachFeatureThatHasBits) {
  for (const FeatureRow& row : feature_table()) {
    FeatureChain offered(kNone), wanted(kNone);
    for (VkBool32& is_offered : offered.bits_of(row.feature)) is_offered = VK_TRUE;
    enable_granted(offered, wanted);
    for (const VkBool32 is_wanted : wanted.bits_of(row.feature)) EXPECT_TRUE(is_wanted) << row.name;
  }
}

TEST(FeatureChain, GrantsByBits) {
  FeatureChain offered(kNone);
  offered.vulkan12.shaderInt8 = VK_TRUE;
  offered.vulkan13.shaderIntegerDotProduct = VK_TRUE;
  EXPECT_EQ(granted_by_bits(offered), bit(Feature::shader_int8) | bit(Feature::integer_dot_product));
}

TEST(FeatureChain, NeedsEveryBitOfAFeature) {
  FeatureChain offered(kNone);
  offered.vulkan12.shaderBufferInt64Atomics = VK_TRUE;
  EXPECT_EQ(granted_by_bits(offered), FeatureMask{0});
  offered.vulkan12.shaderSharedInt64Atomics = VK_TRUE;
  EXPECT_EQ(granted_by_bits(offered), bit(Feature::atomic_int64));
}

TEST(FeatureChain, EnablesExactlyWhatIsGranted) {
  FeatureChain offered(kMatrices), wanted(kMatrices);
  offered.features.features.geometryShader = VK_TRUE;  // no feature of qgen's
  offered.features.features.shaderInt16 = VK_TRUE;
  offered.features.features.robustBufferAccess = VK_TRUE;  // costs time, and is requested separately
  offered.vulkan12.shaderBufferInt64Atomics = VK_TRUE;     // half of a feature
  offered.vulkan13.maintenance4 = VK_TRUE;
  offered.matrix2.cooperativeMatrixFlexibleDimensions = VK_TRUE;
  enable_granted(offered, wanted);
  EXPECT_EQ(granted_by_bits(wanted), granted_by_bits(offered));
  EXPECT_TRUE(wanted.features.features.shaderInt16);
  EXPECT_TRUE(wanted.vulkan13.maintenance4);
  EXPECT_TRUE(wanted.matrix2.cooperativeMatrixFlexibleDimensions);
  EXPECT_FALSE(wanted.features.features.geometryShader);
  EXPECT_FALSE(wanted.features.features.robustBufferAccess);
  EXPECT_FALSE(wanted.vulkan12.shaderBufferInt64Atomics);
}

TEST(FeatureChain, EnablesRobustBuffersWhereTheyAreOffered) {
  for (const VkBool32 is_offered : {VK_FALSE, VK_TRUE}) {
    FeatureChain offered(kNone), wanted(kNone);
    offered.features.features.robustBufferAccess = is_offered;
    enable_robust_buffer_access(offered, wanted);
    EXPECT_EQ(wanted.features.features.robustBufferAccess, is_offered);
  }
}

TEST(FeatureChain, CountsSubgroupOperationsOfComputeOnly) {
  auto properties = no_subgroups();
  properties.subgroupSupportedOperations = VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_QUAD_BIT;
  properties.subgroupSupportedStages = VK_SHADER_STAGE_FRAGMENT_BIT;
  EXPECT_EQ(granted_by_properties(properties), FeatureMask{0});
  properties.subgroupSupportedStages = VK_SHADER_STAGE_COMPUTE_BIT;
  EXPECT_EQ(granted_by_properties(properties), bit(Feature::subgroup_basic) | bit(Feature::subgroup_quad));
}

TEST(FeatureChain, KeepsDenormalsOfHalvesWhereWidthsAreIndependent) {
  auto properties = no_float_controls();
  properties.denormBehaviorIndependence = VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL;
  EXPECT_EQ(granted_by_properties(properties), FeatureMask{0});
  properties.shaderDenormPreserveFloat16 = VK_TRUE;
  EXPECT_EQ(granted_by_properties(properties), bit(Feature::float16_denormals));
  properties.denormBehaviorIndependence = VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_32_BIT_ONLY;
  EXPECT_EQ(granted_by_properties(properties), FeatureMask{0});
}

}  // namespace
}  // namespace qgen::vulkan
