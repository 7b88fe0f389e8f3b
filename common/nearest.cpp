// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Words are compared by edit distance. Only distances up to the best so far matter, so only a band of the table is
// computed. Thousands of mistakes among thousands of names take well under a second.
#include "common/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace qgen {
namespace {

// distance[i][j] is the distance between the first i letters of a and the first j of b. Three rows are kept, since a
// swap looks two back.
class EditDistance {
 public:
  // Any number above `most` where the distance is.
  size_t operator()(std::string_view a, std::string_view b, size_t most) {
    const size_t longer = std::max(a.size(), b.size()), shorter = std::min(a.size(), b.size());
    const size_t past = most + 1;
    if (longer - shorter > most) return past;
    for (auto* row : {&before_, &last_, &row_}) row->assign(b.size() + 1, past);
    std::iota(row_.begin(), row_.begin() + static_cast<ptrdiff_t>(std::min(b.size(), most)) + 1, size_t{0});
    for (size_t i = 1; i <= a.size(); ++i) {
      before_.swap(last_);
      last_.swap(row_);
      const size_t begin = i > most ? i - most : 0, end = std::min(b.size(), i + most);
      size_t least = past;
      for (size_t j = begin; j <= end; ++j) least = std::min(least, row_[j] = cell(a, b, i, j, begin, past));
      if (end < b.size()) row_[end + 1] = past;
      if (least == past && std::ranges::all_of(last_, [&](size_t distance) { return distance >= past; })) return past;
    }
    return row_.back();
  }

 private:
  size_t cell(std::string_view a, std::string_view b, size_t i, size_t j, size_t begin, size_t past) const {
    if (j == 0) return i;
    const bool is_same = a[i - 1] == b[j - 1];
    size_t distance = std::min(last_[j - 1] + (is_same ? 0 : 1), last_[j] + 1);
    if (j > begin) distance = std::min(distance, row_[j - 1] + 1);
    const bool is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
    if (is_swapped) distance = std::min(distance, before_[j - 2] + 1);
    return std::min(distance, past);
  }

  std::vector<size_t> before_, last_, row_;
};

}  // namespace

std::string_view nearest(std::string_view written, std::span<const std::string_view> candidates) {
  size_t least = std::max<size_t>(written.size() / 3, 1) + 1;
  std::string_view best;
  EditDistance edit_distance;
  for (std::string_view candidate : candidates) {
    const size_t distance = edit_distance(written, candidate, least);
    if (distance > least || (distance == least && (best.empty() || candidate >= best))) continue;
    least = distance;
    best = candidate;
  }
  return best;
}

std::vector<std::string_view> nearest(std::string_view written, std::span<const std::string_view> candidates,
                                      size_t count) {
  EditDistance edit_distance;
  std::vector<std::pair<size_t, std::string_view>> all;
  for (std::string_view candidate : candidates)
    all.emplace_back(edit_distance(written, candidate, std::max(written.size(), candidate.size())), candidate);
  const auto end = all.begin() + static_cast<ptrdiff_t>(std::min(count, all.size()));
  std::ranges::partial_sort(all, end);
  std::vector<std::string_view> names;
  for (auto it = all.begin(); it != end; ++it) names.push_back(it->second);
  return names;
}

std::string did_you_mean(std::string_view written, std::span<const std::string_view> candidates) {
  const std::string_view meant = nearest(written, candidates);
  return meant.empty() ? "" : fmt::format("did you mean '{}'?", meant);
}

std::string hint_among(std::string_view written, std::span<const std::string_view> candidates) {
  if (const std::string hint = did_you_mean(written, candidates); !hint.empty()) return hint;
  if (candidates.size() == 1) return fmt::format("the only one is '{}'", candidates.front());
  return candidates.empty() ? "" : fmt::format("possible are {}", fmt::join(candidates, ", "));
}

}  // namespace qgen
