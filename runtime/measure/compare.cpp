// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/measure/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace qgen::measure {
namespace {

bool has_same_bits(const HostTensor& a, const HostTensor& b, int64_t index) {
  const auto size = static_cast<size_t>(bytes(a.dtype));
  const size_t offset = static_cast<size_t>(index) * size;
  return std::memcmp(a.data.data() + offset, b.data.data() + offset, size) == 0;
}

double error_of(double got, double expected) {
  if (got == expected || (std::isnan(got) && std::isnan(expected))) return 0;
  const double error = std::fabs(got - expected);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

Shape coordinate_of(const Shape& shape, int64_t index) {
  Shape coordinate(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    coordinate[d] = index % shape[d];
    index /= shape[d];
  }
  return coordinate;
}

std::string fault_at(const HostTensor& got, const HostTensor& expected, int64_t index, double allowed) {
  return fmt::format("element {} is {}, expected {} (allowed error {:.3g})", to_text(coordinate_of(got.shape, index)),
                     element(got, index), element(expected, index), allowed);
}

}  // namespace

Comparison compare(const HostTensor& got, const HostTensor& expected, const Tolerance& tolerance) {
  Comparison result;
  if (got.dtype != expected.dtype || got.shape != expected.shape) {
    result.fault = fmt::format("is {} {}, expected {} {}", name(got.dtype), to_text(got.shape), name(expected.dtype),
                               to_text(expected.shape));
    result.largest_error = std::numeric_limits<double>::infinity();
    return result;
  }
  const bool is_exact = tolerance.abs == 0 && tolerance.rel == 0 && tolerance.bounds.empty();
  for (int64_t i = 0; i < element_count(got.shape); ++i) {
    if (has_same_bits(got, expected, i)) continue;
    const double value = element(expected, i);
    const double error = error_of(element(got, i), value);
    const double allowed = tolerance.bounds.empty() ? tolerance.abs + tolerance.rel * std::fabs(value)
                                                    : tolerance.bounds[static_cast<size_t>(i)];
    result.largest_error = std::max(result.largest_error, error);
    const bool is_nan_of_another_kind = std::isnan(value) && error == 0;
    const bool is_off = is_exact || !(error <= allowed) || std::isinf(error);
    if (is_off && !is_nan_of_another_kind && result.fault.empty()) result.fault = fault_at(got, expected, i, allowed);
  }
  return result;
}

}  // namespace qgen::measure
