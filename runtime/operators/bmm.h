// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Products of matrices, batch by batch: [..., M, K] times [..., K, N] is [..., M, N]. Each is real or quantized, as
// operands of fused.h are; batches are repeated along sides of 1, as NumPy does. docs/fused.md says what is computed,
// to the bit.
//
//   auto y = bmm(context, {&a, &a_scale, &a_zero_point}, {&b, &b_scale}, {.dtype = DType::i8, .scale = &y_scale});
//
// bmm() takes i8 and u8 with one parameter along K, and sums integers; fused_bmm() takes what fused_add() does, and
// sums reals where it must.
#pragma once

#include "runtime/operators/fused.h"

namespace qgen {

Expected<Call> bmm_call(const FusedOperandDesc& input, const FusedOperandDesc& other, const FusedOutputDesc& output);
Expected<Call> fused_bmm_call(const FusedOperandDesc& input, const FusedOperandDesc& other,
                              const FusedOutputDesc& output);

Expected<DeviceTensor> bmm(Context& context, const FusedOperand& input, const FusedOperand& other,
                           const FusedOutput& output);
Expected<DeviceTensor> fused_bmm(Context& context, const FusedOperand& input, const FusedOperand& other,
                                 const FusedOutput& output);

}  // namespace qgen
