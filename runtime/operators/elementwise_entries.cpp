// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <algorithm>

#include "runtime/operators/attributes.h"
#include "runtime/operators/elementwise.h"
#include "runtime/operators/families.h"
#include "runtime/operators/prepare.h"

namespace qgen {
namespace {

using Kind = AttributeInfo::Kind;

constexpr TensorInfo kInput{"input", false, "i8"};
constexpr TensorInfo kInputs[] = {kInput};
constexpr TensorInfo kTwoInputs[] = {kInput, {"other", false, "i8, of a shape that goes with the input's"}};
constexpr TensorInfo kOutputs[] = {{"output", false, "i8"}};

// ---- of one element -------------------------------------------------------------------------------------------------

constexpr AttributeInfo kUnaryAttributes[] = {kInputScale, kInputZeroPoint, kOutputScale, kOutputZeroPoint};

template <UnaryFunction function>
Expected<PreparedCall> prepare_unary(Context& context, const Request& request) {
  PreparedCall prepared;
  const auto input = upload_input(context, request, "input", prepared);
  if (!input) return input.error();
  const auto call = q8ta_unary_call(desc_of(**input), function,
                                    {.input = per_tensor_attribute(request, "input"),
                                     .output = per_tensor_attribute(request, "output"),
                                     .layout = place_of(request, "output").layout});
  return finished(std::move(prepared), call, {*input, {}});
}

template <UnaryFunction function>
constexpr OperatorEntry unary(std::string_view name, std::string_view formula) {
  return {name, formula, kInputs, kOutputs, kUnaryAttributes, prepare_unary<function>, "q8ta_unary"};
}

// ---- of two ---------------------------------------------------------------------------------------------------------

constexpr AttributeInfo kOtherScale = scale_attribute("other_scale");
constexpr AttributeInfo kOtherZeroPoint = zero_point_attribute("other_zero_point");
constexpr AttributeInfo kActivation{"activation", Kind::word, "none", "of the real result", kActivationWords};
constexpr AttributeInfo kAlpha{"alpha", Kind::real, "1", "a factor of other", {}};
constexpr AttributeInfo kSumAttributes[] = {kInputScale,  kInputZeroPoint,  kOtherScale, kOtherZeroPoint,
                                            kOutputScale, kOutputZeroPoint, kActivation, kAlpha};
constexpr AttributeInfo kProductAttributes[] = {kInputScale,  kInputZeroPoint,  kOtherScale, kOtherZeroPoint,
                                                kOutputScale, kOutputZeroPoint, kActivation};

template <BinaryOperation operation>
Expected<PreparedCall> prepare_binary(Context& context, const Request& request) {
  PreparedCall prepared;
  const auto input = upload_input(context, request, "input", prepared);
  if (!input) return input.error();
  const auto other = upload_input(context, request, "other", prepared);
  if (!other) return other.error();
  const auto call = q8ta_binary_call(desc_of(**input), desc_of(**other),
                                     {.operation = operation,
                                      .input = per_tensor_attribute(request, "input"),
                                      .other = per_tensor_attribute(request, "other"),
                                      .output = per_tensor_attribute(request, "output"),
                                      .alpha = find_attribute<double>(request, "alpha").value_or(1),
                                      .activation = enum_attribute<Activation>(request, "activation", kActivationWords),
                                      .layout = place_of(request, "output").layout});
  return finished(std::move(prepared), call, {*input, *other, {}});
}

template <BinaryOperation operation>
constexpr OperatorEntry binary(std::string_view name, std::string_view formula,
                               std::span<const AttributeInfo> attributes) {
  return {name, formula, kTwoInputs, kOutputs, attributes, prepare_binary<operation>, "q8ta_binary"};
}

// ---- pixel shuffle --------------------------------------------------------------------------------------------------

constexpr AttributeInfo kShuffleAttributes[] = {
    kInputScale, kInputZeroPoint, kOutputScale, kOutputZeroPoint, {"upscale_factor", Kind::integer, "2", "r", {}}};

Expected<PreparedCall> prepare_pixel_shuffle(Context& context, const Request& request) {
  PreparedCall prepared;
  const auto input = upload_input(context, request, "input", prepared);
  if (!input) return input.error();
  const auto call =
      q8ta_pixel_shuffle_call(desc_of(**input), {.input = per_tensor_attribute(request, "input"),
                                                 .output = per_tensor_attribute(request, "output"),
                                                 .upscale_factor = attribute<int64_t>(request, "upscale_factor"),
                                                 .layout = place_of(request, "output").layout});
  return finished(std::move(prepared), call, {*input, {}});
}

constexpr OperatorEntry kEntries[] = {
    unary<relu>("q8ta_relu", "max(x, 0)"),
    unary<hardswish>("q8ta_hardswish", "x * min(max(x + 3, 0), 6) / 6"),
    unary<sigmoid>("q8ta_sigmoid", "1 / (1 + exp(-x))"),
    binary<BinaryOperation::add>("q8ta_add", "input + alpha * other", kSumAttributes),
    binary<BinaryOperation::sub>("q8ta_sub", "input - alpha * other", kSumAttributes),
    binary<BinaryOperation::mul>("q8ta_mul", "input * other", kProductAttributes),
    {"q8ta_pixel_shuffle", "[..., C * r * r, H, W] -> [..., C, H * r, W * r]", kInputs, kOutputs, kShuffleAttributes,
     prepare_pixel_shuffle},
};

}  // namespace

std::span<const OperatorEntry> elementwise_entries() { return kEntries; }

}  // namespace qgen
