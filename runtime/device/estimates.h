// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What Vulkan does not tell of a device and cost models need all the same: bandwidths, arithmetic rates, what a launch
// costs. They rank kernels before anything was measured on the device, so ratios matter and the third digit does not.
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
  bool has_float16 = false;           // arithmetic of halves
  bool has_int8_matrices = false;     // cooperative matrices
  bool has_f16_matrices = false;
};
// What the profile says of these; its compute units are the reported ones, host_threads is left as it is.
EstimateInput estimate_input(const DeviceProfile& profile);

// Sets compute_units and what stands behind it, but for what is told rather than estimated: is_cpu, is_integrated.
void estimate(const EstimateInput& input, DeviceNumbers& numbers);

}  // namespace qgen
