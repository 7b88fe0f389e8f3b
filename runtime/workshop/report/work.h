// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The bytes and operations that a problem needs with any kernel, as far as the problem key has them.
//
//   work_of(*problem_of("q8ta_linear m=512 n=4096 k=4096 ...", library))   // 20 MB, 17 G operations
//
// Each element of input, weight and output is moved once, with the size of its dtype. Scales, zero points, sums, biases
// and padding are left out. A multiply-add is two operations; for operators without multiply-adds none are counted.
// Keys have no shapes, so this reads the fields that operators of one kind share.
#pragma once

#include <optional>

#include "runtime/engine/selector/problem.h"

namespace qgen::report {

struct Work {
  double bytes = 0;
  double operations = 0;  // 0: it multiplies nothing
};

// nullopt: the key does not have it.
std::optional<Work> work_of(const Problem& problem);

}  // namespace qgen::report
