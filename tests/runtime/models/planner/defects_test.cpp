// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Defects of earlier planners, by their numbers in the register of the system that qgen replaces.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "runtime/models/planner/plan.h"
#include "tests/runtime/models/planner/agreeing.h"
#include "tests/runtime/models/planner/copy_cost.h"
#include "tests/runtime/models/planner/forms.h"
#include "tests/support/expected_text.h"

namespace qgen::planner {
namespace {

using namespace testing;

Plan planned(const Graph& graph, const DeviceModel& device = {}) {
  auto result = plan(graph, device, copy_cost());
  EXPECT_TRUE(result) << result.error().message;
  return *std::move(result);
}

std::string kernel_of(const Plan& plan, std::string_view node) {
  const auto found =
      std::find_if(plan.nodes.begin(), plan.nodes.end(), [&](const auto& n) { return n.name.text == node; });
  return found == plan.nodes.end() ? "" : found->kernel;
}

// A form in which the kernel does not exist was found out at the first inference.
TEST(Defects, A2_FormsWithoutAKernelAreRefusedWhenPlanning) {
  const DeviceModel device{.image_extent = {64, 64, 64}};
  Graph graph{{{"weight", {64, 1024}, f32, {kWidth, kStrided}}, {"y", {64}, f32}},
              {{"linear", "linear", {"weight"}, {"y"}, {{"texels", {kWidth, kStrided}, 1}}}}};
  const auto refused = plan(graph, device, copy_cost());
  ASSERT_FALSE(refused);
  EXPECT_TEXT(refused.error().message, R"(no kernel of 'linear' (linear) accepts its operands
  texels reads 'weight' as texture3d.width_packed, which is not possible here
  'weight' (f32 [64, 1024]) arrives as buffer.strided
    not as texture3d.width_packed: 256 texels exceed the device's limit of 64 for the image width
  'y' (f32 [64]) can be held as buffer.strided or texture3d.width_packed or texture3d.height_packed or texture3d.channels_packed)");

  graph.nodes[0].kernels.push_back({"plain", {kStrided, kStrided}, 50});
  EXPECT_EQ(kernel_of(planned(graph, device), "linear"), "plain");
}

// A second table of layouts lacked one and had another's block wrong.
TEST(Defects, A11_OneTableHoldsEveryLayout) {
  RepresentationSet seen;
  for (Representation r : any_representation()) {
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
  const Shape shape{1, 8, 8, 8};
  Graph graph{{{"x", shape, i8}, {"y", shape, i8}, {"z", shape, i8}},
              {{"a", "f", {"x"}, {"y"}, {{"k1", {kAny, kAny}, 1}, {"k2", {kWords, kAny}, 1}}},
               {"b", "f", {"y"}, {"z"}, {{"k2", {kAny, kTextures}, 1}, {"k1", {kAny, kWords}, 1}}}}};
  const Plan first = planned(graph);
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::shuffle(graph.tensors.begin(), graph.tensors.end(), random);
    std::shuffle(graph.nodes.begin(), graph.nodes.end(), random);
    for (Node& node : graph.nodes) std::shuffle(node.kernels.begin(), node.kernels.end(), random);
    ASSERT_EQ(planned(graph), first);
  }
}

// A count of elements was compared with a limit in bytes.
TEST(Defects, A14_BuffersAreLimitedInBytes) {
  DeviceModel device;
  device.buffer_bytes = 1 << 20;
  EXPECT_EQ(refusal({1 << 20}, i8, kStrided, device), "");
  EXPECT_TEXT(refusal({1 << 20}, f16, kStrided, device),
              "2097152 bytes exceed the device's limit of 1048576 bytes "
              "per buffer");
  EXPECT_EQ(refusal({1 << 18}, f32, kStrided, device), "");
  EXPECT_TEXT(refusal({(1 << 18) + 1}, f32, kStrided, device),
              "1048580 bytes exceed the device's limit of 1048576 bytes per buffer");
}

// The last consumer's wish overwrote the others'. Here two convolutions want a layout that one does not want.
TEST(Defects, A19_EveryConsumerIsHeard) {
  const Shape shape{1, 64, 28, 28};
  const std::vector<Kernel> conv{{"direct", {k4C1W, k4C}, 10}, {"im2col", {k4C, k4C}, 12}};
  Graph graph{{{"x", shape, i8, k4W}, {"q", shape, i8}, {"a", shape, i8}, {"b", shape, i8}, {"c", shape, i8}},
              {{"first", "f", {"x"}, {"q"}, {{"words", {k4W, kWords}, 5}}},
               {"early", "q8ta_conv2d", {"q"}, {"a"}, conv},
               {"late", "q8ta_conv2d", {"q"}, {"b"}, conv},
               {"last", "g", {"q"}, {"c"}, {{"words", {k4C, k4C}, 3}}}}};
  const Plan all = planned(graph);
  EXPECT_EQ(kernel_of(all, "early"), "im2col");  // 12 + 12 + 3, against 10 + 10 + 3 and a conversion of 6
  EXPECT_EQ(kernel_of(all, "late"), "im2col");
  EXPECT_TRUE(all.conversions.empty());
  graph.nodes.pop_back();
  const Plan without_last = planned(graph);
  EXPECT_EQ(kernel_of(without_last, "early"), "direct");
  EXPECT_EQ(kernel_of(without_last, "late"), "direct");
}

// Facts at the end of a graph did not reach its beginning.
TEST(Defects, A19_WhatComesLaterReachesBack) {
  Graph graph{{{"t0", {1, 8, 8, 8}, i8}}, {}};
  for (int i = 0; i < 100; ++i) {
    const std::string read = fmt::format("t{}", i), written = fmt::format("t{}", i + 1);
    graph.tensors.push_back({written, {1, 8, 8, 8}, i8});
    graph.nodes.push_back(
        {"to " + written, "relu", {read}, {written}, agreeing({"words", {kWords, kWords}, 1}, {{0, 1}})});
  }
  graph.tensors.back().leaves_as = k4H4W;
  const Plan chain = planned(graph);
  EXPECT_TRUE(chain.conversions.empty());
  for (const PlannedTensor& tensor : chain.tensors) {
    EXPECT_TRUE(are_compatible(tensor.home, k4H4W)) << tensor.name.text;
  }
}

}  // namespace
}  // namespace qgen::planner
