// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Chooses among the kernels of a final round, so that two tunings of one problem agree.
//
// Kernels are compared in pairs: by the ratio of their times in each round, since all kernels of a round meet the same
// load and the same clock. A kernel ties with the best if
//
//   * its ratio to the best is at most kMargin above one, in the median of all rounds; or
//   * it was the faster one in a quarter of the rounds: then the noise is larger than the difference.
//
// Of all that tie, the kernel with the smallest estimate is chosen. So noise chooses nothing, and the choice by estimates
// stays unless a kernel is clearly faster.
//
//   FinalRound final = settle(finalists);   // finalists[final.choice].us is now the shortest time
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "runtime/workshop/measure/race.h"

namespace qgen::tuner {

// Two kernels are equally fast if their times differ by less than this part. On an NVIDIA H200 the times of two tunings
// of one kernel differ by 1 to 2 %.
constexpr double kMargin = 0.02;

struct Finalist {
  std::string id;
  size_t by_estimate = 0;  // its place among all candidates, by estimates: 0 is the untuned choice
  measure::Spread us;
  std::vector<double> rounds_us;  // Timings::rounds_us; of as many rounds as the others'
};

struct FinalRound {
  size_t choice = 0;  // among the finalists
  size_t ties = 0;    // that tie with the best, the choice and the best included
};

// Programs choose the kernel with the shortest time of a final round. So a kernel whose time is shorter than the
// choice's, within the noise, gets the choice's time and a hundred-thousandth more. `finalists` are not empty.
FinalRound settle(std::span<Finalist> finalists);

}  // namespace qgen::tuner
