// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/model/judge.h"

#include <fmt/format.h>

namespace qgen::model {
namespace {

using graph::Graph;
using graph::Node;

Expected<Tensors> outputs_of_node(const Node& node, const OperatorEntry& entry, const std::vector<HostTensor>& values) {
  Request request;
  for (const graph::Port& input : node.inputs) request.inputs.emplace(input.operand, values[input.value]);
  request.attributes = node.attributes;
  auto complete_request = complete(entry, std::move(request));
  if (!complete_request) return complete_request.error();
  auto answer = reference::answer(entry.name, *complete_request);
  if (!answer) return refused(fmt::format("'{}' has no reference", entry.name));
  return std::move(answer->outputs);
}

}  // namespace

Expected<std::vector<HostTensor>> by_reference(const Graph& graph, OperatorEntries operators, const Tensors& inputs,
                                               const std::function<void(size_t)>& on_node) {
  const auto inferred = graph::infer(graph, operators, graph::shapes_of(inputs));
  if (!inferred) return inferred.error();
  std::vector<HostTensor> values(graph.values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (graph.values[i].data) values[i] = *graph.values[i].data;
  }
  for (const graph::ValueId input : graph.inputs) {
    const auto given = inputs.find(graph.values[input].name);
    if (given == inputs.end()) return refused(fmt::format("input '{}' is missing", graph.values[input].name));
    if (given->second.dtype != graph.values[input].dtype)
      return refused(fmt::format("input '{}' is {}, and must be {}", given->first, name(given->second.dtype),
                                 name(graph.values[input].dtype)));
    if (Done whole = check_host_tensor(given->second, fmt::format("input '{}'", given->first)); !whole)
      return whole.error();
    values[input] = given->second;
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (on_node) on_node(i);
    const OperatorEntry* entry = inferred->operations[i].entry;
    if (!entry) {
      const graph::ValueId output = node.outputs.front().value;
      values[output] = values[node.inputs.front().value];
      values[output].shape = inferred->values[output].shape;
      continue;
    }
    auto made = outputs_of_node(node, *entry, values);
    if (!made) return refused(fmt::format("node '{}': {}", node.name, made.error().message));
    for (const graph::Port& output : node.outputs) values[output.value] = std::move(made->at(output.operand));
  }
  return values;
}

Expected<Tensors> outputs_by_reference(const Graph& graph, OperatorEntries operators, const Tensors& inputs,
                                       const std::function<void(size_t)>& on_node) {
  const auto values = by_reference(graph, operators, inputs, on_node);
  if (!values) return values.error();
  Tensors outputs;
  for (const graph::Named& output : graph.outputs) outputs.emplace(output.name, (*values)[output.value]);
  return outputs;
}

}  // namespace qgen::model
