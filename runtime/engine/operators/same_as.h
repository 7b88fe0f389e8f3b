// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Checks of an operand against another one of the same call. An error names both.
//
//   "value is f16, and query is f32": both must have the same dtype
#pragma once

#include <fmt/format.h>

#include <optional>

#include "runtime/engine/calls/placement.h"

namespace qgen {

// An operand that the caller left out has every dtype.
inline Done check_same_dtype(std::string_view operand, const std::optional<TensorDesc>& given,
                             std::string_view other_operand, const TensorDesc& other) {
  if (!given || given->dtype == other.dtype) return std::monostate{};
  return refused(fmt::format("{} is {}, and {} is {}", operand, name(given->dtype), other_operand, name(other.dtype)),
                 "both must have the same dtype");
}

inline Done check_same_shape(std::string_view operand, const TensorDesc& given, std::string_view other_operand,
                             const TensorDesc& other) {
  if (given.shape == other.shape) return std::monostate{};
  return refused(
      fmt::format("{} is {}, and {} is {}", operand, to_text(given.shape), other_operand, to_text(other.shape)),
      "both must have the same shape");
}

}  // namespace qgen
