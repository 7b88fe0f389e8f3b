// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The one table of features. A row is a feature of Vulkan that a device may lack, and the SPIR-V capabilities that a
// module declares when it uses it. Capabilities stand here by number, so that this library needs no SPIR-V header;
// the names beside them are the specification's own.
#include "runtime/library/features.h"

#include <algorithm>
#include <array>

namespace qgen {
namespace {

// Every Vulkan 1.3 device takes these: core since 1.0, or mandatory since. Only what a compute shader can declare.
constexpr uint32_t kAlwaysThere[] = {
    0,     // Matrix
    1,     // Shader
    43,    // Sampled1D
    44,    // Image1D
    46,    // SampledBuffer
    47,    // ImageBuffer
    50,    // ImageQuery
    4437,  // DeviceGroup
    5301,  // ShaderNonUniform
};

template <uint32_t... kNumbers>
constexpr std::array<uint32_t, sizeof...(kNumbers)> kCapabilities{kNumbers...};

constexpr FeatureRow kTable[] = {
    {Feature::shader_int8, "shader_int8", kCapabilities<39>},                      // Int8
    {Feature::shader_int16, "shader_int16", kCapabilities<22>},                    // Int16
    {Feature::shader_int64, "shader_int64", kCapabilities<11>},                    // Int64
    {Feature::shader_float16, "shader_float16", kCapabilities<9>},                 // Float16
    {Feature::shader_float64, "shader_float64", kCapabilities<10>},                // Float64
    {Feature::storage_buffer_8bit, "storage_buffer_8bit", kCapabilities<4448>},    // StorageBuffer8BitAccess
    {Feature::storage_buffer_16bit, "storage_buffer_16bit", kCapabilities<4433>},  // StorageBuffer16BitAccess
    {Feature::uniform_buffer_8bit, "uniform_buffer_8bit", kCapabilities<4449>},    // UniformAndStorageBuffer8BitAccess
    {Feature::uniform_buffer_16bit, "uniform_buffer_16bit", kCapabilities<4434>},  // UniformAndStorageBuffer16BitAccess
    {Feature::push_constant_8bit, "push_constant_8bit", kCapabilities<4450>},      // StoragePushConstant8
    {Feature::push_constant_16bit, "push_constant_16bit", kCapabilities<4435>},    // StoragePushConstant16
    // DotProductInputAll, DotProductInput4x8Bit, DotProductInput4x8BitPacked, DotProduct
    {Feature::integer_dot_product, "integer_dot_product", kCapabilities<6016, 6017, 6018, 6019>},
    {Feature::storage_image_extended_formats, "storage_image_extended_formats", kCapabilities<49>},          // the same
    {Feature::storage_image_read_without_format, "storage_image_read_without_format", kCapabilities<55>},    // the same
    {Feature::storage_image_write_without_format, "storage_image_write_without_format", kCapabilities<56>},  // the same
    {Feature::subgroup_basic, "subgroup_basic", kCapabilities<61>},                        // GroupNonUniform
    {Feature::subgroup_vote, "subgroup_vote", kCapabilities<62>},                          // GroupNonUniformVote
    {Feature::subgroup_arithmetic, "subgroup_arithmetic", kCapabilities<63>},              // GroupNonUniformArithmetic
    {Feature::subgroup_ballot, "subgroup_ballot", kCapabilities<64>},                      // GroupNonUniformBallot
    {Feature::subgroup_shuffle, "subgroup_shuffle", kCapabilities<65>},                    // GroupNonUniformShuffle
    {Feature::subgroup_shuffle_relative, "subgroup_shuffle_relative", kCapabilities<66>},  // ...ShuffleRelative
    {Feature::subgroup_clustered, "subgroup_clustered", kCapabilities<67>},                // GroupNonUniformClustered
    {Feature::subgroup_quad, "subgroup_quad", kCapabilities<68>},                          // GroupNonUniformQuad
    {Feature::subgroup_rotate, "subgroup_rotate", kCapabilities<6026>},                    // GroupNonUniformRotateKHR
    {Feature::vulkan_memory_model, "vulkan_memory_model", kCapabilities<5345>},            // VulkanMemoryModel
    // VulkanMemoryModelDeviceScope
    {Feature::vulkan_memory_model_device_scope, "vulkan_memory_model_device_scope", kCapabilities<5346>},
    {Feature::buffer_device_address, "buffer_device_address", kCapabilities<5347>},  // PhysicalStorageBufferAddresses
    // VariablePointersStorageBuffer
    {Feature::variable_pointers_storage_buffer, "variable_pointers_storage_buffer", kCapabilities<4441>},
    {Feature::variable_pointers, "variable_pointers", kCapabilities<4442>},  // VariablePointers
    // WorkgroupMemoryExplicitLayoutKHR, ...8BitAccessKHR, ...16BitAccessKHR
    {Feature::shared_memory_explicit_layout, "shared_memory_explicit_layout", kCapabilities<4428>},
    {Feature::shared_memory_explicit_layout_8bit, "shared_memory_explicit_layout_8bit", kCapabilities<4429>},
    {Feature::shared_memory_explicit_layout_16bit, "shared_memory_explicit_layout_16bit", kCapabilities<4430>},
    {Feature::atomic_int64, "atomic_int64", kCapabilities<12>},                // Int64Atomics
    {Feature::atomic_float32_add, "atomic_float32_add", kCapabilities<6033>},  // AtomicFloat32AddEXT
    {Feature::atomic_float16_add, "atomic_float16_add", kCapabilities<6095>},  // AtomicFloat16AddEXT
    {Feature::cooperative_matrix, "cooperative_matrix", kCapabilities<6022>},  // CooperativeMatrixKHR
    // CooperativeMatrixReductionsNV, ...ConversionsNV, ...PerElementOperationsNV
    {Feature::cooperative_matrix2_reductions, "cooperative_matrix2_reductions", kCapabilities<5430>},
    {Feature::cooperative_matrix2_conversions, "cooperative_matrix2_conversions", kCapabilities<5431>},
    {Feature::cooperative_matrix2_per_element, "cooperative_matrix2_per_element", kCapabilities<5432>},
    // CooperativeMatrixTensorAddressingNV, TensorAddressingNV
    {Feature::cooperative_matrix2_tensor_addressing, "cooperative_matrix2_tensor_addressing",
     kCapabilities<5433, 5439>},
    {Feature::cooperative_matrix2_block_loads, "cooperative_matrix2_block_loads",
     kCapabilities<5434>},                                                         // ...BlockLoadsNV
    {Feature::bfloat16, "bfloat16", kCapabilities<5116>},                          // BFloat16TypeKHR
    {Feature::bfloat16_dot_product, "bfloat16_dot_product", kCapabilities<5117>},  // BFloat16DotProductKHR
    {Feature::bfloat16_cooperative_matrix, "bfloat16_cooperative_matrix",
     kCapabilities<5118>},                                                   // ...CooperativeMatrixKHR
    {Feature::float16_denormals, "float16_denormals", kCapabilities<4464>},  // DenormPreserve, of halves
};

constexpr bool is_in_order() {
  for (size_t i = 0; i < std::size(kTable); ++i) {
    if (static_cast<size_t>(kTable[i].feature) != i) return false;
  }
  return std::size(kTable) == static_cast<size_t>(Feature::count_);
}
static_assert(is_in_order(), "the table has one row a Feature, in the enum's order: feature_table()[i] is Feature(i)");

}  // namespace

std::span<const FeatureRow> feature_table() { return kTable; }

std::string_view name(Feature feature) { return kTable[static_cast<size_t>(feature)].name; }

std::vector<std::string_view> names(FeatureMask mask) {
  std::vector<std::string_view> result;
  for (const FeatureRow& row : kTable) {
    if (mask & bit(row.feature)) result.push_back(row.name);
  }
  return result;
}

CapabilityNeed need_of_capability(uint32_t spirv_capability) {
  for (const FeatureRow& row : kTable) {
    if (std::ranges::count(row.spirv_capabilities, spirv_capability) > 0) return {row.feature, false};
  }
  return {std::nullopt, std::ranges::count(kAlwaysThere, spirv_capability) > 0};
}

}  // namespace qgen
