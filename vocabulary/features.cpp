// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The names and capabilities of the rows of feature_rows.inc. runtime/engine/device has the Vulkan features for them.
#include "vocabulary/features.h"

#include <algorithm>
#include <array>

namespace qgen {
namespace {

// Every device of Vulkan 1.1 takes these, the last one by an extension. Only capabilities that a compute shader can
// declare.
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
#define QGEN_FEATURE(name, capabilities, grant) {Feature::name, #name, capabilities},
#define SPIRV(...) kCapabilities<__VA_ARGS__>
#include "vocabulary/feature_rows.inc"
};

constexpr FeatureRow kNoFeature = {Feature::count_, "?", {}};

}  // namespace

std::span<const FeatureRow> feature_table() { return kTable; }

std::string_view name(Feature feature) { return row_of(kTable, feature, kNoFeature).name; }

std::vector<std::string_view> names(FeatureMask mask) {
  std::vector<std::string_view> result;
  for (const FeatureRow& row : kTable) {
    if (mask & bit(row.feature)) result.push_back(row.name);
  }
  return result;
}

FeatureMask guaranteed_features(uint32_t api_version) {
  constexpr uint32_t kVulkan1_2 = (1U << 22) | (2U << 12);
  if (api_version != 0 && api_version < kVulkan1_2) return 0;
  return bit(Feature::uniform_buffer_standard_layout) | bit(Feature::subgroup_extended_types);
}

CapabilityNeed need_of_capability(uint32_t spirv_capability) {
  for (const FeatureRow& row : kTable) {
    if (std::ranges::count(row.spirv_capabilities, spirv_capability) > 0) return {row.feature, false};
  }
  return {std::nullopt, std::ranges::count(kAlwaysThere, spirv_capability) > 0};
}

}  // namespace qgen
