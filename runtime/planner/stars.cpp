// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/planner/stars.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <numeric>
#include <tuple>
#include <utility>

namespace qgen::planner {
namespace {

using Kept = std::vector<std::vector<bool>>;  // of each choice, which values

// Numbers keys in the order in which they are first seen.
class Numbering {
 public:
  // Begins anew, for so many keys.
  void clear(size_t keys) {
    assert(keys <= UINT16_MAX && "a tensor has some thousand states");
    const int bits = static_cast<int>(std::bit_width(2 * keys));
    shift_ = 64 - bits;
    if (slots_.size() < size_t{1} << bits) slots_.assign(size_t{1} << bits, {});
    ++round_;
    count_ = 0;
  }

  uint16_t number_of(uint64_t key) {
    size_t at = key * 0x9e3779b97f4a7c15u >> shift_;
    while (slots_[at].round == round_ && slots_[at].key != key) at = (at + 1) % slots_.size();
    if (slots_[at].round != round_) slots_[at] = {key, round_, count_++};
    return slots_[at].number;
  }

 private:
  struct Slot {
    uint64_t key = 0;
    uint32_t round = 0;
    uint16_t number = 0;
  };
  std::vector<Slot> slots_;
  int shift_ = 0;
  uint32_t round_ = 0;
  uint16_t count_ = 0;
};

class Builder {
 public:
  Builder(const ChoiceModel& model, const Kept& kept) : model_(model), kept_(kept), place_(model.costs.size()) {}

  Stars run() && {
    if (model_.walk.empty()) {
      for (uint32_t leader = 0; leader < model_.leaders; ++leader) add_choice(stars_.leaders, leader);
    } else {
      for (uint32_t leader : model_.walk) add_choice(stars_.leaders, leader);
    }
    for (auto choice = model_.leaders; choice < model_.costs.size(); ++choice) add_choice(stars_.followers, choice);
    add_rays();
    index_rays();
    return std::move(stars_);
  }

 private:
  void add_choice(Stars::Side& side, uint32_t choice) {
    place_[choice] = static_cast<uint32_t>(side.choices.size());
    side.choices.push_back(choice);
    for (uint32_t value = 0; value < model_.costs[choice].size(); ++value) {
      if (!kept_[choice][value]) continue;
      side.ids.push_back(value);
      side.costs.push_back(model_.costs[choice][value]);
    }
    side.values.end_list(side.ids.size());
  }

  void add_rays() {
    std::vector<uint32_t> order(model_.fits.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto key = [&](uint32_t fit) {
      return std::tuple(place_[model_.fits[fit].a], place_[model_.fits[fit].b], fit);
    };
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
    for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
      const auto& first = model_.fits[order[begin]];
      while (end < order.size() && model_.fits[order[end]].a == first.a && model_.fits[order[end]].b == first.b) ++end;
      add_ray({order.begin() + begin, order.begin() + end});
    }
  }

  void add_ray(std::span<const uint32_t> fits) {
    const auto& first = model_.fits[fits.front()];
    Stars::Ray ray{place_[first.a],
                   place_[first.b],
                   fits.front(),
                   stars_.fitting.size(),
                   0,
                   static_cast<uint32_t>(stars_.class_of.size()),
                   stars_.price_count};
    const auto states = stars_.followers.values.of(stars_.followers.ids, ray.follower);
    stars_.price_count += stars_.leaders.values.count(ray.leader);
    const auto representatives = classify(fits, states, stars_.leaders.values.of(stars_.leaders.ids, ray.leader));
    for (uint32_t state : representatives) list_fitting(fits, ray.leader, state);
    ray.class_count = static_cast<uint32_t>(representatives.size());
    stars_.rays.push_back(ray);
  }

  // Appends the class of each state; returns one state of each class. States differ if the bits differ by which some
  // value could fit them.
  std::vector<uint32_t> classify(std::span<const uint32_t> fits, std::span<const uint32_t> states,
                                 std::span<const uint32_t> values) {
    const size_t begin = stars_.class_of.size();
    stars_.class_of.resize(begin + states.size(), 0);
    std::vector<uint32_t> representatives;
    for (uint32_t index : fits) {
      const auto& fit = model_.fits[index];
      uint32_t asked = 0;
      for (uint32_t value : values) asked |= fit.a_masks[value];
      numbering_.clear(states.size());
      representatives.clear();
      for (size_t at = 0; at < states.size(); ++at) {
        auto& its_class = stars_.class_of[begin + at];
        const uint64_t told_apart = uint64_t{its_class} << 32 | (fit.b_masks[states[at]] & asked);
        its_class = numbering_.number_of(told_apart);
        if (its_class == representatives.size()) representatives.push_back(states[at]);
      }
    }
    return representatives;
  }

  void list_fitting(std::span<const uint32_t> fits, uint32_t leader, uint32_t state) {
    const auto values = stars_.leaders.values.of(stars_.leaders.ids, leader);
    for (uint32_t value = 0; value < values.size(); ++value) {
      const bool is_fitting = std::all_of(fits.begin(), fits.end(), [&](uint32_t fit) {
        return (model_.fits[fit].a_masks[values[value]] & model_.fits[fit].b_masks[state]) != 0;
      });
      if (is_fitting) stars_.fitting_values.push_back(value);
    }
    stars_.fitting.end_list(stars_.fitting_values.size());
  }

  void index_rays() {
    uint32_t at = 0;
    for (uint32_t leader = 0; leader < stars_.leaders.choices.size(); ++leader) {
      while (at < stars_.rays.size() && stars_.rays[at].leader == leader) ++at;
      stars_.rays_of_leader.end_list(at);
    }
    std::vector<std::vector<uint32_t>> lists(stars_.followers.choices.size());
    for (uint32_t ray = 0; ray < stars_.rays.size(); ++ray) lists[stars_.rays[ray].follower].push_back(ray);
    for (const auto& list : lists) {
      stars_.by_follower.insert(stars_.by_follower.end(), list.begin(), list.end());
      stars_.rays_of_follower.end_list(stars_.by_follower.size());
    }
  }

  const ChoiceModel& model_;
  const Kept& kept_;
  std::vector<uint32_t> place_;  // of a choice, on its side
  Numbering numbering_;
  Stars stars_;
};

// Strikes values out until each that is left fits some value of every neighbour.
class Sieve {
 public:
  explicit Sieve(const Stars& stars)
      : stars_(stars),
        values_(stars.leaders.ids.size(), true),
        states_(stars.followers.ids.size(), true),
        is_thinned_(stars.followers.choices.size()) {}

  // False: nothing was struck out.
  bool run() {
    std::vector<uint32_t> dirty(stars_.rays.size());
    std::iota(dirty.rbegin(), dirty.rend(), 0u);
    std::vector<bool> is_dirty(dirty.size(), true);
    while (!dirty.empty()) {
      const Stars::Ray& ray = stars_.rays[dirty.back()];
      is_dirty[dirty.back()] = false;
      dirty.pop_back();
      const auto revisit = [&](uint32_t other) {
        if (!is_dirty[other]) dirty.push_back(other);
        is_dirty[other] = true;
      };
      const auto [has_lost_values, has_lost_states] = strike_out(ray);
      if (has_lost_states) {
        for (uint32_t other : stars_.rays_of_follower.of(stars_.by_follower, ray.follower)) revisit(other);
      }
      if (has_lost_values) {
        const auto& begins = stars_.rays_of_leader.begins;
        for (uint32_t other = begins[ray.leader]; other < begins[ray.leader + 1]; ++other) revisit(other);
      }
      is_changed_ = is_changed_ || has_lost_values || has_lost_states;
    }
    return is_changed_;
  }

  void write(Kept& kept) const {
    write(kept, stars_.leaders, values_);
    write(kept, stars_.followers, states_);
  }

 private:
  std::pair<bool, bool> strike_out(const Stars::Ray& ray) {
    const uint32_t first_value = stars_.leaders.values.begins[ray.leader];
    std::vector<bool> has_value(ray.class_count);
    for (uint32_t one = 0; one < ray.class_count; ++one) {
      for (uint32_t value : stars_.fits(ray, one)) has_value[one] = has_value[one] || values_[first_value + value];
    }
    const bool has_lost_states = strike_out_states(ray, has_value);
    const std::vector<bool> has_state = is_thinned_[ray.follower] ? classes_left(ray) : has_value;
    std::vector<bool> is_fitting(stars_.leaders.values.count(ray.leader));
    for (uint32_t one = 0; one < ray.class_count; ++one) {
      if (!has_state[one]) continue;
      for (uint32_t value : stars_.fits(ray, one)) is_fitting[value] = true;
    }
    bool has_lost_values = false;
    for (uint32_t value = 0; value < is_fitting.size(); ++value) {
      if (!values_[first_value + value] || is_fitting[value]) continue;
      values_[first_value + value] = false;
      has_lost_values = true;
    }
    return {has_lost_values, has_lost_states};
  }

  bool strike_out_states(const Stars::Ray& ray, const std::vector<bool>& has_value) {
    if (std::all_of(has_value.begin(), has_value.end(), [](bool has) { return has; })) return false;
    const uint32_t first = stars_.followers.values.begins[ray.follower];
    const auto classes = stars_.classes(ray);
    bool has_lost = false;
    for (size_t state = 0; state < classes.size(); ++state) {
      if (has_value[classes[state]] || !states_[first + state]) continue;
      states_[first + state] = false;
      has_lost = true;
    }
    is_thinned_[ray.follower] = is_thinned_[ray.follower] || has_lost;
    return has_lost;
  }

  std::vector<bool> classes_left(const Stars::Ray& ray) const {
    const uint32_t first = stars_.followers.values.begins[ray.follower];
    std::vector<bool> has_state(ray.class_count);
    const auto classes = stars_.classes(ray);
    for (size_t state = 0; state < classes.size(); ++state) {
      if (states_[first + state]) has_state[classes[state]] = true;
    }
    return has_state;
  }

  static void write(Kept& kept, const Stars::Side& side, const std::vector<bool>& is_kept) {
    for (uint32_t choice = 0; choice < side.choices.size(); ++choice) {
      const uint32_t begin = side.values.begins[choice];
      for (uint32_t at = begin; at < side.values.begins[choice + 1]; ++at) {
        if (!is_kept[at]) kept[side.choices[choice]][side.ids[at]] = false;
      }
    }
  }

  const Stars& stars_;
  std::vector<bool> values_, states_;  // left
  std::vector<bool> is_thinned_;       // of a follower: it lost states
  bool is_changed_ = false;
};

}  // namespace

std::optional<Stars> stars_of(const ChoiceModel& model) {
  Kept kept;
  for (const auto& costs : model.costs) kept.emplace_back(costs.size(), true);
  Stars stars = Builder(model, kept).run();
  Sieve sieve(stars);
  if (!sieve.run()) return stars;
  sieve.write(kept);
  const auto has_none = [](const std::vector<bool>& values) {
    return std::none_of(values.begin(), values.end(), [](bool value) { return value; });
  };
  if (std::any_of(kept.begin(), kept.end(), has_none)) return std::nullopt;
  return Builder(model, kept).run();
}

}  // namespace qgen::planner
