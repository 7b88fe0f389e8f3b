// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/operators/weight_packing.h"

#include <fmt/format.h>

#include "operators.h"
#include "pack_weight.h"
#include "quantize_q4gsw.h"
#include "runtime/operators/checks.h"
#include "runtime/operators/weight_checks.h"
#include "runtime/tensor/weight_form.h"

namespace qgen {
namespace {

int64_t blocks(int64_t side, int64_t block) { return side / block + (side % block != 0); }

// The sides of the matrix and the row of its form.
template <typename Fields>
Expected<Fields> fields_of(const WeightForm& form, const Shape& shape) {
  const int64_t blocks_n = blocks(shape[0], form.block_n), blocks_k = blocks(shape[1], form.block_k);
  const Shape padded{blocks_n * form.block_n, blocks_k * form.block_k};
  if (Done count = check_count("output with its padding", padded); !count) return count.error();
  Fields fields;
  fields.blocks_n = static_cast<uint32_t>(blocks_n);
  fields.blocks_k = static_cast<uint32_t>(blocks_k);
  fields.n = static_cast<uint32_t>(shape[0]);
  fields.k = static_cast<uint32_t>(shape[1]);
  fields.words = static_cast<uint32_t>(packed_bytes(form, shape) / 4);
  fields.bits = form.bits;
  fields.block_n = form.block_n;
  fields.block_k = form.block_k;
  fields.k_outer = form.k_outer;
  fields.pair_n = form.pair_n;
  fields.pair_k = form.pair_k;
  return fields;
}

Done check_range(IntegerRange range) {
  if (range.min >= -8 && range.min <= range.max && range.max <= 7) return std::monostate{};
  return refused(fmt::format("quant_min {} and quant_max {} are no range within -8 to 7, which four bits hold",
                             range.min, range.max));
}

}  // namespace

Expected<Call> pack_weight_call(const TensorDesc& source, Layout layout) {
  if (Done matrix = check_weight(source.dtype, source.shape); !matrix) return matrix.error();
  if (Done plain = check_plain("source", source, DType::i8); !plain) return plain.error();
  const WeightForm* form = find_weight_form(layout);
  if (!form) return refused(fmt::format("{} is no form of a weight", name(layout)));
  const auto fields = fields_of<generated::pack_weight::Problem>(*form, source.shape);
  if (!fields) return fields.error();
  return make_call(generated::pack_weight::op, *fields,
                   {source, TensorDesc{DType::i8, source.shape, Storage::buffer, layout}});
}

Expected<DeviceTensor> pack_weight(Context& context, const DeviceTensor& source, Layout form) {
  return run_for_one(context, pack_weight_call(desc_of(source), form), {&source, {}});
}

Expected<Call> quantize_q4gsw_call(const TensorDesc& input, const TensorDesc& scales,
                                   const QuantizeQ4gswOptions& options) {
  if (Done real = check_dtype("input", input.dtype, {DType::f32, DType::f16}); !real) return real.error();
  if (Done plain = check_plain("input", input, input.dtype); !plain) return plain.error();
  const TensorDesc output{DType::i8, input.shape, Storage::buffer, options.form};
  const auto groups = checked_groups(kFourBits, output, scales);
  if (!groups) return groups.error();
  if (Done sound = check_range(options.range); !sound) return sound.error();
  const WeightForm* form = find_weight_form(options.form);
  if (!form || form->bits != 4) return refused(fmt::format("{} is no form of four bits", name(options.form)));
  auto fields = fields_of<generated::quantize_q4gsw::Problem>(*form, input.shape);
  if (!fields) return fields.error();
  fields->groups = static_cast<uint32_t>(*groups);
  fields->group_size = static_cast<uint32_t>(input.shape[1] / *groups);
  fields->quant_min = static_cast<int32_t>(options.range.min);
  fields->quant_max = static_cast<int32_t>(options.range.max);
  return make_call(generated::quantize_q4gsw::op, *fields, {input, scales, output});
}

Expected<Weight> quantize_q4gsw(Context& context, const DeviceTensor& input, const DeviceTensor& scales,
                                const QuantizeQ4gswOptions& options) {
  auto form =
      run_for_one(context, quantize_q4gsw_call(desc_of(input), desc_of(scales), options), {&input, &scales, {}});
  if (!form) return form.error();
  return Weight::create(*std::move(form), {});
}

// ---- by name -----------------------------------------------------------------------------------------------------------

Expected<Call> generated::operators::infer(const PackWeightInputs<Described>& inputs,
                                           const PackWeightAttributes& attributes, const PackWeightPlaces&) {
  return pack_weight_call(inputs.source, attributes.form);
}

Expected<Call> generated::operators::infer(const QuantizeQ4gswInputs<Described>& inputs,
                                           const QuantizeQ4gswAttributes& attributes, const QuantizeQ4gswPlaces&) {
  return quantize_q4gsw_call(inputs.input, inputs.weight_scales,
                             {.range = {attributes.quant_min, attributes.quant_max}, .form = attributes.form});
}

}  // namespace qgen
