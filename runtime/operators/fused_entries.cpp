// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>

#include "runtime/operators/bmm.h"
#include "runtime/operators/families.h"
#include "runtime/operators/prepare.h"

namespace qgen {
namespace {

using Kind = AttributeInfo::Kind;

constexpr TensorInfo kIntegers{"input", false, "i8, u8, i16 or i32"};
constexpr TensorInfo kInput{"input", false, "f32 or f16, or i8, u8, i16 or i32 with a scale"};
constexpr TensorInfo kInputScale{"input_scale", true, "f32: one, or of the input's rank; without: the input is real"};
constexpr TensorInfo kInputZeroPoint{"input_zero_point", true, "i32: one, or one a scale; without: 0"};
constexpr TensorInfo kOther{"other", false, "as the input; sides of 1 are repeated"};
constexpr TensorInfo kOtherScale{"other_scale", true, "as input_scale"};
constexpr TensorInfo kOtherZeroPoint{"other_zero_point", true, "as input_zero_point"};
constexpr TensorInfo kOutputScale{"output_scale", true,
                                  "f32: one, or of the output's rank; without: the output is real"};
constexpr TensorInfo kOutputZeroPoint{"output_zero_point", true, "as input_zero_point"};
constexpr TensorInfo kIntegerInputs[] = {kIntegers,
                                         {"input_scale", false, "f32: one, or of the input's rank"},
                                         kInputZeroPoint,
                                         {"output_scale", false, "f32: one, or of the output's rank"},
                                         kOutputZeroPoint};
constexpr TensorInfo kUnaryInputs[] = {kInput, kInputScale, kInputZeroPoint, kOutputScale, kOutputZeroPoint};
constexpr TensorInfo kBinaryInputs[] = {kInput,      kInputScale,     kInputZeroPoint, kOther,
                                        kOtherScale, kOtherZeroPoint, kOutputScale,    kOutputZeroPoint};
constexpr TensorInfo kMatrixInputs[] = {{"input", false, "[..., M, K]: f32 or f16, or i8, u8, i16 or i32 with a scale"},
                                        kInputScale,
                                        kInputZeroPoint,
                                        {"other", false, "[..., K, N]: as the input; batches of 1 are repeated"},
                                        kOtherScale,
                                        kOtherZeroPoint,
                                        kOutputScale,
                                        kOutputZeroPoint};
constexpr TensorInfo kByteMatrixInputs[] = {{"input", false, "i8 or u8 [..., M, K]"},
                                            {"input_scale", false, "f32: one, or of the input's rank, one along K"},
                                            kInputZeroPoint,
                                            {"other", false, "i8 or u8 [..., K, N]; batches of 1 are repeated"},
                                            {"other_scale", false, "f32: one, or of other's rank, one along K"},
                                            kOtherZeroPoint,
                                            kOutputScale,
                                            kOutputZeroPoint};
constexpr TensorInfo kOutputs[] = {{"output", false, "of output_dtype"}};

constexpr AttributeInfo kOutputDtype{"output_dtype",
                                     Kind::word,
                                     "(int8 with output_scale; else the dtype of real inputs, or float32)",
                                     "float32 or float16, or an integer type",
                                     {}};
constexpr AttributeInfo kQuantMin{"quant_min", Kind::integer, "(the dtype's)", "the output's least integer", {}};
constexpr AttributeInfo kQuantMax{"quant_max", Kind::integer, "(the dtype's)", "the output's greatest integer", {}};
constexpr AttributeInfo kAlpha{"alpha", Kind::real, "1", "what the other operand is multiplied by", {}};
constexpr AttributeInfo kAttributes[] = {kOutputDtype, kQuantMin, kQuantMax};
constexpr AttributeInfo kAddAttributes[] = {kAlpha, kOutputDtype, kQuantMin, kQuantMax};

Expected<FusedOperand> upload_operand(Context& context, const Request& request, std::string_view operand,
                                      PreparedCall& prepared) {
  const auto tensor = upload_input(context, request, operand, prepared);
  if (!tensor) return tensor.error();
  const auto scale = upload_widened(context, request, fmt::format("{}_scale", operand), DType::f32, prepared);
  if (!scale) return scale.error();
  const auto zero_point = upload_widened(context, request, fmt::format("{}_zero_point", operand), DType::i32, prepared);
  if (!zero_point) return zero_point.error();
  return FusedOperand{*tensor, *scale, *zero_point};
}

DType output_dtype_of(const Request& request) {
  if (find_attribute<std::string>(request, "output_dtype")) return dtype_attribute(request, "output_dtype");
  if (find_input(request, "output_scale")) return DType::i8;
  const auto is_half = [&](std::string_view operand) {
    const HostTensor* tensor = find_input(request, operand);
    return tensor && tensor->dtype == DType::f16;
  };
  return is_half("input") || is_half("other") ? DType::f16 : DType::f32;
}

// The output as the request wants it; its tensors are uploaded like an operand's.
Expected<FusedOutput> upload_output(Context& context, const Request& request, PreparedCall& prepared) {
  const auto scale = upload_widened(context, request, "output_scale", DType::f32, prepared);
  if (!scale) return scale.error();
  const auto zero_point = upload_widened(context, request, "output_zero_point", DType::i32, prepared);
  if (!zero_point) return zero_point.error();
  FusedOutput output{output_dtype_of(request), *scale, *zero_point, std::nullopt};
  const auto all = range_of(output.dtype);
  const auto min = find_attribute<int64_t>(request, "quant_min"), max = find_attribute<int64_t>(request, "quant_max");
  if (all && (min || max)) output.range = IntegerRange{min.value_or(all->min), max.value_or(all->max)};
  return output;
}

using UnaryCall = Expected<Call>(const FusedOperandDesc&, const FusedOutputDesc&);
template <UnaryCall call_of>
Expected<PreparedCall> prepare_unary(Context& context, const Request& request) {
  PreparedCall prepared;
  const auto input = upload_operand(context, request, "input", prepared);
  if (!input) return input.error();
  const auto output = upload_output(context, request, prepared);
  if (!output) return output.error();
  return finished(std::move(prepared), call_of(desc_of(*input), desc_of(*output)), arguments_of(*input, *output));
}

using BinaryCall = Expected<Call>(const Request&, const FusedOperandDesc&, const FusedOperandDesc&,
                                  const FusedOutputDesc&);
template <BinaryCall call_of>
Expected<PreparedCall> prepare_binary(Context& context, const Request& request) {
  PreparedCall prepared;
  const auto input = upload_operand(context, request, "input", prepared);
  if (!input) return input.error();
  const auto other = upload_operand(context, request, "other", prepared);
  if (!other) return other.error();
  const auto output = upload_output(context, request, prepared);
  if (!output) return output.error();
  return finished(std::move(prepared), call_of(request, desc_of(*input), desc_of(*other), desc_of(*output)),
                  arguments_of(*input, *other, *output));
}

Expected<Call> add_call(const Request& request, const FusedOperandDesc& input, const FusedOperandDesc& other,
                        const FusedOutputDesc& output) {
  return fused_add_call(input, other, output, static_cast<float>(attribute<double>(request, "alpha")));
}
Expected<Call> mul_call(const Request&, const FusedOperandDesc& input, const FusedOperandDesc& other,
                        const FusedOutputDesc& output) {
  return fused_mul_call(input, other, output);
}
Expected<Call> product_call(const Request&, const FusedOperandDesc& input, const FusedOperandDesc& other,
                            const FusedOutputDesc& output) {
  return fused_bmm_call(input, other, output);
}
Expected<Call> byte_product_call(const Request&, const FusedOperandDesc& input, const FusedOperandDesc& other,
                                 const FusedOutputDesc& output) {
  return bmm_call(input, other, output);
}

template <UnaryCall call_of>
constexpr OperatorEntry unary(std::string_view name, std::string_view summary,
                              std::span<const TensorInfo> inputs = kUnaryInputs) {
  return {name, summary, inputs, kOutputs, kAttributes, prepare_unary<call_of>, "fused_unary"};
}
template <BinaryCall call_of>
constexpr OperatorEntry binary(std::string_view name, std::string_view summary,
                               std::span<const AttributeInfo> attributes) {
  return {name, summary, kBinaryInputs, kOutputs, attributes, prepare_binary<call_of>, "fused_binary"};
}

constexpr OperatorEntry kEntries[] = {
    unary<requantize_call>("requantize", "integers of one scale and zero point a block as integers of another",
                           kIntegerInputs),
    unary<fused_relu_call>("fused_relu", "max(x, 0), of operands that may be quantized"),
    unary<fused_hardswish_call>("fused_hardswish", "x * clamp(x + 3, 0, 6) / 6, of operands that may be quantized"),
    binary<add_call>("fused_add", "input + alpha * other, of operands that may be quantized", kAddAttributes),
    binary<mul_call>("fused_mul", "input * other, of operands that may be quantized", kAttributes),
    {"fused_bmm", "products of matrices that may be quantized, batch by batch", kMatrixInputs, kOutputs, kAttributes,
     prepare_binary<product_call>, "fused_bmm"},
    {"bmm", "products of matrices of bytes, batch by batch, in integers", kByteMatrixInputs, kOutputs, kAttributes,
     prepare_binary<byte_product_call>, "fused_bmm"},
};

}  // namespace

std::span<const OperatorEntry> fused_entries() { return kEntries; }

}  // namespace qgen
