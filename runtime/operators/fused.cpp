// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Arguments -> checked shapes and blocks -> the Problem of specs/fused/fused_unary.yaml or fused_binary.yaml.
#include "runtime/operators/fused.h"

#include <fmt/format.h>

#include "fused_binary.h"
#include "fused_unary.h"
#include "operators.h"
#include "runtime/operators/broadcast.h"
#include "runtime/operators/flush_subnormal.h"
#include "runtime/operators/fused_checks.h"

namespace qgen {
namespace {

uint32_t u32(int64_t value) { return static_cast<uint32_t>(value); }

// What the problems of both specs have.
template <typename Fields>
Fields fields_of(FusedOperation operation, const FusedShape& shape, const CheckedOperand& input,
                 const CheckedOperand& output, IntegerRange range) {
  Fields fields;
  fields.numel = u32(element_count(output.blocks.shape));
  fields.operation = operation;
  fields.is_simple = is_simple(shape);
  fields.input_zero_points = u32(input.zero_points);
  fields.output_zero_points = u32(output.zero_points);
  fields.quant_min = static_cast<int32_t>(range.min);
  fields.quant_max = static_cast<int32_t>(range.max);
  fields.rank = u32(static_cast<int64_t>(shape.size()));
  for (size_t d = 0; d < kMaxRank; ++d) {
    const FusedDimension dimension = d < shape.size() ? shape[d] : FusedDimension{};
    const FusedSide& of_input = dimension.operands[0];
    const FusedSide& of_output = dimension.operands[2];
    fields.sizes[d] = u32(dimension.side);
    fields.input_blocks[d] = u32(of_input.block);
    fields.input_parameter_strides[d] = u32(of_input.parameter_stride);
    fields.output_blocks[d] = u32(of_output.block);
    fields.output_parameter_strides[d] = u32(of_output.parameter_stride);
  }
  return fields;
}

Expected<Call> unary_call(FusedOperation operation, const FusedOperandDesc& input, const FusedOutputDesc& output) {
  for (const auto& [name, dtype] : {std::pair("input", input.tensor.dtype), std::pair("output", output.dtype)}) {
    if (Done known = check_dtype(name, dtype, kFusedDTypes); !known) return known.error();
  }
  if (Done agree = check_reals_agree({input.tensor.dtype, output.dtype}); !agree) return agree.error();
  const Shape& shape = input.tensor.shape;
  const auto of_input = checked_operand("input", input);
  if (!of_input) return of_input.error();
  const auto of_output = checked_output(shape, output);
  if (!of_output) return of_output.error();
  const auto range = checked_range(output);
  if (!range) return range.error();
  // As if it had another operand of its own shape.
  const FusedShape dimensions = merged(fused_shape({of_input->blocks, {shape, shape}, of_output->blocks}));
  const auto fields = fields_of<generated::fused_unary::Problem>(operation, dimensions, *of_input, *of_output, *range);
  return make_call(
      generated::fused_unary::op, fields,
      {input.tensor, input.scale, input.zero_point, TensorDesc{output.dtype, shape}, output.scale, output.zero_point});
}

Expected<Call> binary_call(FusedOperation operation, const FusedOperandDesc& input, const FusedOperandDesc& other,
                           float alpha, const FusedOutputDesc& output) {
  const DType dtypes[] = {input.tensor.dtype, other.tensor.dtype, output.dtype};
  const std::string_view names[] = {"input", "other", "output"};
  for (size_t i = 0; i < kFusedOperands; ++i) {
    if (Done known = check_dtype(names[i], dtypes[i], kFusedDTypes); !known) return known.error();
  }
  if (Done agree = check_reals_agree({dtypes[0], dtypes[1], dtypes[2]}); !agree) return agree.error();
  const auto of_input = checked_operand("input", input);
  if (!of_input) return of_input.error();
  const auto of_other = checked_operand("other", other);
  if (!of_other) return of_other.error();
  const auto shape = common_shape(input.tensor.shape, other.tensor.shape);
  if (!shape) return shape.error();
  const auto of_output = checked_output(*shape, output);
  if (!of_output) return of_output.error();
  const auto range = checked_range(output);
  if (!range) return range.error();
  const FusedShape dimensions = merged(fused_shape({of_input->blocks, of_other->blocks, of_output->blocks}));
  auto fields = fields_of<generated::fused_binary::Problem>(operation, dimensions, *of_input, *of_output, *range);
  fields.alpha = flush_subnormal(alpha);
  fields.input_kind = kind_of(input.tensor.dtype);
  fields.other_kind = kind_of(other.tensor.dtype);
  fields.output_kind = kind_of(output.dtype);
  fields.other_zero_points = u32(of_other->zero_points);
  for (size_t d = 0; d < kMaxRank; ++d) {
    const auto [of_a, of_b, of_c] = d < dimensions.size() ? dimensions[d].operands : FusedDimension{}.operands;
    fields.input_strides[d] = u32(of_a.stride);
    fields.other_strides[d] = u32(of_b.stride);
    fields.other_blocks[d] = u32(of_b.block);
    fields.other_parameter_strides[d] = u32(of_b.parameter_stride);
  }
  return make_call(generated::fused_binary::op, fields,
                   {input.tensor, input.scale, input.zero_point, other.tensor, other.scale, other.zero_point,
                    TensorDesc{output.dtype, *shape}, output.scale, output.zero_point});
}

}  // namespace

FusedOperandDesc desc_of(const FusedOperand& operand) {
  return {desc_of(*operand.tensor), desc_of(operand.scale), desc_of(operand.zero_point)};
}
FusedOutputDesc desc_of(const FusedOutput& output) {
  return {output.dtype, desc_of(output.scale), desc_of(output.zero_point), output.range};
}

std::vector<Argument> arguments_of(const FusedOperand& input, const FusedOutput& output) {
  return {input.tensor, argument_of(input.scale),  argument_of(input.zero_point),
          {},           argument_of(output.scale), argument_of(output.zero_point)};
}
std::vector<Argument> arguments_of(const FusedOperand& input, const FusedOperand& other, const FusedOutput& output) {
  return {input.tensor, argument_of(input.scale),  argument_of(input.zero_point),
          other.tensor, argument_of(other.scale),  argument_of(other.zero_point),
          {},           argument_of(output.scale), argument_of(output.zero_point)};
}

Expected<Call> requantize_call(const FusedOperandDesc& input, const FusedOutputDesc& output) {
  if (is_real(input.tensor.dtype) || is_real(output.dtype)) {
    return Error{Error::Kind::invalid_argument,
                 fmt::format("requantize takes {} to {}, and both must be integers", name(input.tensor.dtype),
                             name(output.dtype)),
                 "quantize_affine and dequantize_affine are for reals"};
  }
  return unary_call(FusedOperation::copy, input, output);
}
Expected<Call> fused_relu_call(const FusedOperandDesc& input, const FusedOutputDesc& output) {
  return unary_call(FusedOperation::relu, input, output);
}
Expected<Call> fused_hardswish_call(const FusedOperandDesc& input, const FusedOutputDesc& output) {
  return unary_call(FusedOperation::hardswish, input, output);
}
Expected<Call> fused_add_call(const FusedOperandDesc& input, const FusedOperandDesc& other,
                              const FusedOutputDesc& output, float alpha) {
  return binary_call(FusedOperation::add, input, other, alpha, output);
}
Expected<Call> fused_mul_call(const FusedOperandDesc& input, const FusedOperandDesc& other,
                              const FusedOutputDesc& output) {
  return binary_call(FusedOperation::multiply, input, other, 1, output);
}

Expected<DeviceTensor> requantize(Context& context, const FusedOperand& input, const FusedOutput& output) {
  return run_fused(context, requantize_call, input, output);
}
Expected<DeviceTensor> fused_relu(Context& context, const FusedOperand& input, const FusedOutput& output) {
  return run_fused(context, fused_relu_call, input, output);
}
Expected<DeviceTensor> fused_hardswish(Context& context, const FusedOperand& input, const FusedOutput& output) {
  return run_fused(context, fused_hardswish_call, input, output);
}
Expected<DeviceTensor> fused_add(Context& context, const FusedOperand& input, const FusedOperand& other,
                                 const FusedOutput& output, float alpha) {
  const auto add = [&](const auto&... operands) { return fused_add_call(operands..., alpha); };
  return run_fused(context, add, input, other, output);
}
Expected<DeviceTensor> fused_mul(Context& context, const FusedOperand& input, const FusedOperand& other,
                                 const FusedOutput& output) {
  return run_fused(context, fused_mul_call, input, other, output);
}

// ---- by name -----------------------------------------------------------------------------------------------------------

Expected<Call> generated::operators::infer(const RequantizeInputs<Described>& inputs,
                                           const RequantizeAttributes& attributes, const RequantizePlaces&) {
  return requantize_call(input_of(inputs), output_of_one(inputs, attributes));
}

Expected<Call> generated::operators::infer(const FusedReluInputs<Described>& inputs,
                                           const FusedReluAttributes& attributes, const FusedReluPlaces&) {
  return fused_relu_call(input_of(inputs), output_of_one(inputs, attributes));
}

Expected<Call> generated::operators::infer(const FusedHardswishInputs<Described>& inputs,
                                           const FusedHardswishAttributes& attributes, const FusedHardswishPlaces&) {
  return fused_hardswish_call(input_of(inputs), output_of_one(inputs, attributes));
}

Expected<Call> generated::operators::infer(const FusedAddInputs<Described>& inputs,
                                           const FusedAddAttributes& attributes, const FusedAddPlaces&) {
  return fused_add_call(input_of(inputs), other_of(inputs), output_of_two(inputs, attributes),
                        static_cast<float>(attributes.alpha));
}

Expected<Call> generated::operators::infer(const FusedMulInputs<Described>& inputs,
                                           const FusedMulAttributes& attributes, const FusedMulPlaces&) {
  return fused_mul_call(input_of(inputs), other_of(inputs), output_of_two(inputs, attributes));
}

}  // namespace qgen
