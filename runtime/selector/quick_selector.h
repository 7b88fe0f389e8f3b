// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The choice that select() ranks first, in microseconds:
//
//   const QuickSelector quick(profile, library);
//   if (const auto choice = quick.best(problem)) ...     // select(problem, profile, library).ranked.front()
//
// Of each family of kernels it finds out once, when a problem first asks for it, which the device can run at all, and
// keeps those that take the same operands together, with the terms of their costs that no problem changes
// (StagedCost). A problem then costs the rest of the spec's cost for all kernels of equal terms at once; the spec's
// conditions are asked only of what would be cheaper than the best so far.
#pragma once

#include <memory>
#include <optional>

#include "runtime/selector/select.h"

namespace qgen {

class QuickSelector {
 public:
  // What it is given must outlive it.
  QuickSelector(const DeviceProfile& device, const KernelLibrary& library);
  // nullopt: no kernel fits; select() says why. Safe from many threads.
  std::optional<Choice> best(const Problem& problem) const;

  ~QuickSelector();

 private:
  struct Families;
  const DeviceProfile& device_;
  std::unique_ptr<Families> families_;
};

}  // namespace qgen
