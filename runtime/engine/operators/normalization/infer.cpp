// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The Calls of specs/normalization: rows along the last dimension.
#include "layer_norm.h"
#include "operators.h"
#include "rms_norm.h"
#include "runtime/engine/operators/rows.h"
#include "runtime/engine/operators/same_as.h"
#include "skip_norm.h"
#include "softmax.h"
#include "vocabulary/integer.h"

namespace qgen::generated::operators {
namespace {

// The numbers that all normalizations of rows have. A row may have no elements, or be past 32 bits if there are none.
struct Rows {
  fields::RowsByWorkgroups fields{.rows = 0, .columns = 0};
  float inverse_columns = 0;

  explicit Rows(const Shape& shape) {
    if (element_count(shape) == 0) return;
    fields = {.rows = rows_of(shape), .columns = u32(shape.back())};
    inverse_columns = 1.0f / static_cast<float>(shape.back());
  }
};

// skip_rms_norm and skip_layer_norm, whose inputs and attributes have the same names.
Expected<Call> skip_norm_call(const auto& inputs, const auto& attributes, bool is_centred) {
  const TensorDesc& input = inputs.input;
  if (Done same = check_same_dtypes(
          {{"skip", inputs.skip}, {"sum_bias", inputs.sum_bias}, {"weight", inputs.weight}, {"bias", inputs.bias}},
          "input", input);
      !same)
    return same.error();
  if (Done same = check_same_shape("skip", inputs.skip, "input", input); !same) return same.error();
  const TensorDesc output{input.dtype, input.shape};
  const Rows rows(input.shape);
  const skip_norm::Problem fields{
      .rows_by_workgroups = rows.fields,
      .epsilon = static_cast<float>(attributes.epsilon),
      .inverse_columns = rows.inverse_columns,
      .has_sum_bias = inputs.sum_bias ? 1u : 0u,
      .has_weight = inputs.weight ? 1u : 0u,
      .has_bias = inputs.bias ? 1u : 0u,
      .is_centred = is_centred ? 1u : 0u,
  };
  return make_call(fields, inputs, {.output = output, .sum = output});
}

}  // namespace

Expected<Call> infer(const SoftmaxInputs<Described>& inputs) {
  const TensorDesc& input = inputs.input;
  const TensorDesc output{input.dtype, input.shape};
  const Rows rows(input.shape);
  const softmax::Problem fields{.rows_by_workgroups = rows.fields};
  return make_call(fields, inputs, {.output = output});
}

Expected<Call> infer(const LayerNormInputs<Described>& inputs, const LayerNormAttributes& attributes) {
  const TensorDesc& input = inputs.input;
  const TensorDesc output{input.dtype, input.shape};
  if (Done same = check_same_dtypes({{"weight", inputs.weight}, {"bias", inputs.bias}}, "input", input); !same)
    return same.error();
  const Rows rows(input.shape);
  const layer_norm::Problem fields{
      .rows_by_workgroups = rows.fields,
      .epsilon = static_cast<float>(attributes.epsilon),
      .inverse_columns = rows.inverse_columns,
      .has_weight = inputs.weight ? 1u : 0u,
      .has_bias = inputs.bias ? 1u : 0u,
  };
  return make_call(fields, inputs, {.output = output});
}

Expected<Call> infer(const RmsNormInputs<Described>& inputs, const RmsNormAttributes& attributes) {
  const TensorDesc& input = inputs.input;
  const TensorDesc output{input.dtype, input.shape};
  if (Done same = check_same_dtype("weight", inputs.weight, "input", input); !same) return same.error();
  const Rows rows(input.shape);
  const rms_norm::Problem fields{
      .rows_by_workgroups = rows.fields,
      .epsilon = static_cast<float>(attributes.epsilon),
      .inverse_columns = rows.inverse_columns,
      .has_weight = inputs.weight ? 1u : 0u,
  };
  return make_call(fields, inputs, {.output = output});
}

Expected<Call> infer(const SkipRmsNormInputs<Described>& inputs, const SkipRmsNormAttributes& attributes) {
  return skip_norm_call(inputs, attributes, false);
}

Expected<Call> infer(const SkipLayerNormInputs<Described>& inputs, const SkipLayerNormAttributes& attributes) {
  return skip_norm_call(inputs, attributes, true);
}

}  // namespace qgen::generated::operators
