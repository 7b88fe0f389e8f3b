// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/selector/times.h"

#include <algorithm>
#include <iterator>

namespace qgen {
namespace {

// Of an id that both have, the first row counts. A marked one gives way to one of the same source that is not marked.
KernelTimes::Rows united(KernelTimes::Rows first, KernelTimes::Rows second) {
  KernelTimes::Rows all;
  auto other = second.begin();
  for (auto& row : first) {
    for (; other != second.end() && other->first < row.first; ++other) all.push_back(std::move(*other));
    const bool has_both = other != second.end() && other->first == row.first;
    const bool is_better =
        has_both && row.second.source == other->second.source && row.second.is_marked && !other->second.is_marked;
    all.push_back(std::move(is_better ? *other : row));
    if (has_both) ++other;
  }
  std::move(other, second.end(), std::back_inserter(all));
  return all;
}

}  // namespace

KernelTimes::KernelTimes(std::initializer_list<value_type> times) {
  for (const auto& [id, time] : times) add(id, time);
}

void KernelTimes::add(std::string_view id, KnownTime time) {
  struct One {
    std::string id;
    Rows rows;
  };
  auto one = std::make_shared<One>(One{std::string(id), {}});
  one->rows.emplace_back(one->id, std::move(time));
  add(std::shared_ptr<const Rows>(one, &one->rows));
}

void KernelTimes::add(std::shared_ptr<const Rows> rows, std::string before) {
  if (empty()) {
    rows_ = std::move(rows);
    before_ = std::move(before);
    return;
  }
  // Writes the common text into each row, so that no common text remains.
  struct Joined {
    std::shared_ptr<const Rows> first, second;  // which keep the ids alive
    Rows rows;
  };
  const auto spelled = [](Rows all, std::string_view all_say) {
    if (all_say.empty()) return all;
    for (auto& [id, time] : all) time.source_text = std::string(all_say).append(time.source_text.view());
    return all;
  };
  auto joined = std::make_shared<Joined>(Joined{rows_, rows, {}});
  joined->rows = united(spelled(*rows_, before_), spelled(*rows, before));
  rows_ = std::shared_ptr<const Rows>(joined, &joined->rows);
  before_.clear();
}

void KernelTimes::quarantine(std::span<const QuarantinedChoice> choices) {
  quarantined_.insert(quarantined_.end(), choices.begin(), choices.end());
}

const KernelTimes::Rows& KernelTimes::rows() const {
  static const Rows kNone;
  return rows_ ? *rows_ : kNone;
}

const KnownTime* KernelTimes::find(std::string_view id) const {
  const auto time = std::ranges::lower_bound(rows(), id, {}, &value_type::first);
  return time == end() || time->first != id ? nullptr : &time->second;
}

std::span<const KernelTimes::value_type> KernelTimes::beginning_with(std::string_view beginning) const {
  const auto first = std::ranges::lower_bound(rows(), beginning, {}, &value_type::first);
  const auto last =
      std::find_if(first, end(), [&](const value_type& time) { return !time.first.starts_with(beginning); });
  return {first, last};
}

}  // namespace qgen
