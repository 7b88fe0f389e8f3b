// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Operators on the elements of i8 tensors, each tensor with one scale and zero point. docs/q8ta.md says what is
// computed, to the bit.
//
//   auto y = q8ta_unary(context, x, hardswish, {.input = {0.04f, -3}, .output = {0.03f, 5}});
//   auto z = q8ta_binary(context, y, bias, {.operation = BinaryOperation::add, .activation = Activation::relu, ...});
//
// Any rank and any sides, in any layout: a unary operator goes from any to any other, a binary one between layouts that
// pack the same dimension.
#pragma once

#include "runtime/operators/per_tensor.h"
#include "runtime/operators/words.h"

namespace qgen {

// ---- of one element -------------------------------------------------------------------------------------------------

// A function of a real. The kernel has its 256 values as a table, so it may be any, and a new one needs no kernel.
using UnaryFunction = double (*)(double);
double relu(double x);
double hardswish(double x);
double sigmoid(double x);

struct Q8taUnaryOptions {
  PerTensor input, output;
  Layout layout = Layout::strided;  // of the output
};
Expected<Call> q8ta_unary_call(const TensorDesc& input, UnaryFunction function, const Q8taUnaryOptions& options);
Expected<DeviceTensor> q8ta_unary(Context& context, const DeviceTensor& input, UnaryFunction function,
                                  const Q8taUnaryOptions& options);

// ---- of two ---------------------------------------------------------------------------------------------------------

enum class BinaryOperation : uint8_t { add, sub, mul };  // input + alpha * other, input - alpha * other, input * other

struct Q8taBinaryOptions {
  BinaryOperation operation = BinaryOperation::add;
  PerTensor input, other, output;
  double alpha = 1;  // of add and sub
  Activation activation = Activation::none;
  Layout layout = Layout::strided;  // of the output
};
// Shapes are broadcast as NumPy does.
Expected<Call> q8ta_binary_call(const TensorDesc& input, const TensorDesc& other, const Q8taBinaryOptions& options);
Expected<DeviceTensor> q8ta_binary(Context& context, const DeviceTensor& input, const DeviceTensor& other,
                                   const Q8taBinaryOptions& options);

// ---- of none: they only move ----------------------------------------------------------------------------------------

// [..., C * r * r, H, W] -> [..., C, H * r, W * r].
struct Q8taPixelShuffleOptions {
  PerTensor input, output;
  int64_t upscale_factor = 2;
  Layout layout = Layout::strided;  // of the output
};
Expected<Call> q8ta_pixel_shuffle_call(const TensorDesc& input, const Q8taPixelShuffleOptions& options);
Expected<DeviceTensor> q8ta_pixel_shuffle(Context& context, const DeviceTensor& input,
                                          const Q8taPixelShuffleOptions& options);

}  // namespace qgen
