// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/graph/constants.h"

#include <fmt/format.h>

#include <algorithm>

namespace qgen::graph {
namespace {

// The operands of a node that are weights.
void for_each_weight(const Node& node, const OperatorEntry& entry, const std::function<void(ValueId)>& visit) {
  for (const Port& input : node.inputs) {
    if (find_tensor(entry, input.operand)->role == TensorInfo::Role::weight) visit(input.value);
  }
}

Expected<Weight> weight_of(const Value& value) {
  return value.data ? Weight::create(*value.data, {}) : Expected<Weight>(refused("its data is missing"));
}

}  // namespace

Expected<Constants> Constants::create(const Graph& graph, const Inferred& inferred, SavedWeights saved) {
  Constants constants;
  Done made = std::monostate{};
  const auto make = [&](ValueId value) {
    if (!made || constants.weights_.contains(value)) return;
    const auto known = saved.find(value);
    auto weight = known != saved.end() ? Weight::create(std::move(known->second)) : weight_of(graph.values[value]);
    if (weight && weight->shape() != graph.values[value].shape) weight = refused("it was saved with another shape");
    if (!weight) made = refused(fmt::format("constant '{}': {}", graph.values[value].name, weight.error().message));
    else constants.weights_.emplace(value, std::make_unique<Weight>(*std::move(weight)));
  };
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (const OperatorEntry* entry = inferred.operations[i].entry) for_each_weight(graph.nodes[i], *entry, make);
  }
  if (!made) return made.error();
  return constants;
}

Expected<Constants::SavedWeights> Constants::saved_weights(Executor& executor) const {
  SavedWeights saved;
  for (const auto& [value, weight] : weights_) {
    auto one = weight->saved(executor);
    if (!one) return one.error();
    saved.emplace(value, *std::move(one));
  }
  return saved;
}

Weight* Constants::weight(ValueId value) {
  const auto found = weights_.find(value);
  return found == weights_.end() ? nullptr : found->second.get();
}

std::map<ValueId, TensorDesc> Constants::weight_descs() const {
  std::map<ValueId, TensorDesc> descs;
  for (const auto& [value, weight] : weights_) descs.emplace(value, desc_of(*weight));
  return descs;
}

Expected<const DeviceTensor*> Constants::parameter(Executor& executor, const Graph& graph, ValueId value) {
  if (const auto known = parameters_.find(value); known != parameters_.end()) return &known->second;
  if (!graph.values[value].data)
    return refused(fmt::format("the data of constant '{}' is missing", graph.values[value].name));
  auto uploaded = executor.upload(*graph.values[value].data, Storage::buffer);
  if (!uploaded) return uploaded.error();
  return &parameters_.emplace(value, *std::move(uploaded)).first->second;
}

Done Constants::fetch_parameters(Executor& executor, Graph& graph) const {
  for (const auto& [value, parameter] : parameters_) {
    if (graph.values[value].data) continue;
    auto data = executor.download(parameter);
    if (!data) return data.error();
    graph.values[value].data = std::make_shared<const HostTensor>(*std::move(data));
  }
  return std::monostate{};
}

void Constants::release(Graph& graph) {
  for (auto& [value, weight] : weights_) {
    graph.values[value].data.reset();
    weight->release_source();
  }
  for (const auto& [value, parameter] : parameters_) graph.values[value].data.reset();
}

uint64_t Constants::device_bytes() const {
  uint64_t bytes_on_device = 0;
  for (const auto& [value, weight] : weights_) bytes_on_device += weight->form_bytes();
  for (const auto& [value, parameter] : parameters_) {
    bytes_on_device += buffer_bytes(parameter.dtype(), parameter.shape(), parameter.layout());
  }
  return bytes_on_device;
}

}  // namespace qgen::graph
