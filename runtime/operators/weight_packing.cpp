// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/operators/weight_packing.h"

#include <fmt/format.h>

#include "pack_weight.h"
#include "runtime/operators/weight_checks.h"
#include "runtime/tensor/weight_form.h"

namespace qgen {
namespace {

uint32_t blocks(int64_t side, uint32_t block) { return static_cast<uint32_t>((side + block - 1) / block); }

}  // namespace

Expected<Call> pack_weight_call(const TensorDesc& source, Layout layout) {
  if (Done matrix = check_weight(source.dtype, source.shape); !matrix) return matrix.error();
  if (Done plain = check_plain("source", source, DType::i8); !plain) return plain.error();
  const WeightForm* form = find_weight_form(layout);
  if (!form) return refused(fmt::format("{} is no form of a weight", name(layout)));

  generated::pack_weight::Problem fields;
  fields.blocks_n = blocks(source.shape[0], form->block_n);
  fields.blocks_k = blocks(source.shape[1], form->block_k);
  const Shape padded{int64_t{fields.blocks_n} * form->block_n, int64_t{fields.blocks_k} * form->block_k};
  if (Done count = check_count("output with its padding", padded); !count) return count.error();
  fields.n = static_cast<uint32_t>(source.shape[0]);
  fields.k = static_cast<uint32_t>(source.shape[1]);
  fields.words = static_cast<uint32_t>(packed_bytes(*form, source.shape) / 4);
  fields.bits = form->bits;
  fields.block_n = form->block_n;
  fields.block_k = form->block_k;
  fields.k_outer = form->k_outer;
  fields.pair_n = form->pair_n;
  fields.pair_k = form->pair_k;
  return make_call(generated::pack_weight::op, fields,
                   {source, TensorDesc{DType::i8, source.shape, Storage::buffer, layout}});
}

Expected<DeviceTensor> pack_weight(Context& context, const DeviceTensor& source, Layout form) {
  return run_for_one(context, pack_weight_call(desc_of(source), form), {&source, {}});
}

}  // namespace qgen
