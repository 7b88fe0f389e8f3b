// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The map of one problem's kernels: the time of each pair of specialization values, relative to the best.
//
//   q8_linear_tile.i8...b4x4/m4n8workgroup32.step64     words: "m4n8workgroup32", "step64"
//
// For a recipe, the map shows the step with the most measured kernels. The axes are the two words with the most values
// (or the variant, if fewer than two words differ). A cell shows the fastest of its kernels.
#pragma once

#include <string>

#include "runtime/workshop/report/facts.h"

namespace qgen::report {

// Empty: fewer than two cells were measured.
std::string heat_map_of(const ProblemFact& problem);

}  // namespace qgen::report
