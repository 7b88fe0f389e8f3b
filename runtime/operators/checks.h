// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What operators of several families check alike. Errors say what was given and what is possible.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "runtime/operators/affine.h"

namespace qgen {

// `given` is one of `possible`.
Done check_dtype(std::string_view operand, DType given, std::span<const DType> possible);
inline Done check_dtype(std::string_view operand, DType given, std::initializer_list<DType> possible) {
  return check_dtype(operand, given, std::span(possible.begin(), possible.size()));
}

// The range of integers of `dtype`: all, unless one is given, which must lie inside.
Expected<IntegerRange> checked_range(DType dtype, const std::optional<IntegerRange>& given);

// The range that attributes say: of a bound that is not given, that of `dtype`. Nothing: neither is, or the dtype is real.
std::optional<IntegerRange> given_range(DType dtype, std::optional<int64_t> min, std::optional<int64_t> max);

}  // namespace qgen
