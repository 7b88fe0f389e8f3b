// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What a recipe comes to for a problem: each step gets a problem of its own and the kernels that fit it.
#pragma once

#include <string>
#include <vector>

#include "runtime/selector/fit.h"

namespace qgen::selector {

// Each way to run it, unranked, or the best if options.all_step_kernels is not set; or why there is none.
// `forced_steps` are kernel ids, one a step; empty: any.
Outcome<std::vector<Choice>, Rejection> choices_of(const RecipeInfo& recipe, const Problem& problem,
                                                   const Request& request, const SelectOptions& options,
                                                   const std::vector<std::string>& forced_steps);

}  // namespace qgen::selector
