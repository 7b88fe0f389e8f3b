// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A rate is units * per-unit figure. The figures below are data sheets divided by their unit counts:
//
//   NVIDIA    an SM has 128 f32 lanes near 1.7 GHz. Memory: RTX 3090 936 GB/s over 82 SMs, RTX 4090 1008 over 128,
//             RTX 4060 272 over 24: about 10 GB/s an SM. With HBM (H100 3350 over 132, H200 4800 over 132): about 30.
//             Tensor cores: H200 1979 int8 TOP/s over 132: 15 an SM; RTX 4090 661 over 128: 5; of f16 half as many.
//             Second-level cache: H200 50 MB, RTX 4090 72 MB
//   AMD       a CU has 64 f32 lanes near 2.2 GHz. RX 6800 512 GB/s over 60 CUs, RX 7900 XTX 960 over 96: about 9.
//             Matrices: RX 7900 XTX 123 TFLOP/s of f16 and as many TOP/s of int8 over 96 CUs: 1.3 a CU. Its
//             last-level cache: 96 MB
//   Intel     an Arc Xe core has 128 f32 lanes near 2.1 GHz. A770 560 GB/s over 32: 17. Matrices: 275 int8 TOP/s over
//             32 Xe cores: 8.6 a core, of f16 half as many. Second-level cache: 16 MB
//   others    a guess between the three
//   integrated  the host's memory: 50 GB/s for the whole device; phones (Arm, Qualcomm) 30. Caches: a guess
//   CPU       llvmpipe: a thread does one subgroup-wide multiply-add a cycle at best; a third of 3 GHz is what loops
//             keep. Memory: 4 GB/s a thread
//
// A packed dot product does four multiply-adds where a lane does one, on devices that say they accelerate it. Halves
// are computed at twice the rate of f32, on NVIDIA's and on CPUs at the same. A cache has three times the bandwidth of
// memory (measured on an H200: 2.1), and a barrier takes a third of an empty launch: both are guesses.
#include "runtime/engine/device/estimates.h"

#include <algorithm>

namespace qgen {
namespace {

constexpr uint32_t kAmd = 0x1002, kNvidia = 0x10de, kArm = 0x13b5, kQualcomm = 0x5143, kIntel = 0x8086;
// Cards with more memory than this have HBM: the largest GDDR cards end at 48 GB, workstation ones at 96.
constexpr uint64_t kHbmBytes = uint64_t{70} << 30;

struct Rates {
  int64_t units;                  // where the driver does not say
  double bytes_per_us;            // a unit; 1 GB/s is 1000 bytes/us
  double f32_ops_per_us;          // a unit
  double int8_matrix_ops_per_us;  // a unit
  double f16_matrix_ops_per_us;   // a unit
  int64_t cache_bytes;
  double launch_us;
  double cache_times = 3;  // how much faster the cache is than memory
};

constexpr int64_t mib(int64_t count) { return count << 20; }

Rates discrete(const EstimateInput& input) {
  const bool has_hbm = input.device_memory_bytes > kHbmBytes;
  switch (input.vendor_id) {
    case kNvidia:
      // With HBM: as measured on an H200; matrices reach half of their nominal rate.
      return has_hbm ? Rates{40, 31e3, 128 * 2 * 1.65e3, 7.4e6, 3.8e6, mib(50), 1.9, 2.1}
                     : Rates{40, 10e3, 128 * 2 * 1.7e3, 5e6, 2.5e6, mib(32), 3};
    case kAmd: return {40, 9e3, 64 * 2 * 2.2e3, 1.3e6, 1.3e6, mib(96), 4};
    case kIntel: return {32, 17e3, 128 * 2 * 2.1e3, 8.6e6, 4.3e6, mib(16), 5};
    default: return {32, 10e3, 128 * 2 * 1.5e3, 2e6, 1e6, mib(8), 5};
  }
}

Rates integrated(const EstimateInput& input) {
  const int64_t units = input.reported_compute_units > 0 ? input.reported_compute_units : 8;
  const bool is_phone = input.vendor_id == kArm || input.vendor_id == kQualcomm;
  const double f32 = 128 * 2 * 1e3;
  return {8,
          (is_phone ? 30e3 : 50e3) / static_cast<double>(units),
          f32,
          8 * f32,
          4 * f32,
          mib(is_phone ? 2 : 4),
          is_phone ? 20.0 : 8.0};
}

Rates cpu(const EstimateInput& input) {
  const double f32 = static_cast<double>(input.subgroup_size) * 2 * 1e3;
  return {std::max<int64_t>(1, input.host_threads), 4e3, f32, f32, f32, mib(8), 30};
}

Rates rates_of(const EstimateInput& input) {
  switch (input.kind) {
    case DeviceProfile::Kind::discrete:
    case DeviceProfile::Kind::virtual_gpu: return discrete(input);
    case DeviceProfile::Kind::integrated: return integrated(input);
    case DeviceProfile::Kind::cpu: return cpu(input);
    case DeviceProfile::Kind::other: return integrated(input);
  }
  return integrated(input);
}

}  // namespace

EstimateInput estimate_input(const DeviceProfile& profile) {
  EstimateInput input;
  input.kind = profile.kind;
  input.vendor_id = profile.vendor_id;
  input.device_memory_bytes = profile.device_memory_bytes;
  input.subgroup_size = profile.numbers.subgroup_size;
  input.reported_compute_units = profile.sources.contains("compute_units") ? profile.numbers.compute_units : 0;
  input.has_fast_integer_dot = profile.has_fast_integer_dot;
  input.has_float16 = (profile.features & bit(Feature::shader_float16)) != 0;
  for (const CooperativeMatrixShape& shape : profile.cooperative_matrices) {
    input.has_int8_matrices |= shape.a == DType::i8;
    input.has_f16_matrices |= shape.a == DType::f16;
  }
  return input;
}

void estimate(const EstimateInput& input, DeviceNumbers& numbers) {
  const Rates rates = rates_of(input);
  numbers.compute_units = input.reported_compute_units > 0 ? input.reported_compute_units : rates.units;
  const auto units = static_cast<double>(numbers.compute_units);
  const bool doubles_halves = input.has_float16 && input.vendor_id != kNvidia && input.kind != DeviceProfile::Kind::cpu;
  numbers.bytes_per_us = units * rates.bytes_per_us;
  numbers.f32_ops_per_us = units * rates.f32_ops_per_us;
  numbers.f16_ops_per_us = numbers.f32_ops_per_us * (doubles_halves ? 2 : 1);
  // NVIDIA has half as many units for dot products: of an H200 1.7 was measured.
  const double dot = input.vendor_id == kNvidia ? 1.7 : 4;
  numbers.int8_ops_per_us = numbers.f32_ops_per_us * (input.has_fast_integer_dot ? dot : 1);
  numbers.int8_matrix_ops_per_us =
      input.has_int8_matrices ? units * rates.int8_matrix_ops_per_us : numbers.int8_ops_per_us;
  numbers.f16_matrix_ops_per_us = input.has_f16_matrices ? units * rates.f16_matrix_ops_per_us : numbers.f16_ops_per_us;
  numbers.cache_bytes = rates.cache_bytes;
  numbers.cache_bytes_per_us = rates.cache_times * numbers.bytes_per_us;
  numbers.launch_us = rates.launch_us;
  numbers.barrier_us = rates.launch_us / 3;
}

}  // namespace qgen
