// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Finds kernels and recipes by their ids, for SelectOptions::force.
//
//   "op.f32.vec4"  "op.f32.vec4/workgroup128"  "op.two_pass"  "op.two_pass(first kernel's id, ...)"
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/library/error.h"
#include "runtime/engine/selector/fit.h"

namespace qgen::selector {

// The kernel that SelectOptions::force names. Without force: nothing is set.
struct Forced {
  Filter kernel;  // if .kernel is set
  const RecipeInfo* recipe = nullptr;
  std::vector<std::string> steps;  // kernel ids of the recipe's steps; empty: any
};

// Errors: no such kernel, recipe or specialization; kernels for another number of steps.
Expected<Forced> parse_force(const OperatorInfo& op, const KernelLibrary& library, std::string_view force);

// "op.two_pass(a, b)" -> {"a", "b"}; of an id without parentheses nothing.
std::vector<std::string> step_ids(std::string_view choice_id);

// The library's table of an operator if it has more kernels than `op`, with the same fields: those that were compiled for
// a model (operators/pointwise/chain_kernels.h). Otherwise `op`.
const OperatorInfo& table_of(const OperatorInfo& op, const KernelLibrary& library);

// A kernel of `op` by its id, with or without a specialization.
struct FoundKernel {
  const KernelInfo* kernel = nullptr;
  std::optional<size_t> row;
  std::string unknown_specialization;  // not empty: the kernel has none of this name
};
FoundKernel find_kernel(const OperatorInfo& op, std::string_view id);

}  // namespace qgen::selector
