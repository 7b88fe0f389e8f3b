// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/tuner/final_round.h"

#include <algorithm>

namespace qgen::tuner {
namespace {

constexpr double kJustBehind = 1 + 1e-5;  // is kept by the six digits of tuning files

// Of two kernels in each round, in ascending order. One that has no rounds is compared by its median.
std::vector<double> ratios_of(const Finalist& a, const Finalist& b) {
  const size_t rounds = std::min(a.rounds_us.size(), b.rounds_us.size());
  if (rounds == 0) return {a.us.median / b.us.median};
  std::vector<double> ratios;
  for (size_t i = 0; i < rounds; ++i) ratios.push_back(a.rounds_us[i] / b.rounds_us[i]);
  std::ranges::sort(ratios);
  return ratios;
}

// Of an even number the mean of the two in the middle: so a's ratio to b is above one where b's ratio to a is below.
double median(const std::vector<double>& sorted) {
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

bool ties(const Finalist& finalist, const Finalist& best) {
  const std::vector<double> ratios = ratios_of(finalist, best);
  return median(ratios) <= 1 + kMargin || (ratios.size() > 1 && ratios[(ratios.size() - 1) / 4] < 1);
}

}  // namespace

FinalRound settle(std::span<Finalist> finalists) {
  const auto beside_first = [&](const Finalist& finalist) { return median(ratios_of(finalist, finalists.front())); };
  const Finalist& best = *std::ranges::min_element(finalists, {}, beside_first);
  FinalRound settled;
  bool is_first = true;
  for (size_t i = 0; i < finalists.size(); ++i) {
    if (!ties(finalists[i], best)) continue;
    ++settled.ties;
    if (is_first || finalists[i].by_estimate < finalists[settled.choice].by_estimate) settled.choice = i;
    is_first = false;
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
