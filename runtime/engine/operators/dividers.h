// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Divisors for kernels that split an index into coordinates, innermost dimension first (templates/lib/quotient.glsl).
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "runtime/engine/operators/divider.h"
#include "runtime/engine/tensor/tensor.h"
#include "vocabulary/integer.h"

namespace qgen {

// Of each dimension divisor, multiplier and shift.
template <typename Dimension>
std::array<uint32_t, 3 * kMaxRank> dividers_of(const std::vector<Dimension>& dimensions) {
  std::array<uint32_t, 3 * kMaxRank> all{};
  auto next = all.begin();
  for (const Dimension& dimension : dimensions) {
    next = std::ranges::copy(divider_words(dimension.side), next).out;
  }
  return all;
}

template <typename Dimension>
std::array<uint32_t, kMaxRank> numbers_of(const std::vector<Dimension>& dimensions, int64_t Dimension::*number) {
  std::array<uint32_t, kMaxRank> numbers{};
  for (size_t d = 0; d < dimensions.size(); ++d) numbers[d] = u32(dimensions[d].*number);
  return numbers;
}

}  // namespace qgen
