// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <algorithm>

#include "runtime/operators/families.h"
#include "runtime/operators/linear.h"
#include "runtime/operators/weight_entries.h"

namespace qgen {
namespace {

using Kind = AttributeInfo::Kind;

constexpr AttributeInfo kInputScale{"input_scale", Kind::real, "", "of the input's integers", {}};
constexpr AttributeInfo kInputZeroPoint{"input_zero_point", Kind::integer, "0", "-128 to 127", {}};
constexpr AttributeInfo kOutputScale{"output_scale", Kind::real, "", "of the output's integers", {}};
constexpr AttributeInfo kOutputZeroPoint{"output_zero_point", Kind::integer, "0", "-128 to 127", {}};
constexpr AttributeInfo kActivation{"activation", Kind::word, "none", "applied before the output is quantized",
                                    kActivationWords};
constexpr AttributeInfo kRealActivation{"activation", Kind::word, "none", "applied last", kActivationWords};

Activation activation_of(const Request& request) {
  return enum_attribute<Activation>(request, "activation", kActivationWords);
}

float real(const Request& request, std::string_view name) {
  return static_cast<float>(attribute<double>(request, name));
}
// Past the range of 32 bits it stays past that of any zero point.
int32_t integer(const Request& request, std::string_view name) {
  return static_cast<int32_t>(std::clamp<int64_t>(attribute<int64_t>(request, name), INT32_MIN, INT32_MAX));
}

// As kernels in int8 read them.
struct Int8Inputs : LinearInputs {
  const DeviceTensor* sums = nullptr;
};

Expected<Int8Inputs> upload_inputs(Context& context, const Request& request, PreparedCall& prepared) {
  const auto inputs = upload_linear_inputs(context, request, prepared);
  if (!inputs) return inputs.error();
  const auto sums = inputs->weight->sums(context.executor);
  if (!sums) return sums.error();
  return Int8Inputs{*inputs, *sums};
}

// ---- q8ta_linear ----------------------------------------------------------------------------------------------------

constexpr TensorInfo kQ8taInputs[] = {{"input", false, "i8 [..., K]"}, kWeightOfEightBits, kScalesOfRows, kBias};
constexpr TensorInfo kQ8taOutputs[] = {{"output", false, "i8 [..., N]"}};
constexpr AttributeInfo kQ8taAttributes[] = {kInputScale, kInputZeroPoint, kOutputScale, kOutputZeroPoint, kActivation};

Expected<PreparedCall> prepare_q8ta_linear(Context& context, const Request& request) {
  PreparedCall prepared;
  const auto inputs = upload_inputs(context, request, prepared);
  if (!inputs) return inputs.error();
  const auto call = q8ta_linear_call(desc_of(*inputs->input), desc_of(*inputs->weight), desc_of(*inputs->scales),
                                     desc_of(inputs->bias),
                                     {.input_scale = real(request, "input_scale"),
                                      .input_zero_point = integer(request, "input_zero_point"),
                                      .output_scale = real(request, "output_scale"),
                                      .output_zero_point = integer(request, "output_zero_point"),
                                      .activation = activation_of(request),
                                      .output = place_of(request, "output")});
  return finished(std::move(prepared), call,
                  {inputs->input, inputs->weight, inputs->sums, inputs->scales, argument_of(inputs->bias), {}});
}

// ---- linear_q8ta_q8csw ----------------------------------------------------------------------------------------------

constexpr TensorInfo kRealInputs[] = {
    {"input", false, "f32 or f16, [..., K]"}, kWeightOfEightBits, kScalesOfRows, kBias};
constexpr TensorInfo kRealOutputs[] = {{"output", false, "[..., N], of the input's dtype"}};
constexpr AttributeInfo kRealAttributes[] = {kInputScale, kInputZeroPoint, kRealActivation};

Expected<PreparedCall> prepare_linear_q8ta_q8csw(Context& context, const Request& request) {
  PreparedCall prepared;
  const auto inputs = upload_inputs(context, request, prepared);
  if (!inputs) return inputs.error();
  const auto call = linear_q8ta_q8csw_call(desc_of(*inputs->input), desc_of(*inputs->weight), desc_of(*inputs->scales),
                                           desc_of(inputs->bias),
                                           {.input_scale = real(request, "input_scale"),
                                            .input_zero_point = integer(request, "input_zero_point"),
                                            .activation = activation_of(request)});
  return finished(std::move(prepared), call,
                  {inputs->input, inputs->weight, inputs->sums, inputs->scales, argument_of(inputs->bias), {}});
}

constexpr OperatorEntry kEntries[] = {
    {"q8ta_linear", "int8 linear layer, int8 output", kQ8taInputs, kQ8taOutputs, kQ8taAttributes, prepare_q8ta_linear},
    {"linear_q8ta_q8csw", "linear layer of reals in int8, the input quantized by one scale", kRealInputs, kRealOutputs,
     kRealAttributes, prepare_linear_q8ta_q8csw},
};

}  // namespace

std::span<const OperatorEntry> linear_entries() { return kEntries; }

}  // namespace qgen
