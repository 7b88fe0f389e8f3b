// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The states of a follower fall into classes for each ray, numbered in the order in which they are first seen.
#include "runtime/planner/stars.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <numeric>
#include <tuple>
#include <utility>

namespace qgen::planner {
namespace {

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
  explicit Builder(const ChoiceModel& model) : model_(model), place_(model.costs.size()) {}

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
    const auto& costs = model_.costs[choice];
    for (uint32_t value = 0; value < costs.size(); ++value) side.ids.push_back(value);
    side.costs.insert(side.costs.end(), costs.begin(), costs.end());
    side.values.end_list(side.ids.size());
  }

  void add_rays() {
    size_t states = 0;
    for (const auto& fit : model_.fits) states += fit.b_masks.size();
    stars_.class_of.reserve(states);
    std::vector<uint32_t> order(model_.fits.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto key = [&](uint32_t fit) {
      return std::tuple(place_[model_.fits[fit].a], place_[model_.fits[fit].b], fit);
    };
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
    for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
      const auto& first = model_.fits[order[begin]];
      while (end < order.size() && model_.fits[order[end]].a == first.a && model_.fits[order[end]].b == first.b) ++end;
      add_ray(std::span(order).subspan(begin, end - begin));
    }
  }

  void add_ray(std::span<const uint32_t> fits) {
    const auto& first = model_.fits[fits.front()];
    Stars::Ray ray{.leader = place_[first.a],
                   .follower = place_[first.b],
                   .fit = fits.front(),
                   .first_class = stars_.fitting.size(),
                   .class_count = 0,
                   .classes = static_cast<uint32_t>(stars_.class_of.size()),
                   .prices = stars_.price_count};
    const auto examples = classify(fits, first.b_masks.size());
    for (uint32_t state : examples) list_fitting(fits, state);
    ray.class_count = static_cast<uint32_t>(examples.size());
    stars_.rays.push_back(ray);
    stars_.price_count += static_cast<uint32_t>(first.a_masks.size());
  }

  // Appends the class of each state; returns one state of each class. States differ if the bits differ by which some
  // value could fit them.
  std::vector<uint32_t> classify(std::span<const uint32_t> fits, size_t states) {
    stars_.class_of.resize(stars_.class_of.size() + states, 0);
    const std::span<uint16_t> class_of(stars_.class_of.end() - static_cast<ptrdiff_t>(states), states);
    std::vector<uint32_t> examples;
    for (uint32_t index : fits) {
      const auto& fit = model_.fits[index];
      uint32_t asked = 0;
      for (uint32_t mask : fit.a_masks) asked |= mask;
      const std::span<const uint32_t> b_masks(fit.b_masks);
      numbering_.clear(states);
      examples.clear();
      for (uint32_t state = 0; state < states; ++state) {
        const uint16_t one = numbering_.number_of(uint64_t{class_of[state]} << 32 | (b_masks[state] & asked));
        class_of[state] = one;
        if (one == examples.size()) examples.push_back(state);
      }
    }
    return examples;
  }

  void list_fitting(std::span<const uint32_t> fits, uint32_t state) {
    const auto values = static_cast<uint32_t>(model_.fits[fits.front()].a_masks.size());
    for (uint32_t value = 0; value < values; ++value) {
      const bool is_fitting = std::all_of(fits.begin(), fits.end(), [&](uint32_t fit) {
        return (model_.fits[fit].a_masks[value] & model_.fits[fit].b_masks[state]) != 0;
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
  std::vector<uint32_t> place_;  // of a choice, on its side
  Numbering numbering_;
  Stars stars_;
};

}  // namespace

Stars stars_of(const ChoiceModel& model) { return Builder(model).run(); }

}  // namespace qgen::planner
