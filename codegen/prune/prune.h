// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Which variants a library can do without.
//
//   const Pruned pruned = prune(families, tunings, {.loss = 0.03});
//   pruned.kept[f][k]        // of each kernel of each family
//   to_text(pruned, ...)     // what was dropped, the bytes saved, the predicted loss
//
// What stays:
//
// * for each problem that was measured, on each device, the kernels of a choice that takes at most `loss` longer than
//   the best: a small set of variants that does this for all problems, found greedily (the variants that serve the most
//   problems a byte first) and then thinned out;
// * what keeps every other problem running: in each family, for each variant that goes, one that can stand in for it
//   (stands_in.h). So where a family had a kernel for a problem and a device it still has one, and every operator and
//   recipe runs as before;
// * families of which nothing is known: those that only operators run of which no problem was measured.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "codegen/emit/tuning.h"

namespace qgen::prune {

struct PredictedLoss {
  std::string name;  // of the tuning
  size_t problems = 0;
  double mean = 0;  // a share of the best time: 0.01 is one percent
  double worst = 0;
};

struct Pruned {
  std::vector<std::vector<bool>> kept;  // of each kernel of each family
  std::vector<PredictedLoss> losses;    // of each tuning
  std::vector<std::string> unmeasured;  // families that stay whole
};

// `loss` is the share of the best time that a problem may lose: 0.03 is 3 %.
Pruned prune(std::span<const emit::Family> families, std::span<const emit::CheckedTuning> tunings, double loss);

// "pruned at 3 %: 510 of 1877 variants stay, SPIR-V 40.1 MB of 98.0 MB", a line a family of which variants go, a line a
// device. With `all_ids` every variant that goes.
std::string to_text(const Pruned& pruned, std::span<const emit::Family> families, double loss, bool all_ids);

}  // namespace qgen::prune
