// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Checks of an operand against another one of the same call. An error names both.
//
//   "value is f16, and query is f32": both must have the same dtype
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <optional>
#include <utility>

#include "runtime/engine/calls/placement.h"
#include "vocabulary/layouts.h"

namespace qgen {

// An operand that the caller left out has every dtype.
inline Done check_same_dtype(std::string_view operand, const std::optional<TensorDesc>& given,
                             std::string_view other_operand, const TensorDesc& other) {
  if (!given || given->dtype == other.dtype) return std::monostate{};
  return refused(fmt::format("{} is {}, and {} is {}", operand, name(given->dtype), other_operand, name(other.dtype)),
                 "both must have the same dtype");
}

inline Done check_same_dtypes(std::initializer_list<std::pair<std::string_view, std::optional<TensorDesc>>> operands,
                              std::string_view other_operand, const TensorDesc& other) {
  for (const auto& [operand, given] : operands) {
    if (Done same = check_same_dtype(operand, given, other_operand, other); !same) return same;
  }
  return std::monostate{};
}

// Of two floating-point operands of one kernel.
inline Done check_one_dtype(std::string_view operand, const TensorDesc& given, std::string_view other_operand,
                            const TensorDesc& other) {
  if (given.dtype == other.dtype) return std::monostate{};
  return refused(fmt::format("{} is {} and {} is {}, and no kernel accepts both", operand, name(given.dtype),
                             other_operand, name(other.dtype)),
                 "convert one of them");
}

inline Done check_same_layout(std::string_view operand, const TensorDesc& given, std::string_view other_operand,
                              const TensorDesc& other) {
  if (given.layout == other.layout) return std::monostate{};
  return Error{Error::Kind::unsupported,
               fmt::format("{} is {} and {} is {}: they must have the same layout", operand, name(given.layout),
                           other_operand, name(other.layout)),
               "q8ta_clone converts a tensor to another layout"};
}

inline Done check_same_shape(std::string_view operand, const TensorDesc& given, std::string_view other_operand,
                             const TensorDesc& other) {
  if (given.shape == other.shape) return std::monostate{};
  return refused(
      fmt::format("{} is {}, and {} is {}", operand, to_text(given.shape), other_operand, to_text(other.shape)),
      "both must have the same shape");
}

}  // namespace qgen
