// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/onnx/inline_branches.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace qgen::onnx {
namespace {

using Names = std::set<std::string, std::less<>>;

// What a graph writes, its constants and its inputs.
Names names_of(const ModelGraph& graph) {
  Names names;
  for (const auto& [name, tensor] : graph.initializers) names.insert(name);
  for (const ValueInfo& input : graph.inputs) names.insert(input.name);
  for (const Node& node : graph.nodes) {
    for (const std::string& output : node.outputs) {
      if (!output.empty()) names.insert(output);
    }
  }
  return names;
}

// Of one element; nullptr: the model computes it.
TensorPtr condition_of(const ModelGraph& graph, const Node& node) {
  if (node.inputs.empty()) return nullptr;
  const auto constant = graph.initializers.find(node.inputs[0]);
  if (constant == graph.initializers.end() || constant->second->size() != 1) return nullptr;
  return constant->second->type == ElementType::boolean ? constant->second : nullptr;
}

const ModelGraph* branch_of(const ModelGraph& graph, const Node& node) {
  if (node.op != "If" || !node.domain.empty()) return nullptr;
  const TensorPtr condition = condition_of(graph, node);
  const AttributeData* data =
      condition ? node.find(condition->integer(0) != 0 ? "then_branch" : "else_branch") : nullptr;
  const auto* branch = data ? std::get_if<Subgraph>(data) : nullptr;
  const bool fits =
      branch && branch->graph && branch->graph->inputs.empty() && branch->graph->outputs.size() == node.outputs.size();
  return fits ? branch->graph.get() : nullptr;
}

// How many graphs have each name: this one, its nodes' branches and bodies, and theirs. A branch that is not taken does
// not count.
using Counts = std::map<std::string, int, std::less<>>;
void count_names(const ModelGraph& graph, Counts& counts) {
  for (const std::string& name : names_of(graph)) ++counts[name];
  for (const Node& node : graph.nodes) {
    const ModelGraph* taken = branch_of(graph, node);
    for (const auto& [attribute, data] : node.attributes) {
      const auto* inner = std::get_if<Subgraph>(&data);
      if (inner && inner->graph && (!taken || inner->graph.get() == taken)) count_names(*inner->graph, counts);
    }
  }
}

bool are_single(const Names& names, const Counts& counts) {
  return std::ranges::all_of(names, [&](const std::string& name) { return counts.at(name) == 1; });
}

}  // namespace

void inline_branches(ModelGraph& graph) {
  Counts counts;
  count_names(graph, counts);
  std::vector<Node> nodes = std::move(graph.nodes), all;
  graph.nodes.clear();
  for (Node& node : nodes) {
    const ModelGraph* branch = branch_of(graph, node);
    const Names inner = branch ? names_of(*branch) : Names();
    if (!branch || !are_single(inner, counts)) {
      all.push_back(std::move(node));
      continue;
    }
    graph.initializers.insert(branch->initializers.begin(), branch->initializers.end());
    graph.values.insert(graph.values.end(), branch->values.begin(), branch->values.end());
    all.insert(all.end(), branch->nodes.begin(), branch->nodes.end());
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty()) continue;
      all.push_back({.name = fmt::format("{} result {}", node.name, i),
                     .op = "Identity",
                     .inputs = {branch->outputs[i].name},
                     .outputs = {node.outputs[i]}});
    }
  }
  graph.nodes = std::move(all);
}

}  // namespace qgen::onnx
