// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What takes the time is a pass over all rays, so a ray's prices lie together and each star's states are seen in
// classes.
#include "runtime/planner/tighten.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace qgen::planner {
namespace {

constexpr int64_t kNever = kImpossiblePicoseconds;

int64_t least_of(std::span<const int64_t> list) { return *std::min_element(list.begin(), list.end()); }

int64_t sum_of_least(const Ranges& ranges, const std::vector<int64_t>& costs) {
  int64_t sum = 0;
  for (uint32_t list = 0; list < ranges.size(); ++list) sum += least_of(ranges.of(costs, list));
  return sum;
}

std::vector<int64_t> picoseconds(const std::vector<Cost>& costs) {
  std::vector<int64_t> result;
  result.reserve(costs.size());
  for (Cost cost : costs) result.push_back(cost.picoseconds);
  return result;
}

// One ray's view of the prices. A star of a thousand states is told apart in few classes, so what each state needs is
// one look at a short array.
class RayPrices {
 public:
  RayPrices(const Stars& stars, Tightened& tight) : stars_(stars), tight_(tight) {}

  std::span<int64_t> prices(const Stars::Ray& ray) {
    return {tight_.prices.data() + ray.prices, stars_.leaders.values.count(ray.leader)};
  }

  // Takes the ray's prices off the star; returns what each of the leader's values costs the rest of it at best.
  std::span<const int64_t> take_off(const Stars::Ray& ray) {
    least_prices(ray, of_class_);
    least_.assign(ray.class_count, kNever);
    const auto classes = stars_.classes(ray);
    const auto states = stars_.followers.values.of(tight_.followers, ray.follower);
    const std::span<const int64_t> of_class(of_class_);
    const std::span<int64_t> least(least_);
    for (size_t state = 0; state < states.size(); ++state) {
      const uint16_t one = classes[state];
      const int64_t cost = states[state] - of_class[one];
      states[state] = cost;
      least[one] = std::min(least[one], cost);
    }
    at_best_.assign(stars_.leaders.values.count(ray.leader), kNever);
    for (uint32_t one = 0; one < ray.class_count; ++one) {
      for (uint32_t value : stars_.fits(ray, one)) at_best_[value] = std::min(at_best_[value], least_[one]);
    }
    return at_best_;
  }

  void put_on(const Stars::Ray& ray) {
    least_prices(ray, of_class_);
    add(ray);
  }

  // Puts the price of one value on, for good: no other may be chosen any more.
  void settle(const Stars::Ray& ray, uint32_t value) {
    of_class_.assign(ray.class_count, kNever);
    for (uint32_t one = 0; one < ray.class_count; ++one) {
      for (uint32_t fitting : stars_.fits(ray, one)) {
        if (fitting == value) of_class_[one] = prices(ray)[value];
      }
    }
    add(ray);
    for (int64_t& state : stars_.followers.values.of(tight_.followers, ray.follower)) state = std::min(state, kNever);
  }

 private:
  void least_prices(const Stars::Ray& ray, std::vector<int64_t>& of_class) {
    const auto list = prices(ray);
    of_class.resize(ray.class_count);
    for (uint32_t one = 0; one < ray.class_count; ++one) {
      int64_t least = kNever;
      for (uint32_t value : stars_.fits(ray, one)) least = std::min(least, list[value]);
      of_class[one] = least;
    }
  }

  void add(const Stars::Ray& ray) {
    const auto classes = stars_.classes(ray);
    const auto states = stars_.followers.values.of(tight_.followers, ray.follower);
    const std::span<const int64_t> of_class(of_class_);
    for (size_t state = 0; state < states.size(); ++state) states[state] += of_class[classes[state]];
  }

  const Stars& stars_;
  Tightened& tight_;
  std::vector<int64_t> of_class_, least_, at_best_;
};

class Passes {
 public:
  Passes(const Stars& stars, Tightened& tight) : stars_(stars), tight_(tight), ray_prices_(stars, tight) {
    const auto count = stars.rays.size();
    has_before_.resize(count);
    has_after_.resize(count);
    for (uint32_t follower = 0; follower < stars.rays_of_follower.size(); ++follower) {
      const auto rays = stars.rays_of_follower.of(stars.by_follower, follower);
      for (uint32_t ray : rays) {
        has_before_[ray] = ray != rays.front();
        has_after_[ray] = ray != rays.back();
      }
    }
  }

  void forward() {
    for (uint32_t leader = 0; leader < stars_.rays_of_leader.size(); ++leader) visit(leader, has_before_, has_after_);
  }
  void back() {
    for (uint32_t leader = stars_.rays_of_leader.size(); leader-- > 0;) visit(leader, has_after_, has_before_);
  }

 private:
  void visit(uint32_t leader, const std::vector<bool>& is_behind, const std::vector<bool>& is_ahead) {
    const auto own = stars_.leaders.values.of(tight_.leaders, leader);
    const uint32_t begin = stars_.rays_of_leader.begins[leader], end = stars_.rays_of_leader.begins[leader + 1];
    int64_t behind = 0, ahead = 0;
    for (uint32_t index = begin; index < end; ++index) {
      const Stars::Ray& ray = stars_.rays[index];
      const auto at_best = ray_prices_.take_off(ray);
      const auto prices = ray_prices_.prices(ray);
      for (size_t value = 0; value < own.size(); ++value) {
        own[value] += at_best[value] + prices[value];
        prices[value] = -at_best[value];
      }
      behind += is_behind[index] ? 1 : 0;
      ahead += is_ahead[index] ? 1 : 0;
    }
    share_.assign(own.begin(), own.end());
    for (int64_t& cost : share_) cost /= std::max<int64_t>({behind, ahead, 1});  // what is left over stays here
    for (uint32_t index = begin; index < end; ++index) {
      if (is_ahead[index]) hand_over(share_, own, ray_prices_.prices(stars_.rays[index]));
      ray_prices_.put_on(stars_.rays[index]);
    }
  }

  static void hand_over(std::span<const int64_t> share, std::span<int64_t> from, std::span<int64_t> to) {
    for (size_t value = 0; value < share.size(); ++value) {
      from[value] -= share[value];
      to[value] += share[value];
    }
  }

  const Stars& stars_;
  Tightened& tight_;
  RayPrices ray_prices_;
  std::vector<bool> has_before_, has_after_;  // whether a ray's star has an earlier leader, a later one
  std::vector<int64_t> share_;
};

}  // namespace

Tightened tighten(const Stars& stars, uint32_t rounds) {
  Tightened tight{std::vector<int64_t>(stars.price_count), picoseconds(stars.leaders.costs),
                  picoseconds(stars.followers.costs), 0};
  Passes passes(stars, tight);
  for (uint32_t round = 0; round < rounds; ++round) {
    passes.forward();
    passes.back();
    const int64_t bound =
        sum_of_least(stars.leaders.values, tight.leaders) + sum_of_least(stars.followers.values, tight.followers);
    if (round > 0 && bound <= tight.lower_bound) break;
    tight.lower_bound = bound;
  }
  return tight;
}

ChoiceModel with_prices(ChoiceModel model, const Stars& stars, const Tightened& tight) {
  for (const Stars::Ray& ray : stars.rays) {
    const auto ids = stars.leaders.values.of(stars.leaders.ids, ray.leader);
    auto& fit = model.fits[ray.fit];
    fit.a_costs.resize(fit.a_masks.size());
    for (size_t value = 0; value < ids.size(); ++value) {
      const Cost price{tight.prices[ray.prices + value], 0};
      fit.a_costs[ids[value]] = fit.a_costs[ids[value]] + price;
      model.costs[fit.a][ids[value]] = model.costs[fit.a][ids[value]] - price;
    }
  }
  return model;
}

std::vector<uint32_t> round_off(const Stars& stars, Tightened tight) {
  std::vector<uint32_t> chosen;
  RayPrices ray_prices(stars, tight);
  std::vector<int64_t> sums;
  for (uint32_t leader = 0; leader < stars.rays_of_leader.size(); ++leader) {
    const auto own = stars.leaders.values.of(tight.leaders, leader);
    sums.assign(own.begin(), own.end());
    const auto rays = stars.rays_of_leader.of(stars.rays, leader);
    for (const Stars::Ray& ray : rays) {
      const auto at_best = ray_prices.take_off(ray);
      const auto prices = ray_prices.prices(ray);
      for (size_t value = 0; value < sums.size(); ++value) sums[value] += at_best[value] + prices[value];
    }
    const auto least = std::min_element(sums.begin(), sums.end());
    if (*least > kNever / 2) return {};
    chosen.push_back(static_cast<uint32_t>(least - sums.begin()));
    for (const Stars::Ray& ray : rays) ray_prices.settle(ray, chosen.back());
  }
  return chosen;
}

}  // namespace qgen::planner
