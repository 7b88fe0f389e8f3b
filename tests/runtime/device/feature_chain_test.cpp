// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Feature structs filled by hand: what is granted, what is linked, what is enabled.
#include "runtime/device/feature_chain.h"

#include <gtest/gtest.h>

namespace qgen::vulkan {
namespace {

const ExtensionSet kNone;
const ExtensionSet kMatrices({"VK_KHR_cooperative_matrix", "VK_EXT_unrelated", "VK_NV_cooperative_matrix2"});

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
  EXPECT_EQ(granted(offered), FeatureMask{0});
}

TEST(FeatureChain, GrantsByBits) {
  FeatureChain offered(kNone);
  offered.vulkan12.shaderInt8 = VK_TRUE;
  offered.vulkan13.shaderIntegerDotProduct = VK_TRUE;
  EXPECT_EQ(granted(offered), bit(Feature::shader_int8) | bit(Feature::integer_dot_product));
}

TEST(FeatureChain, NeedsEveryRowOfAFeature) {
  FeatureChain offered(kNone);
  offered.vulkan11.variablePointersStorageBuffer = VK_TRUE;
  EXPECT_EQ(granted(offered), FeatureMask{0});
  offered.vulkan11.variablePointers = VK_TRUE;
  EXPECT_EQ(granted(offered), bit(Feature::variable_pointers));
}

TEST(FeatureChain, EnablesExactlyWhatIsGranted) {
  FeatureChain offered(kMatrices), wanted(kMatrices);
  offered.features.features.geometryShader = VK_TRUE;  // no feature of qgen's
  offered.features.features.shaderInt16 = VK_TRUE;
  offered.features.features.robustBufferAccess = VK_TRUE;    // costs time, and is asked for apart
  offered.vulkan11.variablePointersStorageBuffer = VK_TRUE;  // half of a feature
  offered.vulkan13.maintenance4 = VK_TRUE;
  offered.matrix2.cooperativeMatrixFlexibleDimensions = VK_TRUE;
  enable_granted(offered, wanted);
  EXPECT_EQ(granted(wanted), granted(offered));
  EXPECT_TRUE(wanted.features.features.shaderInt16);
  EXPECT_TRUE(wanted.vulkan13.maintenance4);
  EXPECT_TRUE(wanted.matrix2.cooperativeMatrixFlexibleDimensions);
  EXPECT_FALSE(wanted.features.features.geometryShader);
  EXPECT_FALSE(wanted.features.features.robustBufferAccess);
  EXPECT_FALSE(wanted.vulkan11.variablePointersStorageBuffer);
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
  VkPhysicalDeviceVulkan11Properties properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES};
  properties.subgroupSupportedOperations = VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_QUAD_BIT;
  properties.subgroupSupportedStages = VK_SHADER_STAGE_FRAGMENT_BIT;
  EXPECT_EQ(subgroup_features(properties), FeatureMask{0});
  properties.subgroupSupportedStages = VK_SHADER_STAGE_COMPUTE_BIT;
  EXPECT_EQ(subgroup_features(properties), bit(Feature::subgroup_basic) | bit(Feature::subgroup_quad));
}

TEST(FeatureChain, KeepsDenormalsOfHalvesWhereWidthsAreIndependent) {
  VkPhysicalDeviceVulkan12Properties properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES};
  properties.denormBehaviorIndependence = VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL;
  EXPECT_EQ(float_features(properties), FeatureMask{0});
  properties.shaderDenormPreserveFloat16 = VK_TRUE;
  EXPECT_EQ(float_features(properties), bit(Feature::float16_denormals));
  properties.denormBehaviorIndependence = VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_32_BIT_ONLY;
  EXPECT_EQ(float_features(properties), FeatureMask{0});
}

}  // namespace
}  // namespace qgen::vulkan
