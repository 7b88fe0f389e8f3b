// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "common/nearest.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace qgen {
namespace {

// distance[i][j] is that between the first i letters of a and the first j of b; three rows are kept, since a swap
// looks two back.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool is_same = a[i - 1] == b[j - 1];
      row[j] = std::min({last[j - 1] + (is_same ? 0 : 1), last[j] + 1, row[j - 1] + 1});
      const bool is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest(std::string_view written, std::span<const std::string_view> candidates) {
  size_t least = std::max<size_t>(written.size() / 3, 1) + 1;
  std::string_view best;
  for (std::string_view candidate : candidates) {
    const size_t distance = edit_distance(written, candidate);
    if (distance > least || (distance == least && (best.empty() || candidate >= best))) continue;
    least = distance;
    best = candidate;
  }
  return best;
}

}  // namespace qgen
