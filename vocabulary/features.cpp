// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The names and capabilities of the rows of feature_rows.inc. The Vulkan features behind them are for
// runtime/engine/device.
#include "vocabulary/features.h"

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

CapabilityNeed need_of_capability(uint32_t spirv_capability) {
  for (const FeatureRow& row : kTable) {
    if (std::ranges::count(row.spirv_capabilities, spirv_capability) > 0) return {row.feature, false};
  }
  return {std::nullopt, std::ranges::count(kAlwaysThere, spirv_capability) > 0};
}

}  // namespace qgen
