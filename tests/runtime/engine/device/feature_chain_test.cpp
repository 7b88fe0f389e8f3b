// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Feature structs filled by hand: what is granted, what is linked, what is enabled.
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
  offered.features.features.robustBufferAccess = VK_TRUE;  // costs time, and is asked for apart
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
