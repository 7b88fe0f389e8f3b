// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What a device can do, as a plain value without Vulkan in it. Tests write profiles by hand.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/library/kernel_info.h"
#include "vocabulary/features.h"

namespace qgen {

struct DeviceProfile {
  std::string name;         // "NVIDIA H200"
  std::string driver_name;  // "NVIDIA"
  std::string driver_info;  // "580.95.05"
  uint32_t vendor_id = 0;
  uint32_t device_id = 0;
  uint32_t api_version = 0;  // as VK_MAKE_API_VERSION packs it
  uint32_t driver_version = 0;
  std::array<uint8_t, 16> device_uuid{};
  std::array<uint8_t, 16> driver_uuid{};
  enum class Kind : uint8_t { other, integrated, discrete, virtual_gpu, cpu } kind = Kind::other;

  DeviceNumbers numbers;  // what expressions may read
  FeatureMask features = 0;
  std::vector<CooperativeMatrixShape> cooperative_matrices;
  std::vector<CooperativeMatrixShape> flexible_cooperative_matrices;  // NV_cooperative_matrix2: m, n, k are granules

  std::array<uint32_t, 3> max_workgroup_count{65535, 65535, 65535};
  std::array<uint32_t, 3> max_workgroup_size{128, 128, 64};
  uint32_t min_subgroup_size = 0;
  uint32_t max_subgroup_size = 0;
  bool has_subgroup_size_control = false;
  uint32_t max_push_constants_bytes = 128;
  uint32_t max_bound_sets = 4;
  uint32_t max_storage_buffers_per_stage = 4;
  uint32_t max_storage_images_per_stage = 4;
  uint32_t storage_buffer_alignment_bytes = 256;
  uint64_t device_memory_bytes = 0;
  double timestamp_period_ns = 0;  // 0: no timestamps on the compute queue
};

// For people; and as one JSON object, keys in a fixed order.
std::string to_text(const DeviceProfile& profile);
std::string to_json(const DeviceProfile& profile);

}  // namespace qgen
