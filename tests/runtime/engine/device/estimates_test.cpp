// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Estimates within a factor of two of data sheets or measurements: they only rank kernels.
#include "runtime/engine/device/estimates.h"

#include <gtest/gtest.h>

#include <tuple>

namespace qgen {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;
using Kind = DeviceProfile::Kind;

struct Case {
  std::string_view name;
  EstimateInput input;
  double gigabytes_per_s;  // of the data sheet
  double f32_tflops;
};

const Case kCases[] = {
    {"H200", {Kind::discrete, 0x10de, 140 * kGiB, 32, 132, 1, true}, 4800, 67},
    {"RTX 4090", {Kind::discrete, 0x10de, 24 * kGiB, 32, 128, 1, true}, 1008, 83},
    {"RTX 4060", {Kind::discrete, 0x10de, 8 * kGiB, 32, 24, 1, true}, 272, 15},
    {"RX 7900 XTX", {Kind::discrete, 0x1002, 24 * kGiB, 64, 96, 1, true}, 960, 31},
    {"Arc A770", {Kind::discrete, 0x8086, 16 * kGiB, 32, 0, 1, true}, 560, 17},
    {"laptop", {Kind::integrated, 0x8086, 16 * kGiB, 32, 0, 1, true}, 60, 2},
    {"phone", {Kind::integrated, 0x13b5, 8 * kGiB, 16, 10, 1, true}, 34, 3},
};

TEST(Estimates, AreNearDataSheets) {
  for (const Case& c : kCases) {
    DeviceNumbers numbers;
    estimate(c.input, numbers);
    EXPECT_GT(numbers.bytes_per_us / 1e3, c.gigabytes_per_s / 2) << c.name;
    EXPECT_LT(numbers.bytes_per_us / 1e3, c.gigabytes_per_s * 2) << c.name;
    EXPECT_GT(numbers.f32_ops_per_us / 1e6, c.f32_tflops / 2) << c.name;
    EXPECT_LT(numbers.f32_ops_per_us / 1e6, c.f32_tflops * 2) << c.name;
  }
}

// Of dot products NVIDIA's units do twice as many as of f32, by its documents; others four times.
TEST(Estimates, KnowFastDotProducts) {
  for (const auto& [vendor, least, most] : {std::tuple(0x10deU, 1.5, 2.0), std::tuple(0x1002U, 4.0, 4.0)}) {
    DeviceNumbers slow, fast;
    estimate({Kind::discrete, vendor, kGiB, 32, 10, 1, false}, slow);
    estimate({Kind::discrete, vendor, kGiB, 32, 10, 1, true}, fast);
    EXPECT_EQ(slow.int8_ops_per_us, slow.f32_ops_per_us);
    EXPECT_GE(fast.int8_ops_per_us, least * fast.f32_ops_per_us);
    EXPECT_LE(fast.int8_ops_per_us, most * fast.f32_ops_per_us);
  }
}

// Data sheets: RTX 4090 661 TOP/s dense; RX 7900 XTX 123; Arc A770 275. Measured: H200 979, half of its data sheet's
// value.
TEST(Estimates, KnowMatrixUnits) {
  const std::pair<EstimateInput, double> cases[] = {
      {kCases[0].input, 979}, {kCases[1].input, 661}, {kCases[3].input, 123}, {kCases[4].input, 275}};
  for (auto [input, tops] : cases) {
    DeviceNumbers numbers;
    estimate(input, numbers);
    EXPECT_EQ(numbers.int8_matrix_ops_per_us, numbers.int8_ops_per_us);
    input.has_int8_matrices = true;
    estimate(input, numbers);
    EXPECT_GT(numbers.int8_matrix_ops_per_us / 1e6, tops / 2);
    EXPECT_LT(numbers.int8_matrix_ops_per_us / 1e6, tops * 2);
  }
}

TEST(Estimates, KnowHalves) {
  DeviceNumbers numbers;
  estimate({.kind = Kind::integrated, .vendor_id = 0x13b5, .has_float16 = true}, numbers);
  EXPECT_EQ(numbers.f16_ops_per_us, 2 * numbers.f32_ops_per_us);
  estimate({.kind = Kind::discrete, .vendor_id = 0x10de, .has_float16 = true}, numbers);
  EXPECT_EQ(numbers.f16_ops_per_us, numbers.f32_ops_per_us);
}

TEST(Estimates, AreNeverZero) {
  for (const Kind kind : {Kind::other, Kind::integrated, Kind::discrete, Kind::virtual_gpu, Kind::cpu}) {
    DeviceNumbers numbers;
    estimate({.kind = kind, .host_threads = 0}, numbers);  // hardware_concurrency() may say 0
    EXPECT_GE(numbers.compute_units, 1);
    EXPECT_GT(numbers.bytes_per_us, 0);
    EXPECT_GT(numbers.f32_ops_per_us, 0);
    EXPECT_GT(numbers.int8_ops_per_us, 0);
    EXPECT_GT(numbers.launch_us, 0);
    EXPECT_GT(numbers.barrier_us, 0);
    EXPECT_GT(numbers.f16_ops_per_us, 0);
    EXPECT_GT(numbers.int8_matrix_ops_per_us, 0);
    EXPECT_GT(numbers.f16_matrix_ops_per_us, 0);
    EXPECT_GT(numbers.cache_bytes, 0);
    EXPECT_GT(numbers.cache_bytes_per_us, 0);
  }
}

}  // namespace
}  // namespace qgen
