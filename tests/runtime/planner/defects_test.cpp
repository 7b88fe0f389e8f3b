// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Defects of planners before this one, by their numbers in the register of the system that qgen replaces.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "runtime/planner/graph_text.h"

namespace qgen::planner {
namespace {

GraphText graph(std::string_view yaml) {
  auto text = read_graph(yaml, "graph");
  EXPECT_TRUE(text) << text.error().message;
  return *std::move(text);
}

Plan planned(const GraphText& text) {
  auto result = plan(text.graph, plan_options(text));
  EXPECT_TRUE(result) << result.error().message;
  return *std::move(result);
}

std::string kernel_of(const Plan& plan, std::string_view node) {
  const auto found = std::find_if(plan.nodes.begin(), plan.nodes.end(), [&](const auto& n) { return n.name == node; });
  return found == plan.nodes.end() ? "" : found->kernel;
}

// A form in which the kernel does not exist was found out at the first inference.
TEST(Defects, A2_FormsWithoutAKernelAreRefusedWhenPlanning) {
  const std::string rows = R"(
device: {image_extent: [64, 64, 64]}
tensors:
  weight: {shape: [64, 1024], dtype: f32, arrives_as: [texture3d.width_packed, buffer.strided]}
  y: {shape: [64], dtype: f32}
operators:
  linear:
    op: linear
    reads: [weight]
    writes: [y]
    kernels:
      texels: {takes: [texture3d.width_packed, buffer.strided], cost_us: 1}
)";
  const auto only_texels = graph(rows);
  const auto refused = plan(only_texels.graph, plan_options(only_texels));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, R"(no kernel of 'linear' (linear) can take its operands
  texels reads 'weight' as texture3d.width_packed, which it cannot be here
  'weight' (f32 [64, 1024]) arrives as buffer.strided
    not as texture3d.width_packed: 256 texels pass the device's image width of 64
  'y' (f32 [64]) can be held as buffer.strided or texture3d.width_packed or texture3d.height_packed or texture3d.channels_packed)");

  const auto with_fallback = graph(rows + "      plain: {takes: [buffer.strided, buffer.strided], cost_us: 50}\n");
  EXPECT_EQ(kernel_of(planned(with_fallback), "linear"), "plain");
}

// A second table of layouts lacked one and had another's block wrong.
TEST(Defects, A11_OneTableHoldsEveryLayout) {
  RepresentationSet seen;
  for (Representation r : any_representation()) {
    EXPECT_EQ(find_representation(name(r)), r);
    EXPECT_FALSE(seen.contains(r));
    seen = seen | r;
    EXPECT_EQ(Representation::of(info(r).layout), r);
    const int64_t block = info(r).dims.block_elements();
    EXPECT_TRUE(info(r).storage == Storage::buffer || block == 4) << name(r) << ": a texel has four components";
    EXPECT_TRUE(!info(r).is_packed_bytes() || block % 4 == 0) << name(r) << ": words of four";
  }
}

// The order in which a set was walked decided the layout.
TEST(Defects, A12_NoOrderDecides) {
  GraphText text = graph(R"(
tensors:
  x: {shape: [1, 8, 8, 8], dtype: i8}
  y: {shape: [1, 8, 8, 8], dtype: i8}
  z: {shape: [1, 8, 8, 8], dtype: i8}
operators:
  a: {op: f, reads: [x], writes: [y], kernels: {k1: {takes: [any, any], cost_us: 1}, k2: {takes: [buffer.packed_*, any], cost_us: 1}}}
  b: {op: f, reads: [y], writes: [z], kernels: {k2: {takes: [any, texture3d.*], cost_us: 1}, k1: {takes: [any, buffer.packed_*], cost_us: 1}}}
)");
  const Plan first = planned(text);
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::shuffle(text.graph.tensors.begin(), text.graph.tensors.end(), random);
    std::shuffle(text.graph.nodes.begin(), text.graph.nodes.end(), random);
    for (Node& node : text.graph.nodes) std::shuffle(node.kernels.begin(), node.kernels.end(), random);
    ASSERT_EQ(planned(text), first);
  }
}

// A count of elements was compared with a limit in bytes.
TEST(Defects, A14_BuffersAreLimitedInBytes) {
  DeviceModel device;
  device.buffer_bytes = 1 << 20;
  const Representation strided = *Representation::of(Layout::strided);
  EXPECT_EQ(refusal({1 << 20}, DType::i8, strided, device), "");
  EXPECT_EQ(refusal({1 << 20}, DType::f16, strided, device), "2097152 bytes pass the device's 1048576 bytes a buffer");
  EXPECT_EQ(refusal({1 << 18}, DType::f32, strided, device), "");
  EXPECT_EQ(refusal({(1 << 18) + 1}, DType::f32, strided, device),
            "1048580 bytes pass the device's 1048576 bytes a buffer");
}

// The last consumer's wish overwrote the others'. Here two convolutions want what one does not.
TEST(Defects, A19_EveryConsumerIsHeard) {
  const std::string conv = R"(
    kernels:
      direct: {takes: [buffer.packed_4c1w, buffer.packed_4c], cost_us: 10}
      im2col: {takes: [buffer.packed_4c, buffer.packed_4c], cost_us: 12}
)";
  std::string yaml = R"(
tensors:
  x: {shape: [1, 64, 28, 28], dtype: i8, arrives_as: buffer.packed_4w}
  q: {shape: [1, 64, 28, 28], dtype: i8}
  a: {shape: [1, 64, 28, 28], dtype: i8}
  b: {shape: [1, 64, 28, 28], dtype: i8}
  c: {shape: [1, 64, 28, 28], dtype: i8}
operators:
  first:
    op: f
    reads: [x]
    writes: [q]
    kernels: {words: {takes: [buffer.packed_4w, buffer.packed_*], cost_us: 5}}
  early:
    op: q8ta_conv2d
    reads: [q]
    writes: [a])" + conv +
                     "  late:\n    op: q8ta_conv2d\n    reads: [q]\n    writes: [b]" + conv + R"(  last:
    op: g
    reads: [q]
    writes: [c]
    kernels: {words: {takes: [buffer.packed_4c, buffer.packed_4c], cost_us: 3}}
)";
  const Plan all = planned(graph(yaml));
  EXPECT_EQ(kernel_of(all, "early"), "im2col");  // 12 + 12 + 3, against 10 + 10 + 3 and a conversion of 6
  EXPECT_EQ(kernel_of(all, "late"), "im2col");
  EXPECT_TRUE(all.conversions.empty());
  const Plan without_last = planned(graph(yaml.substr(0, yaml.find("  last:"))));
  EXPECT_EQ(kernel_of(without_last, "early"), "direct");
  EXPECT_EQ(kernel_of(without_last, "late"), "direct");
}

// What is known at the end of a graph did not reach its beginning.
TEST(Defects, A19_WhatComesLaterReachesBack) {
  std::string tensors = "tensors:\n  t0: {shape: [1, 8, 8, 8], dtype: i8}\n";
  std::string operators = "operators:\n";
  for (int i = 0; i < 100; ++i) {
    const bool is_last = i == 99;
    tensors += fmt::format("  t{}: {{shape: [1, 8, 8, 8], dtype: i8{}}}\n", i + 1,
                           is_last ? ", leaves_as: buffer.packed_4h4w" : "");
    operators += fmt::format(
        "  n{0}: {{op: relu, reads: [t{0}], writes: [t{1}], kernels: {{words: {{takes: "
        "[buffer.packed_*, buffer.packed_*], synced: [t{0}, t{1}], cost_us: 1}}}}}}\n",
        i, i + 1);
  }
  const Plan chain = planned(graph(tensors + operators));
  EXPECT_TRUE(chain.conversions.empty());
  for (const PlannedTensor& tensor : chain.tensors) {
    EXPECT_TRUE(are_compatible(tensor.home, *find_representation("buffer.packed_4h4w"))) << tensor.name;
  }
}

}  // namespace
}  // namespace qgen::planner
