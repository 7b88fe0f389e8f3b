// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/onnx/order.h"

#include <fmt/format.h>

#include <algorithm>

namespace qgen::onnx {
namespace {

constexpr size_t kGiven = static_cast<size_t>(-1);  // in place of a node: an input or an initializer

using Writers = std::map<std::string_view, size_t>;

Expected<Writers> writers_of(const ModelGraph& graph) {
  Writers writers;
  for (const auto& [name, tensor] : graph.initializers) writers.emplace(name, kGiven);
  for (const ValueInfo& input : graph.inputs) {
    if (input.name.empty() || !writers.emplace(input.name, kGiven).second)
      return refused(fmt::format("two inputs are called '{}'", input.name));
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::string& output : graph.nodes[i].outputs) {
      if (!output.empty() && !writers.emplace(output, i).second)
        return refused(fmt::format("node '{}': '{}' is written twice", graph.nodes[i].name, output));
    }
  }
  return writers;
}

// Depth first, with a stack of its own: a model may be as deep as it has nodes.
class Walk {
 public:
  Walk(const ModelGraph& graph, const Writers& writers)
      : graph_(graph), writers_(writers), states_(graph.nodes.size(), State::unseen) {}

  Done visit(std::string_view value, std::string_view reader) {
    if (Done pushed = push(value, reader); !pushed) return pushed;
    while (!stack_.empty()) {
      auto& [node, next] = stack_.back();
      const Node& read = graph_.nodes[node];
      if (next == read.inputs.size()) {
        states_[node] = State::done;
        nodes.push_back(node);
        stack_.pop_back();
        continue;
      }
      const std::string& input = read.inputs[next++];
      if (input.empty()) continue;
      if (Done pushed = push(input, read.name); !pushed) return pushed;
    }
    return std::monostate{};
  }

  std::vector<size_t> nodes;

 private:
  enum class State : uint8_t { unseen, open, done };
  struct Frame {
    size_t node;
    size_t next_input;
  };

  Done push(std::string_view value, std::string_view reader) {
    const auto writer = writers_.find(value);
    if (writer == writers_.end()) return refused(fmt::format("'{}' reads '{}', which nothing writes", reader, value));
    if (writer->second == kGiven || states_[writer->second] == State::done) return std::monostate{};
    if (states_[writer->second] == State::open)
      return refused(fmt::format("node '{}' needs its own result, '{}'", graph_.nodes[writer->second].name, value));
    states_[writer->second] = State::open;
    stack_.push_back({writer->second, 0});
    return std::monostate{};
  }

  const ModelGraph& graph_;
  const Writers& writers_;
  std::vector<State> states_;
  std::vector<Frame> stack_;
};

}  // namespace

Expected<Order> order_of(const ModelGraph& graph) {
  const auto writers = writers_of(graph);
  if (!writers) return writers.error();
  Walk walk(graph, *writers);
  Order order;
  for (const ValueInfo& output : graph.outputs) {
    if (Done visited = walk.visit(output.name, "the graph's outputs"); !visited) return visited.error();
    ++order.uses[output.name].all;
  }
  order.nodes = std::move(walk.nodes);
  for (const size_t node : order.nodes) {
    const Node& reader = graph.nodes[node];
    for (size_t i = 0; i < reader.inputs.size(); ++i) {
      Uses& uses = order.uses[reader.inputs[i]];
      ++uses.all;
      if (i == 0 && reader.op == "QuantizeLinear") ++uses.quantizes;
    }
  }
  return order;
}

}  // namespace qgen::onnx
