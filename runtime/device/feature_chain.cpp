// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Two tables decide everything here: which extension brings which struct, and which Vulkan bits a feature rests on.
// A feature with several rows needs them all.
#include "runtime/device/feature_chain.h"

#include <algorithm>
#include <array>
#include <utility>

namespace qgen::vulkan {
namespace {

struct ExtensionRow {
  const char* name;
  void* (*link)(FeatureChain& chain, void* next);  // returns the struct, with `next` behind it
};

template <auto member>
void* link(FeatureChain& chain, void* next) {
  (chain.*member).pNext = next;
  return &(chain.*member);
}

constexpr ExtensionRow kExtensions[] = {
    {VK_KHR_SHADER_SUBGROUP_ROTATE_EXTENSION_NAME, link<&FeatureChain::rotate>},
    {VK_KHR_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_EXTENSION_NAME, link<&FeatureChain::explicit_layout>},
    {VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME, link<&FeatureChain::matrix>},
    {VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME, link<&FeatureChain::matrix2>},
    {VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME, link<&FeatureChain::bfloat16>},
};

using Bit = VkBool32& (*)(FeatureChain&);
#define QGEN_BIT(member) [](FeatureChain& chain) -> VkBool32& { return chain.member; }

struct Grant {
  Feature feature;
  Bit bit;
};

constexpr Grant kGrants[] = {
    {Feature::shader_int8, QGEN_BIT(vulkan12.shaderInt8)},
    {Feature::shader_int16, QGEN_BIT(features.features.shaderInt16)},
    {Feature::shader_int64, QGEN_BIT(features.features.shaderInt64)},
    {Feature::shader_float16, QGEN_BIT(vulkan12.shaderFloat16)},
    {Feature::shader_float64, QGEN_BIT(features.features.shaderFloat64)},
    {Feature::storage_buffer_8bit, QGEN_BIT(vulkan12.storageBuffer8BitAccess)},
    {Feature::storage_buffer_16bit, QGEN_BIT(vulkan11.storageBuffer16BitAccess)},
    {Feature::uniform_buffer_8bit, QGEN_BIT(vulkan12.uniformAndStorageBuffer8BitAccess)},
    {Feature::uniform_buffer_16bit, QGEN_BIT(vulkan11.uniformAndStorageBuffer16BitAccess)},
    {Feature::push_constant_8bit, QGEN_BIT(vulkan12.storagePushConstant8)},
    {Feature::push_constant_16bit, QGEN_BIT(vulkan11.storagePushConstant16)},
    {Feature::integer_dot_product, QGEN_BIT(vulkan13.shaderIntegerDotProduct)},
    {Feature::storage_image_extended_formats, QGEN_BIT(features.features.shaderStorageImageExtendedFormats)},
    {Feature::storage_image_read_without_format, QGEN_BIT(features.features.shaderStorageImageReadWithoutFormat)},
    {Feature::storage_image_write_without_format, QGEN_BIT(features.features.shaderStorageImageWriteWithoutFormat)},
    {Feature::subgroup_rotate, QGEN_BIT(rotate.shaderSubgroupRotate)},
    {Feature::vulkan_memory_model, QGEN_BIT(vulkan12.vulkanMemoryModel)},
    {Feature::buffer_device_address, QGEN_BIT(vulkan12.bufferDeviceAddress)},
    {Feature::variable_pointers, QGEN_BIT(vulkan11.variablePointers)},
    {Feature::variable_pointers, QGEN_BIT(vulkan11.variablePointersStorageBuffer)},
    {Feature::shared_memory_explicit_layout, QGEN_BIT(explicit_layout.workgroupMemoryExplicitLayout)},
    {Feature::shared_memory_explicit_layout, QGEN_BIT(explicit_layout.workgroupMemoryExplicitLayout8BitAccess)},
    {Feature::shared_memory_explicit_layout, QGEN_BIT(explicit_layout.workgroupMemoryExplicitLayout16BitAccess)},
    {Feature::cooperative_matrix, QGEN_BIT(matrix.cooperativeMatrix)},
    {Feature::cooperative_matrix2_reductions, QGEN_BIT(matrix2.cooperativeMatrixReductions)},
    {Feature::cooperative_matrix2_conversions, QGEN_BIT(matrix2.cooperativeMatrixConversions)},
    {Feature::cooperative_matrix2_per_element, QGEN_BIT(matrix2.cooperativeMatrixPerElementOperations)},
    {Feature::cooperative_matrix2_tensor_addressing, QGEN_BIT(matrix2.cooperativeMatrixTensorAddressing)},
    {Feature::cooperative_matrix2_block_loads, QGEN_BIT(matrix2.cooperativeMatrixBlockLoads)},
    {Feature::bfloat16, QGEN_BIT(bfloat16.shaderBFloat16Type)},
};

// Bits without a feature of their own: conditions of the dispatcher, and companions of the features above. Each is
// enabled where it is offered.
// clang-format off
constexpr Bit kCompanions[] = {
    QGEN_BIT(vulkan13.maintenance4),           // LocalSizeId: workgroup sizes by specialization constants
    QGEN_BIT(vulkan13.subgroupSizeControl),    // kernels that ask for one subgroup size
    QGEN_BIT(vulkan13.computeFullSubgroups),
    QGEN_BIT(vulkan12.shaderSubgroupExtendedTypes),  // subgroup operations on 8 and 16 bits
    QGEN_BIT(vulkan12.vulkanMemoryModelDeviceScope),
    QGEN_BIT(matrix2.cooperativeMatrixWorkgroupScope),
    QGEN_BIT(matrix2.cooperativeMatrixFlexibleDimensions),
    QGEN_BIT(bfloat16.shaderBFloat16DotProduct),
    QGEN_BIT(bfloat16.shaderBFloat16CooperativeMatrix),
};
// clang-format on
#undef QGEN_BIT

struct SubgroupRow {
  VkSubgroupFeatureFlagBits operation;
  Feature feature;
};
constexpr SubgroupRow kSubgroupOperations[] = {
    {VK_SUBGROUP_FEATURE_BASIC_BIT, Feature::subgroup_basic},
    {VK_SUBGROUP_FEATURE_VOTE_BIT, Feature::subgroup_vote},
    {VK_SUBGROUP_FEATURE_ARITHMETIC_BIT, Feature::subgroup_arithmetic},
    {VK_SUBGROUP_FEATURE_BALLOT_BIT, Feature::subgroup_ballot},
    {VK_SUBGROUP_FEATURE_SHUFFLE_BIT, Feature::subgroup_shuffle},
    {VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT, Feature::subgroup_shuffle_relative},
    {VK_SUBGROUP_FEATURE_CLUSTERED_BIT, Feature::subgroup_clustered},
    {VK_SUBGROUP_FEATURE_QUAD_BIT, Feature::subgroup_quad},
};

}  // namespace

ExtensionSet::ExtensionSet(std::vector<std::string> names) : names_(std::move(names)) {
  std::sort(names_.begin(), names_.end());
}
bool ExtensionSet::has(std::string_view name) const { return std::binary_search(names_.begin(), names_.end(), name); }

FeatureChain::FeatureChain(const ExtensionSet& extensions) {
  void* next = nullptr;
  for (const ExtensionRow& row : kExtensions) {
    if (extensions.has(row.name)) next = row.link(*this, next);
  }
  vulkan13.pNext = next;
  vulkan12.pNext = &vulkan13;
  vulkan11.pNext = &vulkan12;
  features.pNext = &vulkan11;
}

std::vector<const char*> linked_extensions(const ExtensionSet& extensions) {
  std::vector<const char*> names;
  for (const ExtensionRow& row : kExtensions) {
    if (extensions.has(row.name)) names.push_back(row.name);
  }
  return names;
}

FeatureMask granted(FeatureChain& offered) {
  FeatureMask mask = 0;
  for (const Grant& grant : kGrants) mask |= bit(grant.feature);
  for (const Grant& grant : kGrants) {
    if (!grant.bit(offered)) mask &= ~bit(grant.feature);
  }
  return mask;
}

FeatureMask subgroup_features(const VkPhysicalDeviceVulkan11Properties& properties) {
  FeatureMask mask = 0;
  if (!(properties.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT)) return mask;
  for (const SubgroupRow& row : kSubgroupOperations) {
    if (properties.subgroupSupportedOperations & row.operation) mask |= bit(row.feature);
  }
  return mask;
}

// Kernels say how halves treat denormals and leave the other widths open, which needs widths that are independent.
FeatureMask float_features(const VkPhysicalDeviceVulkan12Properties& properties) {
  const bool keeps = properties.shaderDenormPreserveFloat16 &&
                     properties.denormBehaviorIndependence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL;
  return keeps ? bit(Feature::float16_denormals) : 0;
}

void enable_granted(FeatureChain& offered, FeatureChain& wanted) {
  const FeatureMask mask = granted(offered);
  for (const Grant& grant : kGrants) {
    if (mask & bit(grant.feature)) grant.bit(wanted) = VK_TRUE;
  }
  for (const Bit companion : kCompanions) companion(wanted) = companion(offered);
}

void enable_robust_buffer_access(const FeatureChain& offered, FeatureChain& wanted) {
  wanted.features.features.robustBufferAccess = offered.features.features.robustBufferAccess;
}

}  // namespace qgen::vulkan
