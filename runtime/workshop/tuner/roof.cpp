// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/tuner/roof.h"

#include <algorithm>
#include <string_view>

#include "runtime/workshop/report/work.h"

namespace qgen::tuner {
namespace {

bool is_measured(const DeviceProfile& device, std::string_view rate) {
  const auto source = device.sources.find(rate);
  return source != device.sources.end() && source->second.find("measure") != std::string::npos;
}

bool has_operand_of(const Problem& problem, DType dtype) {
  return std::ranges::any_of(problem.operands,
                             [&](const OperandDesc& operand) { return operand.is_present && operand.dtype == dtype; });
}

// The measured rate of operations is that of one kernel. On the H200 the fastest others do up to 14 % more.
constexpr double kBeyondMeasured = 1.15;

// Of a window's operations those in the padding count too, which kernels leave out: of 3 x 3 over 7 x 7 a fifth.
constexpr double kInsideImages = 0.8;
double least_operations(const Problem& problem, double operations) {
  const bool has_window = std::ranges::find(problem.op->fields, "taps", &FieldInfo::name) != problem.op->fields.end();
  return has_window ? kInsideImages * operations : operations;
}

// The fastest arithmetic that a kernel of the problem could use; 0: not measured.
double operations_per_us(const Problem& problem, const DeviceProfile& device) {
  const DeviceNumbers& rates = device.numbers;
  double fastest = 0;
  const auto consider = [&](std::string_view name, double rate) {
    if (is_measured(device, name)) fastest = std::max(fastest, rate);
  };
  consider("f32_ops_per_us", rates.f32_ops_per_us);
  if (fastest == 0) return 0;
  // Weights of bytes are widened to halves as often as they are multiplied as bytes.
  const bool has_bytes = has_operand_of(problem, DType::i8) || has_operand_of(problem, DType::u8);
  if (has_bytes || has_operand_of(problem, DType::f16)) {
    consider("f16_ops_per_us", rates.f16_ops_per_us);
    consider("f16_matrix_ops_per_us", rates.f16_matrix_ops_per_us);
  }
  if (has_bytes) {
    consider("int8_ops_per_us", rates.int8_ops_per_us);
    consider("int8_matrix_ops_per_us", rates.int8_matrix_ops_per_us);
  }
  return kBeyondMeasured * fastest;
}

// Of so many bytes, which replays may find in the cache.
double bytes_per_us(double bytes, const DeviceProfile& device) {
  if (!is_measured(device, "bytes_per_us")) return 0;
  const DeviceNumbers& rates = device.numbers;
  constexpr double kCaches = 2;  // beyond which hardly anything stays there
  if (bytes > kCaches * static_cast<double>(rates.cache_bytes)) return rates.bytes_per_us;
  return is_measured(device, "cache_bytes_per_us") ? std::max(rates.cache_bytes_per_us, rates.bytes_per_us) : 0;
}

}  // namespace

double roof_us(const Problem& problem, const DeviceProfile& device) {
  const auto work = report::work_of(problem);
  if (!work) return 0;
  const double moved = bytes_per_us(work->bytes, device);
  if (moved <= 0) return 0;
  const double bytes_us = work->bytes / moved;
  if (work->operations <= 0) return bytes_us;
  const double calculated = operations_per_us(problem, device);
  return calculated > 0 ? std::max(bytes_us, least_operations(problem, work->operations) / calculated) : 0;
}

}  // namespace qgen::tuner
