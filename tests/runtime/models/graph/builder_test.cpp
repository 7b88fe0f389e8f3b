// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Graphs built by the generated structs: their nodes, and code that must not compile.
#include "runtime/models/graph/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph_nodes.h"
#include "tests/support/tensors.h"

namespace qgen::graph {
namespace {

using namespace generated::operators;  // NOLINT(google-build-using-namespace)
using ::testing::ElementsAre;
using testing::Random;

// ---- what compiles --------------------------------------------------------------------------------------------------

template <typename T>
concept StandsForAWeight = requires(T value, Var x) {
  Q8taLinearInputs<InGraph>{.input = x, .weight = value, .weight_scales = x};
};
static_assert(StandsForAWeight<Constant> && !StandsForAWeight<Var>, "a weight is a constant");
static_assert(!std::is_default_constructible_v<Var>, "an input that is left out does not compile");

template <typename T>
concept HasStride = requires {
  T{.stride = std::vector<int64_t>{1}, .input_scale = 1.0, .output_scale = 1.0};
};
template <typename T>
concept HasMisspeltStride = requires {
  T{.strid = std::vector<int64_t>{1}, .input_scale = 1.0, .output_scale = 1.0};
};
static_assert(HasStride<Q8taConv2dAttributes> && !HasMisspeltStride<Q8taConv2dAttributes>);

// ---- what comes of it -----------------------------------------------------------------------------------------------

std::vector<std::string> operands_of(const Node& node) {
  std::vector<std::string> operands;
  for (const Port& port : node.inputs) operands.push_back(port.operand);
  return operands;
}

TEST(Builder, NodesHaveWhatTheStructsSay) {
  Random random(1);
  Builder net;
  const Var x = net.input("x", DType::i8, {kAnySide, 4, 6, 6});
  const Constant weight = net.constant(random.integers(DType::i8, {8, 4, 3, 3}, -9, 9));
  const Constant scales = net.constant(random.reals(DType::f32, {8}, 0.01, 0.02));
  const Var y = q8ta_conv2d(net, {.input = x, .weight = weight, .weight_scales = scales},
                            {.stride = std::vector<int64_t>{2},
                             .padding = std::vector<int64_t>{1},
                             .input_scale = 0.02,
                             .output_scale = 0.05,
                             .activation = Activation::relu6});
  net.output("y", net.reshape(y, {0, -1}));
  const Graph graph = std::move(net).graph();

  ASSERT_EQ(graph.nodes.size(), 2u);
  const Node& node = graph.nodes.front();
  EXPECT_EQ(node.op, "q8ta_conv2d");
  EXPECT_THAT(operands_of(node), ElementsAre("input", "weight", "weight_scales"));
  EXPECT_EQ(node.attributes.at("stride"), AttributeValue(std::vector<int64_t>{2}));
  EXPECT_EQ(node.attributes.at("activation"), AttributeValue(std::string("relu6")));
  EXPECT_FALSE(node.attributes.contains("residual_scale"));
  const auto inferred = infer(graph, entries(), {{"x", {3, 4, 6, 6}}});
  ASSERT_TRUE(inferred) << to_text(inferred.error());
  EXPECT_EQ(inferred->values[graph.outputs.front().value].shape, (Shape{3, 72}));
}

TEST(Builder, SeveralOutputsHaveNames) {
  Builder net;
  const Var x = net.input("x", DType::f32, {2, 8});
  const auto parameters = choose_qparams_affine(net, {.input = x}, {.keepdim = false});
  net.output("codes",
             quantize_affine(net, {.input = x, .scale = parameters.scale, .zero_point = parameters.zero_point}));
  const Graph graph = std::move(net).graph();
  const auto inferred = infer(graph, entries(), {});
  ASSERT_TRUE(inferred) << to_text(inferred.error());
  EXPECT_EQ(inferred->values[graph.outputs.front().value].dtype, DType::i8);
}

TEST(Builder, ShapesAreInfersToCheck) {
  Builder net;
  const Var x = net.input("x", DType::i8, {2, 5});
  const Constant weight = net.constant(zeros(DType::i8, {4, 8}));
  net.output("y",
             q8ta_linear(net, {.input = x, .weight = weight, .weight_scales = net.constant(zeros(DType::f32, {4}))},
                         {.input_scale = 1.0, .output_scale = 1.0}));
  EXPECT_FALSE(infer(std::move(net).graph(), entries(), {}));
}

}  // namespace
}  // namespace qgen::graph
