// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <algorithm>

#include "runtime/operators/families.h"
#include "runtime/operators/weight_entries.h"
#include "runtime/operators/weight_linear.h"

namespace qgen {
namespace {

using Kind = AttributeInfo::Kind;

constexpr TensorInfo kOutputs[] = {{"output", false, "[..., N], of the input's dtype"}};
constexpr TensorInfo kInput{"input", false, "f32 or f16, [..., K]"};
constexpr TensorInfo kInputs8[] = {kInput, kWeightOfEightBits, kScalesOfRows, kBias};
constexpr TensorInfo kInputs4[] = {kInput, kWeightOfFourBits, kScalesOfGroups, kBias};

constexpr TensorInfo kBackwardInputs[] = {
    {"d_output", false, "f32 or f16, [..., N]"}, kWeightOfFourBits, kScalesOfGroups};
constexpr TensorInfo kBackwardOutputs[] = {{"d_input", false, "[..., K], of d_output's dtype"}};

constexpr AttributeInfo kActivation{"activation", Kind::word, "none", "applied last", kActivationWords};
constexpr AttributeInfo kMapping{"activation_mapping", Kind::word, "asymmetric",
                                 "how the range of a row of the input is mapped", kMappingTypeWords};
constexpr AttributeInfo kQuantMin{"quant_min", Kind::integer, "-128", "the least integer of the input", {}};
constexpr AttributeInfo kQuantMax{"quant_max", Kind::integer, "127", "the greatest integer of the input", {}};

using WeightOnlyCall = Expected<Call>(const TensorDesc&, const TensorDesc&, const TensorDesc&,
                                      const std::optional<TensorDesc>&, const WeightLinearOptions&);
template <WeightOnlyCall call_of>
Expected<PreparedCall> prepare_weight_only(Context& context, const Request& request) {
  PreparedCall prepared;
  const auto inputs = upload_linear_inputs(context, request, prepared);
  if (!inputs) return inputs.error();
  auto call =
      call_of(desc_of(*inputs->input), desc_of(*inputs->weight), desc_of(*inputs->scales), desc_of(inputs->bias),
              {.activation = enum_attribute<Activation>(request, "activation", kActivationWords)});
  if (!call) return call.error();
  prepared.call = *std::move(call);
  prepared.arguments = {inputs->input, inputs->weight, inputs->scales, argument_of(inputs->bias), {}};
  return prepared;
}

Expected<PreparedCall> prepare_backward(Context& context, const Request& request) {
  PreparedCall prepared;
  const auto d_output = upload_input(context, request, "d_output", prepared);
  if (!d_output) return d_output.error();
  const auto weight = upload_weight(context, request, prepared);
  if (!weight) return weight.error();
  const auto call = linear_q4gsw_backward_call(desc_of(**d_output), desc_of(*weight->codes), desc_of(*weight->scales));
  return finished(std::move(prepared), call, {*d_output, weight->codes, weight->scales, {}});
}

using DynamicCall = Expected<Call>(const TensorDesc&, const TensorDesc&, const TensorDesc&,
                                   const std::optional<TensorDesc>&, const DynamicLinearOptions&);
template <DynamicCall call_of>
Expected<PreparedCall> prepare_dynamic(Context& context, const Request& request) {
  PreparedCall prepared;
  const auto inputs = upload_linear_inputs(context, request, prepared);
  if (!inputs) return inputs.error();
  auto call =
      call_of(desc_of(*inputs->input), desc_of(*inputs->weight), desc_of(*inputs->scales), desc_of(inputs->bias),
              {.mapping_type = enum_attribute<MappingType>(request, "activation_mapping", kMappingTypeWords),
               .range = {attribute<int64_t>(request, "quant_min"), attribute<int64_t>(request, "quant_max")},
               .activation = enum_attribute<Activation>(request, "activation", kActivationWords)});
  if (!call) return call.error();
  const auto sums = inputs->weight->sums(context.executor, run_of(desc_of(*inputs->weight), desc_of(*inputs->scales)));
  if (!sums) return sums.error();
  prepared.call = *std::move(call);
  prepared.arguments = {inputs->input, inputs->weight, inputs->scales, *sums, argument_of(inputs->bias), {}};
  return prepared;
}

constexpr AttributeInfo kAttributes8[] = {kActivation};
constexpr AttributeInfo kAttributes4[] = {kGroupSize, kActivation};
constexpr AttributeInfo kBackwardAttributes[] = {kGroupSize};
constexpr AttributeInfo kDynamicAttributes8[] = {kMapping, kQuantMin, kQuantMax, kActivation};
constexpr AttributeInfo kDynamicAttributes4[] = {kGroupSize, kMapping, kQuantMin, kQuantMax, kActivation};

constexpr OperatorEntry kEntries[] = {
    {"linear_q8csw", "linear layer of reals, int8 weight with a scale a row", kInputs8, kOutputs, kAttributes8,
     prepare_weight_only<linear_q8csw_call>},
    {"linear_q4gsw", "linear layer of reals, int4 weight with a scale a group", kInputs4, kOutputs, kAttributes4,
     prepare_weight_only<linear_q4gsw_call>},
    {"linear_q4gsw_backward", "gradient of a linear layer's input, int4 weight with a scale a group", kBackwardInputs,
     kBackwardOutputs, kBackwardAttributes, prepare_backward},
    {"linear_dq8ca_q8csw", "linear layer of reals that are quantized row by row, int8 weight with a scale a row",
     kInputs8, kOutputs, kDynamicAttributes8, prepare_dynamic<linear_dq8ca_q8csw_call>},
    {"linear_dq8ca_q4gsw", "linear layer of reals that are quantized row by row, int4 weight with a scale a group",
     kInputs4, kOutputs, kDynamicAttributes4, prepare_dynamic<linear_dq8ca_q4gsw_call>},
};

}  // namespace

std::span<const OperatorEntry> weight_linear_entries() { return kEntries; }

}  // namespace qgen
