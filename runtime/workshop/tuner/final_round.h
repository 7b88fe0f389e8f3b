// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Chooses among the kernels of a final round, so that two tunings of one problem agree.
//
// A final round consists of passes, and each pass times every kernel. All kernels of a pass meet the same load and the
// same clock. So two kernels are compared by the ratio of their times in each pass, and by the median of these ratios.
// The median is uncertain: compare() gives its confidence interval, which becomes narrower with each pass.
//
//   * A kernel is slower if its whole interval is above 1 + kMargin, compared with the best. It leaves the round.
//   * It ties with the best if its whole interval is below, or if the interval is narrower than the margin and the
//     median is below.
//   * Otherwise another pass follows, up to kMostPasses of them, as long as there is time. Then the median decides.
//
// Of all that tie, the kernel with the smallest estimate is chosen. So the choice by estimates stays unless a kernel is
// measurably faster. Noise alone makes no tie: on a busy machine it would, between kernels that differ by a half.
//
//   race(clock, racers, {.replays = kMostPasses * chains, .next_round = passes(left_s)});
//   FinalRound final = settle(finalists);   // finalists[final.choice].us is now the shortest time
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/workshop/measure/race.h"

namespace qgen::tuner {

// Two kernels are equally fast if their times differ by less than this part. On an NVIDIA H200 the times of two tunings
// of one kernel differ by 1 to 2 %.
constexpr double kMargin = 0.02;

// Of a final round. It ends earlier than after the fewest only for lack of time.
constexpr uint32_t kFewestPasses = 12, kMostPasses = 120;

struct Finalist {
  std::string id;
  size_t by_estimate = 0;  // its place among all candidates, by estimates: 0 is the untuned choice
  measure::Spread us;
  std::vector<double> rounds_us;  // Timings::rounds_us
};

// The times of one kernel divided by another's, in the passes of both.
struct Ratio {
  double low = 0, median = 0, high = 0;  // the median's confidence interval, of 98 %

  bool is_slower() const { return low > 1 + kMargin; }
  bool is_decided() const { return is_slower() || high <= 1 + kMargin || high - low <= kMargin; }
};
// With less than six passes, the interval has no ends: low is 0 and high is infinite. Of no pass, all three are infinite.
Ratio compare(std::span<const double> rounds_us, std::span<const double> others_rounds_us);

// Who takes part in the next pass: all that are not slower, while one of them is undecided. Nobody: if no more pass
// would end in time. `left_s` is the time that is left.
using NextRound = std::function<std::vector<bool>(std::span<const std::vector<double>> rounds_us)>;
NextRound passes(std::function<double()> left_s);

struct FinalRound {
  size_t choice = 0;  // among the finalists
  size_t ties = 0;    // that tie with the best, the choice and the best included
};

// Programs choose the kernel with the shortest time of a final round. So a kernel whose time is shorter than the
// choice's gets the choice's time and a hundred-thousandth more. `finalists` are not empty.
FinalRound settle(std::span<Finalist> finalists);

}  // namespace qgen::tuner
