// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Kernels that need the same layout for some of their operands, in any layout.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "runtime/models/planner/graph.h"

namespace qgen::planner::testing {

// Whether a kernel that finds an element's word by each operand's own strides may read one and the other: the same
// storage, packed dimension and block. The outer block may differ.
inline bool are_compatible(Representation a, Representation b) {
  return info(a).storage == info(b).storage && info(a).dims.packed == info(b).dims.packed &&
         info(a).dims.block == info(b).dims.block;
}

// The kernel with the operands of each group in compatible representations: a kernel for each class of them, named
// after its first member.
//
//   {"add", {any words, any words}}, {{0, 1}} -> {"add packed_4w", {4W or 4H4W, 4W or 4H4W}},
//                                                {"add packed_4c", {4C or 4W4C or 4C1W, ...}}, ...
inline std::vector<Kernel> agreeing(const Kernel& kernel, const std::vector<std::vector<uint32_t>>& groups) {
  std::vector<Kernel> kernels = {kernel};
  for (const auto& group : groups) {
    std::vector<Kernel> narrowed;
    for (const Kernel& wide : kernels) {
      for (Representation first : any_representation()) {
        const auto alike = set_of([&](Representation r) { return are_compatible(first, r); });
        if (alike.first() != first) continue;
        Kernel narrow = wide;
        narrow.name.text += fmt::format(" {}", info(first).name);
        for (uint32_t operand : group) narrow.takes[operand] = narrow.takes[operand] & alike;
        if (std::ranges::none_of(narrow.takes, &RepresentationSet::empty)) narrowed.push_back(std::move(narrow));
      }
    }
    kernels = std::move(narrowed);
  }
  return kernels;
}

}  // namespace qgen::planner::testing
