// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Makes small relatives of a problem, on which its kernels are verified. The reference of a linear layer takes a minute
// for 4096 rows, and no time for 13.
//
//   q8ta_linear input=4096x4096:i8 weight=4096x4096:i8
//     -> 19x19, where no side is a multiple of anything; 192x192, whose sides fit into vectors as the large one's do;
//        3x4096 by 4096x4096, whose sums are as long
//   q8ta_conv2d input=8x64x56x56:i8 weight=64x32x3x3:i8 groups=2
//     -> 3x64x9x9 by 64x32x3x3, whose groups are its own
//
// Equal dimensions stay equal, so operands still fit each other. If the operator refuses a relative (for example
// because groups do not divide it), the caller leaves it out.
#pragma once

#include <vector>

#include "runtime/workshop/runner/command.h"

namespace qgen::tuner {

// For a request with random inputs (RequestText::shapes).
std::vector<runner::RequestText> relatives_of(const runner::RequestText& request);

// Of all its inputs.
double elements_of(const runner::RequestText& request);

struct DeviceRates {
  double bytes_per_us = 0;       // of a copy
  double operations_per_us = 0;  // of one element after the other
  double products_per_us = 0;    // operations too, in products of matrices
};

// About how long a device takes: for the inputs' bytes, for some operations on each element, and for the products of
// inputs and weights.
double expected_us(const runner::RequestText& request, const DeviceRates& rates);

// The request with fewer rows, or smaller batches and images, so that the device takes about `most_us` for it. Sides are
// halved, so that they keep their divisors. Weights stay, and so does a request that is fast enough.
//
//   input=8192x8192:f32 scale=1x1:f32   at 1e4 bytes/us and 5 ms  ->  input=1024x8192:f32 scale=1x1:f32
runner::RequestText fitted(const runner::RequestText& request, const DeviceRates& rates, double most_us);

}  // namespace qgen::tuner
