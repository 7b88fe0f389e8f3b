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

bool Dependencies::needs_barrier(const std::vector<RegionUse>& uses) {
  const bool is_needed = std::any_of(uses.begin(), uses.end(), [&](const RegionUse& use) {
    return touches(use.region, pending_writes_) || (use.access != Access::read && touches(use.region, pending_reads_));
  });
  if (is_needed) {
    pending_reads_.clear();
    pending_writes_.clear();
  }
  for (const RegionUse& use : uses) {
    if (use.access != Access::write) pending_reads_.push_back(use.region);
    if (use.access != Access::read) pending_writes_.push_back(use.region);
  }
  return is_needed;
}

}  // namespace qgen::dispatch
