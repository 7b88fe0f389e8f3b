// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Merges the dimensions of a shape into as few as possible. Neighbours become one if `joined(outer, inner)` returns a
// dimension, and dimensions of 1 are dropped. Dimensions are innermost first.
#pragma once

#include <optional>
#include <vector>

namespace qgen {

template <typename Dimension, typename Joined>
std::vector<Dimension> merge_dimensions(const std::vector<Dimension>& shape, Joined joined) {
  std::vector<Dimension> result;
  for (const Dimension& outer : shape) {
    if (outer.side == 1) continue;
    const std::optional<Dimension> both = result.empty() ? std::nullopt : joined(outer, result.back());
    if (both) {
      result.back() = *both;
    } else {
      result.push_back(outer);
    }
  }
  return result;
}

}  // namespace qgen
