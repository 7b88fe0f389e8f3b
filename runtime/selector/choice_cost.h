// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What one choice costs, again and again: its id is read once. select() that is forced to the id says the same, and
// makes the choice too.
//
//   const auto parts = parts_of(op, "q8ta_linear.coopmat(q8_linear_coopmat.m16n16k32.../...)");
//   cost_of_choice(*parts, problem, device)      // microseconds; nullopt: it does not fit
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "runtime/selector/select.h"

namespace qgen::selector {

struct ChoiceParts {
  struct Kernel {
    const KernelInfo* kernel;
    size_t row;
  };
  const RecipeInfo* recipe = nullptr;
  std::vector<Kernel> kernels;  // one; of a recipe one a step
};

// Nullopt: the operator has no choice of this id.
std::optional<ChoiceParts> parts_of(const OperatorInfo& op, std::string_view id);
std::optional<double> cost_of_choice(const ChoiceParts& parts, const Problem& problem, const DeviceProfile& device);

}  // namespace qgen::selector
