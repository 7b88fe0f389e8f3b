// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The alternatives to compute an operator: its kernels, and its recipes with a kernel for each step. An alternative can
// replace another if it can run every problem of the other. Then no problem needs the other.
//
//   alternative of q8ta_linear, operands in rows   kernels
//   plain                                          q8_linear_plain.strided.i8.strided.not_is_aligned
//   coopmat_split                                  q8_linear_coopmat.m16n16k32..., q8_linear_finish.i8.strided
//
//   plain replaces coopmat_split           it has no further conditions, and needs no more of a device
//   coopmat_split does not replace plain   `k >= 1024` may fail, and so may cooperative matrices
//
// This is proven, not guessed. The conditions of one alternative must follow from those of the other, on the problem
// and on the device. The values of parameters and the expressions of steps are inserted first (expression/facts.h).
// Without a proof, nothing is replaced. Operands are compared for each combination of formats (dtype, storage and
// layout) that the operator accepts. A weight may be in any form that its operator names, since it is packed for the
// chosen kernel.
//
// Two cases are left out. One exception is operands of almost 4 GiB or more, more than a binding holds. Conditions that
// a size is at most about 2^32 count as true. A grid may be too large for a device while the other kernel's is not. The
// other is devices that bind less than 16 storage buffers, and weights that are bound to a single form
// (max_form_bytes).
//
// Private to this room.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "codegen/emit/tuning.h"

namespace qgen::prune {

// A demand is fulfilled if all kernels of one of its sets stay. Each set is an alternative.
using KernelSet = std::vector<emit::KernelIndex>;  // sorted, each once
using Demand = std::vector<KernelSet>;             // sorted, each once

struct OperatorDemands {
  size_t family = 0;
  KernelSet kernels;            // of all its alternatives
  std::vector<Demand> demands;  // if all are fulfilled, every problem that could run before can still run
};

// For each operator of a run, and each family that no recipe runs.
std::vector<OperatorDemands> demands_of_operators(std::span<const emit::Family> families);

}  // namespace qgen::prune
