// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/measure/compare.h"

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

// The expected value of an element, and the allowed distance from it.
struct Wanted {
  double value = 0;
  double allowed = 0;
};
Wanted wanted_at(size_t index, double expected, const Tolerance& tolerance, const reference::Exact* exact) {
  const double value = exact ? exact->values[index] : expected;
  const double computed = exact ? exact->bounds[index] : 0;
  return {value, computed + tolerance.abs + tolerance.rel * (std::fabs(value) + computed)};
}

std::string fault_at(const HostTensor& got, int64_t index, const Wanted& wanted) {
  return fmt::format("element {} is {}, expected {} (allowed error {:.3g})", to_text(coordinate_of(got.shape, index)),
                     element(got, index), wanted.value, wanted.allowed);
}

}  // namespace

Comparison compare(const HostTensor& got, const HostTensor& expected, const Tolerance& tolerance,
                   const reference::Exact* exact) {
  Comparison result;
  if (got.dtype != expected.dtype || got.shape != expected.shape) {
    result.fault = fmt::format("is {} {}, expected {} {}", name(got.dtype), to_text(got.shape), name(expected.dtype),
                               to_text(expected.shape));
    result.largest_error = std::numeric_limits<double>::infinity();
    return result;
  }
  if (got.data == expected.data) return result;  // which most are
  const bool is_to_the_bit = tolerance == Tolerance{} && !exact;
  for (int64_t i = 0; i < element_count(got.shape); ++i) {
    if (has_same_bits(got, expected, i)) continue;
    const double value = element(got, i), rounded = element(expected, i);
    const Wanted wanted = wanted_at(static_cast<size_t>(i), rounded, tolerance, exact);
    // An exact value may be finite where it is infinite in the output's dtype: then nothing else will do.
    const bool is_infinitely_off = std::isinf(error_of(value, rounded));
    const double error = is_infinitely_off ? std::numeric_limits<double>::infinity() : error_of(value, wanted.value);
    result.largest_error = std::max(result.largest_error, error);
    const bool is_nan_of_another_kind = std::isnan(rounded) && error == 0;
    const bool is_off = is_to_the_bit || is_infinitely_off || !(error <= wanted.allowed);
    if (is_off && !is_nan_of_another_kind && result.fault.empty()) result.fault = fault_at(got, i, wanted);
  }
  return result;
}

}  // namespace qgen::measure
