// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/graph/given_inputs.h"

#include <fmt/format.h>

#include <algorithm>

namespace qgen::graph {
namespace {

class Divider {
 public:
  Divider(const Graph& graph, const Inferred& inferred, std::span<const ValueId> given)
      : graph_(graph), inferred_(inferred), is_given_(graph.values.size()), depends_(graph.values.size()) {
    for (const ValueId input : given) is_given_[input] = depends_[input] = true;
  }

  Divided run() {
    Divided parts;
    for (Graph* part : {&parts.once, &parts.rest}) part->values = graph_.values;
    for (const Node& node : graph_.nodes) {
      const bool is_once = depends_on_given_only(node);
      for (const Port& output : node.outputs) depends_[output.value] = is_once;
      (is_once ? parts.once : parts.rest).nodes.push_back(node);
    }
    const std::vector<bool> read_once = reads_of(parts.once), read_later = reads_of(parts.rest);
    for (const ValueId input : graph_.inputs) {
      if (!is_given_[input]) parts.rest.inputs.push_back(input);
      else if (read_once[input]) parts.once.inputs.push_back(input);
    }
    for (const Named& output : graph_.outputs) {
      if (!depends_[output.value]) parts.rest.outputs.push_back(output);
    }
    parts.rest.states = graph_.states;
    for (ValueId value = 0; value < graph_.values.size(); ++value) {
      if (depends_[value] && read_later[value]) keep(parts, value);
    }
    for (Graph* part : {&parts.once, &parts.rest}) forget_unused(*part);
    return parts;
  }

 private:
  bool depends_on_given_only(const Node& node) const {
    bool reads = false;
    for (const Port& input : node.inputs) {
      if (graph_.values[input.value].is_constant) continue;
      if (!depends_[input.value]) return false;
      reads = true;
    }
    return reads;
  }

  static std::vector<bool> reads_of(const Graph& graph) {
    std::vector<bool> is_read(graph.values.size());
    for (const Node& node : graph.nodes) {
      for (const Port& input : node.inputs) is_read[input.value] = true;
    }
    return is_read;
  }

  // A result of the first part is an input of the second one.
  void keep(Divided& parts, ValueId value) const {
    Value& input = parts.rest.values[value];
    if (!is_given_[value]) {
      const TensorDesc& known = inferred_.values[value];
      input = {.name = fmt::format("{} (kept {})", input.name, value),
               .dtype = known.dtype,
               .shape = Shape(known.shape.size(), kAnySide)};
      parts.once.add_output(input.name, value);
    }
    parts.rest.inputs.push_back(value);
    parts.rest.kept.push_back(value);
  }

  // So that no part has the data of the other one's constants.
  static void forget_unused(Graph& graph) {
    std::vector<bool> is_used(graph.values.size());
    for (const Node& node : graph.nodes) {
      for (const auto* ports : {&node.inputs, &node.outputs}) {
        for (const Port& port : *ports) is_used[port.value] = true;
      }
    }
    for (const ValueId input : graph.inputs) is_used[input] = true;
    for (size_t i = 0; i < graph.values.size(); ++i) {
      if (!is_used[i]) graph.values[i] = {};
    }
  }

  const Graph& graph_;
  const Inferred& inferred_;
  std::vector<bool> is_given_, depends_;  // by value; `depends_`: on given inputs only
};

}  // namespace

Divided divided(const Graph& graph, const Inferred& inferred, std::span<const ValueId> given) {
  return Divider(graph, inferred, given).run();
}

}  // namespace qgen::graph
