// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The device features that kernels can need, one bit of a FeatureMask each. The one table of them is features.cpp:
// qgen's name, the SPIR-V capabilities that ask for it, and the Vulkan feature or extension that grants it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/library/kernel_info.h"

namespace qgen {

enum class Feature : uint8_t {
  shader_int8,
  shader_int16,
  shader_int64,
  shader_float16,
  shader_float64,
  storage_buffer_8bit,
  storage_buffer_16bit,
  uniform_buffer_8bit,
  uniform_buffer_16bit,
  push_constant_8bit,
  push_constant_16bit,
  integer_dot_product,
  storage_image_extended_formats,
  storage_image_read_without_format,
  storage_image_write_without_format,
  subgroup_basic,
  subgroup_vote,
  subgroup_arithmetic,
  subgroup_ballot,
  subgroup_shuffle,
  subgroup_shuffle_relative,
  subgroup_clustered,
  subgroup_quad,
  subgroup_rotate,
  vulkan_memory_model,
  vulkan_memory_model_device_scope,
  buffer_device_address,
  variable_pointers_storage_buffer,
  variable_pointers,
  shared_memory_explicit_layout,
  shared_memory_explicit_layout_8bit,
  shared_memory_explicit_layout_16bit,
  atomic_int64,
  atomic_float32_add,
  atomic_float16_add,
  cooperative_matrix,
  cooperative_matrix2_reductions,
  cooperative_matrix2_conversions,
  cooperative_matrix2_per_element,
  cooperative_matrix2_tensor_addressing,
  cooperative_matrix2_block_loads,
  bfloat16,
  bfloat16_dot_product,
  bfloat16_cooperative_matrix,
  float16_denormals,
  count_,
};

static_assert(static_cast<size_t>(Feature::count_) <= 64, "a FeatureMask has 64 bits");

constexpr FeatureMask bit(Feature feature) { return FeatureMask{1} << static_cast<unsigned>(feature); }

struct FeatureRow {
  Feature feature;
  std::string_view name;                         // "storage_buffer_8bit"
  std::span<const uint32_t> spirv_capabilities;  // SpvCapability values, any of which asks for it
};
std::span<const FeatureRow> feature_table();  // by Feature, in order

std::string_view name(Feature feature);
std::vector<std::string_view> names(FeatureMask mask);

// The feature that a SPIR-V capability asks for. nullopt with `is_always_there` true: every Vulkan 1.3 device has it
// (Shader, Matrix, ...); with false: qgen does not know it.
struct CapabilityNeed {
  std::optional<Feature> feature;
  bool is_always_there = false;
};
CapabilityNeed need_of_capability(uint32_t spirv_capability);

}  // namespace qgen
