// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Which states of a follower are left when its leaders have chosen: for each ray and each of the leader's values there
// is one bit for each state, so that leaders are added up by the word.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/planner/stars.h"

namespace qgen::planner {

class FittingStates {
 public:
  explicit FittingStates(const Stars& stars);

  // Those that fit what each leader has chosen; leaders that are free are not asked. Good until it is asked again.
  std::span<const uint32_t> of(uint32_t follower, const std::vector<uint32_t>& chosen,
                               const std::vector<bool>& is_free);

 private:
  size_t words(uint32_t follower) const { return (stars_.followers.values.count(follower) + 63) / 64; }

  const Stars& stars_;
  std::vector<size_t> begins_;  // in bits_, of each ray
  std::vector<uint64_t> bits_;
  std::vector<uint64_t> left_;
  std::vector<uint32_t> states_;
};

}  // namespace qgen::planner
