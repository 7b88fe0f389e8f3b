// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Dimensions as callers name them: from the outermost, or with negative numbers from the end.
#pragma once

#include <fmt/format.h>

#include "runtime/engine/tensor/tensor.h"

namespace qgen {

// `said` begins the error, "axis is", and `operand` has the shape.
inline Expected<size_t> dimension_of(std::string_view said, int64_t axis, std::string_view operand,
                                     const Shape& shape) {
  const int64_t d = axis < 0 ? axis + std::ssize(shape) : axis;
  if (d >= 0 && d < std::ssize(shape)) return static_cast<size_t>(d);
  return refused(
      fmt::format("{} {}, and {} of shape {} has {} dimensions", said, axis, operand, to_text(shape), shape.size()));
}

}  // namespace qgen
