// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Combines a hash with the next value. Private to this room.
#pragma once

#include <cstdint>

namespace qgen {

constexpr uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

}  // namespace qgen
