// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// In each round other leaders are free, as many as close no cycle between followers. Sums go up from the leaves of the
// trees, and what was chosen comes down from the roots.
#include "runtime/planner/forests.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace qgen::planner {
namespace {

// Sets of followers that are joined.
class Trees {
 public:
  explicit Trees(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0u); }

  uint32_t root(uint32_t follower) {
    while (parent_[follower] != follower) follower = parent_[follower] = parent_[parent_[follower]];
    return follower;
  }
  void join(uint32_t a, uint32_t b) { parent_[root(a)] = root(b); }

 private:
  std::vector<uint32_t> parent_;
};

// As many leaders as close no cycle, taken in an order that a fixed scrambling of their numbers decides.
std::vector<bool> free_leaders(const Stars& stars, uint32_t round) {
  const auto count = static_cast<uint32_t>(stars.leaders.choices.size());
  std::vector<std::pair<uint32_t, uint32_t>> order;
  for (uint32_t leader = 0; leader < count; ++leader) {
    const uint32_t mixed = (leader + 1) * 0x9e3779b1u ^ round * 0x85ebca6bu;
    order.push_back({(mixed ^ mixed >> 15) * 0x2c1b3c6du, leader});
  }
  std::sort(order.begin(), order.end());
  Trees trees(stars.followers.choices.size());
  std::vector<bool> is_free(count);
  std::vector<uint32_t> roots;
  for (const auto& [mixed, leader] : order) {
    roots.clear();
    for (const Stars::Ray& ray : stars.rays_of_leader.of(stars.rays, leader)) roots.push_back(trees.root(ray.follower));
    std::sort(roots.begin(), roots.end());
    is_free[leader] = std::adjacent_find(roots.begin(), roots.end()) == roots.end();
    for (size_t at = 1; is_free[leader] && at < roots.size(); ++at) trees.join(roots[at], roots.front());
  }
  return is_free;
}

// Dynamic programming over the trees of a forest: sums go up from the leaves, choices down from the roots.
class Forest {
 public:
  Forest(const Stars& stars, FittingStates& fitting, std::vector<uint32_t>& chosen)
      : stars_(stars), fitting_(fitting), chosen_(chosen) {}

  // False: all stays as it was.
  bool solve(std::vector<bool> is_free) {
    is_free_ = std::move(is_free);
    is_changed_ = false;
    plant();
    for (size_t at = places_.size(); at-- > 0;) send_up(places_[at]);
    for (Place& place : places_) choose(place);
    return is_changed_;
  }

 private:
  // A state or a value that may be chosen, with what is below it.
  struct Option {
    uint32_t number;
    Cost cost;
  };
  // A follower or a free leader, and what is left of it.
  struct Place {
    bool is_leader;
    uint32_t index;
    uint32_t above;       // in places_; of a root, its own
    uint32_t ray;         // to the one above
    uint32_t begin, end;  // in options_
    uint32_t choice;
  };

  // Lists all places, each after the one above it.
  void plant() {
    places_.clear();
    options_.clear();
    std::vector<bool> is_planted(stars_.followers.choices.size());
    for (uint32_t leader = 0; leader < is_free_.size(); ++leader) {
      if (!is_free_[leader]) continue;
      const auto rays = stars_.rays_of_leader.of(stars_.rays, leader);
      if (!rays.empty() && is_planted[rays.front().follower]) continue;
      auto next = static_cast<uint32_t>(places_.size());
      add_leader(leader, next, 0);
      for (; next < places_.size(); ++next) {
        if (!places_[next].is_leader) {
          add_leaders_around(next);
          continue;
        }
        const auto& begins = stars_.rays_of_leader.begins;
        for (uint32_t ray = begins[places_[next].index]; ray < begins[places_[next].index + 1]; ++ray) {
          if (!is_planted[stars_.rays[ray].follower]) add_follower(stars_.rays[ray].follower, next, ray);
          is_planted[stars_.rays[ray].follower] = true;
        }
      }
    }
  }

  void add_leader(uint32_t leader, uint32_t above, uint32_t ray) {
    const auto begin = static_cast<uint32_t>(options_.size());
    for (Cost cost : stars_.leaders.values.of(stars_.leaders.costs, leader)) {
      options_.push_back({static_cast<uint32_t>(options_.size()) - begin, cost});
    }
    places_.push_back({true, leader, above, ray, begin, static_cast<uint32_t>(options_.size()), 0});
  }

  void add_follower(uint32_t follower, uint32_t above, uint32_t ray) {
    const auto begin = static_cast<uint32_t>(options_.size());
    const auto costs = stars_.followers.values.of(stars_.followers.costs, follower);
    for (uint32_t state : fitting_.of(follower, chosen_, is_free_)) options_.push_back({state, costs[state]});
    places_.push_back({false, follower, above, ray, begin, static_cast<uint32_t>(options_.size()), 0});
  }

  void add_leaders_around(uint32_t at) {
    for (uint32_t ray : stars_.rays_of_follower.of(stars_.by_follower, places_[at].index)) {
      const uint32_t leader = stars_.rays[ray].leader;
      if (is_free_[leader] && ray != places_[at].ray) add_leader(leader, at, ray);
    }
  }

  std::span<Option> options(const Place& place) { return {options_.data() + place.begin, options_.data() + place.end}; }

  // Adds to each option above the least of those here that fit it.
  void send_up(const Place& place) {
    const Place& above = places_[place.above];
    if (&above == &place) return;
    const Stars::Ray& ray = stars_.rays[place.ray];
    const auto classes = stars_.classes(ray);
    if (place.is_leader) {
      least_.assign(ray.class_count, kImpossible);
      for (uint32_t one = 0; one < ray.class_count; ++one) {
        for (uint32_t value : stars_.fits(ray, one)) least_[one] = std::min(least_[one], options(place)[value].cost);
      }
      for (Option& option : options(above)) option.cost = option.cost + least_[classes[option.number]];
      return;
    }
    least_.assign(ray.class_count, kImpossible);
    for (const Option& option : options(place)) {
      Cost& least = least_[classes[option.number]];
      least = std::min(least, option.cost);
    }
    least_of_value_.assign(above.end - above.begin, kImpossible);
    for (uint32_t one = 0; one < ray.class_count; ++one) {
      for (uint32_t value : stars_.fits(ray, one))
        least_of_value_[value] = std::min(least_of_value_[value], least_[one]);
    }
    for (Option& option : options(above)) option.cost = option.cost + least_of_value_[option.number];
  }

  // The first of the least that fit what was chosen above.
  void choose(Place& place) {
    const Option* best = nullptr;
    for (const Option& option : options(place)) {
      if (best != nullptr && !(option.cost < best->cost)) continue;
      if (fits_above(place, option.number)) best = &option;
    }
    place.choice = best->number;
    if (!place.is_leader) return;
    is_changed_ = is_changed_ || chosen_[place.index] != place.choice;
    chosen_[place.index] = place.choice;
  }

  bool fits_above(const Place& place, uint32_t option) const {
    const Place& above = places_[place.above];
    if (&above == &place) return true;
    const Stars::Ray& ray = stars_.rays[place.ray];
    const uint32_t value = place.is_leader ? option : above.choice, state = place.is_leader ? above.choice : option;
    const auto fitting = stars_.fits(ray, stars_.classes(ray)[state]);
    return std::find(fitting.begin(), fitting.end(), value) != fitting.end();
  }

  const Stars& stars_;
  FittingStates& fitting_;
  std::vector<uint32_t>& chosen_;
  std::vector<bool> is_free_;
  std::vector<Place> places_;
  std::vector<Option> options_;
  std::vector<Cost> least_, least_of_value_;
  bool is_changed_ = false;
};

}  // namespace

std::vector<uint32_t> cheapest(const Stars& stars) {
  std::vector<uint32_t> chosen;
  for (uint32_t leader = 0; leader < stars.leaders.choices.size(); ++leader) {
    const auto costs = stars.leaders.values.of(stars.leaders.costs, leader);
    chosen.push_back(static_cast<uint32_t>(std::min_element(costs.begin(), costs.end()) - costs.begin()));
  }
  return chosen;
}

void improve_by_forests(const Stars& stars, FittingStates& fitting, std::vector<uint32_t>& chosen, uint32_t rounds) {
  constexpr uint32_t kIdleRounds = 4;  // and it is not likely that another gains anything
  Forest forest(stars, fitting, chosen);
  for (uint32_t round = 1, idle = 0; round <= rounds && idle < kIdleRounds; ++round) {
    const bool is_changed = forest.solve(free_leaders(stars, round));
    idle = is_changed ? 0 : idle + 1;
  }
}

Minimum completed(const Stars& stars, FittingStates& fitting, const std::vector<uint32_t>& chosen) {
  Minimum result{std::vector<uint32_t>(stars.leaders.choices.size() + stars.followers.choices.size()), {}, {}};
  const auto choose = [&](const Stars::Side& side, uint32_t at, uint32_t value) {
    result.values[side.choices[at]] = side.values.of(side.ids, at)[value];
    result.cost = result.cost + side.values.of(side.costs, at)[value];
  };
  for (uint32_t leader = 0; leader < chosen.size(); ++leader) choose(stars.leaders, leader, chosen[leader]);
  const std::vector<bool> none_is_free(chosen.size());
  for (uint32_t follower = 0; follower < stars.followers.choices.size(); ++follower) {
    const auto states = fitting.of(follower, chosen, none_is_free);
    if (states.empty()) return {};
    const auto costs = stars.followers.values.of(stars.followers.costs, follower);
    choose(stars.followers, follower, *std::min_element(states.begin(), states.end(), [&](uint32_t a, uint32_t b) {
             return costs[a] < costs[b];
           }));
  }
  return result;
}

}  // namespace qgen::planner
