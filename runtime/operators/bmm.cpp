// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Arguments -> checked shapes and blocks -> the Problem of specs/fused/fused_bmm.yaml.
#include "runtime/operators/bmm.h"

#include <fmt/format.h>

#include "fused_bmm.h"
#include "operators.h"
#include "runtime/operators/broadcast.h"
#include "runtime/operators/fused_checks.h"

namespace qgen {
namespace {

using Fields = generated::fused_bmm::Problem;

uint32_t u32(int64_t value) { return static_cast<uint32_t>(value); }

// ---- what may be given ----------------------------------------------------------------------------------------------

Expected<Shape> product_shape(const Shape& a, const Shape& b) {
  if (a.size() < 2 || b.size() < 2 || a.back() != b[b.size() - 2]) {
    return refused(fmt::format("input {} times other {} is no product of matrices", to_text(a), to_text(b)),
                   "input is [..., M, K], and other [..., K, N]");
  }
  auto shape = common_shape({a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
  if (!shape) return shape.error();
  shape->push_back(a[a.size() - 2]);
  shape->push_back(b.back());
  return shape;
}

Done check_dtypes(const FusedOperandDesc& input, const FusedOperandDesc& other, const FusedOutputDesc& output) {
  const DType dtypes[] = {input.tensor.dtype, other.tensor.dtype, output.dtype};
  const std::string_view names[] = {"input", "other", "output"};
  for (size_t i = 0; i < kFusedOperands; ++i) {
    if (Done known = check_dtype(names[i], dtypes[i], kFusedDTypes); !known) return known;
  }
  return check_reals_agree({dtypes[0], dtypes[1], dtypes[2]});
}

struct CheckedOperands {
  CheckedOperand input, other, output;
  IntegerRange range;
};

Expected<CheckedOperands> checked(const FusedOperandDesc& input, const FusedOperandDesc& other,
                                  const FusedOutputDesc& output) {
  if (Done possible = check_dtypes(input, other, output); !possible) return possible.error();
  auto of_input = checked_operand("input", input);
  if (!of_input) return of_input.error();
  auto of_other = checked_operand("other", other);
  if (!of_other) return of_other.error();
  const auto shape = product_shape(input.tensor.shape, other.tensor.shape);
  if (!shape) return shape.error();
  auto of_output = checked_output(*shape, output);
  if (!of_output) return of_output.error();
  const auto range = checked_range(output);
  if (!range) return range.error();
  return CheckedOperands{*std::move(of_input), *std::move(of_other), *std::move(of_output), *range};
}

// ---- problems -------------------------------------------------------------------------------------------------------

// Innermost first; the first two are those of matrices, where each operand's say what they are to itself.
void fill_batch(Fields& fields, const FusedShape& shape) {
  const FusedShape batch = merged({shape.begin() + 2, shape.end()});
  fields.batch_rank = u32(static_cast<int64_t>(batch.size()));
  for (size_t d = 0; d < std::size(fields.batch_sizes); ++d) {
    const FusedDimension dimension = d < batch.size() ? batch[d] : FusedDimension{};
    const auto& [input, other, output] = dimension.operands;
    fields.batch_sizes[d] = u32(dimension.side);
    fields.input_strides[d] = u32(input.stride);
    fields.input_blocks[d] = u32(input.block);
    fields.input_parameter_strides[d] = u32(input.parameter_stride);
    fields.other_strides[d] = u32(other.stride);
    fields.other_blocks[d] = u32(other.block);
    fields.other_parameter_strides[d] = u32(other.parameter_stride);
    fields.output_blocks[d] = u32(output.block);
    fields.output_parameter_strides[d] = u32(output.parameter_stride);
  }
}

void fill_matrices(Fields& fields, const FusedShape& shape) {
  const auto& [input_k, other_n, output_n] = shape[0].operands;
  const auto& [input_m, other_k, output_m] = shape[1].operands;
  fields.input_m_block = u32(input_m.block);
  fields.input_m_step = u32(input_m.parameter_stride);
  fields.input_k_block = u32(input_k.block);
  fields.input_k_step = u32(input_k.parameter_stride);
  fields.other_k_block = u32(other_k.block);
  fields.other_k_step = u32(other_k.parameter_stride);
  fields.other_n_block = u32(other_n.block);
  fields.other_n_step = u32(other_n.parameter_stride);
  fields.output_m_block = u32(output_m.block);
  fields.output_m_step = u32(output_m.parameter_stride);
  fields.output_n_block = u32(output_n.block);
  fields.output_n_step = u32(output_n.parameter_stride);
}

Fields fields_of(const CheckedOperands& given, bool are_bytes) {
  const Shape& shape = given.output.blocks.shape;
  const FusedShape dimensions = fused_shape({given.input.blocks, given.other.blocks, given.output.blocks});
  Fields fields;
  fields.m = u32(shape[shape.size() - 2]);
  fields.n = u32(shape.back());
  fields.k = u32(given.input.blocks.shape.back());
  fields.batches = u32(element_count({shape.begin(), shape.end() - 2}));
  fields.input_zero_points = u32(given.input.zero_points);
  fields.other_zero_points = u32(given.other.zero_points);
  fields.output_zero_points = u32(given.output.zero_points);
  fields.quant_min = static_cast<int32_t>(given.range.min);
  fields.quant_max = static_cast<int32_t>(given.range.max);
  fill_matrices(fields, dimensions);
  fill_batch(fields, dimensions);
  fields.is_exact = are_bytes && fields.k > 0 && fields.input_k_step == 0 && fields.other_k_step == 0;
  return fields;
}

bool is_byte(DType dtype) { return dtype == DType::i8 || dtype == DType::u8; }
uint32_t flip_of(DType dtype) { return dtype == DType::u8 ? 0x80 : 0; }

Call call_of(const CheckedOperands& given, Fields fields, const FusedOperandDesc& input, const FusedOperandDesc& other,
             const FusedOutputDesc& output) {
  fields.input_kind = kind_of(input.tensor.dtype);
  fields.other_kind = kind_of(other.tensor.dtype);
  fields.input_flip = flip_of(input.tensor.dtype);
  fields.other_flip = flip_of(other.tensor.dtype);
  return make_call(generated::fused_bmm::op, fields,
                   {input.tensor, input.scale, input.zero_point, other.tensor, other.scale, other.zero_point,
                    TensorDesc{output.dtype, given.output.blocks.shape}, output.scale, output.zero_point});
}

}  // namespace

Expected<Call> fused_bmm_call(const FusedOperandDesc& input, const FusedOperandDesc& other,
                              const FusedOutputDesc& output) {
  const auto given = checked(input, other, output);
  if (!given) return given.error();
  const bool are_bytes = is_byte(input.tensor.dtype) && is_byte(other.tensor.dtype);
  return call_of(*given, fields_of(*given, are_bytes), input, other, output);
}

Expected<Call> bmm_call(const FusedOperandDesc& input, const FusedOperandDesc& other, const FusedOutputDesc& output) {
  if (Done bytes = check_dtype("input", input.tensor.dtype, {DType::i8, DType::u8}); !bytes) return bytes.error();
  if (Done bytes = check_dtype("other", other.tensor.dtype, {DType::i8, DType::u8}); !bytes) return bytes.error();
  const auto given = checked(input, other, output);
  if (!given) return given.error();
  const Fields fields = fields_of(*given, true);
  if (fields.input_k_step == 0 && fields.other_k_step == 0) return call_of(*given, fields, input, other, output);
  const bool is_input = fields.input_k_step != 0;
  return refused(fmt::format("{}_scale has shape {}, and bmm takes one scale along K of {}",
                             is_input ? "input" : "other", to_text(is_input ? input.scale->shape : other.scale->shape),
                             to_text(is_input ? input.tensor.shape : other.tensor.shape)),
                 "fused_bmm takes any");
}

Expected<DeviceTensor> bmm(Context& context, const FusedOperand& input, const FusedOperand& other,
                           const FusedOutput& output) {
  return run_fused(context, bmm_call, input, other, output);
}
Expected<DeviceTensor> fused_bmm(Context& context, const FusedOperand& input, const FusedOperand& other,
                                 const FusedOutput& output) {
  return run_fused(context, fused_bmm_call, input, other, output);
}

// ---- by name -----------------------------------------------------------------------------------------------------------

Expected<Call> generated::operators::infer(const BmmInputs<Described>& inputs, const BmmAttributes& attributes,
                                           const BmmPlaces&) {
  return bmm_call(input_of(inputs), other_of(inputs), output_of_two(inputs, attributes));
}

Expected<Call> generated::operators::infer(const FusedBmmInputs<Described>& inputs,
                                           const FusedBmmAttributes& attributes, const FusedBmmPlaces&) {
  return fused_bmm_call(input_of(inputs), other_of(inputs), output_of_two(inputs, attributes));
}

}  // namespace qgen
