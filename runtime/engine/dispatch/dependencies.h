// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Which dispatches must wait for earlier ones: those that read bytes written since the last barrier, or write bytes
// read or written since then. A barrier is global, so after it nothing is pending. Only indirect dispatches need the
// costlier barrier that also lets the device read their number of workgroups.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/engine/library/kernel_info.h"

namespace qgen::dispatch {

// A range of a buffer, or an image as a whole (offset 0, size 1).
struct Region {
  const void* object = nullptr;
  uint64_t offset = 0;
  uint64_t size = 0;
};

bool overlap(const Region& a, const Region& b);  // whether a byte of one is a byte of the other

struct RegionUse {
  Region region;
  Access access = Access::read;
  bool is_indirect = false;  // it is read as the number of workgroups
};

enum class Barrier : uint8_t { none, shaders, shaders_and_indirect };

class Dependencies {
 public:
  // The barrier that must come before a dispatch with these uses; it is then counted as placed.
  Barrier barrier_before(const std::vector<RegionUse>& uses);

 private:
  Barrier needed(const std::vector<RegionUse>& uses) const;

  std::vector<Region> pending_reads_;
  std::vector<Region> pending_writes_;
  std::vector<Region> unseen_writes_;  // that no indirect dispatch may read yet
};

}  // namespace qgen::dispatch
