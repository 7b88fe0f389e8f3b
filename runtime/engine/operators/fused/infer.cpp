// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The Calls of specs/fused/fused_unary.yaml and fused_binary.yaml. docs/fused.md has the formulas.
#include <fmt/format.h>

#include <limits>

#include "fused_binary.h"
#include "fused_unary.h"
#include "operators.h"
#include "runtime/engine/operators/broadcast.h"
#include "runtime/engine/operators/flush_subnormal.h"
#include "runtime/engine/operators/fused/checks.h"
#include "vocabulary/integer.h"

namespace qgen::generated::operators {
namespace {

// Of clip; of others any.
struct ClipBounds {
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
};

fields::FusedElements elements_fields(const CheckedOperands& given, const FusedShape& dimensions) {
  return {.output_zero_points = given.operands[2].zero_points,
          .quant_min = static_cast<int32_t>(given.range.min),
          .quant_max = static_cast<int32_t>(given.range.max),
          .rank = static_cast<uint32_t>(dimensions.size()),
          .sizes = sizes_of<kMaxRank>(dimensions)};
}

// FusedInput or FusedOutput.
template <typename Fields>
Fields blocks_fields(const FusedShape& dimensions, size_t operand) {
  return {of_operand<kMaxRank>(dimensions, operand, &FusedSide::block),
          of_operand<kMaxRank>(dimensions, operand, &FusedSide::parameter_stride)};
}

Expected<Call> unary(FusedOperation operation, const auto& inputs, const auto& attributes,
                     const ClipBounds& bounds = {}) {
  const Shape& shape = inputs.input->shape;
  const auto given = checked_operands(inputs, attributes, std::nullopt, shape);
  if (!given) return given.error();
  const auto& [input, other, output] = given->operands;
  const FusedShape dimensions = merged(fused_shape({input.blocks, other.blocks, output.blocks}));
  const fused_unary::Problem fields{
      .numel = u32(element_count(shape)),
      .operation = operation,
      .low = bounds.low,
      .high = bounds.high,
      .is_simple = is_simple(dimensions) ? 1u : 0u,
      .input_zero_points = input.zero_points,
      .fused_elements = elements_fields(*given, dimensions),
      .fused_input = blocks_fields<fields::FusedInput>(dimensions, 0),
      .fused_output = blocks_fields<fields::FusedOutput>(dimensions, 2),
  };
  return make_call(fields, inputs, {.output = given->output});
}

Expected<Call> binary(FusedOperation operation, const auto& inputs, const auto& attributes, double alpha) {
  const auto shape = common_shape(inputs.input->shape, inputs.other->shape);
  if (!shape) return shape.error();
  const auto given = checked_operands(inputs, attributes, other_of(inputs), *shape);
  if (!given) return given.error();
  const auto& [input, other, output] = given->operands;
  const FusedShape dimensions = merged(fused_shape({input.blocks, other.blocks, output.blocks}));
  const fused_binary::Problem fields{
      .numel = u32(element_count(*shape)),
      .operation = operation,
      .alpha = flush_subnormal(static_cast<float>(alpha)),
      .is_simple = is_simple(dimensions) ? 1u : 0u,
      .input_kind = kind_of(inputs.input->dtype),
      .other_kind = kind_of(inputs.other->dtype),
      .output_kind = kind_of(given->output.dtype),
      .input_zero_points = input.zero_points,
      .other_zero_points = other.zero_points,
      .fused_elements = elements_fields(*given, dimensions),
      .input_strides = of_operand<kMaxRank>(dimensions, 0, &FusedSide::stride),
      .fused_input = blocks_fields<fields::FusedInput>(dimensions, 0),
      .other_strides = of_operand<kMaxRank>(dimensions, 1, &FusedSide::stride),
      .other_blocks = of_operand<kMaxRank>(dimensions, 1, &FusedSide::block),
      .other_parameter_strides = of_operand<kMaxRank>(dimensions, 1, &FusedSide::parameter_stride),
      .fused_output = blocks_fields<fields::FusedOutput>(dimensions, 2),
  };
  return make_call(fields, inputs, {.output = given->output});
}

}  // namespace

Expected<Call> infer(const RequantizeInputs<Described>& inputs, const RequantizeAttributes& attributes) {
  return unary(FusedOperation::copy, inputs, attributes);
}
Expected<Call> infer(const FusedReluInputs<Described>& inputs, const FusedReluAttributes& attributes) {
  return unary(FusedOperation::relu, inputs, attributes);
}
Expected<Call> infer(const FusedHardswishInputs<Described>& inputs, const FusedHardswishAttributes& attributes) {
  return unary(FusedOperation::hardswish, inputs, attributes);
}
Expected<Call> infer(const FusedSigmoidInputs<Described>& inputs, const FusedSigmoidAttributes& attributes) {
  return unary(FusedOperation::sigmoid, inputs, attributes);
}
Expected<Call> infer(const FusedClipInputs<Described>& inputs, const FusedClipAttributes& attributes) {
  ClipBounds bounds;
  if (attributes.low) bounds.low = flush_subnormal(static_cast<float>(*attributes.low));
  if (attributes.high) bounds.high = flush_subnormal(static_cast<float>(*attributes.high));
  if (bounds.low > bounds.high)
    return refused(fmt::format("low is {}, which is above high, {}", bounds.low, bounds.high));
  return unary(FusedOperation::clip, inputs, attributes, bounds);
}
Expected<Call> infer(const FusedAddInputs<Described>& inputs, const FusedAddAttributes& attributes) {
  return binary(FusedOperation::add, inputs, attributes, attributes.alpha);
}
Expected<Call> infer(const FusedMulInputs<Described>& inputs, const FusedMulAttributes& attributes) {
  return binary(FusedOperation::multiply, inputs, attributes, 1);
}

}  // namespace qgen::generated::operators
