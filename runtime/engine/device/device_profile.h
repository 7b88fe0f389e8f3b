// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The features, limits and speeds of a device, as a plain value without Vulkan. Tests write profiles by hand.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/engine/library/kernel_info.h"
#include "vocabulary/features.h"

namespace qgen {

// How fast multiply-adds of one cooperative-matrix shape are, two operations each.
struct MatrixRate {
  CooperativeMatrixShape shape;
  double ops_per_us = 0;
  friend bool operator==(const MatrixRate&, const MatrixRate&) = default;
};

struct DeviceProfile {
  std::string name;         // "NVIDIA H200"
  std::string driver_name;  // "NVIDIA"
  std::string driver_info;  // "580.95.05"
  uint32_t vendor_id = 0;
  uint32_t device_id = 0;
  std::string architecture;  // "hopper", as architecture_of() calls it; "": not known
  uint32_t api_version = 0;  // as VK_MAKE_API_VERSION packs it
  uint32_t driver_version = 0;
  std::array<uint8_t, 16> device_uuid{};
  std::array<uint8_t, 16> driver_uuid{};
  enum class Kind : uint8_t { other, integrated, discrete, virtual_gpu, cpu } kind = Kind::other;

  DeviceNumbers numbers;  // names that expressions may read
  // Where some of the numbers come from, by name ("bytes_per_us": "measured on 2026-11-22"). The other numbers are
  // limits, which Vulkan reports, and estimates.
  std::map<std::string, std::string, std::less<>> sources;
  FeatureMask features = 0;
  FeatureMask distrusted =
      0;  // features that the driver offers and is known to get wrong (quirks.h); not in `features`
  std::vector<std::string> distrusted_kernels;  // beginnings of their ids; the driver computes them wrongly (quirks.h)
  std::vector<CooperativeMatrixShape> cooperative_matrices;
  std::vector<CooperativeMatrixShape> flexible_cooperative_matrices;  // NV_cooperative_matrix2: m, n, k are granules
  std::vector<MatrixRate> matrix_rates;                               // of the shapes that were measured

  std::array<uint32_t, 3> max_workgroup_count{65535, 65535, 65535};
  std::array<uint32_t, 3> max_workgroup_size{128, 128, 64};
  uint32_t min_subgroup_size = 0;
  uint32_t max_subgroup_size = 0;
  bool has_subgroup_size_control = false;
  bool has_fast_integer_dot = false;  // integerDotProduct4x8BitPackedSignedAccelerated
  uint32_t max_push_constants_bytes = 128;
  uint32_t max_bound_sets = 4;
  uint32_t max_storage_buffers_per_stage = 4;
  uint32_t max_storage_images_per_stage = 4;
  uint32_t storage_buffer_alignment_bytes = 256;
  uint64_t device_memory_bytes = 0;
  double timestamp_period_ns = 0;  // 0: no timestamps on the compute queue

  // The missing ones of these features. Features that its Vulkan version guarantees are there, even if `features` does
  // not list them.
  FeatureMask missing(FeatureMask needs) const { return needs & ~(features | guaranteed_features(api_version)); }
  friend bool operator==(const DeviceProfile&, const DeviceProfile&) = default;
};

// As UUIDs are written: 8-4-4-4-12.
std::string uuid_text(const std::array<uint8_t, 16>& uuid);
// For people; and as one JSON object, keys in a fixed order.
std::string to_text(const DeviceProfile& profile);
std::string to_json(const DeviceProfile& profile);

}  // namespace qgen
