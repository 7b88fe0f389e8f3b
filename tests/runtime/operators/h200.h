// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// An H200, described: what is chosen untuned there is tested without one.
#pragma once

#include "runtime/device/device_profile.h"
#include "runtime/device/estimates.h"

namespace qgen::testing {

inline DeviceProfile h200() {
  DeviceProfile device;
  device.name = "NVIDIA H200";
  device.kind = DeviceProfile::Kind::discrete;
  device.features = ~FeatureMask{0};
  device.cooperative_matrices = {{16, 16, 32, DType::i8, DType::i8, DType::i32, DType::i32, false},
                                 {16, 8, 32, DType::i8, DType::i8, DType::i32, DType::i32, false},
                                 {16, 16, 16, DType::f16, DType::f16, DType::f32, DType::f32, false},
                                 {16, 8, 16, DType::f16, DType::f16, DType::f32, DType::f32, false}};
  device.max_workgroup_count = {2147483647, 65535, 65535};
  device.max_workgroup_size = {1024, 1024, 64};
  device.min_subgroup_size = device.max_subgroup_size = 32;
  device.max_push_constants_bytes = 256;
  device.max_storage_buffers_per_stage = 1 << 20;
  device.numbers.subgroup_size = 32;
  device.numbers.max_workgroup_invocations = 1024;
  device.numbers.max_workgroup_size_x = 1024;
  device.numbers.shared_memory_bytes = 49152;
  device.numbers.max_storage_buffer_bytes = 4294967295;
  estimate({.kind = device.kind,
            .vendor_id = 0x10de,
            .device_memory_bytes = uint64_t{139} << 30,
            .reported_compute_units = 132,
            .has_fast_integer_dot = true},
           device.numbers);
  return device;
}

}  // namespace qgen::testing
