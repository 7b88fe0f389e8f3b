// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// planner_bench: how long plan() takes on graphs of the kinds that it promises something for, what the plan costs (`us`), and
// how far from the least cost that may be (`gap`, 0: proven).
//
//   residual    a chain in which every third operator adds what was there three operators before, as networks have it
//   window16    every operator reads two of the 16 tensors before it
//   any         every operator reads any two tensors before it: as wide as a graph can be
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <random>

#include "runtime/planner/plan.h"

namespace {

using namespace qgen::planner;

constexpr uint32_t kKernels = 4;

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

// Each operator has some kernels, whose operands lie anyhow, and conversions cost what they move.
Graph graph_of(uint32_t tensors, const Reads& reads) {
  std::mt19937 random(1);
  Graph graph;
  const auto name = [](uint32_t index) { return fmt::format("t{:05}", index); };
  for (uint32_t index = 0; index < tensors; ++index) {
    graph.tensors.push_back({.name = name(index), .shape = {1, 64, 28, 28}, .dtype = qgen::DType::i8});
  }
  for (uint32_t index = 1; index < tensors; ++index) {
    Node node{.name = fmt::format("n{:05}", index), .op = "op", .outputs = {name(index)}};
    for (const uint32_t read : reads(index, random)) node.inputs.push_back(name(read));
    for (uint32_t kernel = 0; kernel < kKernels; ++kernel) {
      std::vector<RepresentationSet> takes(node.inputs.size() + 1);
      for (RepresentationSet& operand : takes) {
        operand = Representation{static_cast<uint8_t>(random() % kRepresentations.size())};
      }
      node.kernels.push_back({.name = fmt::format("k{}", kernel),
                              .takes = takes,
                              .cost_us = 1 + static_cast<double>(random() % 1000) / 250});
    }
    graph.nodes.push_back(std::move(node));
  }
  return graph;
}

void plan_graph(benchmark::State& state, const Graph& graph) {
  for ([[maybe_unused]] auto _ : state) {
    const auto planned = plan(graph);
    if (!planned) return state.SkipWithError(planned.error().message.c_str());
    state.counters["gap"] = planned->gap();
    state.counters["us"] = planned->cost_us;
  }
}

void add(const std::string& name, uint32_t tensors, const Reads& reads) {
  benchmark::RegisterBenchmark(fmt::format("plan/{}/{}", name, tensors).c_str(), plan_graph, graph_of(tensors, reads))
      ->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int argc, char** argv) {
  for (const uint32_t tensors : {64u, 10'000u}) {
    add("residual", tensors, residual);
    add("window8", tensors, window(8));
  }
  add("window16", 64, window(16));
  add("any", 10'000, window(UINT32_MAX));
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
