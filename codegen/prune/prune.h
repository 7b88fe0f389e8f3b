// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Finds the variants that a library does not need.
//
//   const Pruned pruned = prune(families, tunings, {.loss = 0.03});
//   pruned.kept[f][k]        // of each kernel of each family
//   to_text(pruned, ...)     // what was dropped, the bytes saved, the predicted loss
//
// These variants stay:
//
// * For each measured problem on each device, the kernels of a choice that takes at most `loss` longer than the best. A
//   greedy search finds a small set of variants that does this for all problems. It takes the variants that serve the
//   most problems per byte first, and then removes those that turn out to be unnecessary.
// * Variants without which another problem could not run: for each removed alternative of an operator, one that can
//   replace it (alternatives.h). Nobody measured how fast that is. On a device without a tuning file, and for operators
//   without a tuned problem, only a plain kernel may be left.
// * With `keeps_unmeasured`, all variants of operators without a tuned problem.
// * A variant of each family, so that no table is empty.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "codegen/emit/tuning.h"

namespace qgen::prune {

struct Options {
  double loss = 0;                // the share of the best time that a problem may lose: 0.03 is 3 %
  bool keeps_unmeasured = false;  // operators without a measured problem keep all variants
};

struct PredictedLoss {
  std::string name;  // of the tuning
  size_t problems = 0;
  double mean = 0;  // a share of the best time: 0.01 is one percent
  double worst = 0;
};

struct Pruned {
  std::vector<std::vector<bool>> kept;  // of each kernel of each family
  std::vector<PredictedLoss> losses;    // of each tuning
  std::vector<std::string> unmeasured;  // operators without a measured problem
};

Pruned prune(std::span<const emit::Family> families, std::span<const emit::CheckedTuning> tunings,
             const Options& options);

// "pruned at 3 %: 1107 of 1942 variants stay, 718 of 1437 modules, SPIR-V 12.92 MB of 35.31 MB", then a line for each
// family that loses variants, and a line for each device. Modules that variants share count once. With `all_ids` every
// variant that goes.
std::string to_text(const Pruned& pruned, std::span<const emit::Family> families, const Options& options, bool all_ids);

}  // namespace qgen::prune
