// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/graph/picked_rows.h"

#include <algorithm>
#include <optional>

namespace qgen::graph {
namespace {

bool is_element_wise(std::string_view op) {
  return op == "pointwise" || op == "fused_add" || op == "fused_mul" || op == "fused_clip" || op == "fused_hardswish" ||
         op == "fused_relu" || op == "fused_sigmoid";
}

class Picker {
 public:
  Picker(Graph& graph, const Inferred& inferred, ValueId rows) : graph_(graph), inferred_(inferred), rows_(rows) {}

  ValueId run(ValueId value) {
    std::vector<size_t> behind;  // nodes of picked rows, the last one first
    ValueId source = value;
    while (const auto node = row_by_row(source)) {
      behind.push_back(*node);
      source = graph_.nodes[*node].inputs[*row_input(graph_.nodes[*node])].value;
    }
    std::vector<Node> moved = taken_out(behind);
    const int64_t width = inferred_.values[source].shape.back();
    const ValueId flat = graph_.add({.op = std::string(kReshape),
                                     .inputs = {{"input", source}},
                                     .attributes = {{"shape", std::vector<int64_t>{-1, width}}}});
    ValueId picked = graph_.add(
        {.op = "gather", .inputs = {{"input", flat}, {"indices", rows_}}, .attributes = {{"axis", int64_t{0}}}});
    for (Node& node : moved) {
      if (node.op == kReshape) continue;
      node.inputs[*row_input(node)].value = picked;
      picked = node.outputs.front().value;
      graph_.nodes.push_back(std::move(node));
    }
    return picked;
  }

 private:
  const Shape& shape_of(const Port& port) const { return inferred_.values[port.value].shape; }

  // The node that computes `value`, if it computes each row separately and nothing else reads its result.
  std::optional<size_t> row_by_row(ValueId value) const {
    const auto writes = [&](const Node& node) { return std::ranges::count(node.outputs, value, &Port::value) > 0; };
    const auto writer = std::ranges::find_if(graph_.nodes, writes);
    if (writer == graph_.nodes.end() || writer->outputs.size() != 1 || !row_input(*writer)) return std::nullopt;
    if (std::ranges::count(graph_.outputs, value, &Named::value) > 0) return std::nullopt;
    size_t readers = 0;
    for (const Node& node : graph_.nodes)
      readers += static_cast<size_t>(std::ranges::count(node.inputs, value, &Port::value));
    // The start itself has no reader yet.
    return readers <= 1 ? std::optional(static_cast<size_t>(writer - graph_.nodes.begin())) : std::nullopt;
  }

  // The input whose rows are the output's, all other inputs being constant; nullopt: the node is of another kind.
  std::optional<size_t> row_input(const Node& node) const {
    std::optional<size_t> varying;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (graph_.values[node.inputs[i].value].is_constant) continue;
      if (varying) return std::nullopt;
      varying = i;
    }
    if (!varying || shape_of(node.inputs[*varying]).empty()) return std::nullopt;
    return keeps_rows(node, node.inputs[*varying]) ? varying : std::nullopt;
  }

  bool keeps_rows(const Node& node, const Port& input) const {
    const auto have_at_most = [&](size_t dimensions) {
      return std::ranges::all_of(node.inputs, [&](const Port& port) {
        return port.value == input.value || shape_of(port).size() <= dimensions;
      });
    };
    if (node.op == kReshape) return keeps_last_side(node, input);
    if (is_element_wise(node.op)) return have_at_most(1) && shape_of(input).size() > 1;
    if (node.op == "matmul") return input.operand == "input" && have_at_most(2);
    return node.op.starts_with("linear_") && input.operand == "input";
  }

  // A side that is written as a number, and not found from the number of rows.
  bool keeps_last_side(const Node& node, const Port& input) const {
    const auto shape = node.attributes.find("shape");
    const auto* sides = shape == node.attributes.end() ? nullptr : std::get_if<std::vector<int64_t>>(&shape->second);
    return sides && !sides->empty() && sides->back() > 0 && sides->back() == shape_of(input).back();
  }

  // These nodes in the order in which they run, no longer in the graph.
  std::vector<Node> taken_out(std::vector<size_t> nodes) {
    std::vector<Node> taken;
    std::ranges::sort(nodes);
    for (const size_t node : nodes) taken.push_back(graph_.nodes[node]);
    for (const size_t node : nodes) graph_.nodes[node].op.clear();
    std::erase_if(graph_.nodes, [](const Node& node) { return node.op.empty(); });
    return taken;
  }

  Graph& graph_;
  const Inferred& inferred_;
  ValueId rows_;
};

}  // namespace

ValueId add_picked_rows(Graph& graph, const Inferred& inferred, ValueId value, ValueId rows) {
  return Picker(graph, inferred, rows).run(value);
}

}  // namespace qgen::graph
