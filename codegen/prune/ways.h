// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The ways to compute an operator, and which of them can do whatever others can: those others are not needed for a
// problem to run.
//
//   a way of q8ta_linear, of operands that lie in rows    kernels
//   plain                                                 q8_linear_plain.strided.i8.strided.not_is_aligned
//   coopmat_split                                         q8_linear_coopmat.m16n16k32..., q8_linear_finish.i8.strided
//
//   plain stands in for coopmat_split      it has no condition that the other has not, and needs no more of a device
//   coopmat_split does not for plain       `k >= 1024` may fail, and so may cooperative matrices
//
// It is a proof, not a guess: what a way asks of a problem and of a device follows from what the other asks, once the
// values of parameters stand in it and what a step passes stands for its family's fields (expression/facts.h). What
// cannot be shown so counts as no. Operands are compared form by form, each dtype, storage and layout that the operator
// takes; a weight may lie in any form that its operator names, since a caller's is packed for the kernel that is
// chosen.
//
// Left out is what takes operands of 4 GiB, more than a binding holds, or nearly: conditions that a size be at most
// some 2^32 count as met, and a grid may be too large for a device where the other's is not. So are devices that bind
// less than 16 storage buffers, and weights that are bound to the one form that they have (max_form_bytes).
//
// Private to this room.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "codegen/emit/tuning.h"

namespace qgen::prune {

// What must be there: all kernels of one of its sets, each of which is a way.
using KernelSet = std::vector<emit::KernelPlace>;  // sorted, each once
using Demand = std::vector<KernelSet>;             // sorted, each once

struct WaysOfOperator {
  size_t family = 0;
  KernelSet kernels;            // of all its ways
  std::vector<Demand> demands;  // where each has one of its ways, every problem that had a way before has one
};

// Of each operator of a run, and of each family that no recipe runs.
std::vector<WaysOfOperator> ways_of_operators(std::span<const emit::Family> families);

}  // namespace qgen::prune
