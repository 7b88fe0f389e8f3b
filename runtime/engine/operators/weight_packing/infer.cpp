// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The Calls that pack weights on the device: from int8 [N, K], or from floating-point values and their scales.
#include <fmt/format.h>

#include <algorithm>

#include "operators.h"
#include "pack_weight.h"
#include "quantize_q4gsw.h"
#include "runtime/engine/calls/placement.h"
#include "runtime/engine/operators/quant_range.h"
#include "runtime/engine/operators/weight_linear/checks.h"
#include "runtime/engine/tensor/weight_form.h"
#include "vocabulary/integer.h"

namespace qgen::generated::operators {
namespace {

// Kernels number the elements with their padding.
Done check_padded(const WeightForm& form, const WeightMatrix& matrix) {
  const Integer rows = Integer(matrix.blocks_n(form)) * int64_t{form.block_n};
  const Integer columns = Integer(matrix.blocks_k(form)) * int64_t{form.block_k};
  return check_size("output with its padding", {DType::i8, {rows.value, columns.value}});
}

uint32_t words_of(const WeightForm& form, const Shape& shape) {
  return static_cast<uint32_t>(packed_bytes(form, shape) / 4);
}

}  // namespace

Expected<Call> infer(const PackWeightInputs<Described>& inputs, const PackWeightAttributes& attributes) {
  const Shape& shape = inputs.source->shape;
  const WeightForm& form = *find_weight_form(attributes.form);
  if (Done is_weight = check_weight(DType::i8, shape); !is_weight) return is_weight.error();
  const WeightMatrix matrix = matrix_of(shape);
  if (Done count = check_padded(form, matrix); !count) return count.error();
  const int64_t run = matrix.blocks_of_a_run(form) * form.block_k;
  const pack_weight::Problem fields{
      .n = u32(matrix.n),
      .channels = u32(matrix.channels),
      .taps = u32(matrix.taps),
      .run = u32(std::max<int64_t>(run, 1)),
      .run_taps = u32(matrix.run_taps(form)),
      .tap_channels = u32(std::max<int64_t>(matrix.tap_channels(form), 1)),
      .words = words_of(form, shape),
      .bits = form.bits,
      .block_n = form.block_n,
      .block_k = form.block_k,
      .blocks_n = u32(matrix.blocks_n(form)),
      .blocks_k = u32(matrix.blocks_k(form)),
      .k_outer = form.k_outer,
      .pair_n = form.pair_n,
      .pair_k = form.pair_k,
  };
  return make_call(fields, inputs, {.output = TensorDesc{DType::i8, shape, Storage::buffer, attributes.form}});
}

Expected<Call> infer(const QuantizeQ4gswInputs<Described>& inputs, const QuantizeQ4gswAttributes& attributes) {
  const Shape& shape = inputs.input->shape;
  const TensorDesc output{DType::i8, shape, Storage::buffer, attributes.form};
  const auto groups = checked_groups(kFourBits, output, inputs.weight_scales);
  if (!groups) return groups.error();
  const auto range = checked_range(attributes.quant_min, attributes.quant_max);
  if (!range) return range.error();
  const WeightForm& form = *find_weight_form(attributes.form);
  const WeightMatrix matrix = matrix_of(shape);
  if (Done count = check_padded(form, matrix); !count) return count.error();
  const quantize_q4gsw::Problem fields{
      .n = u32(shape[0]),
      .k = u32(shape[1]),
      .group_size = u32(shape[1] / *groups),
      .groups = u32(*groups),
      .quant_min = static_cast<int32_t>(range->min),
      .quant_max = static_cast<int32_t>(range->max),
      .words = words_of(form, shape),
      .bits = form.bits,
      .block_n = form.block_n,
      .block_k = form.block_k,
      .blocks_n = u32(matrix.blocks_n(form)),
      .blocks_k = u32(matrix.blocks_k(form)),
      .k_outer = form.k_outer,
      .pair_n = form.pair_n,
      .pair_k = form.pair_k,
  };
  return make_call(fields, inputs, {.output = output});
}

}  // namespace qgen::generated::operators
