// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What a token of a language model reads and calculates, on a described device.
#include "runtime/workshop/model/bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "operators.h"
#include "registry.h"
#include "runtime/models/graph/constants.h"
#include "runtime/models/onnx/import.h"
#include "runtime/models/onnx/reader.h"
#include "tests/support/described_device.h"
#include "tests/support/expected_text.h"
#include "tests/support/language_models.h"
#include "tests/support/tensors.h"

namespace qgen::model {
namespace {

constexpr double kWidth = 64, kInner = 128, kLayers = 2, kVocabulary = 96;

class BoundsTest : public ::testing::Test {
 protected:
  void import(const std::string& name, bool has_f16_activations = false) {
    auto model = onnx::load_model(tests::source_folder() + "/tests/runtime/models/graph/language_models/" + name);
    ASSERT_TRUE(model) << to_text(model.error());
    if (has_f16_activations) *model = testing::with_f16_activations(*std::move(model));
    auto imported = onnx::import_model(*std::move(model), {.finds_states = true});
    ASSERT_TRUE(imported) << to_text(imported.error());
    graph = std::move(imported->graph);
  }

  graph::Schedule schedule_of(int64_t rows) {
    graph::InputShapes shapes;
    for (const graph::ValueId id : graph.inputs) {
      const graph::Value& input = graph.values[id];
      const bool is_cache = graph.is_state_input(id);
      shapes[input.name] = is_cache ? Shape{1, 2, 32, 16} : Shape{1, input.name == "attention_mask" ? 32 : rows};
    }
    const auto inferred = graph::infer(graph, generated::operators::entries(), shapes);
    EXPECT_TRUE(inferred) << to_text(inferred.error());
    const auto constants = graph::Constants::create(graph, *inferred);
    EXPECT_TRUE(constants) << to_text(constants.error());
    auto made = graph::make_schedule(graph, *inferred, constants->weight_descs(), chooser);
    EXPECT_TRUE(made) << to_text(made.error());
    return *std::move(made);
  }
  Work work_of(int64_t rows, std::vector<double> cached) { return model::work_of(graph, schedule_of(rows), cached); }

  DeviceProfile device = tests::described_device("nvidia-h200");
  const KernelLibrary library = *KernelLibrary::open(generated::library());
  const graph::Chooser chooser{device, library, generated::operators::entries()};
  graph::Graph graph;
};

// The products of query, key and value, the one after attention, those of a gated layer, and the logits.
constexpr double kProducts =
    kLayers * (kWidth * (2 * kWidth) + kWidth * kWidth + 3 * kWidth * kInner) + kWidth * kVocabulary;

TEST_F(BoundsTest, WorkOfATokenAndOfAPrompt) {
  import("int4.onnx");
  EXPECT_EQ(work_of(1, {7}).all_operations(), 2 * kProducts);
  EXPECT_EQ(work_of(5, {5}).all_operations(), 5 * 2 * kProducts);
  // Half a byte each, with a scale of f32 for each 32 of them; and a few normalizations and rows of tables.
  const double bytes = kProducts / 2 + kProducts / 32 * 4;
  EXPECT_GT(work_of(1, {7}).weight_bytes, bytes);
  EXPECT_LT(work_of(1, {7}).weight_bytes, 1.1 * bytes);
  import("f16.onnx");  // matmul
  EXPECT_EQ(work_of(5, {5}).all_operations(), 5 * 2 * kProducts);
  EXPECT_GT(work_of(1, {7}).weight_bytes, 2 * kProducts);
}

// The gate halves the outputs of its product.
TEST_F(BoundsTest, GatedProductsCountWhole) {
  import("int4.onnx", true);
  ASSERT_EQ(std::ranges::count(graph.nodes, "rms_norm_gated_q4gsw", &graph::Node::op), kLayers);
  EXPECT_EQ(work_of(1, {7}).all_operations(), 2 * kProducts);
}

TEST_F(BoundsTest, AnEmbeddingReadsItsRows) {
  const graph::ValueId rows = graph.add_input("rows", DType::i32, {graph::kAnySide, graph::kAnySide});
  const graph::ValueId weight = graph.add_constant("weight", testing::Random(1).integers(DType::i8, {50, 32}, -8, 7));
  const graph::ValueId scales = graph.add_constant("scales", testing::Random(2).reals(DType::f32, {50}, 0, 1));
  graph.add_output("y", graph.add({.op = "embedding_q4gsw",
                                   .inputs = {{"indices", rows}, {"weight", weight}, {"weight_scales", scales}}}));
  const Work work = work_of(3, {});
  EXPECT_EQ(work.all_operations(), 0);
  EXPECT_EQ(work.weight_bytes, 3 * 32 * 4);
}

TEST_F(BoundsTest, CachesCountAsFarAsTheyAreRead) {
  import("int4.onnx");
  const double token = 2 * kLayers * 2 * 16 * 4;
  EXPECT_EQ(work_of(1, {7}).cache_bytes, 7 * token);
  EXPECT_EQ(work_of(5, {5}).cache_bytes, 5 * token);
  EXPECT_EQ(work_of(1, {40}).cache_bytes, 32 * token);  // all
  for (graph::Node& node : graph.nodes) {
    if (node.op == "attention") node.attributes["window"] = int64_t{3};
  }
  EXPECT_EQ(work_of(1, {7}).cache_bytes, 3 * token);
}

TEST_F(BoundsTest, SharesAreOfTheDevicesRates) {
  device.numbers.bytes_per_us = 2e6;
  device.numbers.f32_ops_per_us = 4e6;
  device.numbers.f16_matrix_ops_per_us = 1e8;
  device.sources = {{"bytes_per_us", "measured on 2026-11-22"}};
  Work work{.weight_bytes = 90 << 20, .cache_bytes = 10 << 20, .operations = {2e8, 0, 1e9, 0}};
  const Bounds bounds = bounds_of(work, device, 100);
  EXPECT_EQ(bounds.nearest(), "arithmetic");
  EXPECT_TEXT(text_of(bounds),
              "  memory: 90.0 MiB of weights and 10.0 MiB of caches, 1049 GB/s, 52.4 % of a copy (2000 GB/s, "
              "measured on 2026-11-22)\n"
              "  arithmetic: 1.20 GOP of products, 12.0 TOP/s, 60.0 % of f16 matrices (100 TOP/s, estimated)\n");
  const auto json = json_of(bounds);
  EXPECT_EQ(json.at("operations"), 1.2e9);
  EXPECT_EQ(json.at("nearest_bound"), "arithmetic");
  EXPECT_EQ(json.at("arithmetic").at("of"), "f16 matrices");
  EXPECT_EQ(json.at("arithmetic").at("share"), (2e8 / 4e6 + 1e9 / 1e8) / 100);
  EXPECT_EQ(json.at("memory").at("device_gb_per_second"), 2000);
  EXPECT_EQ(json.at("memory").at("source"), "measured on 2026-11-22");
  EXPECT_THAT(text_of(bounds_of({.operations = {1234}}, device, 100)),
              ::testing::HasSubstr("  arithmetic: 1.23 kOP of products, 12.3 MOP/s, 0.000309 % of f32 (4.00 TOP/s, "));
  work.weight_bytes *= 2;
  EXPECT_EQ(bounds_of(work, device, 200).nearest(), "memory");
  EXPECT_EQ(bounds_of(work, device, 0).memory.share, 0);
}

}  // namespace
}  // namespace qgen::model
