// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A graph executed node by node on the reference operators. runtime/model has the same for programs, behind
// graph::infer(); here each operator's infer() is asked with the tensors themselves.
//
//   const Tensors outputs = *judged(graph, {{"image", image}});
#pragma once

#include <fmt/format.h>

#include "operators.h"
#include "runtime/calls/attributes.h"
#include "runtime/graph/graph.h"
#include "runtime/reference/references.h"

namespace qgen::onnx::testing {

inline Expected<Tensors> judged_node(const graph::Node& node, Tensors inputs) {
  if (node.op == graph::kReshape) {
    HostTensor tensor = std::move(inputs.begin()->second);
    auto shape = graph::reshaped(tensor.shape, std::get<std::vector<int64_t>>(node.attributes.at("shape")));
    if (!shape) return shape.error();
    tensor.shape = *std::move(shape);
    return Tensors{{node.outputs.front().operand, std::move(tensor)}};
  }
  const OperatorEntry* entry = find_operator(generated::operators::entries(), node.op);
  const auto reference = reference::find(node.op);
  if (!entry || !reference) return refused(fmt::format("there is no '{}'", node.op));
  const auto request = complete(*entry, {.inputs = std::move(inputs), .attributes = node.attributes});
  if (!request) return request.error();
  if (const auto call = infer_call(*entry, *request); !call) return call.error();
  return reference(*request);
}

// By the names of the graph's outputs. Errors name the node.
inline Expected<Tensors> judged(const graph::Graph& graph, const Tensors& inputs) {
  std::vector<std::optional<HostTensor>> values(graph.values.size());
  for (size_t i = 0; i < graph.values.size(); ++i) {
    if (graph.values[i].data) values[i] = *graph.values[i].data;
  }
  for (const graph::ValueId input : graph.inputs) values[input] = inputs.at(graph.values[input].name);
  for (const graph::Node& node : graph.nodes) {
    Tensors given;
    for (const graph::Port& port : node.inputs) given.emplace(port.operand, values.at(port.value).value());
    auto made = judged_node(node, std::move(given));
    if (!made) return refused(fmt::format("node '{}': {}", node.name, made.error().message));
    for (const graph::Port& port : node.outputs) values[port.value] = std::move(made->at(port.operand));
  }
  Tensors outputs;
  for (const graph::Named& output : graph.outputs) outputs.emplace(output.name, values[output.value].value());
  return outputs;
}

}  // namespace qgen::onnx::testing
