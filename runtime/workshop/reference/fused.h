// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Operations on operands that are floating-point or quantized, as docs/fused.md defines them. Every operand is
// dequantized, the operation is done in f32, one element at a time, and the result is quantized if the output is.
#pragma once

#include <limits>

#include "runtime/workshop/reference/affine.h"

namespace qgen::reference {

struct FusedOperand {
  const HostTensor* tensor = nullptr;
  const HostTensor* scale = nullptr;       // null: of a real operand
  const HostTensor* zero_point = nullptr;  // null: 0
};
struct FusedOutput {
  DType dtype = DType::f32;
  const HostTensor* scale = nullptr;
  const HostTensor* zero_point = nullptr;
  IntegerBounds bounds{0, 0};
};

// Numbers that some operations read.
struct FusedNumbers {
  float alpha = 1;                                                                                     // add's
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();  // clip's
};
// `other` may be null where the operation has one operand.
HostTensor fused(FusedOperation operation, const FusedOperand& input, const FusedOperand* other,
                 const FusedNumbers& numbers, const FusedOutput& output);

// f32 values of any operand, and of floating-point ones in the output's dtype.
HostTensor made_real(const FusedOperand& operand);
HostTensor made_output(const HostTensor& reals, const FusedOutput& output);

}  // namespace qgen::reference
