// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The costs of many kernels of an operator on one device, of a problem: what no problem changes is found when the
// kernels are added, and what several kernels share is found once for all of them (StagedCost).
//
//   KernelCosts kernels(*op.staged_cost);
//   for (...) kernels.add(terms);            // of one kernel
//   FoundCosts found;
//   kernels.find(scope, found);
//   found.costs[i]                           // of the i-th, to the bit what op.cost() says
//
// Private to this room.
#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

#include "runtime/library/kernel_info.h"

namespace qgen::selector {

// What find() writes, the next over what the one before wrote. All of a decision fit into the first memory, which is no
// more than a place on the stack.
struct FoundCosts {
  std::array<std::byte, 16384> first_memory;
  std::pmr::monotonic_buffer_resource memory{first_memory.data(), first_memory.size()};
  std::pmr::vector<Real> costs{&memory};
  std::pmr::vector<std::byte> shared{&memory};
  std::pmr::vector<const void*> shared_begin{&memory};  // for each of StagedCost::shared
};

class KernelCosts {
 public:
  explicit KernelCosts(const StagedCost& cost) : cost_(&cost), shared_(cost.shared.size()) {}

  void add(std::span<const std::byte> terms);
  // `scope` is of the problem and the device that the terms are of.
  void find(const SelectionScope& scope, FoundCosts& found) const;

 private:
  // For one of StagedCost::shared: a kernel for each that differ in what it reads.
  struct Different {
    std::vector<std::byte> terms;
    uint32_t count = 0;
  };
  uint32_t place_of(std::span<const std::byte> terms, const SharedTerms& shared, Different& different) const;

  const StagedCost* cost_;
  std::vector<std::byte> terms_;  // of all kernels
  size_t count_ = 0;
  std::vector<uint32_t> places_;  // CostedKernels::places
  std::vector<Different> shared_;
};

}  // namespace qgen::selector
