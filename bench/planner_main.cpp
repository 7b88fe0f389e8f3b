// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// planner_bench: the time of plan() on networks, the plan's cost (`us`), and how far that may be above the least cost
// (`gap`, 0: proven).
//
//   resnet50, mobilenet_v2   as published, int8
//   resnet 150 times deeper  each stage has 150 times the blocks of ResNet-50: as long as a graph may get
//   unet                     four levels down and up, each joined with what it was on the way down
//   transformer              12 layers of eight heads, each head apart; once more with kernels for all forms: 100 for
//                            each product instead of 16
//   window8                  no network: each operator reads any two of the 8 tensors before it
//
// The times of kernels are drawn, and the same for the same operator on the same shapes.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <numeric>
#include <random>
#include <string>

#include "runtime/models/planner/plan.h"
#include "tests/runtime/models/planner/agreeing.h"
#include "tests/runtime/models/planner/copy_cost.h"

namespace {

using namespace qgen::planner;

class Network {
 public:
  explicit Network(RepresentationSet forms) : forms_(forms) {}

  // Returns a tensor that arrives from outside.
  uint32_t input(int64_t channels, int64_t side) {
    const auto number = static_cast<uint32_t>(graph_.tensors.size());
    graph_.tensors.push_back(
        {.name = fmt::format("t{:05}", number), .shape = {1, channels, side, side}, .dtype = qgen::DType::i8});
    return number;
  }

  // Convolutions and products: a kernel for each form of the inputs and each of the output.
  uint32_t dense(const std::string& op, const std::vector<uint32_t>& reads, int64_t channels, int64_t side) {
    return add(op, reads, channels, side, [&] {
      std::vector<Kernel> kernels;
      for (const Representation in : forms_) {
        for (const Representation out : forms_) {
          std::vector<RepresentationSet> takes(reads.size(), in);
          takes.push_back(out);
          kernels.push_back(drawn(kernels.size(), std::move(takes)));
        }
      }
      return kernels;
    });
  }

  // Sums, joins, activations: one kernel for each form of all operands, and one for all forms that go together.
  uint32_t pointwise(const std::string& op, const std::vector<uint32_t>& reads, int64_t channels, int64_t side) {
    return add(op, reads, channels, side, [&] {
      const size_t operands = reads.size() + 1;
      std::vector<Kernel> kernels;
      for (const Representation form : forms_)
        kernels.push_back(drawn(kernels.size(), std::vector<RepresentationSet>(operands, form)));
      const auto words = set_of([](Representation r) { return info(r).is_packed_bytes(); });
      std::vector<uint32_t> all(operands);
      std::iota(all.begin(), all.end(), 0);
      std::ranges::move(testing::agreeing(drawn(kernels.size(), std::vector(operands, words)), {all}),
                        std::back_inserter(kernels));
      return kernels;
    });
  }

  // Four kernels that accept everything: no two operators are equal.
  uint32_t random(const std::vector<uint32_t>& reads) {
    return add(fmt::format("op{}", graph_.nodes.size()), reads, 64, 28, [&] {
      std::vector<std::vector<RepresentationSet>> takes(4);
      for (auto& of_kernel : takes) {
        for (size_t operand = 0; operand <= reads.size(); ++operand)
          of_kernel.push_back(*Representation::of(static_cast<qgen::Layout>(below(kRepresentationCount))));
      }
      std::vector<Kernel> kernels;
      for (auto& of_kernel : takes) kernels.push_back(drawn(kernels.size(), std::move(of_kernel)));
      return kernels;
    });
  }

  uint32_t below(size_t count) { return static_cast<uint32_t>(random_() % count); }
  int64_t channels(uint32_t tensor) const { return graph_.tensors[tensor].shape[1]; }
  size_t operators() const { return graph_.nodes.size(); }
  Graph graph() && { return std::move(graph_); }

 private:
  Kernel drawn(size_t number, std::vector<RepresentationSet> takes) {
    return {.name = fmt::format("k{:02}", number), .takes = std::move(takes), .cost_us = 1 + below(1000) / 250.0};
  }

  template <typename MakeKernels>
  uint32_t add(const std::string& op, const std::vector<uint32_t>& reads, int64_t channels, int64_t side,
               const MakeKernels& make_kernels) {
    auto& kernels = kernels_[fmt::format("{} {} {} {}", op, reads.size(), channels, side)];
    if (kernels.empty()) kernels = make_kernels();
    Node node{.name = fmt::format("n{:05}", graph_.nodes.size()), .op = op, .kernels = kernels};
    for (const uint32_t read : reads) node.inputs.push_back(graph_.tensors[read].name);
    const uint32_t written = input(channels, side);
    node.outputs = {graph_.tensors[written].name};
    graph_.nodes.push_back(std::move(node));
    return written;
  }

  RepresentationSet forms_;  // that kernels take
  std::mt19937 random_{1};
  std::map<std::string, std::vector<Kernel>> kernels_;
  Graph graph_;
};

void add_resnet(Network& net, int depth) {
  uint32_t x = net.pointwise("pool", {net.dense("conv7x7", {net.input(3, 224)}, 64, 112)}, 64, 56);
  constexpr std::array kBlocks{3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    const int64_t width = int64_t{64} << stage, side = 56 >> stage;
    for (int block = 0; block < depth * kBlocks[stage]; ++block) {
      const uint32_t narrow = net.dense("conv1x1", {x}, width, side);
      const uint32_t wide = net.dense("conv1x1", {net.dense("conv3x3", {narrow}, width, side)}, 4 * width, side);
      const uint32_t shortcut = block == 0 ? net.dense("conv1x1", {x}, 4 * width, side) : x;
      x = net.pointwise("add", {wide, shortcut}, 4 * width, side);
    }
  }
  net.dense("linear", {net.pointwise("pool", {x}, 2048, 1)}, 1000, 1);
}

void add_mobilenet_v2(Network& net) {
  struct Stage {
    int64_t expansion, channels;
    int blocks;
    int64_t side;
  };
  constexpr std::array kStages{Stage{1, 16, 1, 112}, Stage{6, 24, 2, 56}, Stage{6, 32, 3, 28}, Stage{6, 64, 4, 14},
                               Stage{6, 96, 3, 14},  Stage{6, 160, 3, 7}, Stage{6, 320, 1, 7}};
  uint32_t x = net.dense("conv3x3", {net.input(3, 224)}, 32, 112);
  for (const Stage& stage : kStages) {
    for (int block = 0; block < stage.blocks; ++block) {
      const int64_t expanded = stage.expansion * net.channels(x);
      const uint32_t wide =
          net.dense("depthwise", {net.dense("conv1x1", {x}, expanded, stage.side)}, expanded, stage.side);
      const uint32_t narrow = net.dense("conv1x1", {wide}, stage.channels, stage.side);
      x = block == 0 ? narrow : net.pointwise("add", {narrow, x}, stage.channels, stage.side);
    }
  }
  net.dense("linear", {net.pointwise("pool", {net.dense("conv1x1", {x}, 1280, 7)}, 1280, 1)}, 1000, 1);
}

void add_unet(Network& net) {
  uint32_t x = net.input(3, 256);
  std::vector<uint32_t> levels;
  for (int64_t width = 64, side = 256; width < 1024; width *= 2, side /= 2) {
    levels.push_back(net.dense("conv3x3", {net.dense("conv3x3", {x}, width, side)}, width, side));
    x = net.pointwise("pool", {levels.back()}, width, side / 2);
  }
  x = net.dense("conv3x3", {net.dense("conv3x3", {x}, 1024, 16)}, 1024, 16);
  for (int64_t width = 512, side = 32; !levels.empty(); width /= 2, side *= 2) {
    const uint32_t joined =
        net.pointwise("concat", {levels.back(), net.dense("transposed", {x}, width, side)}, 2 * width, side);
    levels.pop_back();
    x = net.dense("conv3x3", {net.dense("conv3x3", {joined}, width, side)}, width, side);
  }
}

void add_transformer(Network& net) {
  constexpr int64_t kWidth = 512;
  constexpr int kLayers = 12, kHeads = 8;
  uint32_t x = net.input(kWidth, 128);
  for (int layer = 0; layer < kLayers; ++layer) {
    const uint32_t normalised = net.pointwise("norm", {x}, kWidth, 128);
    const auto part = [&] { return net.dense("linear", {normalised}, kWidth / kHeads, 128); };
    std::vector<uint32_t> heads;
    for (int head = 0; head < kHeads; ++head) {
      const uint32_t query = part(), key = part(), value = part();
      const uint32_t weights = net.pointwise("softmax", {net.dense("scores", {query, key}, 1, 128)}, 1, 128);
      heads.push_back(net.dense("attend", {weights, value}, kWidth / kHeads, 128));
    }
    const uint32_t joined = net.pointwise("concat", heads, kWidth, 128);
    x = net.pointwise("add", {net.dense("linear", {joined}, kWidth, 128), x}, kWidth, 128);
    const uint32_t wide = net.dense("linear", {net.pointwise("norm", {x}, kWidth, 128)}, 4 * kWidth, 128);
    const uint32_t narrow = net.dense("linear", {net.pointwise("gelu", {wide}, 4 * kWidth, 128)}, kWidth, 128);
    x = net.pointwise("add", {narrow, x}, kWidth, 128);
  }
}

void add_window8(Network& net, uint32_t operators) {
  for (uint32_t last = net.input(64, 28); net.operators() < operators; ++last) {
    const uint32_t reach = std::min(last + 1, 8u);
    const uint32_t first = last - net.below(reach), second = last - net.below(reach);
    net.random({first, second});
  }
}

// The kernels of int8 convolutions.
RepresentationSet convolution_forms() {
  RepresentationSet forms;
  for (const auto layout :
       {qgen::Layout::strided, qgen::Layout::packed_4c, qgen::Layout::packed_4w4c, qgen::Layout::packed_4c1w})
    forms = forms | *Representation::of(layout);
  return forms;
}

void plan_graph(benchmark::State& state, const Graph& graph) {
  for ([[maybe_unused]] auto _ : state) {
    const auto planned = plan(graph, {}, testing::copy_cost());
    if (!planned) return state.SkipWithError(planned.error().message.c_str());
    state.counters["gap"] = planned->gap();
    state.counters["us"] = planned->cost_us;
    state.counters["operators"] = static_cast<double>(planned->nodes.size());
  }
}

template <typename AddTo>
void add(const std::string& name, const AddTo& add_to, RepresentationSet forms = convolution_forms()) {
  Network net(forms);
  add_to(net);
  benchmark::RegisterBenchmark(("plan/" + name).c_str(), plan_graph, std::move(net).graph())
      ->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int argc, char** argv) {
  add("resnet50", [](Network& net) { add_resnet(net, 1); });
  add("resnet 150 times deeper", [](Network& net) { add_resnet(net, 150); });
  add("mobilenet_v2", add_mobilenet_v2);
  add("unet", add_unet);
  add("transformer", add_transformer);
  add("transformer, all forms", add_transformer, any_representation());
  for (const uint32_t operators : {64u, 10'000u}) {
    add(fmt::format("window8/{}", operators), [&](Network& net) { add_window8(net, operators); });
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
