// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The bytes and operations that a problem needs with any kernel, as far as the problem key
// tells.
//
//   work_of(*problem_of("q8ta_linear m=512 n=4096 k=4096 ...", library))   // 20 MB, 17 G operations
//
// Each element of the input, the weight and the output is moved once, at the size of its dtype; scales, zero points,
// sums, biases and what layouts pad are left out. A multiply-add is two operations; of what multiplies nothing they are
// not counted. Keys have no shapes, so this goes by the fields that operators of one kind share.
#pragma once

#include <optional>

#include "runtime/engine/selector/problem.h"

namespace qgen::report {

struct Work {
  double bytes = 0;
  double operations = 0;  // 0: it multiplies nothing
};

// nullopt: the key does not say it.
std::optional<Work> work_of(const Problem& problem);

}  // namespace qgen::report
