// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The integer of qgen's expression language: 64 bits, total. Sums, differences and products saturate; a division or
// remainder by zero is zero. The generator evaluates with it and the C++ that the generator prints computes with it,
// so `require` at generation and `applies_when` at selection cannot disagree.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace qgen {

struct Integer {
  int64_t value = 0;

  constexpr Integer() = default;
  constexpr Integer(int64_t v) : value(v) {}  // NOLINT(google-explicit-constructor): literals read as literals
  friend constexpr bool operator==(Integer, Integer) = default;
  friend constexpr auto operator<=>(Integer, Integer) = default;
};

namespace detail {
constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min();
}  // namespace detail

constexpr Integer operator+(Integer a, Integer b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a.value, b.value, &sum)) return sum;
  return a.value < 0 ? detail::kSmallest : detail::kLargest;
}
constexpr Integer operator-(Integer a, Integer b) {
  int64_t difference = 0;
  if (!__builtin_sub_overflow(a.value, b.value, &difference)) return difference;
  return a.value < 0 ? detail::kSmallest : detail::kLargest;
}
constexpr Integer operator-(Integer a) { return Integer(0) - a; }
constexpr Integer operator*(Integer a, Integer b) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(a.value, b.value, &product)) return product;
  return (a.value < 0) != (b.value < 0) ? detail::kSmallest : detail::kLargest;
}
// Rounds toward zero, as C++ does.
constexpr Integer operator/(Integer a, Integer b) {
  if (b.value == 0) return 0;
  if (b.value == -1) return -a;
  return a.value / b.value;
}
constexpr Integer operator%(Integer a, Integer b) {
  if (b.value == 0 || b.value == -1) return 0;
  return a.value % b.value;
}

// ceil(a / b) for the non-negative quantities it is meant for: counts, sizes, extents.
constexpr Integer ceil_div(Integer a, Integer b) {
  const Integer quotient = a / b;
  return a % b > Integer(0) ? quotient + 1 : quotient;
}
constexpr Integer min(Integer a, Integer b) { return a < b ? a : b; }
constexpr Integer max(Integer a, Integer b) { return a < b ? b : a; }
constexpr Integer choose(bool condition, Integer a, Integer b) { return condition ? a : b; }

// The other number of the language: a double, for costs. A division by zero is zero here too.
struct Real {
  double value = 0;

  constexpr Real() = default;
  constexpr Real(double v) : value(v) {}                              // NOLINT(google-explicit-constructor)
  constexpr Real(Integer v) : value(static_cast<double>(v.value)) {}  // NOLINT(google-explicit-constructor)
  friend constexpr bool operator==(Real, Real) = default;
  friend constexpr auto operator<=>(Real, Real) = default;
};
constexpr Real operator+(Real a, Real b) { return a.value + b.value; }
constexpr Real operator-(Real a, Real b) { return a.value - b.value; }
constexpr Real operator-(Real a) { return -a.value; }
constexpr Real operator*(Real a, Real b) { return a.value * b.value; }
constexpr Real operator/(Real a, Real b) { return b.value == 0 ? 0 : a.value / b.value; }
constexpr Real min(Real a, Real b) { return a < b ? a : b; }
constexpr Real max(Real a, Real b) { return a < b ? b : a; }
constexpr Real choose(bool condition, Real a, Real b) { return condition ? a : b; }

// Of a number that fits, as fields of a Problem hold it.
constexpr uint32_t u32(int64_t value) { return static_cast<uint32_t>(value); }

}  // namespace qgen
