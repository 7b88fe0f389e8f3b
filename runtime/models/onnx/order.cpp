// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/onnx/order.h"

#include <fmt/format.h>

#include <algorithm>
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
        return refused(fmt::format("node '{}': another node writes '{}' too", graph.nodes[i].name, output));
    }
  }
  return writers;
}

// The outer values that the branches of a node read.
void add_captured(const ModelGraph& branch, std::vector<std::string_view>& captured) {
  std::set<std::string_view> own;
  for (const auto& [name, tensor] : branch.initializers) own.insert(name);
  for (const ValueInfo& input : branch.inputs) own.insert(input.name);
  for (const Node& node : branch.nodes) own.insert(node.outputs.begin(), node.outputs.end());
  std::vector<std::string_view> reads;
  for (const Node& node : branch.nodes) {
    for (const std::string_view read : reads_of(node)) reads.push_back(read);
  }
  for (const ValueInfo& output : branch.outputs) reads.push_back(output.name);
  for (const std::string_view read : reads) {
    if (!read.empty() && !own.contains(read)) captured.push_back(read);
  }
}

// Depth first, with an explicit stack: a model may be as deep as it has nodes.
class Walk {
 public:
  Walk(const ModelGraph& graph, const Writers& writers, Around around)
      : graph_(graph), writers_(writers), around_(around), states_(graph.nodes.size(), State::unseen) {}

  Done visit_output(std::string_view value) {
    if (Done pushed = push(value, nullptr); !pushed) return pushed;
    while (!stack_.empty()) {
      auto& [node, next, reads] = stack_.back();
      if (next == reads.size()) {
        states_[node] = State::done;
        nodes.push_back(node);
        stack_.pop_back();
        continue;
      }
      const std::string_view input = reads[next++];
      if (input.empty()) continue;
      if (Done pushed = push(input, &graph_.nodes[node]); !pushed) return pushed;
    }
    return std::monostate{};
  }

  std::vector<size_t> nodes;

 private:
  enum class State : uint8_t { unseen, open, done };
  struct Frame {
    size_t node;
    size_t next_read;
    std::vector<std::string_view> reads;
  };

  Done push(std::string_view value, const Node* reader) {  // null: it is an output of the model
    const auto writer = writers_.find(value);
    if (writer == writers_.end() && around_ == Around::may_be_read) return std::monostate{};
    if (writer == writers_.end())
      return refused(fmt::format("{} '{}', which is neither an input of the model nor a result of a node",
                                 reader ? fmt::format("node '{}' reads", reader->name) : "the model has an output",
                                 value));
    if (writer->second == kGiven || states_[writer->second] == State::done) return std::monostate{};
    if (states_[writer->second] == State::open)
      return refused(fmt::format("node '{}' needs its own result, '{}'", graph_.nodes[writer->second].name, value));
    states_[writer->second] = State::open;
    stack_.push_back({writer->second, 0, reads_of(graph_.nodes[writer->second])});
    return std::monostate{};
  }

  const ModelGraph& graph_;
  const Writers& writers_;
  Around around_;
  std::vector<State> states_;
  std::vector<Frame> stack_;
};

}  // namespace

std::vector<std::string_view> reads_of(const Node& node) {
  std::vector<std::string_view> reads(node.inputs.begin(), node.inputs.end());
  for (const auto& [name, data] : node.attributes) {
    const auto* branch = std::get_if<Subgraph>(&data);
    if (branch && branch->graph) add_captured(*branch->graph, reads);
  }
  return reads;
}

Expected<Order> order_of(const ModelGraph& graph, Around around) {
  const auto writers = writers_of(graph);
  if (!writers) return writers.error();
  Walk walk(graph, *writers, around);
  Order order;
  for (const ValueInfo& output : graph.outputs) {
    if (Done visited = walk.visit_output(output.name); !visited) return visited.error();
    ++order.uses[output.name].all;
  }
  order.nodes = std::move(walk.nodes);
  for (const size_t node : order.nodes) {
    const Node& reader = graph.nodes[node];
    const auto reads = reads_of(reader);
    for (size_t i = 0; i < reads.size(); ++i) {
      Uses& uses = order.uses[reads[i]];
      ++uses.all;
      if (i == 0 && reader.op == "QuantizeLinear") ++uses.quantizes;
    }
  }
  return order;
}

}  // namespace qgen::onnx
