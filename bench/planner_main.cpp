// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// planner_bench: how long plan() takes on graphs of the kinds that it promises something for, what the plan costs
// (`us`), and how far from the least cost that may be (`gap`, 0: proven).
//
//   residual    a chain in which every third operator adds what was there three operators before, as networks have it
//   inception   blocks of four branches that are joined again
//   attention   layers of eight heads, each of which reads what the layer normalised three times
//   window8     every operator reads two of the 8 tensors before it
//   window16    two of the 16 before it
//   any         two of all before it: as wide as a graph can be
//
// Operators of `inception` and `attention` have the kernels of their kind, all others kernels of their own, which no
// network has: no two of their tensors are in the same position.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <random>
#include <string>

#include "runtime/planner/plan.h"

namespace {

using namespace qgen::planner;

// Not all layouts that there are: so these graphs stay the ones whose figures are told when one is added.
constexpr std::array kDrawn{qgen::Layout::strided,         qgen::Layout::width_packed, qgen::Layout::height_packed,
                            qgen::Layout::channels_packed, qgen::Layout::packed_4w,    qgen::Layout::packed_4c,
                            qgen::Layout::packed_4w4c,     qgen::Layout::packed_4h4w,  qgen::Layout::packed_4c1w};

// Some kernels, whose operands lie anyhow.
std::vector<Kernel> draw_kernels(size_t operands, std::mt19937& random) {
  constexpr uint32_t kKernels = 4;
  std::vector<Kernel> kernels;
  for (uint32_t kernel = 0; kernel < kKernels; ++kernel) {
    std::vector<RepresentationSet> takes(operands);
    for (RepresentationSet& operand : takes) {
      operand = *Representation::of(kDrawn[random() % kDrawn.size()]);
    }
    kernels.push_back({.name = fmt::format("k{}", kernel),
                       .takes = takes,
                       .cost_us = 1 + static_cast<double>(random() % 1000) / 250});
  }
  return kernels;
}

// Names operators and tensors. Tensor 0 comes from outside; conversions cost what they move.
class Drawing {
 public:
  Drawing() { add_tensor(); }

  uint32_t tensors() const { return static_cast<uint32_t>(graph_.tensors.size()); }
  Graph graph() && { return std::move(graph_); }

  // Returns the tensor that the operator writes.
  uint32_t add(const std::string& op, const std::vector<uint32_t>& reads, const std::vector<Kernel>& kernels) {
    Node node{.name = fmt::format("n{:05}", graph_.nodes.size()), .op = op, .kernels = kernels};
    for (const uint32_t read : reads) node.inputs.push_back(graph_.tensors[read].name);
    const uint32_t written = add_tensor();
    node.outputs = {graph_.tensors[written].name};
    graph_.nodes.push_back(std::move(node));
    return written;
  }

 private:
  uint32_t add_tensor() {
    const uint32_t number = tensors();
    graph_.tensors.push_back(
        {.name = fmt::format("t{:05}", number), .shape = {1, 64, 28, 28}, .dtype = qgen::DType::i8});
    return number;
  }

  Graph graph_;
};

// Which tensors the operator reads that writes tensor `index`.
using Reads = std::function<std::vector<uint32_t>(uint32_t index, std::mt19937& random)>;

std::vector<uint32_t> residual(uint32_t index, std::mt19937&) {
  if (index % 3 != 0 || index < 4) return {index - 1};
  return {index - 1, index - 4};
}

Reads window(uint32_t width) {
  return [width](uint32_t index, std::mt19937& random) {
    const uint32_t reach = std::min(index, width);
    return std::vector<uint32_t>{index - 1 - static_cast<uint32_t>(random() % reach),
                                 index - 1 - static_cast<uint32_t>(random() % reach)};
  };
}

// Each operator has kernels of its own.
Graph graph_of(uint32_t tensors, const Reads& reads) {
  std::mt19937 random(1);
  Drawing drawing;
  while (drawing.tensors() < tensors) {
    const auto read = reads(drawing.tensors(), random);
    drawing.add("op", read, draw_kernels(read.size() + 1, random));
  }
  return std::move(drawing).graph();
}

// Operators of a kind have the same kernels.
class Network {
 public:
  uint32_t tensors() const { return drawing_.tensors(); }
  Graph graph() && { return std::move(drawing_).graph(); }

  uint32_t add(const std::string& op, const std::vector<uint32_t>& reads) {
    auto& kernels = kernels_[op];
    if (kernels.empty()) kernels = draw_kernels(reads.size() + 1, random_);
    return drawing_.add(op, reads, kernels);
  }

 private:
  std::mt19937 random_{1};
  std::map<std::string, std::vector<Kernel>> kernels_;
  Drawing drawing_;
};

// Adds what follows the tensor `x`; returns the last tensor.
uint32_t inception_block(Network& net, uint32_t x) {
  const uint32_t narrow = net.add("conv1x1", {x});
  const uint32_t middle = net.add("conv3x3", {net.add("conv1x1", {x})});
  const uint32_t wide = net.add("conv5x5", {net.add("conv1x1", {x})});
  const uint32_t pooled = net.add("conv1x1", {net.add("pool", {x})});
  return net.add("concat4", {narrow, middle, wide, pooled});
}

uint32_t attention_layer(Network& net, uint32_t x) {
  constexpr uint32_t kHeads = 8;
  const uint32_t normalised = net.add("norm", {x});
  std::vector<uint32_t> heads;
  for (uint32_t head = 0; head < kHeads; ++head) {
    const uint32_t query = net.add("linear", {normalised}), key = net.add("linear", {normalised});
    const uint32_t weights = net.add("softmax", {net.add("scores", {query, key})});
    heads.push_back(net.add("attend", {weights, net.add("linear", {normalised})}));
  }
  const uint32_t attended = net.add("add", {x, net.add("linear", {net.add("concat8", heads)})});
  const uint32_t hidden = net.add("gelu", {net.add("linear", {net.add("norm", {attended})})});
  return net.add("add", {attended, net.add("linear", {hidden})});
}

Graph network_of(uint32_t tensors, uint32_t (*add_part)(Network&, uint32_t)) {
  Network net;
  for (uint32_t last = 0; net.tensors() < tensors;) last = add_part(net, last);
  return std::move(net).graph();
}

void plan_graph(benchmark::State& state, const Graph& graph) {
  for ([[maybe_unused]] auto _ : state) {
    const auto planned = plan(graph);
    if (!planned) return state.SkipWithError(planned.error().message.c_str());
    state.counters["gap"] = planned->gap();
    state.counters["us"] = planned->cost_us;
    state.counters["bound_us"] = planned->lower_bound_us;
  }
}

void add(const std::string& name, const Graph& graph) {
  benchmark::RegisterBenchmark(fmt::format("plan/{}/{}", name, graph.tensors.size()).c_str(), plan_graph, graph)
      ->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int argc, char** argv) {
  for (const uint32_t tensors : {50u, 10'000u}) {
    add("inception", network_of(tensors, inception_block));
    add("attention", network_of(tensors, attention_layer));
  }
  for (const uint32_t tensors : {64u, 10'000u}) {
    add("residual", graph_of(tensors, residual));
    add("window8", graph_of(tensors, window(8)));
  }
  add("window16", graph_of(64, window(16)));
  add("any", graph_of(10'000, window(UINT32_MAX)));
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
