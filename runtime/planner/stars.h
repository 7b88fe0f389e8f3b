// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A ChoiceModel as stars: each follower with the leaders around it. A leader stands in several stars; once the leaders
// are settled, each follower takes its best state by itself.
//
//   follower t, states       0  1  2  3          class of a state, for one leader: which of the leader's values it fits
//   class for leader a       0  0  1  2            0: {v0}   1: {v0, v1}   2: {v1}
//   class for leader b       0  1  0  1            0: {v0, v2}   1: {v1}
//
// A tensor has a hundred states and an operator four modes, but of one operand they tell apart few: what a leader asks
// of a state it asks once for each class. Everything lies in a few arrays, leaders in the order of the model's walk, so
// that a pass over all stars runs through memory from end to end.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/planner/choice_model.h"

namespace qgen::planner {

// Lists of one array, one after the other.
struct Ranges {
  std::vector<uint32_t> begins{0};

  uint32_t size() const { return static_cast<uint32_t>(begins.size()) - 1; }
  uint32_t count(uint32_t list) const { return begins[list + 1] - begins[list]; }
  template <typename T>
  std::span<T> of(std::vector<T>& all, uint32_t list) const {
    return {all.data() + begins[list], count(list)};
  }
  template <typename T>
  std::span<const T> of(const std::vector<T>& all, uint32_t list) const {
    return {all.data() + begins[list], count(list)};
  }
  void end_list(size_t at) { begins.push_back(static_cast<uint32_t>(at)); }
};

struct Stars {
  // The costs of one side's choices, and which choices and values of the model they are.
  struct Side {
    std::vector<uint32_t> choices;
    Ranges values;
    std::vector<uint32_t> ids;
    std::vector<Cost> costs;
  };
  // All fits between one leader and one follower.
  struct Ray {
    uint32_t leader, follower;
    uint32_t fit;          // of the model, the first of them
    uint32_t first_class;  // in `fitting`
    uint32_t class_count;
    uint32_t classes;  // where `class_of` has those of the follower's states
    uint32_t prices;   // where an array of one number a ray and value has those of the leader's
  };

  Side leaders, followers;
  std::vector<Ray> rays;  // by leader
  Ranges rays_of_leader;
  Ranges rays_of_follower;  // in `by_follower`
  std::vector<uint32_t> by_follower;
  Ranges fitting;  // one list of leader's values a class, in `fitting_values`
  std::vector<uint32_t> fitting_values;
  std::vector<uint16_t> class_of;
  uint32_t price_count = 0;

  std::span<const uint16_t> classes(const Ray& ray) const {
    return {class_of.data() + ray.classes, followers.values.count(ray.follower)};
  }
  // The leader's values that a class of the ray fits.
  std::span<const uint32_t> fits(const Ray& ray, uint32_t one_class) const {
    return fitting.of(fitting_values, ray.first_class + one_class);
  }
};

Stars stars_of(const ChoiceModel& model);

}  // namespace qgen::planner
