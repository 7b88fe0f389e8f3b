// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// From a request to a Call that can run, for every operator alike: the signature says what each tensor is.
#include "runtime/calls/attributes.h"
#include "runtime/calls/registry.h"

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
    if (info.role != TensorInfo::Role::weight || !source) continue;
    auto weight = make_weight(*source);
    if (!weight) return weight.error();
    weights.emplace(info.operand, *std::move(weight));
  }
  return weights;
}

std::optional<Place> place_said(const Request& request, std::string_view name) {
  const auto place = request.places.find(name);
  return place == request.places.end() ? std::nullopt : std::optional(place->second);
}

Given given_of(const OperatorEntry& entry, const Request& request, const Weights& weights) {
  Given given(entry);
  for (const TensorInfo& info : entry.tensors) {
    const HostTensor* input = find_input(request, info.name);
    const auto weight = weights.find(info.operand);
    given.set_place(info.operand, place_said(request, info.name));
    if (weight != weights.end()) {
      given.set_tensor(info.operand, desc_of(*weight->second));
    } else if (input) {
      const Place lies = place_of(request, info.name);
      given.set_tensor(info.operand,
                       TensorDesc{uploaded_dtype(info, input->dtype), input->shape, lies.storage, lies.layout});
    }
  }
  set_attributes(given, request.attributes);
  return given;
}

Expected<Call> infer_call(const OperatorEntry& entry, const Request& request, const Weights& weights) {
  return checked(given_of(entry, request, weights), entry.infer);
}

// ---- on the device --------------------------------------------------------------------------------------------------

Expected<Argument> upload(Context& context, const HostTensor& tensor, Place place, PreparedCall& prepared) {
  auto uploaded = context.executor.upload(tensor, place.storage, place.layout);
  if (!uploaded) return uploaded.error();
  prepared.tensors.push_back(std::make_unique<DeviceTensor>(*std::move(uploaded)));
  return Argument(prepared.tensors.back().get());
}

Expected<Argument> upload_input(Context& context, const TensorInfo& info, const Request& request,
                                PreparedCall& prepared) {
  const HostTensor* input = find_input(request, info.name);
  if (!input) return Argument();
  const DType dtype = uploaded_dtype(info, input->dtype);
  const Place place = place_of(request, info.name);
  return upload(context, dtype == input->dtype ? *input : widened(*input, dtype), place, prepared);
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

}  // namespace

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
