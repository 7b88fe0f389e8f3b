// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Whether one variant of a family can do whatever another can: then the other is not needed for a problem to have a
// kernel.
//
//   scale.f32.vec1 stands in for scale.f32.vec4      `width % 1 == 0` always holds, and it needs no more of a device
//   scale.f32.vec4 does not for scale.f32.vec1       `width % 4 == 0` may fail
//   scale.f16.vec1 does not for scale.f32.vec1       it takes other operands
//
// It is a proof, not a guess: a condition of the one holds if it is true whatever the problem and the device are, or if
// the other has the same condition, word by word, once the values of its parameters stand in it. What cannot be shown
// so counts as no. One thing is left out: a grid may be too large for a device where the other's is not, which takes
// more workgroups than 65535 in each of three dimensions.
//
// Private to this room.
#pragma once

#include <span>
#include <vector>

#include "codegen/emit/emit.h"

namespace qgen::prune {

// [u][v]: whether kernel u of the family can stand in for kernel v. `families` are those of the run: steps of recipes
// take some variants of a family only.
std::vector<std::vector<bool>> stand_ins(const emit::Family& family, std::span<const emit::Family> families);

}  // namespace qgen::prune
