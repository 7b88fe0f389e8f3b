// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Shared by the tables of this room. The values of an enumeration are the indices of its rows, because both come from
// the same list.
//
//   row_of(kDTypes, DType::f16, kNoDType).name        // "f16"
//   find_row(kDTypes, &DTypeInfo::name, "f16")->dtype  // DType::f16
//   bit_of<uint32_t>(DType::f16)                       // 1u << 1
//
// A value from outside may be a number that no row has. It is never used as an index: row_of() returns an empty row for
// it, and bit_of() no bit.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <limits>
#include <string_view>

namespace qgen {

template <typename Row, size_t kCount, typename Value>
constexpr const Row& row_of(const Row (&rows)[kCount], Value value, const Row& nothing) {
  const auto place = static_cast<size_t>(value);
  return place < kCount ? rows[place] : nothing;
}

// Null: no row has this word.
template <typename Row, size_t kCount>
constexpr const Row* find_row(const Row (&rows)[kCount], std::string_view Row::*member, std::string_view word) {
  const Row* row = std::ranges::find(rows, word, member);
  return row == std::end(rows) ? nullptr : row;
}

template <typename Row, size_t kCount>
constexpr std::array<std::string_view, kCount> names_of(const Row (&rows)[kCount]) {
  std::array<std::string_view, kCount> names;
  std::ranges::transform(rows, names.begin(), &Row::name);
  return names;
}

template <typename Mask, typename Value>
constexpr Mask bit_of(Value value) {
  const auto place = static_cast<unsigned>(value);
  return place < std::numeric_limits<Mask>::digits ? Mask{1} << place : Mask{0};
}

}  // namespace qgen
