// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The masks are made once for all rays; a question then is a few ANDs over the words of a follower's states.
#include "runtime/planner/fitting.h"

#include <bit>

namespace qgen::planner {

FittingStates::FittingStates(const Stars& stars) : stars_(stars) {
  size_t count = 0;
  for (const Stars::Ray& ray : stars.rays) {
    begins_.push_back(count);
    count += words(ray.follower) * stars.leaders.values.count(ray.leader);
  }
  bits_.resize(count);
  std::vector<uint64_t> of_class;
  for (uint32_t index = 0; index < stars.rays.size(); ++index) {
    const Stars::Ray& ray = stars.rays[index];
    const auto classes = stars.classes(ray);
    const size_t words = this->words(ray.follower);
    of_class.assign(ray.class_count * words, 0);
    for (size_t state = 0; state < classes.size(); ++state) {
      of_class[classes[state] * words + state / 64] |= uint64_t{1} << state % 64;
    }
    for (uint32_t one = 0; one < ray.class_count; ++one) {
      for (uint32_t value : stars.fits(ray, one)) {
        uint64_t* fitting = bits_.data() + begins_[index] + value * words;
        for (size_t word = 0; word < words; ++word) fitting[word] |= of_class[one * words + word];
      }
    }
  }
}

std::span<const uint32_t> FittingStates::of(uint32_t follower, const std::vector<uint32_t>& chosen,
                                            const std::vector<bool>& is_free) {
  left_.assign(words(follower), ~uint64_t{0});
  if (const auto over = stars_.followers.values.count(follower) % 64; over != 0) left_.back() >>= 64 - over;
  for (uint32_t index : stars_.rays_of_follower.of(stars_.by_follower, follower)) {
    const uint32_t leader = stars_.rays[index].leader;
    if (is_free[leader]) continue;
    const uint64_t* fitting = bits_.data() + begins_[index] + chosen[leader] * left_.size();
    for (size_t word = 0; word < left_.size(); ++word) left_[word] &= fitting[word];
  }
  states_.clear();
  for (uint32_t word = 0; word < left_.size(); ++word) {
    for (uint64_t rest = left_[word]; rest != 0; rest &= rest - 1) {
      states_.push_back(word * 64 + static_cast<uint32_t>(std::countr_zero(rest)));
    }
  }
  return states_;
}

}  // namespace qgen::planner
