// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The map of one problem's kernels: the time of each pair of specialization values, relative to the best.
//
//   q8_linear_tile.i8...b4x4/m4n8workgroup32.step64     words: "m4n8workgroup32", "step64"
//
// Of a recipe the step counts of which most kernels were measured. The two words (or the variant, where fewer than two
// words differ) that take the most values are the axes; of what is alike in both the fastest is shown.
#pragma once

#include <string>

#include "runtime/workshop/report/facts.h"

namespace qgen::report {

// Empty: fewer than two cells were measured.
std::string heat_map_of(const ProblemFact& problem);

}  // namespace qgen::report
