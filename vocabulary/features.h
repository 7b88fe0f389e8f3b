// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The device features that kernels can need, one bit of a FeatureMask each. feature_rows.inc is their only table:
// qgen's name, the SPIR-V capabilities that need it, and the Vulkan feature or extension that grants it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vocabulary/rows.h"

namespace qgen {

enum class Feature : uint8_t {
#define QGEN_FEATURE(name, capabilities, grant) name,
#include "vocabulary/feature_rows.inc"
  count_,
};

// One bit for each feature.
using FeatureMask = uint64_t;
static_assert(static_cast<size_t>(Feature::count_) <= 64, "a FeatureMask has 64 bits");

constexpr FeatureMask bit(Feature feature) { return bit_of<FeatureMask>(feature); }

struct FeatureRow {
  Feature feature;
  std::string_view name;                         // "storage_buffer_8bit"
  std::span<const uint32_t> spirv_capabilities;  // SpvCapability values; any of them needs it
};
std::span<const FeatureRow> feature_table();  // by Feature, in order

std::string_view name(Feature feature);
std::vector<std::string_view> names(FeatureMask mask);

// Modules with these are of SPIR-V 1.4 at least, which a device of Vulkan 1.1 has by an extension.
constexpr FeatureMask kFeaturesOfSpirv1_4 = bit(Feature::shared_memory_explicit_layout) |
                                            bit(Feature::shared_memory_explicit_layout_8bit) |
                                            bit(Feature::shared_memory_explicit_layout_16bit);

// The features that every device of this Vulkan version has; the version is packed by VK_MAKE_API_VERSION. An unknown
// version, 0, counts as the newest. Of the others, only the device's list says whether it has them.
FeatureMask guaranteed_features(uint32_t api_version);

// The feature that a SPIR-V capability needs. nullopt with `is_always_there` true: every device of Vulkan 1.1 has it
// (Shader, Matrix, ...); with false: qgen does not know it.
struct CapabilityNeed {
  std::optional<Feature> feature;
  bool is_always_there = false;
};
CapabilityNeed need_of_capability(uint32_t spirv_capability);

}  // namespace qgen
