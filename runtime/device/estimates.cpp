// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A rate is units * per-unit figure. The figures below are data sheets divided by their unit counts:
//
//   NVIDIA    an SM has 128 f32 lanes near 1.7 GHz. Memory: RTX 3090 936 GB/s over 82 SMs, RTX 4090 1008 over 128,
//             RTX 4060 272 over 24: about 10 GB/s an SM. With HBM (H100 3350 over 132, H200 4800 over 132): about 30
//   AMD       a CU has 64 f32 lanes near 2.2 GHz. RX 6800 512 GB/s over 60 CUs, RX 7900 XTX 960 over 96: about 9
//   Intel     an Arc Xe core has 128 f32 lanes near 2.1 GHz. A770 560 GB/s over 32: 17
//   others    a guess between the three
//   integrated  the host's memory: 50 GB/s for the whole device; phones (Arm, Qualcomm) 30
//   CPU       llvmpipe: a thread does one subgroup-wide multiply-add a cycle at best; a third of 3 GHz is what loops
//             keep. Memory: 4 GB/s a thread
//
// A packed dot product does four multiply-adds where a lane does one, on devices that say they accelerate it.
#include "runtime/device/estimates.h"

#include <algorithm>

namespace qgen {
namespace {

constexpr uint32_t kAmd = 0x1002, kNvidia = 0x10de, kArm = 0x13b5, kQualcomm = 0x5143, kIntel = 0x8086;
// Cards with more memory than this have HBM: the largest GDDR cards end at 48 GB, workstation ones at 96.
constexpr uint64_t kHbmBytes = uint64_t{70} << 30;

struct Rates {
  int64_t units;          // where the driver does not say
  double bytes_per_us;    // a unit; 1 GB/s is 1000 bytes/us
  double f32_ops_per_us;  // a unit
  double launch_us;
};

Rates discrete(const EstimateInput& input) {
  switch (input.vendor_id) {
    case kNvidia: return {40, input.device_memory_bytes > kHbmBytes ? 30e3 : 10e3, 128 * 2 * 1.7e3, 3};
    case kAmd: return {40, 9e3, 64 * 2 * 2.2e3, 4};
    case kIntel: return {32, 17e3, 128 * 2 * 2.1e3, 5};
    default: return {32, 10e3, 128 * 2 * 1.5e3, 5};
  }
}

Rates integrated(const EstimateInput& input) {
  const int64_t units = input.reported_compute_units > 0 ? input.reported_compute_units : 8;
  const bool is_phone = input.vendor_id == kArm || input.vendor_id == kQualcomm;
  return {8, (is_phone ? 30e3 : 50e3) / static_cast<double>(units), 128 * 2 * 1e3, is_phone ? 20.0 : 8.0};
}

Rates cpu(const EstimateInput& input) {
  return {std::max<int64_t>(1, input.host_threads), 4e3, static_cast<double>(input.subgroup_size) * 2 * 1e3, 30};
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

void estimate(const EstimateInput& input, DeviceNumbers& numbers) {
  const Rates rates = rates_of(input);
  numbers.compute_units = input.reported_compute_units > 0 ? input.reported_compute_units : rates.units;
  const auto units = static_cast<double>(numbers.compute_units);
  numbers.bytes_per_us = units * rates.bytes_per_us;
  numbers.f32_ops_per_us = units * rates.f32_ops_per_us;
  numbers.int8_ops_per_us = numbers.f32_ops_per_us * (input.has_fast_integer_dot ? 4 : 1);
  numbers.launch_us = rates.launch_us;
}

}  // namespace qgen
