// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Small problems like a large one, on which its kernels are verified: the scalar reference of a linear layer of 4096
// rows takes a minute, that of 13 rows no time.
//
//   q8ta_linear input=4096x4096:i8 weight=4096x4096:i8
//     -> 19x19, where no side is a multiple of anything; 192x192, whose sides fit into vectors as the large one's do;
//        3x4096 by 4096x4096, whose sums are as long
//   q8ta_conv2d input=8x64x56x56:i8 weight=64x32x3x3:i8 groups=2
//     -> 3x64x9x9 by 64x32x3x3, whose groups are its own
//
// Sides that are alike stay alike, so what had to agree still does. What the operator refuses (groups that do not
// divide) is for the caller to leave out.
#pragma once

#include <vector>

#include "runtime/runner/command.h"

namespace qgen::tuner {

// Of a request whose inputs are made up (RequestText::shapes).
std::vector<runner::RequestText> relatives_of(const runner::RequestText& request);

// Of all its inputs.
double elements_of(const runner::RequestText& request);

}  // namespace qgen::tuner
