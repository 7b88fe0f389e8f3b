// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Valid and invalid graphs, and the shapes of their values; no device is needed.
#include "runtime/models/graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operators.h"
#include "registry.h"
#include "runtime/engine/selector/time_book.h"
#include "runtime/models/graph/compiled.h"
#include "runtime/models/graph/constants.h"
#include "runtime/models/graph/schedule.h"
#include "tests/support/described_device.h"
#include "tests/support/expected_text.h"
#include "tests/support/networks.h"

namespace qgen::graph {
namespace {

Expected<Inferred> inferred(const Graph& graph, const InputShapes& shapes = {}) {
  return infer(graph, generated::operators::entries(), shapes);
}

std::string refusal_of(const Graph& graph, const InputShapes& shapes = {}) {
  const auto result = inferred(graph, shapes);
  return result ? "" : result.error().message;
}

Node relu(ValueId x) {
  return {.name = "relu",
          .op = "q8ta_relu",
          .inputs = {{"input", x}},
          .attributes = {{"input_scale", 0.5}, {"output_scale", 0.5}}};
}

TEST(Graph, ShapesFollowFromThoseOfTheInputs) {
  const Graph graph = testing::depthwise_network();
  for (const int64_t batch : {1, 4}) {
    const auto result = inferred(graph, {{"image", {batch, 5, 9, 7}}});
    ASSERT_TRUE(result) << to_text(result.error());
    EXPECT_EQ(result->values[graph.outputs[0].value].shape, (Shape{batch, 5, 9, 7}));
    EXPECT_EQ(result->values[graph.outputs[0].value].dtype, DType::i8);
    EXPECT_EQ(result->values[graph.outputs[1].value].shape, (Shape{batch, 18, 1, 1}));
  }
}

TEST(Graph, InputsNeedTheirShapes) {
  const Graph graph = testing::depthwise_network();
  EXPECT_TEXT(refusal_of(graph), "input 'image' is [any, 5, 9, 7], and no shape is given for it");
  EXPECT_TEXT(refusal_of(graph, {{"image", {1, 5, 9, 8}}}),
              "input 'image' is [any, 5, 9, 7], and is given as [1, 5, 9, 8]");
  const auto unknown = inferred(graph, {{"image", {1, 5, 9, 7}}, {"x", {1}}});
  ASSERT_FALSE(unknown);
  EXPECT_TEXT(to_text(unknown.error()), "the graph has no input 'x'\n  hint: the only one is 'image'");
}

// A file of a compiled model names kernels. Since it was written, one of them may have turned out wrong.
TEST(Graph, AQuarantinedKernelOfADecisionIsReplaced) {
  const Graph graph = testing::depthwise_network();
  const auto result = inferred(graph, {{"image", {1, 5, 9, 7}}});
  ASSERT_TRUE(result) << to_text(result.error());
  const auto constants = Constants::create(graph, *result);
  ASSERT_TRUE(constants) << to_text(constants.error());
  const auto library = KernelLibrary::open(generated::library());
  ASSERT_TRUE(library) << to_text(library.error());
  const DeviceProfile device = tests::described_device("nvidia-h200");
  TimeBook book(*library);
  const Chooser chooser{device, *library, generated::operators::entries(), &book};
  const auto scheduled = [&](const Decision* decision) {
    return make_schedule(graph, *result, constants->weight_descs(), chooser, decision);
  };
  const auto first = scheduled(nullptr);
  ASSERT_TRUE(first) << to_text(first.error());
  const auto again = scheduled(&first->decision);
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(again->decision.kernels, first->decision.kernels);

  const std::string& bad = first->steps.front().choice->id;
  const auto digest = digest_of(*library->find(bad.substr(0, bad.find('.'))), bad, *library);
  ASSERT_TRUE(digest) << bad;
  book.quarantine(device, std::vector{QuarantinedKernel{bad, *digest, "wrong results (2026-11-30)"}});
  EXPECT_TRUE(book.has_quarantined(device, bad, *digest));
  EXPECT_FALSE(book.has_quarantined(device, bad, *digest + 1));
  Compiled compiled;
  compiled.decision = first->decision;
  for (const Step& step : first->steps) compiled.digests.push_back(digest_of(*step.choice, *library));
  EXPECT_TRUE(has_quarantined(compiled, device, &book));
  EXPECT_FALSE(has_quarantined(compiled, tests::described_device("adreno-740"), &book));
  EXPECT_FALSE(has_quarantined(compiled, device, nullptr));
  const auto replaced = scheduled(&first->decision);
  ASSERT_TRUE(replaced) << to_text(replaced.error());
  ASSERT_EQ(replaced->steps.size(), first->steps.size());
  for (size_t i = 0; i < first->steps.size(); ++i) {
    const std::string &before = first->decision.kernels[i], &now = replaced->decision.kernels[i];
    EXPECT_EQ(now == before, before != bad) << now;
    EXPECT_EQ(replaced->steps[i].choice->id, now);
  }
}

TEST(Graph, RefusesWhatDoesNotHoldTogether) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::i8, {1, 4, 2, 2});
  const ValueId real = graph.add_input("real", DType::f32, {1, 4, 2, 2});
  const auto with = [&](Node node) {
    Graph other = graph;
    other.add(std::move(node));
    return refusal_of(other);
  };
  EXPECT_EQ(with(relu(x)), "");
  EXPECT_TEXT(with(relu(real)), "node 'relu': input is f32, and can be i8");
  EXPECT_TEXT(with(relu(99)), "node 'relu': there is no value 99");
  Node unknown = relu(x);
  unknown.op = "q8ta_rleu";
  EXPECT_TEXT(with(unknown), "node 'relu': unknown operator 'q8ta_rleu'");
  Node attribute = relu(x);
  attribute.attributes.emplace("slope", 1.0);
  EXPECT_TEXT(with(attribute), "node 'relu': 'q8ta_relu' has no attribute 'slope'");
  Node missing = relu(x);
  missing.attributes.erase("input_scale");
  EXPECT_TEXT(with(missing), "node 'relu': 'q8ta_relu' needs attribute 'input_scale'");
  Node port = relu(x);
  port.inputs.front().operand = "inptu";
  EXPECT_TEXT(with(port), "node 'relu': 'q8ta_relu' has no input 'inptu'");
}

TEST(Graph, RefusesValuesThatAreWrittenTwiceOrTooLate) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::i8, {1, 4, 2, 2});
  const ValueId y = graph.add(relu(x));
  Graph twice = graph;
  twice.nodes.push_back(twice.nodes.front());
  EXPECT_TEXT(refusal_of(twice), "node 'relu': value 'relu' is written twice");
  Graph late = graph;
  late.nodes.front().inputs.front().value = y;
  EXPECT_TEXT(refusal_of(late), "node 'relu': 'relu' is read before anything writes it");
  Graph named = graph;
  named.add_output("y", y);
  named.add_output("y", x);
  EXPECT_TEXT(refusal_of(named), "two outputs are called 'y'");
}

TEST(Graph, WeightsAreConstants) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::i8, {2, 16});
  const ValueId w = graph.add_input("w", DType::i8, {4, 16});
  const ValueId scales = graph.add_constant("scales", zeros(DType::f32, {4}));
  graph.add({.op = "q8ta_linear",
             .inputs = {{"input", x}, {"weight", w}, {"weight_scales", scales}},
             .attributes = {{"input_scale", 0.5}, {"output_scale", 0.5}}});
  EXPECT_TEXT(refusal_of(graph), "node 'q8ta_linear_0': 'weight' is a weight, but 'w' is not constant");
}

struct ReshapeCase {
  Shape input;
  std::vector<int64_t> shape;
  std::optional<Shape> output;
};

TEST(Reshape, IsThatOfOnnx) {
  const ReshapeCase cases[] = {
      {{2, 3, 4}, {0, -1}, Shape{2, 12}},
      {{2, 3, 4}, {24}, Shape{24}},
      {{2, 3, 4}, {-1, 0, 2}, Shape{4, 3, 2}},
      {{0, 3}, {0, 3}, Shape{0, 3}},
      {{2, 3}, {-1, -1}, std::nullopt},
      {{2, 3}, {4, -1}, std::nullopt},
      {{2, 3}, {7}, std::nullopt},
      {{2}, {1, 0}, std::nullopt},
      {{2, 3}, {-2, 3}, std::nullopt},
      {{0, 3}, {0, -1}, std::nullopt},
      {{1}, {int64_t{1} << 62, -1}, std::nullopt},
  };
  for (const ReshapeCase& one : cases) {
    const auto output = reshaped(one.input, one.shape);
    EXPECT_EQ(bool(output), one.output.has_value()) << to_text(one.input) << " to " << to_text(one.shape);
    if (output && one.output) {
      EXPECT_EQ(*output, *one.output);
    }
  }
}

}  // namespace
}  // namespace qgen::graph
