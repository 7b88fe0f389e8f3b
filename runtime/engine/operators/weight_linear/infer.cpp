// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The Calls of linear layers with integer weights, of their input gradient, and of the embedding. x is f32 or f16 [...,
// K], w is integers [N, K]. docs/linear_weights.md has the definitions and error bounds.
#include <fmt/format.h>

#include <algorithm>

#include "embedding_q4gsw.h"
#include "linear_dq8ca_q4gsw.h"
#include "linear_dq8ca_q8csw.h"
#include "linear_q4gsw.h"
#include "linear_q4gsw_backward.h"
#include "linear_q8csw.h"
#include "operators.h"
#include "rms_norm_gated_q4gsw.h"
#include "rms_norm_linear_q4gsw.h"
#include "runtime/engine/operators/quant_range.h"
#include "runtime/engine/operators/rows.h"
#include "runtime/engine/operators/same_as.h"
#include "runtime/engine/operators/weight_linear/checks.h"
#include "vocabulary/integer.h"

namespace qgen::generated::operators {
namespace {

// A weight with scales, checked, and the fields that all operators on it have.
struct ScaledWeight {
  TensorDesc form;  // that kernels read
  fields::Product product;
  fields::WeightGroups groups;
};

// `rows`: M of the product.
Expected<ScaledWeight> scaled_weight(const WeightKind& kind, uint32_t rows, const TensorDesc& weight,
                                     const TensorDesc& scales, std::optional<int64_t> group_size) {
  const auto groups = checked_groups(kind, weight, scales, group_size);
  if (!groups) return groups.error();
  const auto form = checked_form(kind, weight);
  if (!form) return form.error();
  const int64_t n = weight.shape[0], k = weight.shape[1];
  return ScaledWeight{.form = *form,
                      .product = {.m = rows, .n = u32(n), .k = u32(k)},
                      .groups = {.group_size = u32(k / *groups), .groups = u32(*groups)}};
}

// ---- weights alone are integers -------------------------------------------------------------------------------------

template <typename Problem>
Expected<Call> weight_only(const WeightKind& kind, const auto& inputs, std::optional<int64_t> group_size,
                           Activation activation) {
  const TensorDesc& weight = inputs.weight;
  const auto known = scaled_weight(kind, rows_of(inputs.input->shape), weight, inputs.weight_scales, group_size);
  if (!known) return known.error();
  const Problem fields{
      .product = known->product,
      .weight_groups = known->groups,
      .weight_bits = kind.bits,
      .epilogue = {.has_bias = inputs.bias ? 1u : 0u, .activation = activation},
  };
  return make_call(fields, with_weight(inputs, known->form),
                   {.output = TensorDesc{inputs.input->dtype, with_last_side(inputs.input->shape, weight.shape[0])}});
}

// ---- the input is a normalized sum ----------------------------------------------------------------------------------

// `columns`: of the output.
template <typename Problem>
Expected<Call> normalized(const auto& inputs, const auto& attributes, int64_t columns) {
  const TensorDesc &hidden = inputs.hidden, &weight = inputs.weight;
  if (Done same = check_same_shape("skip", inputs.skip, "hidden", hidden); !same) return same.error();
  const auto known =
      scaled_weight(kFourBits, rows_of(hidden.shape), weight, inputs.weight_scales, attributes.group_size);
  if (!known) return known.error();
  const uint32_t k = known->product.k;
  const Problem fields{
      .product = known->product,
      .weight_groups = known->groups,
      .normalized_layer = {.weight_bits = kFourBits.bits,
                           .epsilon = static_cast<float>(attributes.epsilon),
                           .inverse_columns = k == 0 ? 0 : 1.0f / static_cast<float>(k),
                           .has_norm_weight = inputs.norm_weight ? 1u : 0u,
                           .has_bias = inputs.bias ? 1u : 0u,
                           .activation = attributes.activation},
  };
  return make_call(fields, with_weight(inputs, known->form),
                   {.output = TensorDesc{hidden.dtype, with_last_side(hidden.shape, columns)},
                    .sum = TensorDesc{hidden.dtype, hidden.shape}});
}

// ---- each row of the input becomes integers, when its range is known ------------------------------------------------

// Neighbours along K whose weights kernels sum: a group; or a part of a row without groups, so that a sum of products
// fits 32 bits.
int64_t run_of(int64_t k, int64_t groups) {
  constexpr int64_t kLongestRun = 65536;  // of products of bytes: 255 * 128 * 65536 < 2^31
  return groups == 1 ? std::min(k, kLongestRun) : k / groups;
}

template <typename Problem>
Expected<Call> dynamic(const WeightKind& kind, const auto& inputs, const auto& attributes,
                       std::optional<int64_t> group_size) {
  const TensorDesc& weight = inputs.weight;
  const auto known = scaled_weight(kind, rows_of(inputs.input->shape), weight, inputs.weight_scales, group_size);
  if (!known) return known.error();
  const auto range = checked_range(attributes.quant_min, attributes.quant_max);
  if (!range) return range.error();
  const int64_t run = run_of(weight.shape[1], known->groups.groups);
  const Problem fields{
      .product = known->product,
      .weight_groups = known->groups,
      .run_k = u32(run),
      .runs = run == 0 ? 0 : u32((weight.shape[1] + run - 1) / run),
      .weight_bits = kind.bits,
      .epilogue = {.has_bias = inputs.bias ? 1u : 0u, .activation = attributes.activation},
      .qparams = qparams_fields(attributes.activation_mapping, *range, least_scale(inputs.input->dtype)),
  };
  return call_with_sums(fields, with_weight(inputs, known->form), run,
                        TensorDesc{inputs.input->dtype, with_last_side(inputs.input->shape, weight.shape[0])});
}

}  // namespace

Expected<Call> infer(const LinearQ8cswInputs<Described>& inputs, const LinearQ8cswAttributes& attributes) {
  return weight_only<linear_q8csw::Problem>(kEightBits, inputs, std::nullopt, attributes.activation);
}
Expected<Call> infer(const LinearQ4gswInputs<Described>& inputs, const LinearQ4gswAttributes& attributes) {
  return weight_only<linear_q4gsw::Problem>(kFourBits, inputs, attributes.group_size, attributes.activation);
}

Expected<Call> infer(const RmsNormLinearQ4gswInputs<Described>& inputs,
                     const RmsNormLinearQ4gswAttributes& attributes) {
  const TensorDesc& weight = inputs.weight;
  return normalized<rms_norm_linear_q4gsw::Problem>(inputs, attributes, weight.shape[0]);
}

Expected<Call> infer(const RmsNormGatedQ4gswInputs<Described>& inputs, const RmsNormGatedQ4gswAttributes& attributes) {
  const TensorDesc& weight = inputs.weight;
  if (weight.shape[0] % 2 != 0)
    return refused(fmt::format("weight is {}, and must have an even number of rows", to_text(weight.shape)));
  return normalized<rms_norm_gated_q4gsw::Problem>(inputs, attributes, weight.shape[0] / 2);
}

Expected<Call> infer(const LinearDq8caQ8cswInputs<Described>& inputs, const LinearDq8caQ8cswAttributes& attributes) {
  return dynamic<linear_dq8ca_q8csw::Problem>(kEightBits, inputs, attributes, std::nullopt);
}
Expected<Call> infer(const LinearDq8caQ4gswInputs<Described>& inputs, const LinearDq8caQ4gswAttributes& attributes) {
  return dynamic<linear_dq8ca_q4gsw::Problem>(kFourBits, inputs, attributes, attributes.group_size);
}

// The gradient of x [..., K] from the gradient of y [..., N]: dx = dy w. It reads the form of the weight that
// linear_q4gsw reads.
Expected<Call> infer(const LinearQ4gswBackwardInputs<Described>& inputs,
                     const LinearQ4gswBackwardAttributes& attributes) {
  const TensorDesc& weight = inputs.weight;
  const auto known =
      scaled_weight(kFourBits, rows_of(inputs.d_output->shape), weight, inputs.weight_scales, attributes.group_size);
  if (!known) return known.error();
  const linear_q4gsw_backward::Problem fields{
      .product = known->product,
      .weight_groups = known->groups,
  };
  return make_call(
      fields, with_weight(inputs, known->form),
      {.d_input = TensorDesc{inputs.d_output->dtype, with_last_side(inputs.d_output->shape, weight.shape[1])}});
}

// Rows of the weight, gathered by index. For an index that is negative or past the last, the row is NaN.
Expected<Call> infer(const EmbeddingQ4gswInputs<Described>& inputs, const EmbeddingQ4gswAttributes& attributes) {
  const TensorDesc& weight = inputs.weight;
  const auto known = scaled_weight(kFourBits, u32(element_count(inputs.indices->shape)), weight, inputs.weight_scales,
                                   attributes.group_size);
  if (!known) return known.error();
  TensorDesc output{attributes.output_dtype, inputs.indices->shape};
  output.shape.push_back(weight.shape[1]);
  const embedding_q4gsw::Problem fields{
      .product = known->product,
      .weight_groups = known->groups,
  };
  return make_call(fields, with_weight(inputs, known->form), {.output = output});
}

}  // namespace qgen::generated::operators
