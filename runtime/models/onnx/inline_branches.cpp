// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/onnx/inline_branches.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/models/onnx/order.h"

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

std::shared_ptr<const ModelGraph> branch_of(const ModelGraph& graph, const Node& node, bool is_taken = true) {
  if (node.op != "If" || !node.domain.empty()) return nullptr;
  const TensorPtr condition = condition_of(graph, node);
  const AttributeData* data =
      condition ? node.find((condition->integer(0) != 0) == is_taken ? "then_branch" : "else_branch") : nullptr;
  const auto* branch = data ? std::get_if<Subgraph>(data) : nullptr;
  const bool fits =
      branch && branch->graph && branch->graph->inputs.empty() && branch->graph->outputs.size() == node.outputs.size();
  return fits ? branch->graph : nullptr;
}

// How many graphs have each name: this one, its nodes' branches and bodies, and theirs. A branch that is not taken does
// not count.
using Counts = std::map<std::string, int, std::less<>>;
void count_names(const ModelGraph& graph, Counts& counts) {
  for (const std::string& name : names_of(graph)) ++counts[name];
  for (const Node& node : graph.nodes) {
    const auto taken = branch_of(graph, node);
    for (const auto& [attribute, data] : node.attributes) {
      const auto* inner = std::get_if<Subgraph>(&data);
      if (inner && inner->graph && (!taken || inner->graph == taken)) count_names(*inner->graph, counts);
    }
  }
}

// ---- other names ----------------------------------------------------------------------------------------------------

using Renaming = std::map<std::string, std::string, std::less<>>;

void rename(std::string& name, const Renaming& renaming) {
  if (const auto found = renaming.find(name); found != renaming.end()) name = found->second;
}

void rename(ModelGraph& graph, const Renaming& renaming) {
  for (Node& node : graph.nodes) {
    for (std::string& input : node.inputs) rename(input, renaming);
    for (std::string& output : node.outputs) rename(output, renaming);
    for (auto& [name, data] : node.attributes) {
      auto* inner = std::get_if<Subgraph>(&data);
      if (!inner || !inner->graph) continue;
      Renaming outer = renaming;
      for (const std::string& own : names_of(*inner->graph)) outer.erase(own);
      auto copy = std::make_shared<ModelGraph>(*inner->graph);
      rename(*copy, outer);
      inner->graph = std::move(copy);
    }
  }
  for (auto* infos : {&graph.outputs, &graph.values}) {
    for (ValueInfo& info : *infos) rename(info.name, renaming);
  }
  decltype(graph.initializers) initializers;
  for (auto& [name, tensor] : graph.initializers) {
    std::string own = name;
    rename(own, renaming);
    initializers.emplace(std::move(own), std::move(tensor));
  }
  graph.initializers = std::move(initializers);
}

// New names for those that more than `most` graphs have. They are counted.
Renaming renaming_of(const Names& names, Counts& counts, int most) {
  Renaming renaming;
  for (const std::string& name : names) {
    const auto count = counts.find(name);
    if (count == counts.end() || count->second <= most) continue;
    int number = 2;
    std::string other;
    do other = fmt::format("{} ({})", name, number++);
    while (counts.contains(other));
    ++counts[other];
    renaming.emplace(name, std::move(other));
  }
  return renaming;
}

// ---- states that do not change --------------------------------------------------------------------------------------

using Writers = std::map<std::string_view, const Node*>;

Writers writers_in(const ModelGraph& graph) {
  Writers writers;
  for (const Node& node : graph.nodes) {
    for (const std::string& output : node.outputs) writers.emplace(output, &node);
  }
  return writers;
}
const Node* writer_of(const Writers& writers, std::string_view value) {
  const auto found = writers.find(value);
  return found == writers.end() ? nullptr : found->second;
}

TensorPtr constant_at(const ModelGraph& graph, const Writers& writers, const std::string& value) {
  const auto initializer = graph.initializers.find(value);
  if (initializer != graph.initializers.end()) return initializer->second;
  const Node* node = writer_of(writers, value);
  const AttributeData* data = node && node->op == "Constant" ? node->find("value") : nullptr;
  const auto* tensor = data ? std::get_if<TensorPtr>(data) : nullptr;
  return tensor ? *tensor : nullptr;
}

// Whether it is `past`, or has no elements.
bool is_passed_on(const ModelGraph& graph, const Writers& writers, std::string value, const std::string& past) {
  for (size_t more = graph.nodes.size() + 1; more > 0; --more) {
    if (value == past) return true;
    if (const TensorPtr constant = constant_at(graph, writers, value)) return constant->size() == 0;
    const Node* node = writer_of(writers, value);
    if (!node || node->op != "Identity" || !node->domain.empty() || node->inputs.empty()) return false;
    value = node->inputs[0];
  }
  return false;
}

// The part of a branch that computes some of its values.
class PartOfBranch {
 public:
  // `inputs`: of the graph around it, which the part may read.
  PartOfBranch(const ModelGraph& branch, const Names& inputs)
      : branch_(branch), writers_(writers_in(branch)), inputs_(inputs) {}

  // False: it needs something else. Then nothing is added.
  bool add(const std::string& value) {
    std::set<size_t> nodes;
    Names constants;
    if (!visit(value, nodes, constants)) return false;
    nodes_.merge(nodes);
    constants_.merge(constants);
    return true;
  }

  ModelGraph graph() const {
    ModelGraph part;
    for (const size_t i : nodes_) part.nodes.push_back(branch_.nodes[i]);
    for (const std::string& name : constants_) part.initializers.emplace(name, branch_.initializers.at(name));
    return part;
  }

 private:
  bool visit(const std::string& value, std::set<size_t>& nodes, Names& constants) const {
    std::vector<std::string> open{value};
    while (!open.empty()) {
      const std::string one = std::move(open.back());
      open.pop_back();
      if (one.empty()) continue;
      if (branch_.initializers.contains(one)) {
        constants.insert(one);
        continue;
      }
      const Node* node = writer_of(writers_, one);
      if (!node && !inputs_.contains(one)) return false;
      if (!node) continue;
      const auto index = static_cast<size_t>(node - branch_.nodes.data());
      if (nodes_.contains(index) || !nodes.insert(index).second) continue;
      for (const auto& [name, data] : node->attributes) {
        if (std::holds_alternative<Subgraph>(data)) return false;
      }
      open.insert(open.end(), node->inputs.begin(), node->inputs.end());
    }
    return true;
  }

  const ModelGraph& branch_;
  Writers writers_;
  const Names& inputs_;
  std::set<size_t> nodes_;
  Names constants_;
};

// Inputs that are the same in all runs, and constants.
Names constant_inputs(const ModelGraph& graph, const std::vector<StateNames>& states) {
  Names names;
  for (const auto& [name, tensor] : graph.initializers) names.insert(name);
  for (const ValueInfo& input : graph.inputs) {
    const bool is_of_runs = input.name == kTokens || input.name == kAttentionMask || input.name == kPositions ||
                            std::ranges::count(states, input.name, &StateNames::input) > 0;
    if (!is_of_runs) names.insert(input.name);
  }
  return names;
}

}  // namespace

OtherResults inline_branches(ModelGraph& graph) {
  Counts counts;
  count_names(graph, counts);
  OtherResults others;
  std::vector<Node> nodes = std::move(graph.nodes), all;
  graph.nodes.clear();
  for (Node& node : nodes) {
    const auto taken = branch_of(graph, node);
    if (!taken) {
      all.push_back(std::move(node));
      continue;
    }
    const Renaming renaming = renaming_of(names_of(*taken), counts, 1);
    ModelGraph branch = *taken;
    rename(branch, renaming);
    const auto other = branch_of(graph, node, false);
    graph.initializers.insert(branch.initializers.begin(), branch.initializers.end());
    graph.values.insert(graph.values.end(), branch.values.begin(), branch.values.end());
    all.insert(all.end(), branch.nodes.begin(), branch.nodes.end());
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty()) continue;
      if (other) others.emplace(node.outputs[i], OtherResult{other, other->outputs[i].name});
      all.push_back({.name = fmt::format("{} result {}", node.name, i),
                     .op = "Identity",
                     .inputs = {branch.outputs[i].name},
                     .outputs = {node.outputs[i]}});
    }
  }
  graph.nodes = std::move(all);
  return others;
}

void take_constant_states(ModelGraph& graph, const OtherResults& others, std::vector<StateNames>& states) {
  std::vector<StateNames> constant;
  const Writers writers = writers_in(graph);
  std::erase_if(states, [&](const StateNames& state) {
    const bool is_constant = is_passed_on(graph, writers, state.output, state.input);
    if (is_constant) constant.push_back(state);
    return is_constant;
  });
  if (constant.empty()) return;
  std::vector<StateNames> all = states;
  all.insert(all.end(), constant.begin(), constant.end());
  const Names inputs = constant_inputs(graph, all);
  std::map<const ModelGraph*, PartOfBranch> parts;
  std::map<const ModelGraph*, std::vector<StateNames>> computed;  // with the values of the branch
  for (const StateNames& state : constant) {
    std::erase_if(graph.outputs, [&](const ValueInfo& output) { return output.name == state.output; });
    const auto other = others.find(state.output);
    if (other == others.end()) continue;
    const ModelGraph* branch = other->second.branch.get();
    if (parts.try_emplace(branch, *branch, inputs).first->second.add(other->second.value))
      computed[branch].push_back({state.input, other->second.value});
  }
  for (const auto& [branch, values] : computed) {
    ModelGraph part = parts.at(branch).graph();
    Counts counts;
    count_names(graph, counts);
    const Renaming renaming = renaming_of(names_of(part), counts, 0);
    rename(part, renaming);
    graph.nodes.insert(graph.nodes.end(), part.nodes.begin(), part.nodes.end());
    graph.initializers.insert(part.initializers.begin(), part.initializers.end());
    for (const auto& [input, value] : values) {
      std::string result = value;
      rename(result, renaming);
      std::erase_if(graph.inputs, [&name = input](const ValueInfo& info) { return info.name == name; });
      graph.nodes.push_back({.name = input, .op = "Identity", .inputs = {result}, .outputs = {input}});
    }
  }
}

}  // namespace qgen::onnx
