// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The texts about a model's layers, on a described device.
#include "runtime/workshop/model/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "operators.h"
#include "registry.h"
#include "runtime/models/graph/alternatives.h"
#include "runtime/models/graph/constants.h"
#include "runtime/workshop/model/draw.h"
#include "runtime/workshop/model/reasons.h"
#include "tests/support/described_device.h"
#include "tests/support/expected_text.h"
#include "tests/support/networks.h"

namespace qgen::model {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class LayersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto inferred = graph::infer(graph, generated::operators::entries(), {});
    ASSERT_TRUE(inferred) << to_text(inferred.error());
    const auto constants = graph::Constants::create(graph, *inferred);
    ASSERT_TRUE(constants) << to_text(constants.error());
    auto made = graph::make_schedule(graph, *inferred, constants->weight_descs(), chooser);
    ASSERT_TRUE(made) << to_text(made.error());
    schedule = *std::move(made);
  }

  // Two replays, in which each step took its number and ten times that.
  std::vector<Layer> measured() const {
    std::vector<std::vector<double>> samples(2);
    for (size_t i = 0; i < schedule.steps.size(); ++i) {
      samples[0].push_back(static_cast<double>(i + 1));
      samples[1].push_back(static_cast<double>(10 * (i + 1)));
    }
    return layers_of(schedule, samples);
  }

  const DeviceProfile device = tests::described_device("nvidia-h200");
  const KernelLibrary library = *KernelLibrary::open(generated::library());
  const graph::Chooser chooser{device, library, generated::operators::entries()};
  graph::Graph graph = testing::residual_network(2);
  graph::Schedule schedule;
};

TEST_F(LayersTest, HaveTheirKernelsShapesAndWork) {
  const auto layers = layers_of(schedule, {});
  const auto stem = std::ranges::find(layers, "q8ta_conv2d_1", &Layer::name);
  ASSERT_NE(stem, layers.end());
  EXPECT_EQ(stem->op, "q8ta_conv2d");
  EXPECT_EQ(stem->shapes, "2x3x20x20 -> 2x16x10x10");
  EXPECT_EQ(stem->operations, 2.0 * (2 * 16 * 10 * 10) * (3 * 7 * 7));
  EXPECT_THAT(stem->kernel, HasSubstr("q8ta_conv2d"));
  EXPECT_GT(stem->bytes, 2 * 3 * 20 * 20 + 16 * 3 * 7 * 7 + 2 * 16 * 10 * 10);
  EXPECT_GT(stem->estimated_us, 0);
}

TEST_F(LayersTest, TableAddsUpAndNamesTheRest) {
  const auto layers = measured();
  double sum = 0;
  for (const Layer& layer : layers) sum += layer.us.median;
  const std::string table = table_of(layers, sum + 3);
  EXPECT_THAT(table, HasSubstr("differs by +3.0"));
  EXPECT_THAT(table, HasSubstr("  q8ta_conv2d_1\n    q8ta_conv2d."));  // the kernel below
  EXPECT_THAT(table_of(layers_of(schedule, {}), 0), HasSubstr("est. us"));
}

// A kernel's id has any length: it follows the columns, or is on a separate line if a row would exceed 100 columns.
TEST_F(LayersTest, ColumnsHoldBesideLongIds) {
  const Layer plain{
      .name = "conv1 + relu", .kernel = "conv.tile", .layouts = "packed_4c -> packed_4w", .estimated_us = 1.25};
  Layer other = plain;
  other.name = "fc";
  other.kernel = "linear.plain";
  other.layouts = "strided -> strided";
  EXPECT_TEXT(table_of({plain, other}, 0),
              "est. us  layouts                 layer         kernel\n"
              "    1.2  packed_4c -> packed_4w  conv1 + relu  conv.tile\n"
              "    1.2  strided -> strided      fc            linear.plain\n");
  other.kernel = std::string(80, 'k');
  EXPECT_EQ(table_of({plain, other}, 0),
            "est. us  layouts                 layer, and its kernel below\n"
            "    1.2  packed_4c -> packed_4w  conv1 + relu\n"
            "    conv.tile\n"
            "    1.2  strided -> strided      fc\n"
            "    " +
                other.kernel + "\n");
}

TEST_F(LayersTest, RatesHaveThreeDigitsOnAnyDevice) {
  Layer layer{.name = "one", .operations = 2.14e6, .bytes = 2.14e3};
  const auto row = [&](double us) {
    layer.us.median = us;
    return table_of({layer}, us);
  };
  EXPECT_THAT(row(1e3), HasSubstr("1000.0 100.0%  0.00214  0.00214  "));
  EXPECT_THAT(row(1), HasSubstr("   1.0 100.0%     2.14     2.14  "));
  EXPECT_THAT(row(1e-2), HasSubstr("   0.0 100.0%      214      214  "));
  EXPECT_THAT(row(1e-3), HasSubstr("   0.0 100.0%     2140     2140  "));
}

TEST_F(LayersTest, TraceIsReadByViewers) {
  const auto events = nlohmann::json::parse(trace_of(measured(), "a \"model\".onnx", "a device"));
  ASSERT_EQ(events.size(), schedule.steps.size() + 1);
  double at = 0;
  for (size_t i = 1; i < events.size(); ++i) {
    EXPECT_EQ(events[i].at("ph"), "X");
    EXPECT_EQ(events[i].at("cat"), "Node");
    EXPECT_EQ(events[i].at("ts").get<double>(), at);
    at += events[i].at("dur").get<double>();
    EXPECT_EQ(events[i].at("args").at("op_name"), schedule.steps[i - 1].entry->name);
  }
  EXPECT_EQ(events[0].at("dur").get<double>(), at);
}

TEST_F(LayersTest, JsonHasTheKeysOfTrtexec) {
  const auto rows = nlohmann::json::parse(json_of(measured(), 2));
  EXPECT_EQ(rows[0].at("count"), 2);
  double percentage = 0;
  for (size_t i = 1; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].at("name"), schedule.steps[i - 1].name);
    EXPECT_NEAR(rows[i].at("timeMs").get<double>(), 2 * rows[i].at("averageMs").get<double>(), 1e-12);
    EXPECT_EQ(rows[i].at("minMs").get<double>(), static_cast<double>(i) / 1e3);
    percentage += rows[i].at("percentage").get<double>();
  }
  EXPECT_NEAR(percentage, 100, 1e-9);
}

TEST_F(LayersTest, DrawingHasEachStepAndNamesAreEscaped) {
  graph.values[graph.inputs.front()].name = "an \"image\"\\";
  const std::string dot = dot_of(graph, schedule, layers_of(schedule, {}));
  for (size_t i = 0; i < schedule.steps.size(); ++i) EXPECT_THAT(dot, HasSubstr("step" + std::to_string(i) + " ["));
  EXPECT_THAT(dot, HasSubstr(R"(an \"image\"\\)"));
  const auto same = drawing(dot, "graph.dot");
  ASSERT_TRUE(same);
  EXPECT_EQ(*same, dot);
  EXPECT_FALSE(drawing(dot, "graph.jpeg"));
}

// The plan is the best one, so no layer is faster in other layouts; and each lists its times in those.
TEST_F(LayersTest, OtherLayoutsTakeNoLess) {
  for (const graph::Step& step : schedule.steps) {
    if (step.node == graph::Step::kConversion) continue;
    const auto alternatives = graph::alternatives_of(graph, schedule, step, chooser);
    ASSERT_TRUE(alternatives) << to_text(alternatives.error());
    const auto chosen = std::ranges::find(*alternatives, true, &graph::Alternative::is_chosen);
    ASSERT_NE(chosen, alternatives->end()) << step.name;
    EXPECT_EQ(chosen->layouts, schedule.decision.ways[step.node]);
    for (const graph::Alternative& one : *alternatives) {
      EXPECT_GE(one.total_us(), chosen->total_us() - 1e-9) << step.name;
      EXPECT_EQ(&one == &*chosen, one.layouts == chosen->layouts);
    }
  }
}

TEST_F(LayersTest, WhatIsWrittenOtherwiseIsCopiedForItsReaders) {
  const graph::Step& stem = *std::ranges::find(schedule.steps, "q8ta_conv2d_1", &graph::Step::name);
  const auto alternatives = graph::alternatives_of(graph, schedule, stem, chooser);
  ASSERT_TRUE(alternatives) << to_text(alternatives.error());
  const std::vector<Layout>& chosen = schedule.decision.ways[stem.node];
  size_t others = 0;
  for (const graph::Alternative& one : *alternatives) {
    const bool is_written_otherwise = one.layouts.back() != chosen.back();
    const bool is_copied = std::ranges::any_of(one.copies, [&](const graph::Alternative::Copy& copy) {
      return copy.from == one.layouts.back() && copy.to == chosen.back() && copy.time_us > 0;
    });
    EXPECT_EQ(is_written_otherwise, is_copied);
    others += is_written_otherwise;
  }
  EXPECT_GT(others, 0u);
}

TEST_F(LayersTest, ReasonsAreOfTheLayerOfThisName) {
  schedule.steps[0].name = "Conv_101 + Relu_102";
  schedule.steps[1].name = "Conv_10 + Relu_11";
  const auto of = [&](const std::string& layer) {
    const auto text = reasons_of(graph, schedule, layer, chooser);
    return text ? *text : text.error().message;
  };
  for (const std::string layer : {"Conv_10", "Conv_10 + Relu_11", "Relu_11"}) {
    EXPECT_THAT(of(layer), HasSubstr("\nConv_10 + Relu_11\nin "));
    EXPECT_THAT(of(layer), Not(HasSubstr("Conv_101")));
  }
  EXPECT_THAT(of("Relu_1"), AllOf(HasSubstr("Conv_101"), HasSubstr("Relu_11")));
  EXPECT_THAT(of("Conv_10"), AllOf(HasSubstr("in other layouts, with the conversions"), HasSubstr(" us  ")));
  EXPECT_TEXT(of("Gemm"), "no layer's name contains 'Gemm'");
}

// A decision belongs to its graph: another graph refuses it, and with its own graph it gives the same plan.
TEST_F(LayersTest, DecisionsAreTakenAgain) {
  const auto again_for = [&](const graph::Graph& other, const graph::Decision& decision) {
    const auto inferred = graph::infer(other, generated::operators::entries(), {});
    const auto constants = graph::Constants::create(other, *inferred);
    return graph::make_schedule(other, *inferred, constants->weight_descs(), chooser, &decision);
  };
  const auto same = again_for(graph, schedule.decision);
  ASSERT_TRUE(same) << to_text(same.error());
  EXPECT_EQ(same->decision.kernels, schedule.decision.kernels);
  EXPECT_EQ(same->memory.offsets, schedule.memory.offsets);

  graph::Decision fewer = schedule.decision;
  fewer.kernels.pop_back();
  EXPECT_FALSE(again_for(graph, fewer));
  graph::Decision foreign = schedule.decision;
  foreign.kernels.front() = "q8ta_relu.packed_4w";
  EXPECT_FALSE(again_for(graph, foreign));
  graph::Graph longer = graph;
  longer.add({.op = "q8ta_relu",
              .inputs = {{"input", graph.nodes.front().outputs.front().value}},
              .attributes = {{"input_scale", 0.5}, {"output_scale", 0.5}}});
  EXPECT_FALSE(again_for(longer, schedule.decision));
}

}  // namespace
}  // namespace qgen::model
