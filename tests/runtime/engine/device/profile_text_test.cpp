// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The two printed forms, whole.
#include <gtest/gtest.h>

#include "runtime/engine/device/device_profile.h"
#include "tests/support/expected_text.h"

namespace qgen {
namespace {

DeviceProfile example() {
  DeviceProfile p;
  p.name = "Example \"GPU\" 1";
  p.driver_name = "example";
  p.driver_info = "1.2\t3";
  p.vendor_id = 0x10de;
  p.device_id = 0x2b;
  p.api_version = (1u << 22) | (3u << 12) | 230u;
  p.architecture = "example";
  p.driver_version = 7;
  for (uint8_t i = 0; i < 16; ++i) p.device_uuid[i] = i;
  p.kind = DeviceProfile::Kind::discrete;
  p.numbers.compute_units = 2;
  p.sources = {{"compute_units", "the driver"}, {"launch_us", "measured on 2026-11-22"}};
  p.features = bit(Feature::shader_int8) | bit(Feature::subgroup_basic);
  p.cooperative_matrices = {{16, 16, 32, DType::i8, DType::i8, DType::i32, DType::i32, false}};
  p.matrix_rates = {{p.cooperative_matrices[0], 2.5e8}};
  p.min_subgroup_size = p.max_subgroup_size = 32;
  p.has_subgroup_size_control = true;
  p.device_memory_bytes = uint64_t{3} << 29;
  p.timestamp_period_ns = 0.5;
  return p;
}

TEST(ProfileText, ForPeople) {
  EXPECT_TEXT(to_text(example()),
              "Example \"GPU\" 1\n"
              "  kind                   discrete\n"
              "  driver                 example 1.2\t3\n"
              "  Vulkan                 1.3.230\n"
              "  vendor, device         0x10de, 0x002b\n"
              "  architecture           example\n"
              "  device UUID            00010203-0405-0607-0809-0a0b0c0d0e0f\n"
              "  driver UUID            00000000-0000-0000-0000-000000000000\n"
              "  memory                 1.5 GiB\n"
              "  storage buffer         up to 128 MiB\n"
              "  3-D image              up to 256 a side\n"
              "  shared memory          16384 bytes\n"
              "  workgroup              up to 128 invocations, 128 x 128 x 64\n"
              "  workgroups             up to 65535 x 65535 x 65535\n"
              "  subgroup               32 (32 to 32, selectable)\n"
              "  packed dot products    not accelerated\n"
              "  push constants         128 bytes\n"
              "  timestamps             0.5 ns a tick\n"
              "  compute units          2                the driver\n"
              "  memory bandwidth       10 GB/s          estimated\n"
              "  last cache             1 MiB            estimated\n"
              "    its bandwidth        20 GB/s          estimated\n"
              "  f32                    0.1 TFLOP/s      estimated\n"
              "  f16                    0.1 TFLOP/s      estimated\n"
              "  int8                   0.1 TOP/s        estimated\n"
              "  int8 by matrices       0.1 TOP/s        estimated\n"
              "  f16 by matrices        0.1 TFLOP/s      estimated\n"
              "  an empty launch        5 us             measured on 2026-11-22\n"
              "    of it the barrier    1 us             estimated\n"
              "  features               shader_int8 subgroup_basic\n"
              "  cooperative matrices    16 x 16 x 32  i8 x i8 + i32 -> i32, subgroup scope, 250 TOP/s\n");
}

TEST(ProfileText, ForPrograms) {
  EXPECT_TEXT(to_json(example()), R"({
  "name": "Example \"GPU\" 1",
  "driver_name": "example",
  "driver_info": "1.2\t3",
  "vendor_id": 4318,
  "device_id": 43,
  "api_version": "1.3.230",
  "driver_version": 7,
  "architecture": "example",
  "device_uuid": "00010203-0405-0607-0809-0a0b0c0d0e0f",
  "driver_uuid": "00000000-0000-0000-0000-000000000000",
  "kind": "discrete",
  "subgroup_size": 32,
  "max_workgroup_invocations": 128,
  "max_workgroup_size_x": 128,
  "shared_memory_bytes": 16384,
  "max_storage_buffer_bytes": 134217728,
  "max_image_extent": 256,
  "is_cpu": false,
  "is_integrated": false,
  "compute_units": 2,
  "bytes_per_us": 10000.0,
  "cache_bytes": 1048576,
  "cache_bytes_per_us": 20000.0,
  "f32_ops_per_us": 100000.0,
  "f16_ops_per_us": 100000.0,
  "int8_ops_per_us": 100000.0,
  "int8_matrix_ops_per_us": 100000.0,
  "f16_matrix_ops_per_us": 100000.0,
  "launch_us": 5.0,
  "barrier_us": 1.0,
  "sources": {"compute_units": "the driver", "launch_us": "measured on 2026-11-22"},
  "features": ["shader_int8", "subgroup_basic"],
  "distrusted": [],
  "distrusted_kernels": [],
  "cooperative_matrices": [
    {"m": 16, "n": 16, "k": 32, "a": "i8", "b": "i8", "c": "i32", "result": "i32", "scope": "subgroup", "ops_per_us": 250000000.0}
  ],
  "flexible_cooperative_matrices": [],
  "max_workgroup_count": [65535, 65535, 65535],
  "max_workgroup_size": [128, 128, 64],
  "min_subgroup_size": 32,
  "max_subgroup_size": 32,
  "has_subgroup_size_control": true,
  "has_fast_integer_dot": false,
  "max_push_constants_bytes": 128,
  "max_bound_sets": 4,
  "max_storage_buffers_per_stage": 4,
  "max_storage_images_per_stage": 4,
  "storage_buffer_alignment_bytes": 256,
  "device_memory_bytes": 1610612736,
  "timestamp_period_ns": 0.5
})");
}

}  // namespace
}  // namespace qgen
