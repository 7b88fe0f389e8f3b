// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/dispatch/dependencies.h"

#include <algorithm>

namespace qgen::dispatch {

bool overlap(const Region& a, const Region& b) {
  return a.object == b.object && a.offset < b.offset + b.size && b.offset < a.offset + a.size;
}

namespace {

bool touches(const Region& region, const std::vector<Region>& pending) {
  return std::any_of(pending.begin(), pending.end(), [&](const Region& other) { return overlap(region, other); });
}

}  // namespace

Barrier Dependencies::needed(const std::vector<RegionUse>& uses) const {
  const bool is_indirect = std::ranges::any_of(
      uses, [&](const RegionUse& use) { return use.is_indirect && touches(use.region, unseen_writes_); });
  if (is_indirect) return Barrier::shaders_and_indirect;
  const bool is_needed = std::ranges::any_of(uses, [&](const RegionUse& use) {
    return touches(use.region, pending_writes_) || (use.access != Access::read && touches(use.region, pending_reads_));
  });
  return is_needed ? Barrier::shaders : Barrier::none;
}

Barrier Dependencies::barrier_before(const std::vector<RegionUse>& uses) {
  const Barrier barrier = needed(uses);
  if (barrier != Barrier::none) {
    pending_reads_.clear();
    pending_writes_.clear();
  }
  if (barrier == Barrier::shaders_and_indirect) unseen_writes_.clear();
  for (const RegionUse& use : uses) {
    if (use.access != Access::write) pending_reads_.push_back(use.region);
    if (use.access == Access::read) continue;
    pending_writes_.push_back(use.region);
    unseen_writes_.push_back(use.region);
  }
  return barrier;
}

}  // namespace qgen::dispatch
