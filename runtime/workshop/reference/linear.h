// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Linear layers as docs/linear.md defines them: plain loops with 64-bit sums. Every kernel is compared with them.
#pragma once

#include <span>

#include "runtime/engine/tensor/tensor.h"
#include "words.h"

namespace qgen::reference {

using namespace generated::words;

struct LinearParams {
  float input_scale = 1;
  int32_t input_zero_point = 0;
  Activation activation = Activation::none;
};

// An output of column n from its sum, as real.
float output_of(int64_t sum, size_t n, const HostTensor& scales, const HostTensor* bias, const LinearParams& params);

// y[m, n] of x [..., K] and w [N, K], both i8; `bias` may be null. The result is f32 [..., N].
HostTensor linear(const HostTensor& x, const HostTensor& w, const HostTensor& scales, const HostTensor* bias,
                  const LinearParams& params);

// Floating-point values in another floating-point dtype.
HostTensor rounded_to(DType dtype, const HostTensor& reals);

// For floating-point x, f32 or f16, quantized first; y has their dtype.
HostTensor linear_q8ta_q8csw(const HostTensor& x, const HostTensor& w, const HostTensor& scales, const HostTensor* bias,
                             const LinearParams& params);

}  // namespace qgen::reference
