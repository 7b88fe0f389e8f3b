// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/planner/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <utility>

#include "common/nearest.h"

namespace qgen::planner {
namespace {

Error invalid(std::string message, std::string hint = "") {
  return {Error::Kind::invalid_argument, std::move(message), std::move(hint)};
}

const Done kDone{std::monostate{}};

template <typename Named>
Done sort_by_name(std::vector<Named>& list, std::string_view what) {
  std::sort(list.begin(), list.end(), [](const Named& a, const Named& b) { return a.name < b.name; });
  const auto same =
      std::adjacent_find(list.begin(), list.end(), [](const Named& a, const Named& b) { return a.name == b.name; });
  if (same == list.end()) return kDone;
  return invalid(fmt::format("two {} are named '{}'", what, same->name), "names tell them apart: give each its own");
}

Done check_tensor(const Tensor& tensor) {
  if (tensor.shape.size() > kMaxRank) {
    return invalid(fmt::format("tensor '{}' has rank {}, above {}", tensor.name, tensor.shape.size(), kMaxRank));
  }
  for (int64_t side : tensor.shape) {
    if (side < 0) return invalid(fmt::format("tensor '{}' has a side of {}", tensor.name, side));
  }
  return kDone;
}

Done check_kernel(const Node& node, const Kernel& kernel) {
  const auto where = fmt::format("kernel '{}' of '{}' ({})", kernel.name, node.name, node.op);
  const size_t operands = node.inputs.size() + node.outputs.size();
  if (kernel.takes.size() != operands) {
    return invalid(fmt::format("{} takes {} operands, but the operator has {} ({} read, {} written)", where,
                               kernel.takes.size(), operands, node.inputs.size(), node.outputs.size()));
  }
  for (const auto& group : kernel.synced) {
    for (uint32_t operand : group) {
      if (operand >= operands) return invalid(fmt::format("{} syncs operand {}, but has {}", where, operand, operands));
    }
  }
  if (std::isfinite(kernel.cost_us) && kernel.cost_us >= 0 && kernel.cost_us <= kMostMicroseconds) return kDone;
  return invalid(fmt::format("{} costs {} us", where, kernel.cost_us), "a cost is a number from 0 to 1e9");
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
      if (Done done = sort_by_name(node.kernels, fmt::format("kernels of '{}'", node.name)); !done) return done;
    }
    return kDone;
  }

  Done check() {
    for (const Tensor& tensor : result_.graph.tensors) {
      if (Done done = check_tensor(tensor); !done) return done;
    }
    for (const Node& node : result_.graph.nodes) {
      for (const Kernel& kernel : node.kernels) {
        if (Done done = check_kernel(node, kernel); !done) return done;
      }
    }
    return kDone;
  }

  Expected<uint32_t> find(const Node& node, const std::string& tensor) const {
    const auto& tensors = result_.graph.tensors;
    const auto at = std::lower_bound(tensors.begin(), tensors.end(), tensor,
                                     [](const Tensor& t, const std::string& name) { return t.name < name; });
    if (at != tensors.end() && at->name == tensor) return static_cast<uint32_t>(at - tensors.begin());
    std::vector<std::string_view> names;
    for (const Tensor& t : tensors) names.push_back(t.name);
    const auto meant = nearest(tensor, names);
    return invalid(fmt::format("'{}' ({}) names the tensor '{}', which the graph lacks", node.name, node.op, tensor),
                   meant.empty() ? "" : fmt::format("did you mean '{}'?", meant));
  }

  Done connect() {
    const auto& graph = result_.graph;
    result_.edges.resize(graph.nodes.size());
    result_.uses.resize(graph.tensors.size());
    result_.writer.resize(graph.tensors.size());
    for (uint32_t index = 0; index < graph.nodes.size(); ++index) {
      if (Done done = connect(index); !done) return done;
    }
    return kDone;
  }

  Done connect(uint32_t index) {
    const Node& node = result_.graph.nodes[index];
    auto& edges = result_.edges[index];
    for (uint32_t input = 0; input < node.inputs.size(); ++input) {
      const auto tensor = find(node, node.inputs[input]);
      if (!tensor) return tensor.error();
      edges.inputs.push_back(*tensor);
      result_.uses[*tensor].push_back({index, input});
    }
    for (const auto& output : node.outputs) {
      const auto tensor = find(node, output);
      if (!tensor) return tensor.error();
      if (Done done = claim(*tensor, index); !done) return done;
      edges.outputs.push_back(*tensor);
    }
    return kDone;
  }

  Done claim(uint32_t tensor, uint32_t node) {
    const auto& graph = result_.graph;
    auto& writer = result_.writer[tensor];
    if (writer) {
      return invalid(fmt::format("tensor '{}' is written by '{}' and again by '{}'", graph.tensors[tensor].name,
                                 graph.nodes[*writer].name, graph.nodes[node].name));
    }
    if (!graph.tensors[tensor].arrives_as.empty()) {
      return invalid(fmt::format("tensor '{}' arrives from outside, but '{}' writes it", graph.tensors[tensor].name,
                                 graph.nodes[node].name),
                     "leave out arrives_as");
    }
    writer = node;
    return kDone;
  }

  // Kahn's algorithm, the first name first among those that are ready.
  Done order() {
    std::vector<uint32_t> missing(result_.edges.size());
    std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
    for (uint32_t node = 0; node < missing.size(); ++node) {
      for (uint32_t tensor : result_.edges[node].inputs) missing[node] += result_.writer[tensor] ? 1 : 0;
      if (missing[node] == 0) ready.push(node);
    }
    while (!ready.empty()) {
      const uint32_t node = ready.top();
      ready.pop();
      result_.topological.push_back(node);
      for (uint32_t tensor : result_.edges[node].outputs) {
        for (const auto& use : result_.uses[tensor]) {
          if (--missing[use.node] == 0) ready.push(use.node);
        }
      }
    }
    if (result_.topological.size() == missing.size()) return kDone;
    return invalid(fmt::format("the operators wait for each other in a cycle: {}", cycle(missing)));
  }

  // Walks from a node that waits to one that it waits for, until one repeats.
  std::string cycle(const std::vector<uint32_t>& missing) const {
    std::vector<uint32_t> path;
    uint32_t node = 0;
    while (missing[node] == 0) ++node;
    while (std::find(path.begin(), path.end(), node) == path.end()) {
      path.push_back(node);
      for (uint32_t tensor : result_.edges[node].inputs) {
        if (!result_.writer[tensor] || missing[*result_.writer[tensor]] == 0) continue;
        node = *result_.writer[tensor];
        break;
      }
    }
    std::string text = fmt::format("'{}'", result_.graph.nodes[node].name);
    for (size_t at = path.size(); at-- > 0;) {
      text += fmt::format(" -> '{}'", result_.graph.nodes[path[at]].name);
      if (path[at] == node) break;
    }
    return text;
  }

  ResolvedGraph result_;
};

}  // namespace

Expected<ResolvedGraph> resolve(const Graph& graph) { return Resolver(graph).run(); }

}  // namespace qgen::planner
