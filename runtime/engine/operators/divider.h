// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Division by a number that the host knows and the kernel does not. A GPU needs some twenty instructions to divide, and
// three to multiply and shift. The kernel's half is templates/lib/quotient.glsl, which also shows that it is exact.
// Most kernels divide by dimensions, to split an index into coordinates.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "runtime/engine/tensor/tensor.h"
#include "vocabulary/integer.h"

namespace qgen {

struct Divider {
  uint32_t divisor = 1;
  uint32_t multiplier = uint32_t{1} << 31;  // ceil(2^(31 + shift) / divisor)
  uint32_t shift = 0;                       // ceil(log2 divisor)
};

// `divisor` from 1 to 2^31.
constexpr Divider divider_of(uint32_t divisor) {
  const auto shift = static_cast<uint32_t>(std::bit_width(divisor - 1));
  const uint64_t multiplier = ((uint64_t{1} << (31 + shift)) + divisor - 1) / divisor;
  return {divisor, static_cast<uint32_t>(multiplier), shift};
}

// Divisor, multiplier and shift of each number, as templates/lib/quotient.glsl reads them. A number below 1, which a
// tensor without elements has, counts as 1; one above 2^31 as 2^31, which is above every index.
template <typename... Numbers>
constexpr std::array<uint32_t, 3 * sizeof...(Numbers)> divider_words(Numbers... numbers) {
  std::array<uint32_t, 3 * sizeof...(Numbers)> words{};
  size_t next = 0;
  for (const int64_t number : {static_cast<int64_t>(numbers)...}) {
    const Divider by = divider_of(static_cast<uint32_t>(std::clamp(number, int64_t{1}, int64_t{1} << 31)));
    for (const uint32_t word : {by.divisor, by.multiplier, by.shift}) words[next++] = word;
  }
  return words;
}

template <size_t M, size_t N>
constexpr std::array<uint32_t, M + N> joined(const std::array<uint32_t, M>& first,
                                             const std::array<uint32_t, N>& second) {
  std::array<uint32_t, M + N> all{};
  std::copy(second.begin(), second.end(), std::copy(first.begin(), first.end(), all.begin()));
  return all;
}

// ---- of dimensions, innermost first ---------------------------------------------------------------------------------

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
