// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The steps of a recipe for a problem: each gets a separate problem, and the kernels that fit it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/engine/selector/fit.h"

namespace qgen::selector {

// A step, resolved: its computation and its operands.
struct Step {
  const OperatorInfo* family = nullptr;
  std::vector<std::byte> problem;
  std::vector<OperandDesc> operands;
  std::vector<OperandSource> sources;
};
// `whole` is the request of the whole operator. Uses the memory of the step that was there before.
void resolve(const StepInfo& info, const RecipeInfo& recipe, const Request& whole, Step& step);
Request request_of(const Step& step, const Request& whole);

// Index into the recipe's conditions, or kAllHold.
int first_failing(const RecipeInfo& recipe, const Request& request);

// With a kernel for each step.
Choice choice_of(const RecipeInfo& recipe, const Request& request, std::span<const Candidate> picked);

// Each way to run it, unranked, or the best if options.all_step_kernels is not set; or why there is none.
// `forced_steps` are kernel ids, one a step; empty: any.
Outcome<std::vector<Choice>, Rejection> choices_of(const RecipeInfo& recipe, const Request& request,
                                                   const SelectOptions& options,
                                                   const std::vector<std::string>& forced_steps);

}  // namespace qgen::selector
