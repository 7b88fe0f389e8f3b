// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A part of a list of work, for programs that several machines run at once without knowing of each other.
//
//   shard_of("3/8")     // the third of eight parts
//   shard.has(place)    // whether work number `place` is in this part: 2, 10, 18, ...
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/error.h"

namespace qgen {

struct Shard {
  uint32_t index = 1, count = 1;  // from 1

  bool is_whole() const { return count == 1; }
  constexpr bool has(uint64_t place) const { return place % count == index - 1; }
  friend bool operator==(const Shard&, const Shard&) = default;
};

constexpr uint32_t kMostShards = 1'000'000;

// Error: it is not I/N with 1 <= I <= N.
Expected<Shard> shard_of(std::string_view text);
std::string to_text(const Shard& shard);  // "3/8"

}  // namespace qgen
