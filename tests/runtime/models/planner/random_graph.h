// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Random graphs: the same graph for the same seed.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>

#include "runtime/models/planner/graph.h"
#include "tests/runtime/models/planner/agreeing.h"

namespace qgen::planner::testing {

// Not all layouts that there are: so a seed draws the same graph when one is added. Layouts for any dtype first.
constexpr std::array kDrawn{Layout::strided,         Layout::width_packed, Layout::height_packed,
                            Layout::channels_packed, Layout::packed_4w,    Layout::packed_4c,
                            Layout::packed_4w4c,     Layout::packed_4h4w,  Layout::packed_4c1w};
constexpr uint32_t kDrawnOfAnyDType = 4;

class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : random_(seed) {}

  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

  // Operators with one to three inputs, and kernels that accept one or two representations for each operand. In some,
  // the first and the last operand must agree, if `may_agree`. Whole microseconds, so that many plans tie.
  Graph make(uint32_t nodes, uint32_t most_kernels, bool may_agree = true) {
    may_agree_ = may_agree;
    Graph graph;
    const uint32_t inputs = 1 + below(2);
    for (uint32_t input = 0; input < inputs; ++input) graph.tensors.push_back(tensor(graph.tensors.size(), true));
    for (uint32_t index = 0; index < nodes; ++index) add_node(graph, most_kernels);
    return graph;
  }

  // Some conversions are missing, none is symmetric, many cost the same.
  static std::optional<double> conversion(const Tensor& tensor, Representation from, Representation to) {
    const auto* const first = std::find(kDrawn.begin(), kDrawn.end(), from.layout());
    const auto* const second = std::find(kDrawn.begin(), kDrawn.end(), to.layout());
    if (first == kDrawn.end() || second == kDrawn.end()) return std::nullopt;
    const auto pair = static_cast<uint32_t>((first - kDrawn.begin()) * std::ssize(kDrawn) + (second - kDrawn.begin()));
    const uint32_t mixed = (pair + static_cast<uint32_t>(tensor.name.text.back()) * 31u) * 2654435761u >> 16;
    if (mixed % 11 == 0) return std::nullopt;
    return mixed % 7;
  }

  void shuffle(Graph& graph) {
    std::shuffle(graph.tensors.begin(), graph.tensors.end(), random_);
    std::shuffle(graph.nodes.begin(), graph.nodes.end(), random_);
    for (Node& node : graph.nodes) std::shuffle(node.kernels.begin(), node.kernels.end(), random_);
  }

 private:
  Tensor tensor(size_t index, bool is_input) {
    Tensor made{fmt::format("t{}", index), {1, 8, 4, 4}, below(4) == 0 ? DType::f32 : DType::i8, {}, {}};
    if (is_input && below(2) == 0) made.arrives_as = some_of(made.dtype, 2);
    if (!is_input && below(4) == 0) made.leaves_as = some_of(made.dtype, 2);
    return made;
  }

  RepresentationSet some_of(DType dtype, uint32_t most) {
    const uint32_t drawn = dtype == DType::f32 ? kDrawnOfAnyDType : static_cast<uint32_t>(kDrawn.size());
    RepresentationSet set;
    for (uint32_t count = 1 + below(most); count > 0; --count) set = set | *Representation::of(kDrawn[below(drawn)]);
    return set;
  }

  void add_node(Graph& graph, uint32_t most_kernels) {
    Node node{fmt::format("n{}", graph.nodes.size()), "op", {}, {}, {}};
    for (uint32_t count = 1 + below(3); count > 0; --count) {
      node.inputs.push_back(graph.tensors[below(static_cast<uint32_t>(graph.tensors.size()))].name);
    }
    for (uint32_t count = 1 + below(8) / 7; count > 0; --count) {
      graph.tensors.push_back(tensor(graph.tensors.size(), false));
      node.outputs.push_back(graph.tensors.back().name);
    }
    for (uint32_t count = 1 + below(most_kernels); count > 0; --count) {
      for (Kernel& drawn : kernels(graph, node)) {
        drawn.name = fmt::format("k{}", node.kernels.size());
        node.kernels.push_back(std::move(drawn));
      }
    }
    graph.nodes.push_back(std::move(node));
  }

  std::vector<Kernel> kernels(const Graph& graph, const Node& node) {
    Kernel made{"", {}, static_cast<double>(below(6))};
    for (const auto* list : {&node.inputs, &node.outputs}) {
      for (const auto& name : *list) {
        const auto found =
            std::find_if(graph.tensors.begin(), graph.tensors.end(), [&](const Tensor& t) { return t.name == name; });
        made.takes.push_back(some_of(found->dtype, 2));
      }
    }
    const bool must_agree = below(4) == 0 && may_agree_;
    if (!must_agree) return {made};
    return agreeing(made, {{0, static_cast<uint32_t>(made.takes.size()) - 1}});
  }

  std::mt19937 random_;
  bool may_agree_ = true;
};

}  // namespace qgen::planner::testing
