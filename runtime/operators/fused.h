// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Element-wise operations on operands that are each real or quantized, into an output that is either. docs/fused.md
// says what is computed, to the bit.
//
//   auto y = fused_add(context, {&a, &a_scale, &a_zero_point}, {&b}, {.dtype = DType::i8, .scale = &y_scale}, 1.0f);
//
// A quantized operand is i8, u8, i16 or i32, and has a scale, f32, and perhaps a zero point, i32: each one number, or of
// the operand's rank, where its shape says the blocks (runtime/tensor/quant_params.h). A real one is f32 or f16 and has
// neither. Tensors lie in plain buffers, of rank up to 8. fused_add and fused_mul repeat sides of 1, as NumPy does.
#pragma once

#include "runtime/operators/call.h"
#include "runtime/tensor/quant_params.h"

namespace qgen {

struct FusedOperand {
  const DeviceTensor* tensor = nullptr;
  const DeviceTensor* scale = nullptr;       // null: of a real operand
  const DeviceTensor* zero_point = nullptr;  // null: 0
};
struct FusedOutput {
  DType dtype = DType::f32;
  const DeviceTensor* scale = nullptr;
  const DeviceTensor* zero_point = nullptr;
  std::optional<IntegerRange> range;  // of integers; without: all that the dtype holds
};

// The same without their memory.
struct FusedOperandDesc {
  TensorDesc tensor;
  std::optional<TensorDesc> scale, zero_point;
};
struct FusedOutputDesc {
  DType dtype = DType::f32;
  std::optional<TensorDesc> scale, zero_point;
  std::optional<IntegerRange> range;
};
FusedOperandDesc desc_of(const FusedOperand& operand);
FusedOutputDesc desc_of(const FusedOutput& output);

// What stands at the operands of a Call of one input, and of two.
std::vector<Argument> arguments_of(const FusedOperand& input, const FusedOutput& output);
std::vector<Argument> arguments_of(const FusedOperand& input, const FusedOperand& other, const FusedOutput& output);

Expected<Call> requantize_call(const FusedOperandDesc& input, const FusedOutputDesc& output);  // integers both
Expected<Call> fused_relu_call(const FusedOperandDesc& input, const FusedOutputDesc& output);
Expected<Call> fused_hardswish_call(const FusedOperandDesc& input, const FusedOutputDesc& output);
Expected<Call> fused_add_call(const FusedOperandDesc& input, const FusedOperandDesc& other,
                              const FusedOutputDesc& output, float alpha);
Expected<Call> fused_mul_call(const FusedOperandDesc& input, const FusedOperandDesc& other,
                              const FusedOutputDesc& output);

Expected<DeviceTensor> requantize(Context& context, const FusedOperand& input, const FusedOutput& output);
Expected<DeviceTensor> fused_relu(Context& context, const FusedOperand& input, const FusedOutput& output);
Expected<DeviceTensor> fused_hardswish(Context& context, const FusedOperand& input, const FusedOutput& output);
Expected<DeviceTensor> fused_add(Context& context, const FusedOperand& input, const FusedOperand& other,
                                 const FusedOutput& output, float alpha);
Expected<DeviceTensor> fused_mul(Context& context, const FusedOperand& input, const FusedOperand& other,
                                 const FusedOutput& output);

}  // namespace qgen
