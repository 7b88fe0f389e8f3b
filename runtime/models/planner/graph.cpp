// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// resolve(): names become numbers, in the order of the names, so that nothing later depends on the order of the input.
#include "runtime/models/planner/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "common/nearest.h"

namespace qgen::planner {
namespace {

const Done kDone{std::monostate{}};

template <typename Named>
Done sort_by_name(std::vector<Named>& list, std::string_view what) {
  std::ranges::sort(list, {}, &Named::name);
  const auto same = std::ranges::adjacent_find(list, {}, &Named::name);
  if (same == list.end()) return kDone;
  return refused(fmt::format("two {} are named '{}'", what, same->name.text), "give each a unique name");
}

Done check_kernel(const Node& node, const Kernel& kernel) {
  const auto where = fmt::format("kernel '{}' of '{}' ({})", kernel.name.text, node.name.text, node.op);
  const size_t operands = node.inputs.size() + node.outputs.size();
  if (kernel.takes.size() != operands) {
    return refused(fmt::format("{} takes {} operands, but the operator has {} ({} read, {} written)", where,
                               kernel.takes.size(), operands, node.inputs.size(), node.outputs.size()));
  }
  if (kernel.cost_us >= 0 && kernel.cost_us <= kMostMicroseconds) return kDone;
  return refused(fmt::format("{} costs {} us", where, kernel.cost_us), "a cost is a number from 0 to 1e9");
}

class Resolver {
 public:
  explicit Resolver(const Graph& graph) { result_.graph = graph; }

  Expected<ResolvedGraph> run() && {
    for (const auto step : {&Resolver::sort, &Resolver::check, &Resolver::connect, &Resolver::order}) {
      if (Done done = (this->*step)(); !done) return done.error();
    }
    return std::move(result_);
  }

 private:
  Done sort() {
    auto& graph = result_.graph;
    if (Done done = sort_by_name(graph.tensors, "tensors"); !done) return done;
    if (Done done = sort_by_name(graph.nodes, "operators"); !done) return done;
    for (Node& node : graph.nodes) {
      if (Done done = sort_by_name(node.kernels, fmt::format("kernels of '{}'", node.name.text)); !done) return done;
    }
    return kDone;
  }

  Done check() {
    for (const Tensor& tensor : result_.graph.tensors) {
      if (Done done = check_shape(tensor.shape); !done) {
        return refused(fmt::format("tensor '{}': {}", tensor.name.text, done.error().message));
      }
    }
    for (const Node& node : result_.graph.nodes) {
      for (const Kernel& kernel : node.kernels) {
        if (Done done = check_kernel(node, kernel); !done) return done;
      }
    }
    return kDone;
  }

  Expected<uint32_t> find(const Node& node, const Name& tensor) const {
    const auto& tensors = result_.graph.tensors;
    const auto at = std::ranges::lower_bound(tensors, tensor, {}, &Tensor::name);
    if (at != tensors.end() && at->name == tensor) return static_cast<uint32_t>(at - tensors.begin());
    std::vector<std::string_view> names;
    for (const Tensor& t : tensors) names.push_back(t.name.text);
    return refused(
        fmt::format("'{}' ({}) names the tensor '{}', which the graph lacks", node.name.text, node.op, tensor.text),
        did_you_mean(tensor.text, names));
  }

  Done connect() {
    const auto& graph = result_.graph;
    result_.operands.resize(graph.nodes.size());
    result_.uses.resize(graph.tensors.size());
    result_.writer.resize(graph.tensors.size());
    for (uint32_t index = 0; index < graph.nodes.size(); ++index) {
      const Node& node = graph.nodes[index];
      for (size_t at = 0; at < node.inputs.size() + node.outputs.size(); ++at) {
        const auto operand = static_cast<uint32_t>(at);
        const auto tensor = find(node, tensor_name(node, operand));
        if (!tensor) return tensor.error();
        result_.operands[index].push_back(*tensor);
        if (operand < node.inputs.size()) {
          result_.uses[*tensor].push_back({index, operand});
        } else if (Done done = claim(*tensor, {index, operand}); !done) {
          return done;
        }
      }
    }
    return kDone;
  }

  Done claim(uint32_t index, ResolvedGraph::Use by) {
    const auto& graph = result_.graph;
    const Tensor& tensor = graph.tensors[index];
    const std::string& node = graph.nodes[by.node].name.text;
    auto& writer = result_.writer[index];
    if (writer) {
      return refused(fmt::format("tensor '{}' is written by '{}' and also by '{}'", tensor.name.text,
                                 graph.nodes[writer->node].name.text, node));
    }
    if (!tensor.arrives_as.empty()) {
      return refused(fmt::format("tensor '{}' is an input of the graph, but '{}' writes it", tensor.name.text, node),
                     "leave out arrives_as");
    }
    writer = by;
    return kDone;
  }

  // Kahn's algorithm, the first name first among those that are ready.
  Done order() {
    std::vector<uint32_t> missing(result_.operands.size());
    for (uint32_t tensor = 0; tensor < result_.uses.size(); ++tensor) {
      for (const auto& use : result_.uses[tensor]) missing[use.node] += result_.writer[tensor] ? 1 : 0;
    }
    std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
    for (uint32_t node = 0; node < missing.size(); ++node) {
      if (missing[node] == 0) ready.push(node);
    }
    while (!ready.empty()) {
      const uint32_t node = ready.top();
      ready.pop();
      result_.topological.push_back(node);
      for (uint32_t tensor : result_.operands[node]) {
        if (!result_.writer[tensor] || result_.writer[tensor]->node != node) continue;
        for (const auto& use : result_.uses[tensor]) {
          if (--missing[use.node] == 0) ready.push(use.node);
        }
      }
    }
    if (result_.topological.size() == missing.size()) return kDone;
    return refused(fmt::format("the operators form a cycle: {}", cycle(missing)));
  }

  // Follows nodes that wait for each other, until one repeats.
  std::string cycle(const std::vector<uint32_t>& missing) const {
    std::vector<uint32_t> path;
    auto node = static_cast<uint32_t>(std::find_if(missing.begin(), missing.end(), [](uint32_t m) { return m > 0; }) -
                                      missing.begin());
    while (std::find(path.begin(), path.end(), node) == path.end()) {
      path.push_back(node);
      for (size_t input = 0; input < result_.graph.nodes[node].inputs.size(); ++input) {
        const auto writer = result_.writer[result_.operands[node][input]];
        if (!writer || missing[writer->node] == 0) continue;
        node = writer->node;
        break;
      }
    }
    std::string text = fmt::format("'{}'", result_.graph.nodes[node].name.text);
    for (size_t at = path.size(); at-- > 0;) {
      text += fmt::format(" -> '{}'", result_.graph.nodes[path[at]].name.text);
      if (path[at] == node) break;
    }
    return text;
  }

  ResolvedGraph result_;
};

}  // namespace

const Name& tensor_name(const Node& node, size_t operand) {
  return operand < node.inputs.size() ? node.inputs[operand] : node.outputs[operand - node.inputs.size()];
}

Expected<ResolvedGraph> resolve(const Graph& graph) { return Resolver(graph).run(); }

}  // namespace qgen::planner
