// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Estimates of the numbers that costs need and Vulkan does not report: bandwidths, throughputs, launch overheads. They
// rank kernels before anything was measured on the device. So their ratios matter, and their third digits do not.
#pragma once

#include <cstdint>

#include "runtime/engine/device/device_profile.h"

namespace qgen {

struct EstimateInput {
  DeviceProfile::Kind kind = DeviceProfile::Kind::other;
  uint32_t vendor_id = 0;
  uint64_t device_memory_bytes = 0;
  int64_t subgroup_size = 32;
  int64_t reported_compute_units = 0;  // by a vendor's extension; 0: unknown
  int64_t host_threads = 1;
  bool has_fast_integer_dot = false;  // integerDotProduct4x8BitPacked*Accelerated
  bool has_float16 = false;           // f16 arithmetic
  bool has_int8_matrices = false;     // cooperative matrices
  bool has_f16_matrices = false;
};
// The facts that the profile has. Its compute units are the reported ones; host_threads is not set.
EstimateInput estimate_input(const DeviceProfile& profile);

// Sets compute_units and all numbers after it, except for is_cpu and is_integrated, which Vulkan reports.
void estimate(const EstimateInput& input, DeviceNumbers& numbers);

}  // namespace qgen
