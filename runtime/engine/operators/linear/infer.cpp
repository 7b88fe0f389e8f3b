// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The Calls of int8 linear layers. docs/linear.md is the bit-exact definition.
#include <fmt/format.h>

#include "linear_q8ta_q8csw.h"
#include "operators.h"
#include "q8ta_linear.h"
#include "q8ta_linear_dequantize.h"
#include "runtime/engine/operators/linear/int8_epilogue.h"
#include "runtime/engine/operators/rows.h"
#include "vocabulary/integer.h"

namespace qgen::generated::operators {
namespace {

// M of each matrix of a batch.
uint32_t matrix_rows(const Shape& input) {
  const size_t rank = input.size();
  return rank < 2 ? 1 : u32(input[rank - 2]);
}

// M, N and K of a layer whose sums are exact.
Expected<fields::Product> product_of(const TensorDesc& input, const TensorDesc& weight) {
  const int64_t n = weight.shape[0], k = weight.shape[1];
  if (Done exact = check_depth(k); !exact) return exact.error();
  return fields::Product{.m = rows_of(input.shape), .n = u32(n), .k = u32(k)};
}

TensorDesc weight_sums_of(const TensorDesc& weight) { return {DType::i32, {weight.shape[0]}}; }

// Of a layer with floating-point outputs.
Call real_output_call(const auto& fields, const auto& inputs, DType output_dtype) {
  const TensorDesc &input = inputs.input, &weight = inputs.weight;
  return make_call(fields, inputs,
                   {.weight_sums = weight_sums_of(weight),
                    .output = TensorDesc{output_dtype, with_last_side(input.shape, weight.shape[0])}});
}

}  // namespace

Expected<Call> infer(const Q8taLinearInputs<Described>& inputs, const Q8taLinearAttributes& attributes,
                     const Q8taLinearRepresentations& representations) {
  const TensorDesc& input = inputs.input;
  const auto product = product_of(input, inputs.weight);
  if (!product) return product.error();
  const TensorDesc output{DType::i8, with_last_side(input.shape, inputs.weight->shape[0]),
                          representations.output->storage, representations.output->layout};
  if (output.layout != input.layout) {
    return Error{Error::Kind::unsupported,
                 fmt::format("output is {} and input is {}: a linear layer does not change the layout",
                             name(output.layout), name(input.layout)),
                 "q8ta_clone converts a tensor to another layout"};
  }
  const auto epilogue = epilogue_fields(inputs, attributes, output);
  if (!epilogue) return epilogue.error();
  const q8ta_linear::Problem fields{
      .product = *product,
      .matrix_rows = matrix_rows(input.shape),
      .int8_epilogue = *epilogue,
  };
  return make_call(fields, inputs, {.weight_sums = weight_sums_of(inputs.weight), .output = output});
}

// The epilogue is in floating point.
Expected<Call> infer(const Q8taLinearDequantizeInputs<Described>& inputs,
                     const Q8taLinearDequantizeAttributes& attributes) {
  const TensorDesc& input = inputs.input;
  const auto product = product_of(input, inputs.weight);
  if (!product) return product.error();
  const q8ta_linear_dequantize::Problem fields{
      .product = *product,
      .matrix_rows = matrix_rows(input.shape),
      .input_scale = static_cast<float>(attributes.input_scale),
      .input_zero_point = static_cast<int32_t>(attributes.input_zero_point),
      .activation = attributes.activation,
      .has_bias = inputs.bias ? 1u : 0u,
  };
  return real_output_call(fields, inputs, attributes.output_dtype);
}

// Floating-point tensors: quantized by input_scale, multiplied in int8, and converted back to the input's dtype.
Expected<Call> infer(const LinearQ8taQ8cswInputs<Described>& inputs, const LinearQ8taQ8cswAttributes& attributes) {
  const TensorDesc& input = inputs.input;
  const auto product = product_of(input, inputs.weight);
  if (!product) return product.error();
  const linear_q8ta_q8csw::Problem fields{
      .product = *product,
      .input_scale = static_cast<float>(attributes.input_scale),
      .input_inverse_scale = inverse(static_cast<float>(attributes.input_scale)),
      .input_zero_point = static_cast<int32_t>(attributes.input_zero_point),
      .activation = attributes.activation,
      .has_bias = inputs.bias ? 1u : 0u,
  };
  return real_output_call(fields, inputs, input.dtype);
}

}  // namespace qgen::generated::operators
