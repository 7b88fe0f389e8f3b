// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Computes the cost of one choice repeatedly; its id is read only once. select() with this id forced gives the same
// cost, but also makes the choice.
//
//   const auto parts = parts_of(op, "q8ta_linear.coopmat(q8_linear_coopmat.m16n16k32.../...)");
//   cost_of_choice(*parts, problem, device)      // microseconds; nullopt: it does not fit
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "runtime/engine/selector/select.h"

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
