// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/tuner/final_round.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace qgen::tuner {
namespace {

constexpr double kJustBehind = 1 + 1e-5;  // is kept by the six digits of tuning files
constexpr double kConfidence = 2.33;      // standard deviations of a normal distribution, that 98 % are within

// Of an even number the mean of the two in the middle: so a's ratio to b is above one where b's ratio to a is below.
double median(const std::vector<double>& sorted) {
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

using Passes = std::vector<double>;

// The fastest of the kernels that never left the round, by the ratios to one of them. There is at least one.
const Passes& best_of(std::span<const Passes> rounds_us) {
  const Passes& longest = *std::ranges::max_element(rounds_us, {}, &Passes::size);
  return *std::ranges::min_element(rounds_us, {}, [&](const Passes& rounds) {
    return std::pair(rounds.size() < longest.size(), compare(rounds, longest).median);
  });
}

std::vector<bool> undecided(std::span<const Passes> rounds_us) {
  const Passes& best = best_of(rounds_us);
  bool is_over = best.size() >= kFewestPasses;
  std::vector<bool> takes_part;
  for (const Passes& rounds : rounds_us) {
    const Ratio ratio = compare(rounds, best);
    takes_part.push_back(rounds.size() == best.size() && !ratio.is_slower());
    is_over &= !takes_part.back() || ratio.is_decided();
  }
  if (is_over) takes_part.assign(rounds_us.size(), false);
  return takes_part;
}

}  // namespace

// The ends of the interval are two of the ratios. The number of ratios below the true median is binomial, and nearly
// normal.
Ratio compare(std::span<const double> rounds_us, std::span<const double> others_rounds_us) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const size_t count = std::min(rounds_us.size(), others_rounds_us.size());
  if (count == 0) return {kInfinite, kInfinite, kInfinite};
  std::vector<double> ratios;
  for (size_t i = 0; i < count; ++i) ratios.push_back(rounds_us[i] / others_rounds_us[i]);
  std::ranges::sort(ratios);
  const double all = static_cast<double>(count);
  const double below = (all - kConfidence * std::sqrt(all)) / 2;
  if (below < 0) return {0, median(ratios), kInfinite};
  const auto end = static_cast<size_t>(below);
  return {ratios[end], median(ratios), ratios[count - 1 - end]};
}

NextRound passes(std::function<double()> left_s) {
  return [left_s = std::move(left_s), before_s = -1.0](std::span<const Passes> rounds_us) mutable {
    const double now_s = left_s();
    const double pass_s = before_s < 0 ? 0 : before_s - now_s;
    before_s = now_s;
    return now_s > pass_s ? undecided(rounds_us) : std::vector<bool>(rounds_us.size(), false);
  };
}

FinalRound settle(std::span<Finalist> finalists) {
  std::vector<Passes> rounds_us;
  for (const Finalist& finalist : finalists) {
    const bool has_passes = !finalist.rounds_us.empty();
    rounds_us.push_back(has_passes ? finalist.rounds_us : Passes{finalist.us.median});
  }
  const Passes& best = best_of(rounds_us);
  FinalRound settled;
  for (size_t i = 0; i < finalists.size(); ++i) {
    const bool has_left = rounds_us[i].size() < best.size();
    if (has_left || compare(rounds_us[i], best).median > 1 + kMargin) continue;
    if (settled.ties++ == 0 || finalists[i].by_estimate < finalists[settled.choice].by_estimate) settled.choice = i;
  }
  const double least = finalists[settled.choice].us.median * kJustBehind;
  for (size_t i = 0; i < finalists.size(); ++i) {
    measure::Spread& us = finalists[i].us;
    if (i == settled.choice || us.median >= least) continue;
    us.median = least;
    us.high = std::max(us.high, least);
  }
  return settled;
}

}  // namespace qgen::tuner
