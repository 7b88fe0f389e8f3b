// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What operators with scaled weights have in common: checks after those of their signatures, whose errors have the
// given and the possible values; and calls that read sums of the weights.
#pragma once

#include "runtime/engine/calls/call.h"
#include "runtime/engine/tensor/weight_form.h"

namespace qgen {

// One kind of weight, as kernels read it.
struct WeightKind {
  uint32_t bits;
  Layout form;
  bool has_groups;  // scales [N, G] are possible, in addition to [N]
};
inline constexpr WeightKind kEightBits{8, Layout::weight_q8_rows, false};
inline constexpr WeightKind kFourBits{4, Layout::weight_q4_rows, true};

// How many scales a row of the weight [N, K] has; G of scales [N, G] divides K.
Expected<int64_t> checked_groups(const WeightKind& kind, const TensorDesc& weight, const TensorDesc& scales);
// The same, of a caller who also says how many neighbours share a scale.
Expected<int64_t> checked_groups(const WeightKind& kind, const TensorDesc& weight, const TensorDesc& scales,
                                 const std::optional<int64_t>& group_size);
// The weight in the form that kernels of its kind read.
Expected<TensorDesc> checked_form(const WeightKind& kind, const TensorDesc& weight);

// A call that also reads sums of the weight's rows, of `run` neighbours each.
template <typename Fields>
Call call_with_sums(const Fields& fields, const auto& inputs, int64_t run, const TensorDesc& output) {
  Call call =
      make_call(fields, inputs,
                {.weight_sums = TensorDesc{DType::i32, run_sums_shape(inputs.weight->shape, run)}, .output = output});
  call.row_sum_run = run;
  return call;
}

// An operator's inputs, with the weight as kernels read it.
template <typename Inputs>
Inputs with_weight(Inputs inputs, const TensorDesc& weight) {
  inputs.weight = weight;
  return inputs;
}

}  // namespace qgen
