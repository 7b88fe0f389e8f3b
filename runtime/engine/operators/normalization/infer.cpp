// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The Calls of specs/normalization: rows along the last dimension.
#include <fmt/format.h>

#include "layer_norm.h"
#include "operators.h"
#include "runtime/engine/calls/placement.h"
#include "runtime/engine/operators/flush_subnormal.h"
#include "softmax.h"
#include "vocabulary/integer.h"

namespace qgen::generated::operators {
namespace {

uint32_t rows_of(const Shape& shape) { return u32(element_count(Shape(shape.begin(), shape.end() - 1))); }

Done check_like_input(std::string_view operand, const std::optional<TensorDesc>& given, const TensorDesc& input) {
  if (!given || given->dtype == input.dtype) return std::monostate{};
  return refused(fmt::format("{} is {}, and input is {}", operand, name(given->dtype), name(input.dtype)),
                 "both must have the same dtype");
}

}  // namespace

Expected<Call> infer(const SoftmaxInputs<Described>& inputs) {
  const TensorDesc& input = inputs.input;
  const TensorDesc output{input.dtype, input.shape};
  const bool is_empty = element_count(input.shape) == 0;  // a row may have no elements, or be past 32 bits
  const softmax::Problem fields{.rows = is_empty ? 0 : rows_of(input.shape),
                                .columns = is_empty ? 0 : u32(input.shape.back())};
  return make_call(fields, {.input = input, .output = output});
}

Expected<Call> infer(const LayerNormInputs<Described>& inputs, const LayerNormAttributes& attributes) {
  const TensorDesc& input = inputs.input;
  const TensorDesc output{input.dtype, input.shape};
  for (const auto& [operand, given] : {std::pair{"weight", &inputs.weight}, {"bias", &inputs.bias}}) {
    if (Done like = check_like_input(operand, *given, input); !like) return like.error();
  }
  const bool is_empty = element_count(input.shape) == 0;
  const layer_norm::Problem fields{
      .rows = is_empty ? 0 : rows_of(input.shape),
      .columns = is_empty ? 0 : u32(input.shape.back()),
      .epsilon = static_cast<float>(attributes.epsilon),
      .inverse_columns = is_empty ? 0.0f : 1.0f / static_cast<float>(input.shape.back()),
      .has_weight = inputs.weight ? 1u : 0u,
      .has_bias = inputs.bias ? 1u : 0u,
  };
  return make_call(fields, {.input = input, .weight = inputs.weight, .bias = inputs.bias, .output = output});
}

}  // namespace qgen::generated::operators
