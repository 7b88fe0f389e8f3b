// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Makes a Call from a request, in the same manner for every operator: the signature describes each tensor.
#include <fmt/format.h>

#include "runtime/engine/calls/attributes.h"
#include "runtime/engine/calls/mixed_arguments.h"
#include "runtime/engine/calls/registry.h"
#include "vocabulary/layouts.h"

namespace qgen {
namespace {

// ---- before anything is uploaded ------------------------------------------------------------------------------------

bool holds(DType wide, DType narrow) {
  if (wide == DType::f32) return narrow == DType::f16 || narrow == DType::bf16;
  const bool is_small = narrow == DType::i8 || narrow == DType::u8 || narrow == DType::i16 || narrow == DType::u16;
  return wide == DType::i32 && is_small;
}

// The dtype in which an input goes to the device. Parameters that kernels read as f32 or i32 only are widened, which is
// exact.
DType uploaded_dtype(const TensorInfo& info, DType given) {
  for (const DType wide : {DType::f32, DType::i32}) {
    if (info.dtypes == bit(wide) && holds(wide, given)) return wide;
  }
  return given;
}

HostTensor widened(const HostTensor& tensor, DType dtype) {
  HostTensor wide = zeros(dtype, tensor.shape);
  for (int64_t i = 0; i < element_count(tensor.shape); ++i) set_element(wide, i, element(tensor, i));
  return wide;
}

// As far as its shape says: every form may be made of it.
TensorDesc described_weight(const HostTensor& source) {
  const uint32_t layouts = weight_layouts(true);
  return {source.dtype, source.shape, Storage::buffer, *first_layout(layouts), layouts};
}

bool is_description(const HostTensor& tensor) { return tensor.data.empty() && element_count(tensor.shape) != 0; }

Expected<std::unique_ptr<Weight>> make_weight(const HostTensor& source) {
  auto weight = Weight::create(source, {});
  if (!weight) return weight.error();
  return std::make_unique<Weight>(*std::move(weight));
}

// The weights of a request, by operand.
using Weights = std::map<size_t, std::unique_ptr<Weight>>;

Expected<Weights> make_weights(const OperatorEntry& entry, const Request& request) {
  Weights weights;
  for (const TensorInfo& info : entry.tensors) {
    const HostTensor* source = find_input(request, info.name);
    if (info.role != TensorInfo::Role::weight || !source || is_description(*source)) continue;
    auto weight = make_weight(*source);
    if (!weight) return weight.error();
    weights.emplace(info.operand, *std::move(weight));
  }
  return weights;
}

std::optional<Representation> given_representation(const Request& request, std::string_view name) {
  const auto representation = request.representations.find(name);
  return representation == request.representations.end() ? std::nullopt : std::optional(representation->second);
}

InferArguments infer_arguments_of(const OperatorEntry& entry, const Request& request, const Weights& weights) {
  InferArguments arguments(entry);
  for (const TensorInfo& info : entry.tensors) {
    const HostTensor* input = find_input(request, info.name);
    const auto weight = weights.find(info.operand);
    arguments.set_representation(info.operand, given_representation(request, info.name));
    if (weight != weights.end()) {
      arguments.set_tensor(info.operand, desc_of(*weight->second));
    } else if (input && info.role == TensorInfo::Role::weight) {
      arguments.set_tensor(info.operand, described_weight(*input));
    } else if (input) {
      const Representation lies = representation_of(request, info.name);
      arguments.set_tensor(info.operand,
                           TensorDesc{uploaded_dtype(info, input->dtype), input->shape, lies.storage, lies.layout});
    }
  }
  set_attributes(arguments, request.attributes);
  return arguments;
}

Expected<Call> infer_call(const OperatorEntry& entry, const Request& request, const Weights& weights) {
  return checked(infer_arguments_of(entry, request, weights), entry.infer);
}

// ---- on the device --------------------------------------------------------------------------------------------------

Expected<Argument> upload(Context& context, const HostTensor& tensor, Representation representation,
                          PreparedCall& prepared) {
  auto uploaded = context.executor.upload(tensor, representation.storage, representation.layout);
  if (!uploaded) return uploaded.error();
  prepared.tensors.push_back(std::make_unique<DeviceTensor>(*std::move(uploaded)));
  return Argument(prepared.tensors.back().get());
}

Expected<Argument> upload_input(Context& context, const TensorInfo& info, const Request& request,
                                PreparedCall& prepared) {
  const HostTensor* input = find_input(request, info.name);
  if (!input) return Argument();
  const DType dtype = uploaded_dtype(info, input->dtype);
  const Representation representation = representation_of(request, info.name);
  return upload(context, dtype == input->dtype ? *input : widened(*input, dtype), representation, prepared);
}

Expected<Argument> argument_for(Context& context, const TensorInfo& info, const Request& request,
                                const Weights& weights, PreparedCall& prepared) {
  switch (info.role) {
    case TensorInfo::Role::input: return upload_input(context, info, request, prepared);
    case TensorInfo::Role::weight: return Argument(weights.at(info.operand).get());
    case TensorInfo::Role::derived:  // add_derived()
    case TensorInfo::Role::output: break;
  }
  return Argument();
}

// ---- of which some are on the device already ------------------------------------------------------------------------

// Describes the arguments on the device to complete().
Done describe(const OperatorEntry& entry, MixedArguments& arguments) {
  Tensors& inputs = arguments.request.inputs;
  for (const auto& [name, tensor] : arguments.tensors) {
    const TensorInfo* info = find_tensor(entry, name);
    if (info && info->role == TensorInfo::Role::output) continue;
    if (info && info->role == TensorInfo::Role::weight)
      return refused(fmt::format("weight '{}' is given as a plain tensor", name),
                     "give an array, or make a weight of it");
    if (!inputs.try_emplace(name, HostTensor{tensor->dtype(), tensor->shape(), {}}).second) return given_twice(name);
  }
  for (const auto& [name, weight] : arguments.weights) {
    const TensorInfo* info = find_tensor(entry, name);
    if (info && info->role != TensorInfo::Role::weight)
      return refused(fmt::format("'{}' of '{}' is no weight", name, entry.name), "give an array or a tensor");
    if (!inputs.try_emplace(name, HostTensor{DType::i8, weight->shape(), {}}).second) return given_twice(name);
  }
  return std::monostate{};
}

Done check_host_tensors(const Request& request) {
  for (const auto& [name, tensor] : request.inputs) {
    if (Done whole = check_host_tensor(tensor, fmt::format("input '{}'", name)); !whole) return whole;
  }
  return std::monostate{};
}

Done complete(const OperatorEntry& entry, MixedArguments& arguments) {
  if (Done described = describe(entry, arguments); !described) return described;
  auto request = complete(entry, std::move(arguments.request), Data::described);
  if (!request) return request.error();
  arguments.request = *std::move(request);
  return std::monostate{};
}

InferArguments infer_arguments_of(const OperatorEntry& entry, const MixedArguments& mixed, const Weights& made) {
  InferArguments arguments = infer_arguments_of(entry, mixed.request, made);
  for (const auto& [name, tensor] : mixed.tensors) {
    const TensorInfo& info = *find_tensor(entry, name);
    if (info.role == TensorInfo::Role::output) arguments.set_output(info.operand, desc_of(*tensor));
    else arguments.set_tensor(info.operand, desc_of(*tensor));
  }
  for (const auto& [name, weight] : mixed.weights)
    arguments.set_tensor(find_tensor(entry, name)->operand, desc_of(*weight));
  return arguments;
}

Expected<Argument> argument_for(Context& context, const TensorInfo& info, const MixedArguments& arguments,
                                const Weights& made, PreparedCall& prepared) {
  const auto tensor = arguments.tensors.find(info.name);
  if (tensor != arguments.tensors.end()) return Argument(tensor->second);
  const auto weight = arguments.weights.find(info.name);
  if (weight != arguments.weights.end()) return Argument(weight->second);
  if (!find_input(arguments.request, info.name)) return Argument();
  return argument_for(context, info, arguments.request, made, prepared);
}

}  // namespace

Error given_twice(std::string_view name) { return refused(fmt::format("'{}' is given twice", name)); }

Expected<Call> infer_call(const OperatorEntry& entry, MixedArguments arguments) {
  if (Done completed = complete(entry, arguments); !completed) return completed.error();
  const auto weights = make_weights(entry, arguments.request);
  if (!weights) return weights.error();
  return checked(infer_arguments_of(entry, arguments, *weights), entry.infer);
}

Expected<PreparedCall> prepare(Context& context, const OperatorEntry& entry, MixedArguments arguments) {
  if (Done whole = check_host_tensors(arguments.request); !whole) return whole.error();
  if (Done completed = complete(entry, arguments); !completed) return completed.error();
  auto weights = make_weights(entry, arguments.request);
  if (!weights) return weights.error();
  auto call = checked(infer_arguments_of(entry, arguments, *weights), entry.infer);
  if (!call) return call.error();
  PreparedCall prepared;
  prepared.call = *std::move(call);
  std::vector<Argument> all;
  for (const TensorInfo& info : entry.tensors) {
    const auto argument = argument_for(context, info, arguments, *weights, prepared);
    if (!argument) return argument.error();
    all.push_back(*argument);
  }
  prepared.arguments = ArgumentList(std::move(all));
  for (auto& [operand, weight] : *weights) prepared.weights.push_back(std::move(weight));
  return prepared;
}

Expected<Call> infer_call(const OperatorEntry& entry, const Request& request) {
  const auto weights = make_weights(entry, request);
  if (!weights) return weights.error();
  return infer_call(entry, request, *weights);
}

Expected<PreparedCall> prepare(Context& context, const OperatorEntry& entry, const Request& request) {
  auto weights = make_weights(entry, request);
  if (!weights) return weights.error();
  auto call = infer_call(entry, request, *weights);
  if (!call) return call.error();
  PreparedCall prepared;
  prepared.call = *std::move(call);
  std::vector<Argument> arguments;
  for (const TensorInfo& info : entry.tensors) {
    const auto argument = argument_for(context, info, request, *weights, prepared);
    if (!argument) return argument.error();
    arguments.push_back(*argument);
  }
  prepared.arguments = ArgumentList(std::move(arguments));
  if (Done added = add_derived(context.executor, entry, prepared.call, prepared.arguments); !added)
    return added.error();
  for (auto& [operand, weight] : *weights) prepared.weights.push_back(std::move(weight));
  return prepared;
}

}  // namespace qgen
