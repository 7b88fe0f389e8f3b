// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/onnx/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

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

// ---- functions in two nodes -----------------------------------------------------------------------------------------

namespace {

// What x * f(x) is; empty: nothing that has a name.
std::string_view times_itself(const Node& function) {
  if (function.op == "Sigmoid") return "Silu";
  const bool is_hardswish = function.op == "HardSigmoid" && std::abs(function.real("alpha", 0.2f) - 1.0f / 6) < 1e-6f &&
                            function.real("beta", 0.5f) == 0.5f;
  return is_hardswish ? "HardSwish" : std::string_view();
}

}  // namespace

void join_functions(ModelGraph& graph) {
  std::map<std::string_view, size_t> writers;
  std::map<std::string_view, size_t> reads;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::string& output : graph.nodes[i].outputs) writers[output] = i;
    for (const std::string& input : graph.nodes[i].inputs) ++reads[input];
  }
  for (const ValueInfo& output : graph.outputs) ++reads[output.name];
  for (Node& node : graph.nodes) {
    if (node.op != "Mul" || !node.domain.empty() || node.inputs.size() != 2) continue;
    for (size_t i = 0; i < 2; ++i) {
      const auto writer = writers.find(node.inputs[i]);
      if (writer == writers.end() || reads[node.inputs[i]] != 1) continue;
      const Node& function = graph.nodes[writer->second];
      const bool is_of_other =
          function.domain.empty() && function.inputs.size() == 1 && function.inputs[0] == node.inputs[1 - i];
      const std::string_view joined = is_of_other ? times_itself(function) : std::string_view();
      if (joined.empty()) continue;
      node.name = fmt::format("{} + {}", function.name, node.name);
      node.op = joined;
      // Not in place: the keys of both maps are views of the inputs' strings.
      node.inputs[1 - i].swap(node.inputs[0]);
      break;
    }
  }
  for (Node& node : graph.nodes) {
    if (node.op == "Silu" || (node.op == "HardSwish" && node.inputs.size() == 2)) node.inputs.resize(1);
  }
}

}  // namespace qgen::onnx
