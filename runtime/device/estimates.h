// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What Vulkan does not tell of a device and cost models need all the same: bandwidth, arithmetic rates, launch cost.
// They rank kernels before anything was measured on the device, so ratios matter and the third digit does not.
#pragma once

#include <cstdint>

#include "runtime/device/device_profile.h"

namespace qgen {

struct EstimateInput {
  DeviceProfile::Kind kind = DeviceProfile::Kind::other;
  uint32_t vendor_id = 0;
  uint64_t device_memory_bytes = 0;
  int64_t subgroup_size = 32;
  int64_t reported_compute_units = 0;  // by a vendor's extension; 0: not told
  int64_t host_threads = 1;
  bool has_fast_integer_dot = false;  // integerDotProduct4x8BitPacked*Accelerated
};

// Sets compute_units, bytes_per_us, f32_ops_per_us, int8_ops_per_us and launch_us.
void estimate(const EstimateInput& input, DeviceNumbers& numbers);

}  // namespace qgen
