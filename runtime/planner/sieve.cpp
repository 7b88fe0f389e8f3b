// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A queue of rays: where a choice loses a value, all rays of that choice are looked at again, until the queue is empty.
#include "runtime/planner/sieve.h"

#include <algorithm>
#include <deque>

namespace qgen::planner {
namespace {

// Whether every state fits some value of each leader and the other way round. Each class has a state to begin with.
bool is_sifted(const Stars& stars) {
  std::vector<bool> is_fitting;
  for (const Stars::Ray& ray : stars.rays) {
    is_fitting.assign(stars.leaders.values.count(ray.leader), false);
    for (uint32_t one = 0; one < ray.class_count; ++one) {
      if (stars.fits(ray, one).empty()) return false;
      for (uint32_t value : stars.fits(ray, one)) is_fitting[value] = true;
    }
    if (std::find(is_fitting.begin(), is_fitting.end(), false) != is_fitting.end()) return false;
  }
  return true;
}

// Strikes values out until each that is left fits some value of every neighbour.
class Sieve {
 public:
  explicit Sieve(const Stars& stars)
      : stars_(stars),
        values_(stars.leaders.ids.size(), true),
        states_(stars.followers.ids.size(), true),
        states_left_(stars.fitting.size()),
        is_dirty_(stars.rays.size(), true) {
    for (uint32_t index = 0; index < stars.rays.size(); ++index) {
      dirty_.push_back(index);
      for (uint16_t one : stars.classes(stars.rays[index])) ++states_left_[stars.rays[index].first_class + one];
    }
  }

  void run() {
    for (; !dirty_.empty(); dirty_.pop_front()) {
      is_dirty_[dirty_.front()] = false;
      const Stars::Ray& ray = stars_.rays[dirty_.front()];
      strike_out_states(ray);
      strike_out_values(ray);
    }
  }

  // The stars without what was struck out.
  Stars sifted() const {
    std::vector<uint32_t> values_left, states_left;
    Stars result{sifted(stars_.leaders, values_, values_left), sifted(stars_.followers, states_, states_left)};
    std::vector<uint32_t> number(values_.size());  // among those left of its leader
    for (uint32_t leader = 0; leader < stars_.leaders.choices.size(); ++leader) {
      uint32_t next = 0;
      for (uint32_t value : result.leaders.values.of(values_left, leader)) {
        number[stars_.leaders.values.begins[leader] + value] = next++;
      }
    }
    result.class_of.reserve(stars_.class_of.size());
    for (const Stars::Ray& ray : stars_.rays) {
      add_sifted(ray, number, result.followers.values.of(states_left, ray.follower), result);
    }
    result.rays_of_leader = stars_.rays_of_leader;
    result.rays_of_follower = stars_.rays_of_follower;
    result.by_follower = stars_.by_follower;
    return result;
  }

 private:
  void strike_out_states(const Stars::Ray& ray) {
    const uint32_t first_value = stars_.leaders.values.begins[ray.leader];
    std::vector<bool> is_lost(ray.class_count);
    for (uint32_t one = 0; one < ray.class_count; ++one) {
      const auto fits = stars_.fits(ray, one);
      is_lost[one] =
          states_left_[ray.first_class + one] > 0 &&
          std::none_of(fits.begin(), fits.end(), [&](uint32_t value) { return values_[first_value + value]; });
    }
    if (std::find(is_lost.begin(), is_lost.end(), true) == is_lost.end()) return;
    const uint32_t first_state = stars_.followers.values.begins[ray.follower];
    const auto classes = stars_.classes(ray);
    for (uint32_t state = 0; state < classes.size(); ++state) {
      if (is_lost[classes[state]] && states_[first_state + state]) strike_out_state(ray.follower, state);
    }
    for (uint32_t other : stars_.rays_of_follower.of(stars_.by_follower, ray.follower)) revisit(other);
  }

  void strike_out_state(uint32_t follower, uint32_t state) {
    states_[stars_.followers.values.begins[follower] + state] = false;
    for (uint32_t index : stars_.rays_of_follower.of(stars_.by_follower, follower)) {
      const Stars::Ray& ray = stars_.rays[index];
      --states_left_[ray.first_class + stars_.classes(ray)[state]];
    }
  }

  void strike_out_values(const Stars::Ray& ray) {
    std::vector<bool> is_fitting(stars_.leaders.values.count(ray.leader));
    for (uint32_t one = 0; one < ray.class_count; ++one) {
      if (states_left_[ray.first_class + one] == 0) continue;
      for (uint32_t value : stars_.fits(ray, one)) is_fitting[value] = true;
    }
    const uint32_t first = stars_.leaders.values.begins[ray.leader];
    for (uint32_t value = 0; value < is_fitting.size(); ++value) {
      if (is_fitting[value] || !values_[first + value]) continue;
      values_[first + value] = false;
      const auto& begins = stars_.rays_of_leader.begins;
      for (uint32_t other = begins[ray.leader]; other < begins[ray.leader + 1]; ++other) revisit(other);
    }
  }

  void revisit(uint32_t ray) {
    if (!is_dirty_[ray]) dirty_.push_back(ray);
    is_dirty_[ray] = true;
  }

  // `left`: numbers of the values that are left, choice by choice.
  static Stars::Side sifted(const Stars::Side& side, const std::vector<bool>& is_left, std::vector<uint32_t>& left) {
    Stars::Side result{side.choices, {}, {}, {}};
    for (uint32_t choice = 0; choice < side.choices.size(); ++choice) {
      const uint32_t begin = side.values.begins[choice];
      for (uint32_t value = 0; value < side.values.count(choice); ++value) {
        if (!is_left[begin + value]) continue;
        left.push_back(value);
        result.ids.push_back(side.ids[begin + value]);
        result.costs.push_back(side.costs[begin + value]);
      }
      result.values.end_list(result.ids.size());
    }
    return result;
  }

  void add_sifted(Stars::Ray ray, const std::vector<uint32_t>& number, std::span<const uint32_t> states_left,
                  Stars& to) const {
    const uint32_t first_value = stars_.leaders.values.begins[ray.leader];
    for (uint32_t one = 0; one < ray.class_count; ++one) {
      for (uint32_t value : stars_.fits(ray, one)) {
        if (values_[first_value + value]) to.fitting_values.push_back(number[first_value + value]);
      }
      to.fitting.end_list(to.fitting_values.size());
    }
    const auto classes = stars_.classes(ray);
    ray.classes = static_cast<uint32_t>(to.class_of.size());
    ray.prices = to.price_count;
    to.price_count += to.leaders.values.count(ray.leader);
    to.class_of.resize(ray.classes + states_left.size());
    for (size_t at = 0; at < states_left.size(); ++at) to.class_of[ray.classes + at] = classes[states_left[at]];
    to.rays.push_back(ray);
  }

  const Stars& stars_;
  std::vector<bool> values_, states_;  // that are left
  std::vector<uint32_t> states_left_;  // in each class
  std::deque<uint32_t> dirty_;         // rays to look at
  std::vector<bool> is_dirty_;
};

}  // namespace

std::optional<Stars> sifted(Stars stars) {
  if (is_sifted(stars)) return stars;
  Sieve sieve(stars);
  sieve.run();
  stars = sieve.sifted();
  for (const Ranges* values : {&stars.leaders.values, &stars.followers.values}) {
    for (uint32_t choice = 0; choice < values->size(); ++choice) {
      if (values->count(choice) == 0) return std::nullopt;
    }
  }
  return stars;
}

}  // namespace qgen::planner
