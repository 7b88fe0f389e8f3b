// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Language models of language_models/, written by bench/models/make_language_model.py with --width 64 --heads 4
// --kv-heads 2 --vocabulary 96 --positions 64: int4.onnx with --seed 6, f16.onnx with --type f16. The tokens were
// recorded with ONNX Runtime 1.30 (bench/models/generate_onnxruntime.js). onnx.onnx has --attention onnx --seed 2, and
// multi_head.onnx has --attention multi_head --kv-heads 4 --seed 3; their tokens are compared with runs without caches.
//
// Those of make_written_out_model.py have attention as several nodes. With --width 16 --vocabulary 64 --positions 40:
// llama.onnx has --seed 6, sdpa.onnx --seed 8 --type f16, gpt2.onnx and gptj.onnx --seed 2, whisper.onnx --seed 1, and encoded.onnx
// and merged.onnx --seed 2.
#include "runtime/models/graph/generator.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/models/graph/constants.h"
#include "runtime/models/graph/schedule.h"
#include "runtime/models/onnx/import.h"
#include "runtime/models/onnx/reader.h"
#include "runtime/workshop/reference/references.h"
#include "tests/support/described_device.h"
#include "tests/support/document.h"
#include "tests/support/expected_text.h"
#include "tests/support/language_models.h"
#include "tests/support/shipped_test.h"
#include "tests/support/tensors.h"

namespace qgen::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const TokenLists kPrompts = {{1, 2, 3, 4, 5}, {7, 8}, {9, 10, 11}};

struct Recorded {
  std::string name;
  TokenLists tokens;  // after each of kPrompts
};
const Recorded kRecorded[] = {
    {"int4",
     {{13, 19, 65, 58, 23, 76, 34, 13, 19, 65, 58, 23, 22, 78, 81, 9, 72, 57, 91, 40, 50, 3, 46, 51},
      {40, 50, 59, 21, 22, 80, 60, 48, 66, 86, 62, 15, 8, 54, 46, 24, 71, 81, 54, 68, 80, 25, 53, 88},
      {95, 1, 28, 9, 79, 62, 46, 51, 19, 21, 22, 78, 21, 40, 68, 62, 15, 8, 26, 40, 11, 6, 85, 3}}},
    {"f16",
     {{89, 29, 11, 59, 71, 20, 11, 10, 53, 46, 59, 71, 88, 81, 73, 45, 37, 81, 73, 21, 91, 15, 61, 24},
      {88, 53, 46, 62, 54, 87, 51, 87, 51, 87, 51, 87, 51, 87, 83, 51, 87, 51, 87, 51, 87, 83, 51, 87},
      {46, 85, 27, 1, 41, 20, 94, 81, 45, 77, 92, 51, 85, 34, 51, 85, 34, 51, 85, 43, 75, 73, 50, 22}}},
    {"llama",
     {{34, 28, 57, 38, 53, 17, 57, 38, 36, 17, 40, 14, 62, 62, 2, 14, 7, 55, 62, 48, 17, 29, 2, 14},
      {32, 19, 46, 34, 56, 62, 25, 52, 52, 39, 62, 12, 46, 62, 48, 53, 2, 38, 48, 39, 62, 59, 2, 56},
      {46, 12, 46, 29, 53, 2, 25, 53, 58, 53, 62, 46, 53, 53, 53, 58, 53, 53, 53, 53, 53, 53, 53, 53}}},
    {"sdpa",
     {{0, 14, 38, 63, 58, 48, 28, 52, 12, 63, 58, 23, 52, 58, 58, 52, 22, 58, 5, 0, 28, 52, 40, 0},
      {0, 14, 0, 16, 36, 0, 15, 52, 63, 16, 14, 0, 20, 23, 52, 63, 38, 0, 16, 11, 11, 47, 38, 0},
      {21, 0, 42, 42, 37, 23, 16, 42, 52, 50, 42, 37, 23, 16, 21, 52, 15, 23, 16, 34, 0, 40, 13, 6}}},
    {"gpt2",
     {{46, 46, 6, 34, 19, 37, 6, 34, 34, 19, 19, 19, 19, 19, 19, 19, 19, 46, 19, 19, 19, 19, 19, 19},
      {19, 25, 30, 45, 19, 34, 19, 34, 6, 48, 4, 15, 19, 34, 4, 15, 19, 34, 21, 19, 34, 4, 43, 19},
      {38, 8, 19, 60, 34, 20, 19, 34, 4, 20, 50, 19, 21, 19, 3, 19, 34, 34, 4, 20, 19, 34, 19, 24}}},
    {"gptj",
     {{8, 37, 61, 21, 58, 58, 53, 12, 45, 16, 8, 58, 58, 53, 13, 8, 58, 58, 58, 51, 8, 58, 63, 22},
      {24, 53, 41, 8, 53, 53, 62, 54, 58, 8, 58, 54, 58, 5, 28, 49, 58, 58, 44, 58, 44, 35, 26, 13},
      {58, 58, 58, 44, 45, 28, 62, 54, 58, 54, 58, 54, 58, 24, 7, 24, 7, 29, 58, 54, 58, 54, 58, 58}}},
};

std::string file_of(const std::string& name) {
  return tests::source_folder() + "/tests/runtime/models/graph/language_models/" + name + ".onnx";
}

Expected<Graph> graph_of(const std::string& name) {
  auto imported = onnx::import_model(std::filesystem::path(file_of(name)), {.finds_states = true});
  if (!imported) return imported.error();
  return std::move(imported->graph);
}

class GeneratorTest : public testing::ShippedTest {
 protected:
  std::unique_ptr<Generator> generator(const std::string& name, const GeneratorOptions& options) {
    auto graph = graph_of(name);
    EXPECT_TRUE(graph) << to_text(graph.error());
    if (!graph) return nullptr;
    auto made = Generator::create(context(), generated::operators::entries(), *std::move(graph), options);
    EXPECT_TRUE(made) << to_text(made.error());
    return made ? *std::move(made) : nullptr;
  }
  static std::string said(const Done& done) { return done ? "done" : to_text(done.error()); }
};

TEST_F(GeneratorTest, TokensAreThoseOfOnnxRuntime) {
  for (const Recorded& model : kRecorded) {
    SCOPED_TRACE(model.name);
    const auto it = generator(model.name, {.capacity = 32});
    ASSERT_TRUE(it);
    for (size_t i = 0; i < kPrompts.size(); ++i) {
      for (const size_t rows : {size_t{0}, size_t{1}, size_t{2}}) {  // the prompt at once, by tokens, by two tokens
        const auto generated = it->generate({kPrompts[i]}, {.most_tokens = 24, .prompt_rows = rows});
        ASSERT_TRUE(generated) << to_text(generated.error());
        EXPECT_EQ(generated->tokens, TokenLists{model.tokens[i]}) << rows << " rows";
      }
    }
  }
}

// Prompts of different lengths, padded at their ends.
TEST_F(GeneratorTest, SequencesOfDifferentLengths) {
  for (const Recorded& model : kRecorded) {
    const auto it = generator(model.name, {.capacity = 28});
    ASSERT_TRUE(it);
    const auto generated = it->generate(kPrompts, {.most_tokens = 24});
    ASSERT_TRUE(generated) << to_text(generated.error());
    EXPECT_EQ(generated->tokens, model.tokens) << model.name;
    EXPECT_EQ(generated->prompt_tokens, 10u);
  }
}

// ---- attention as several nodes ---------------------------------------------------------------------------------------

size_t count_of(const Graph& graph, std::string_view op) {
  return static_cast<size_t>(std::ranges::count(graph.nodes, op, &Node::op));
}

TEST_F(GeneratorTest, WrittenOutLayersAreOneNode) {
  struct Case {
    std::string name;
    size_t attention, rotations, caches, rotated_caches, sums, masks = 0;
  };
  for (const auto& [name, attention, rotations, caches, rotated_caches, sums, masks] :
       {Case{"llama", 2, 4, 2, 0, 4},
        {"sdpa", 2, 0, 0, 2, 4},
        {"gptj", 2, 0, 0, 2, 4},
        {"gpt2", 2, 0, 2, 0, 5},
        {"whisper", 4, 0, 2, 0, 6},
        {"encoded", 4, 0, 2, 0, 6, 2}}) {
    SCOPED_TRACE(name);
    const auto graph = graph_of(name);
    ASSERT_TRUE(graph) << to_text(graph.error());
    EXPECT_EQ(count_of(*graph, "attention"), attention);
    EXPECT_EQ(count_of(*graph, "rotary_embedding"), rotations);
    EXPECT_EQ(count_of(*graph, "cache_write"), caches);
    EXPECT_EQ(count_of(*graph, "rotary_cache_write"), rotated_caches);
    EXPECT_EQ(count_of(*graph, "skip_rms_norm") + count_of(*graph, "skip_layer_norm"), sums);
    EXPECT_EQ(count_of(*graph, "softmax"), 0u);
    size_t count = 0;
    for (const Node& node : graph->nodes) count += node.op == "attention" && value_of(node.inputs, "mask") ? 1 : 0;
    EXPECT_EQ(count, masks);
  }
}

// Rotations with tables, and both writes of the caches, are one launch; query, key and value are one product.
TEST_F(GeneratorTest, WhatAWrittenOutLayerLaunches) {
  for (const auto& [name, launches] : {std::pair("sdpa", 9u * 2 + 5), {"gptj", 9u * 2 + 5}, {"llama", 13u * 2 + 12}}) {
    const auto it = generator(name, {.capacity = 32});
    ASSERT_TRUE(it);
    const auto generated = it->generate({kPrompts[0]}, {.most_tokens = 2});
    ASSERT_TRUE(generated) << to_text(generated.error());
    EXPECT_EQ(generated->launches, launches) << name;
  }
}

// sdpa with an input of positions. `change` gets the name that the table of cosines has for keys of the first layer.
onnx::Model with_positions(const std::function<void(onnx::Model&, std::string& cos_of_keys)>& change) {
  onnx::Model model = *onnx::load_model(file_of("sdpa"));
  onnx::ValueInfo positions = *std::ranges::find(model.graph.inputs, "input_ids", &onnx::ValueInfo::name);
  positions.name = "position_ids";
  model.graph.inputs.push_back(positions);
  std::string cos;
  for (onnx::Node& node : model.graph.nodes) {
    const auto table =
        node.op == "Gather" ? model.graph.initializers.find(node.inputs[0]) : model.graph.initializers.end();
    if (table == model.graph.initializers.end() || table->second->shape.front() != 40) continue;
    node.inputs[1] = "position_ids";
    if (cos.empty()) cos = node.outputs[0];
  }
  const auto wider = std::ranges::find_if(
      model.graph.nodes, [&](const onnx::Node& node) { return node.op == "Unsqueeze" && node.inputs[0] == cos; });
  std::string of_keys = wider->outputs[0];
  std::vector<std::string> products;  // of queries, and of keys
  for (const onnx::Node& node : model.graph.nodes) {
    if (node.op == "Mul" && node.inputs[1] == of_keys) products.push_back(node.outputs[0]);
  }
  EXPECT_EQ(products.size(), 4u);
  change(model, of_keys);
  const auto writes = [&](const onnx::Node& node) { return node.outputs[0] == products[1]; };
  std::ranges::find_if(model.graph.nodes, writes)->inputs[1] = of_keys;
  return model;
}

TEST_F(GeneratorTest, RotationsBeforeCaches) {
  const auto none = [](onnx::Model&, std::string&) {};
  // Keys have other angles than queries.
  const auto others = [](onnx::Model& model, std::string& cos) {
    const auto copy = [&](const std::string& value) {
      const auto found = std::ranges::find_if(
          model.graph.nodes, [&](const onnx::Node& node) { return std::ranges::count(node.outputs, value) > 0; });
      onnx::Node node = *found;
      node.name += " other";
      node.outputs = {value + " other"};
      return node;
    };
    onnx::Node wider = copy(cos), rows = copy(wider.inputs[0]);
    onnx::Tensor table = *model.graph.initializers.at(rows.inputs[0]);
    for (auto half = table.data.begin(); half != table.data.end(); half += 2) half[1] ^= std::byte{0x80};  // the sign
    rows.inputs[0] = "other table";
    model.graph.initializers.emplace("other table", std::make_shared<const onnx::Tensor>(std::move(table)));
    wider.inputs[0] = rows.outputs[0];
    cos = wider.outputs[0];
    model.graph.nodes.insert(model.graph.nodes.begin(), {rows, wider});
  };
  struct {
    std::function<void(onnx::Model&, std::string&)> change;
    size_t joined;
  } const rows[] = {{none, 2}, {others, 1}};
  for (const auto& row : rows) {
    const onnx::Model model = with_positions(row.change);
    std::vector<TokenLists> tokens;
    for (const bool follows : {false, true}) {
      auto imported = onnx::import_model(model, {.finds_states = true, .positions_follow_caches = follows});
      ASSERT_TRUE(imported) << to_text(imported.error());
      EXPECT_EQ(count_of(imported->graph, "rotary_cache_write"), follows ? row.joined : 0);
      EXPECT_EQ(count_of(imported->graph, "rotary_embedding"), follows ? 2 * (2 - row.joined) : 4);
      const auto made =
          Generator::create(context(), generated::operators::entries(), std::move(imported->graph), {.capacity = 28});
      ASSERT_TRUE(made) << to_text(made.error());
      const auto generated = (*made)->generate(kPrompts, {.most_tokens = 24});
      ASSERT_TRUE(generated) << to_text(generated.error());
      tokens.push_back(generated->tokens);
    }
    EXPECT_EQ(tokens[0], tokens[1]);
    EXPECT_EQ(tokens[0] == kRecorded[3].tokens, row.joined == 2);
  }
}

// ---- inputs that stay ----------------------------------------------------------------------------------------------

// size * sin(0.37 i + phase), as the inputs of the recorded tokens.
HostTensor wave(const Shape& shape, double phase, double size) {
  HostTensor tensor = zeros(DType::f32, shape);
  for (size_t i = 0; i < tensor.as<float>().size(); ++i)
    tensor.as<float>()[i] = static_cast<float>(size * std::sin(0.37 * static_cast<double>(i) + phase));
  return tensor;
}
HostTensor rows_of(const HostTensor& tensor, int64_t begin, int64_t count) {
  Shape shape = tensor.shape;
  shape.front() = count;
  HostTensor rows = zeros(tensor.dtype, shape);
  const auto row = static_cast<std::ptrdiff_t>(tensor.data.size()) / tensor.shape.front();
  std::copy_n(tensor.data.begin() + begin * row, count * row, rows.data.begin());
  return rows;
}
HostTensor mask_of(const std::vector<std::vector<int32_t>>& rows) {
  HostTensor mask = zeros(DType::i32, {std::ssize(rows), std::ssize(rows.front())});
  for (size_t i = 0; i < rows.size(); ++i)
    std::ranges::copy(rows[i], mask.as<int32_t>().begin() + static_cast<std::ptrdiff_t>(i * rows[i].size()));
  return mask;
}
const HostTensor kTwo = wave({2, 7, 16}, 0, 2), kShort = wave({1, 4, 16}, 1, 2);
const std::vector<int32_t> kAllRows(7, 1), kFiveRows = {1, 1, 1, 1, 1, 0, 0};
Tensors encoded(const HostTensor& states, const std::vector<std::vector<int32_t>>& mask) {
  return {{"encoder_hidden_states", states}, {"encoder_attention_mask", mask_of(mask)}};
}
// Of ONNX Runtime 1.30, after the prompt 1, 2, 3.
const std::vector<int32_t> kOfFirst = {32, 46, 46, 27, 32, 46, 49, 27, 29, 49, 49, 27, 46, 46, 49, 32},
                           kOfShort = {22, 32, 46, 32, 36, 1, 23, 38, 47, 32, 21, 23, 38, 32, 11, 32},
                           kOfFiveRows = {22, 32, 46, 32, 11, 32, 11, 49, 49, 49, 49, 23, 46, 46, 46, 46};

class GivenInputsTest : public GeneratorTest {
 protected:
  static TokenLists said_by(Generator& generator, const TokenLists& prompts, size_t prompt_rows = 0) {
    const auto generated = generator.generate(prompts, {.most_tokens = 16, .prompt_rows = prompt_rows});
    EXPECT_TRUE(generated) << to_text(generated.error());
    return generated ? generated->tokens : TokenLists();
  }
};

TEST_F(GivenInputsTest, TokensAreThoseOfOnnxRuntime) {
  const auto it = generator("encoded", {.capacity = 20});
  ASSERT_TRUE(it);
  EXPECT_EQ(it->vocabulary(), 64);
  const HostTensor first = rows_of(kTwo, 0, 1);
  // Two sequences, then other lengths, other masks, and the first length again.
  ASSERT_TRUE(it->set_inputs(encoded(kTwo, {kAllRows, kFiveRows})));
  const TokenLists of_two = {{32, 49, 32, 49, 51, 49, 32, 49, 32, 49, 57, 46, 46, 46, 46, 46},
                             {18, 57, 35, 25, 10, 10, 57, 57, 57, 12, 62, 57, 10, 57, 57, 57}};
  for (const size_t rows : {size_t{0}, size_t{1}, size_t{2}})
    EXPECT_EQ(said_by(*it, {{1, 2, 3, 4, 5}, {7, 8, 9, 10, 11}}, rows), of_two) << rows;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(it->set_inputs(encoded(first, {kAllRows})));
    EXPECT_EQ(said_by(*it, {{1, 2, 3}}), TokenLists{kOfFirst});
    EXPECT_EQ(said_by(*it, {{1, 2, 3}}), TokenLists{kOfFirst});  // they have stayed
    ASSERT_TRUE(it->set_inputs(encoded(first, {kFiveRows})));
    EXPECT_EQ(said_by(*it, {{1, 2, 3}}), TokenLists{kOfFiveRows});
    ASSERT_TRUE(it->set_inputs(encoded(kShort, {{1, 1, 0, 1}})));
    EXPECT_EQ(said_by(*it, {{1, 2, 3}}), TokenLists{kOfShort});
  }
  // More shapes than stay prepared, and the first ones once more.
  for (int64_t length = 1; length < 6; ++length) {
    ASSERT_TRUE(
        it->set_inputs(encoded(wave({1, length, 16}, 0, 1), {std::vector<int32_t>(static_cast<size_t>(length), 1)})));
    EXPECT_EQ(said_by(*it, {{1, 2, 3}}).front().size(), 16u);
  }
  ASSERT_TRUE(it->set_inputs(encoded(first, {kAllRows})));
  EXPECT_EQ(said_by(*it, {{1, 2, 3}}), TokenLists{kOfFirst});
}

// Other caches, and single steps. Int8 caches round, so they only say something.
TEST_F(GivenInputsTest, WithOtherCachesAndInSingleSteps) {
  for (const Cache cache : {Cache::of_model, Cache::paged}) {
    const auto it = generator("encoded", {.capacity = 20, .cache = cache, .blocks = {.size = 4}});
    ASSERT_TRUE(it);
    ASSERT_TRUE(it->set_inputs(encoded(rows_of(kTwo, 0, 1), {kAllRows})));
    it->start(1);
    std::vector<int32_t> said;
    for (TokenLists fed = {{1, 2, 3}}; said.size() < 16; fed = {{said.back()}}) {
      ASSERT_TRUE(it->feed(fed));
      const auto next = it->next({});
      ASSERT_TRUE(next) << to_text(next.error());
      said.push_back(next->front());
    }
    EXPECT_EQ(said, kOfFirst);
  }
  for (const Cache cache : {Cache::int8, Cache::paged_int8}) {
    const auto it = generator("encoded", {.capacity = 20, .cache = cache, .blocks = {.size = 4}});
    ASSERT_TRUE(it);
    ASSERT_TRUE(it->set_inputs(encoded(rows_of(kTwo, 0, 1), {kAllRows})));
    const TokenLists said = said_by(*it, {{1, 2, 3}});
    EXPECT_EQ(said.front().front(), kOfFirst.front());
    EXPECT_EQ(said_by(*it, {{1, 2, 3}}), said);
  }
}

// A decoder in an If of use_cache_branch. Its branch with caches has no causal mask, and gets keys of the encoder from the
// other branch.
TEST_F(GivenInputsTest, AMergedDecoder) {
  const auto imported = onnx::import_model(std::filesystem::path(file_of("merged")), {.finds_states = true});
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_EQ(imported->graph.states.size(), 4u);
  EXPECT_TRUE(imported->graph.is_for_further_tokens);
  EXPECT_FALSE(graph_of("encoded")->is_for_further_tokens);
  const auto open = onnx::import_model(std::filesystem::path(file_of("merged")));
  ASSERT_FALSE(open);
  EXPECT_THAT(to_text(open.error()), HasSubstr("hint: the input 'use_cache_branch' may be a constant"));
  for (const Cache cache : {Cache::of_model, Cache::paged}) {
    const auto it = Generator::create(context(), generated::operators::entries(), imported->graph,
                                      {.capacity = 20, .cache = cache, .blocks = {.size = 4}});
    ASSERT_TRUE(it) << to_text(it.error());
    ASSERT_TRUE((*it)->set_inputs(encoded(rows_of(kTwo, 0, 1), {kAllRows})));
    EXPECT_EQ(said_by(**it, {{1, 2, 3}}), TokenLists{kOfFirst});
    EXPECT_EQ(said_by(**it, {{1, 2, 3}}, 2), TokenLists{kOfFirst});
    ASSERT_TRUE((*it)->set_inputs(encoded(kShort, {{1, 1, 0, 1}})));
    EXPECT_EQ(said_by(**it, {{1, 2, 3}}), TokenLists{kOfShort});
    (*it)->start(1);
    ASSERT_TRUE((*it)->feed({{1, 2, 3}}));
    EXPECT_THAT(*(*it)->next({}), ElementsAre(kOfShort.front()));
    ASSERT_TRUE((*it)->set_inputs(encoded(kTwo, {kAllRows, kFiveRows})));
    const auto different = (*it)->generate({{1, 2, 3}, {4}}, {.most_tokens = 2});
    ASSERT_FALSE(different);
    EXPECT_EQ(to_text(different.error()),
              "the model has no causal mask, so prompts run token by token, and must have one length");
  }
}

// Keys and values of the encoder are computed by set_inputs(), and not for each token.
TEST_F(GivenInputsTest, WhatIsComputedOnce) {
  const auto it = generator("encoded", {.capacity = 20}), keys = generator("whisper", {.capacity = 20});
  ASSERT_TRUE(it && keys);
  size_t products = 0;
  context().on_call = [&](const Call& call) { products += call.problem.op->name == "matmul" ? 1 : 0; };
  ASSERT_TRUE(it->set_inputs(encoded(kTwo, {kAllRows, kAllRows})));
  EXPECT_EQ(products, 4u);  // of two layers
  context().on_call = nullptr;
  EXPECT_EQ(it->model().graph().kept.size(), 5u);  // and the mask
  EXPECT_EQ(count_of(it->model().graph(), "matmul"), count_of(keys->model().graph(), "matmul"));
}

TEST_F(GivenInputsTest, KeysOfAnEncoder) {
  const auto it = generator("whisper", {.capacity = 20});
  ASSERT_TRUE(it);
  Tensors inputs;
  for (int i = 0; i < 4; ++i)
    inputs.emplace(fmt::format("past_key_values.{}.encoder.{}", i / 2, i % 2 == 0 ? "key" : "value"),
                   wave({1, 4, 7, 4}, i, 1));
  EXPECT_EQ(it->needed_inputs().size(), 4u);
  ASSERT_TRUE(it->set_inputs(inputs));
  const std::vector<int32_t> expected = {1, 49, 1, 49, 1, 49, 24, 31, 30, 31, 30, 44, 53, 21, 13, 31};
  EXPECT_EQ(said_by(*it, {{1, 2, 3}}), TokenLists{expected});
  EXPECT_EQ(it->model().graph().kept.size(), 4u);
  // Only some of them are of another length.
  inputs.insert_or_assign("past_key_values.0.encoder.key", wave({1, 4, 6, 4}, 0, 1));
  ASSERT_TRUE(it->set_inputs(inputs));
  const auto refused = it->generate({{1, 2, 3}}, {.most_tokens = 2});
  ASSERT_FALSE(refused);
  EXPECT_THAT(to_text(refused.error()), HasSubstr("node '"));
}

TEST_F(GivenInputsTest, AreRefused) {
  const auto it = generator("encoded", {.capacity = 20});
  ASSERT_TRUE(it);
  const auto tokens_said = [&](const TokenLists& prompts) {
    const auto generated = it->generate(prompts, {.most_tokens = 2});
    return generated ? "generated" : to_text(generated.error());
  };
  const std::string not_set =
      "input 'encoder_attention_mask' is not set\n"
      "  hint: an input that is no token, mask, position or cache stays the same for all tokens; set it before them";
  EXPECT_EQ(tokens_said({{1}}), not_set);
  const HostTensor one = rows_of(kTwo, 0, 1);
  const auto set_said = [&](const Tensors& inputs) { return said(it->set_inputs(inputs)); };
  EXPECT_EQ(set_said(encoded(one, {kAllRows})), "done");
  EXPECT_EQ(tokens_said({{1}}), "generated");
  EXPECT_EQ(tokens_said({{1}, {2}}),
            "input 'encoder_attention_mask' is [1, 7], and there are 2 sequences\n"
            "  hint: its first dimension is the number of sequences");
  EXPECT_EQ(set_said({{"encoder_hidden_states", one}}), "input 'encoder_attention_mask' is missing");
  EXPECT_EQ(tokens_said({{1}}), not_set);  // those before are gone
  Tensors inputs = encoded(one, {kAllRows});
  inputs.emplace("encoder_hidden_state", one);
  EXPECT_EQ(set_said(inputs),
            "the model needs no input 'encoder_hidden_state' that stays the same for all tokens\n"
            "  hint: did you mean 'encoder_hidden_states'?");
  inputs = encoded(one, {kAllRows});
  inputs.emplace("input_ids", zeros(DType::i32, {1, 1}));
  EXPECT_THAT(set_said(inputs), HasSubstr("the model needs no input 'input_ids' that stays the same for all tokens"));
  inputs = encoded(one, {kAllRows});
  inputs.insert_or_assign("encoder_attention_mask", zeros(DType::f32, {1, 7}));
  EXPECT_EQ(set_said(inputs), "input 'encoder_attention_mask' is f32, and must be i32");
  EXPECT_EQ(set_said(encoded(wave({1, 7, 15}, 0, 1), {kAllRows})),
            "input 'encoder_hidden_states' is [1, 7, 15], and must be [any, any, 16]");
  EXPECT_EQ(set_said(encoded(wave({7, 16}, 0, 1), {kAllRows})),
            "input 'encoder_hidden_states' is [7, 16], and must be [any, any, 16]");
  EXPECT_EQ(set_said({{"encoder_hidden_states", wave({1, 0, 16}, 0, 1)},
                      {"encoder_attention_mask", zeros(DType::i32, {1, 0})}}),
            "input 'encoder_attention_mask' is [1, 0], and has no elements");
  inputs = encoded(one, {kAllRows});
  inputs.at("encoder_hidden_states").data.pop_back();
  EXPECT_THAT(set_said(inputs), HasSubstr("input 'encoder_hidden_states'"));
  // Of several sequences, and of one.
  EXPECT_EQ(set_said(encoded(kTwo, {kAllRows})), "done");
  EXPECT_THAT(tokens_said({{1}}), HasSubstr("input 'encoder_hidden_states' is [2, 7, 16], and there is 1 sequence"));
  // The mask has another length.
  EXPECT_EQ(set_said(encoded(one, {{1, 1, 1, 1}})), "done");
  EXPECT_THAT(tokens_said({{1}}), HasSubstr("node '"));
  EXPECT_EQ(set_said(encoded(one, {kAllRows})), "done");
  EXPECT_EQ(tokens_said({{1}}), "generated");
  // A model without such inputs takes none.
  const auto other = generator("llama", {.capacity = 20});
  ASSERT_TRUE(other);
  EXPECT_TRUE(other->set_inputs({}));
  EXPECT_THAT(said(other->set_inputs(encoded(one, {kAllRows}))), HasSubstr("the model needs no input 'encoder_"));
}

// ---- other forms of attention -----------------------------------------------------------------------------------------

// The token that the model gives without a cache, all tokens being one prompt.
int32_t token_without_cache(Model& model, const std::vector<int32_t>& tokens) {
  const auto count = std::ssize(tokens);
  HostTensor ids = zeros(DType::i32, {1, count}), positions = ids;
  std::ranges::copy(tokens, ids.as<int32_t>().begin());
  for (int64_t i = 0; i < count; ++i) positions.as<int32_t>()[static_cast<size_t>(i)] = static_cast<int32_t>(i);
  Tensors inputs{{"input_ids", ids}, {"position_ids", positions}};
  for (const ValueId id : model.graph().inputs) {
    const Value& input = model.graph().values[id];
    if (!input.name.starts_with("past")) continue;
    inputs.emplace(input.name, zeros(input.dtype, {1, input.shape[1], 0, input.shape[3]}));
  }
  const auto outputs = model.run(inputs);
  EXPECT_TRUE(outputs) << to_text(outputs.error());
  if (!outputs) return -1;
  const HostTensor& logits = outputs->at("logits");
  const int64_t vocabulary = logits.shape[2], first = (count - 1) * vocabulary;
  int64_t best = 0;
  for (int64_t i = 1; i < vocabulary; ++i) {
    if (element(logits, first + i) > element(logits, first + best)) best = i;
  }
  return static_cast<int32_t>(best);
}

// Attention of ONNX and MultiHeadAttention: their caches are states too.
TEST_F(GeneratorTest, TokensAreThoseWithoutACache) {
  for (const std::string name : {"onnx", "multi_head"}) {
    SCOPED_TRACE(name);
    auto imported = onnx::import_model(std::filesystem::path(file_of(name)));
    ASSERT_TRUE(imported) << to_text(imported.error());
    Model model =
        Model::create(context(), generated::operators::entries(), std::move(imported->graph), {.most_prepared = 16});
    TokenLists expected;
    for (const auto& prompt : kPrompts) {
      std::vector<int32_t> tokens = prompt;
      while (tokens.size() < prompt.size() + 6) tokens.push_back(token_without_cache(model, tokens));
      expected.emplace_back(tokens.begin() + std::ssize(prompt), tokens.end());
    }
    const auto it = generator(name, {.capacity = 12});
    ASSERT_TRUE(it);
    for (const size_t rows : {size_t{0}, size_t{2}}) {
      const auto one = it->generate({kPrompts[0]}, {.most_tokens = 6, .prompt_rows = rows});
      ASSERT_TRUE(one) << to_text(one.error());
      EXPECT_EQ(one->tokens, TokenLists{expected[0]}) << rows << " rows";
    }
    const auto together = it->generate(kPrompts, {.most_tokens = 6});
    ASSERT_TRUE(together) << to_text(together.error());
    EXPECT_EQ(together->tokens, expected);
  }
}

// The prompt's rows before the last one have no logits, and a gate is one launch.
TEST_F(GeneratorTest, WhatALayerLaunches) {
  const auto it = generator("int4", {.capacity = 32});
  ASSERT_TRUE(it);
  std::vector<Shape> of_vocabulary;
  context().on_call = [&](const Call& call) {
    for (size_t i = 0; i < call.operands.size(); ++i) {
      const auto& operand = call.operands[i];
      const bool is_written = call.problem.op->operands[i].access != Access::read;
      if (is_written && operand && !operand->shape.empty() && operand->shape.back() == it->vocabulary())
        of_vocabulary.push_back(operand->shape);
    }
  };
  const auto generated = it->generate({kPrompts[0]}, {.most_tokens = 2});
  context().on_call = nullptr;
  ASSERT_TRUE(generated) << to_text(generated.error());
  EXPECT_FALSE(of_vocabulary.empty());
  for (const Shape& shape : of_vocabulary) EXPECT_EQ(shape.front(), 1) << to_text(shape);
  EXPECT_EQ(generated->launches, 9u * 2 + 7);
}

// From one write of a cache to the next one: the rest of the first layer, and the beginning of the second one. On a
// described GPU, so that the choices are the same on every machine.
TEST_F(GeneratorTest, WhatALayerOfF16AndInt4LaunchesOnAGpu) {
  auto file = onnx::load_model(file_of("int4"));
  ASSERT_TRUE(file) << to_text(file.error());
  auto imported =
      onnx::import_model(testing::with_f16_activations(testing::widened(*std::move(file))), {.finds_states = true});
  ASSERT_TRUE(imported) << to_text(imported.error());
  const Graph& graph = imported->graph;
  const DeviceProfile h200 = tests::described_device("nvidia-h200");
  struct {
    int64_t capacity;
    size_t launches;
  } const rows[] = {{32, 6}, {4096, 7}};  // 7: attention is split over the keys
  for (const auto& row : rows) {
    InputShapes shapes;
    for (const ValueId id : graph.inputs) {
      const Value& input = graph.values[id];
      const int64_t side = input.name == "attention_mask" ? row.capacity : 1;
      shapes[input.name] = graph.is_state_input(id) ? Shape{1, 2, row.capacity, 64} : Shape{1, side};
    }
    const auto inferred = infer(graph, generated::operators::entries(), shapes);
    ASSERT_TRUE(inferred) << to_text(inferred.error());
    const auto constants = Constants::create(graph, *inferred);
    ASSERT_TRUE(constants) << to_text(constants.error());
    const auto schedule = make_schedule(graph, *inferred, constants->weight_descs(),
                                        {h200, context().library, generated::operators::entries()});
    ASSERT_TRUE(schedule) << to_text(schedule.error());
    const auto is_write = [](const Step& step) { return step.entry->name == "rotary_cache_write"; };
    const auto begin = std::ranges::find_if(schedule->steps, is_write);
    ASSERT_NE(begin, schedule->steps.end());
    const auto end = std::find_if(begin + 1, schedule->steps.end(), is_write);
    ASSERT_NE(end, schedule->steps.end());
    std::vector<std::string_view> ops;
    size_t launches = 0;
    for (auto step = begin; step != end; ++step) {
      ops.push_back(step->entry->name);
      launches += step->choice->launches.size();
    }
    EXPECT_THAT(ops, ElementsAre("rotary_cache_write", "attention", "linear_q4gsw", "rms_norm_gated_q4gsw",
                                 "linear_q4gsw", "rms_norm_linear_q4gsw"));
    EXPECT_EQ(launches, row.launches) << row.capacity;
  }
}

// Query, key and value are one product, and gate and up another.
TEST_F(GeneratorTest, ProductsOfALayerAreJoined) {
  for (const auto& [name, op] : {std::pair("int4", "linear_q4gsw"), {"f16", "matmul"}}) {
    SCOPED_TRACE(name);
    const auto graph = graph_of(name);
    ASSERT_TRUE(graph) << to_text(graph.error());
    const auto count = [&](std::string_view of) { return std::ranges::count(graph->nodes, of, &Node::op); };
    EXPECT_EQ(count(op), 2 * 4 + 1);
    EXPECT_EQ(count("rotary_cache_write"), 2);
    EXPECT_EQ(count("silu_mul"), 2);
    EXPECT_EQ(count("slice"), 0);
  }
}

// One recording serves all lengths, and the caches are not copied to the host.
TEST_F(GeneratorTest, PreparesNothingForFurtherTokens) {
  const auto it = generator("int4", {.capacity = 32});
  ASSERT_TRUE(it);
  size_t reports = 0;
  context().on_call = [&](const Call&) { ++reports; };
  it->start(1);
  ASSERT_TRUE(it->feed({{1, 2, 3, 4}}));
  ASSERT_TRUE(it->feed({{5}}));
  const size_t prepared = reports;
  EXPECT_THAT(*it->next({}), ElementsAre(13));
  for (const int32_t token : {13, 19, 65}) ASSERT_TRUE(it->feed({{token}}));
  EXPECT_THAT(*it->next({}), ElementsAre(58));
  EXPECT_EQ(reports, prepared);
  EXPECT_THAT(it->lengths(), ElementsAre(8));
  EXPECT_EQ(it->state_bytes(), 4u * 2 * 32 * 16 * 4);  // 2 layers of keys and values, 2 heads of 16, f32
  context().on_call = nullptr;
}

TEST_F(GeneratorTest, AFullCacheIsRefused) {
  const auto it = generator("int4", {.capacity = 8});
  ASSERT_TRUE(it);
  const auto fits = it->generate({kPrompts[0]}, {.most_tokens = 4});  // the last token is not fed
  ASSERT_TRUE(fits) << to_text(fits.error());
  EXPECT_THAT(fits->tokens.front(), ElementsAre(13, 19, 65, 58));
  EXPECT_EQ(said(it->feed({{58}})),
            "the cache is full: it has room for 8 tokens, and sequence 0 has 8 and gets 1 more\n"
            "  hint: a larger capacity, or fewer tokens");
  const auto more = it->generate({kPrompts[0]}, {.most_tokens = 5});
  ASSERT_FALSE(more);
  EXPECT_EQ(
      to_text(more.error()),
      "the cache is too small: a prompt of 5 tokens and 5 new ones need room for 9 tokens, and it has room for 8\n"
      "  hint: a larger capacity, or fewer tokens");
  EXPECT_THAT(said(it->generate({{1, 2, 3, 4, 5, 6, 7, 8, 9}}, {}).error()), HasSubstr("the cache is full"));
  EXPECT_THAT(said(it->generate({kPrompts[0]}, {.most_tokens = SIZE_MAX}).error()),
              HasSubstr("the cache is too small"));
}

TEST_F(GeneratorTest, SaysWhatItCannotFeed) {
  const auto it = generator("int4", {.capacity = 8});
  ASSERT_TRUE(it);
  EXPECT_EQ(said(it->feed({{1}})), "there are tokens of 1 sequences, and 0 were started");
  it->start(2);
  EXPECT_EQ(said(it->feed({{1}, {}})), "sequence 1 has no token");
  EXPECT_EQ(said(it->feed({{1}, {96}})), "token 96 is outside of the vocabulary, 0 to 95");
  EXPECT_EQ(said(it->feed({{-1}, {1}})), "token -1 is outside of the vocabulary, 0 to 95");
  ASSERT_FALSE(it->next({}));
  ASSERT_TRUE(it->feed({{1, 2}, {3}}));
  EXPECT_EQ(said(it->feed({{1, 2}, {3}})),
            "sequence 0 gets 2 tokens, and sequence 1 gets 1\n"
            "  hint: only the first tokens of sequences may differ in number");
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
  for (const double temperature : {0.0, -1.0, 1e-40, 1e-300, 9e-7, 2e6, kInfinity, kNan}) {
    const std::string refusal = fmt::format(
        "the temperature is {}, and must be from 1e-06 to 1000000\n"
        "  hint: a top_k of 1 gives the most likely token",
        temperature);
    EXPECT_EQ(to_text(it->next({.top_k = 5, .temperature = temperature}).error()), refusal);
    const auto generated = it->generate({{1}}, {.sampling = {.top_k = 5, .temperature = temperature}});
    EXPECT_EQ(to_text(generated.error()), refusal);
  }
  it->start(1);
  ASSERT_TRUE(it->feed({{1}}));
  const auto coldest = it->next({.top_k = 0, .temperature = 1e-6}), greedy = it->next({});
  ASSERT_TRUE(coldest && greedy);
  EXPECT_EQ(*coldest, *greedy);
}

TEST_F(GeneratorTest, ATokenEndsASequence) {
  const auto it = generator("int4", {.capacity = 32});
  ASSERT_TRUE(it);
  std::vector<std::pair<size_t, int32_t>> heard;
  const auto generated =
      it->generate(kPrompts, {.most_tokens = 6, .end_tokens = {65, 1}}, [&](size_t sequence, int32_t token) {
        heard.emplace_back(sequence, token);
        return token != 50;
      });
  ASSERT_TRUE(generated) << to_text(generated.error());
  EXPECT_EQ(generated->tokens, (TokenLists{{13, 19, 65}, {40, 50}, {95, 1}}));
  EXPECT_EQ(heard.size(), 7u);
}

// With the inputs of the last run, a replay gives its logits again.
TEST_F(GeneratorTest, ARunIsTimedWithItsInputs) {
  const auto it = generator("int4", {.capacity = 32});
  ASSERT_TRUE(it);
  it->start(1);
  ASSERT_TRUE(it->feed({kPrompts[0]}));
  EXPECT_EQ(said(it->write_last_inputs(1)), "there was no run of 1 tokens");
  const HostTensor expected = *it->logits();
  const auto prepared = it->prepare(kPrompts[0].size());
  ASSERT_TRUE(prepared);
  for (int replay = 0; replay < 3; ++replay) {
    ASSERT_TRUE(it->write_last_inputs(kPrompts[0].size()));
    ASSERT_TRUE((*prepared)->replay());
    EXPECT_TRUE(it->logits()->data == expected.data);
  }
}

// By then the run of the next token was submitted. It leaves nothing behind that a later run reads.
TEST_F(GeneratorTest, GoesOnAfterAnEnd) {
  for (const Recorded& model : kRecorded) {
    const auto it = generator(model.name, {.capacity = 32});
    ASSERT_TRUE(it);
    const std::vector<int32_t>& expected = model.tokens.front();
    const auto generated = it->generate({kPrompts[0]}, {.most_tokens = 24, .end_tokens = {expected[2]}});
    ASSERT_TRUE(generated) << to_text(generated.error());
    EXPECT_EQ(generated->tokens.front(), (std::vector(expected.begin(), expected.begin() + 3)));
    EXPECT_EQ(it->lengths(), std::vector<int64_t>{7});
    EXPECT_FALSE(it->logits());
    for (size_t i = 2; i + 1 < expected.size(); ++i) {
      ASSERT_TRUE(it->feed({{expected[i]}}));
      const auto token = it->next({});
      ASSERT_TRUE(token);
      EXPECT_EQ(*token, std::vector<int32_t>{expected[i + 1]}) << i;
    }
  }
}

// The same seed, the same tokens; with one token to draw from, the greedy ones.
TEST_F(GeneratorTest, Sampled) {
  const auto it = generator("int4", {.capacity = 32});
  ASSERT_TRUE(it);
  const auto drawn = [&](const Sampling& sampling) {
    const auto generated = it->generate({kPrompts[0]}, {.most_tokens = 16, .sampling = sampling});
    return generated ? generated->tokens.front() : std::vector<int32_t>();
  };
  const auto first = drawn({.top_k = 8, .temperature = 2, .seed = 7});
  EXPECT_EQ(first.size(), 16u);
  EXPECT_EQ(first, drawn({.top_k = 8, .temperature = 2, .seed = 7}));
  EXPECT_NE(first, drawn({.top_k = 8, .temperature = 2, .seed = 8}));
  const auto cold = drawn({.top_k = 0, .temperature = 1e-4, .seed = 3});
  EXPECT_TRUE(std::ranges::equal(cold, std::span(kRecorded[0].tokens[0]).first(16)));
}

// The tokens are those of the operator `sample`, with the sequence and the number of the draw as the counter.
TEST_F(GeneratorTest, SamplesByTheOperator) {
  const auto it = generator("int4", {.capacity = 32});
  ASSERT_TRUE(it);
  it->start(2);
  TokenLists fed{{1, 2, 3}, {4, 5, 6}};
  for (int32_t draw = 0; draw < 5; ++draw) {
    ASSERT_TRUE(it->feed(fed));
    const std::vector<int32_t> counters{0, draw, 1, draw};
    const Request request{.inputs = {{"logits", *it->logits()},
                                     {"top_k", make_tensor<int32_t>(DType::i32, {1}, std::vector<int32_t>{20})},
                                     {"temperature", make_tensor<float>(DType::f32, {1}, std::vector<float>{1.5f})},
                                     {"seed", make_tensor<int32_t>(DType::i32, {2}, std::vector<int32_t>{9, 1})},
                                     {"draws", make_tensor<int32_t>(DType::i32, {2, 2}, counters)}}};
    const HostTensor expected = reference::find("sample")(request).at("output");
    const auto tokens = it->next({.top_k = 20, .temperature = 1.5, .seed = (uint64_t{1} << 32) + 9});
    ASSERT_TRUE(tokens) << to_text(tokens.error());
    EXPECT_TRUE(std::ranges::equal(*tokens, expected.as<int32_t>())) << "draw " << draw;
    fed = {{(*tokens)[0]}, {(*tokens)[1]}};
  }
}

// ---- int8 caches ----------------------------------------------------------------------------------------------------

// The largest difference of two results' logits, as a share of the largest logit.
double largest_difference(const HostTensor& given, const HostTensor& expected) {
  double difference = 0, largest = 0;
  for (int64_t i = 0; i < element_count(expected.shape); ++i) {
    difference = std::max(difference, std::abs(element(given, i) - element(expected, i)));
    largest = std::max(largest, std::abs(element(expected, i)));
  }
  return difference / largest;
}

// The same tokens are fed to both, also those after the prompt. On llvmpipe the difference was 0.006 to 0.0076.
TEST_F(GeneratorTest, LogitsOfInt8CachesAreNearThoseOfTheModel) {
  for (const std::string name : {"int4", "f16", "onnx", "multi_head"}) {
    SCOPED_TRACE(name);
    const auto exact = generator(name, {.capacity = 24}),
               quantized = generator(name, {.capacity = 24, .cache = Cache::int8});
    ASSERT_TRUE(exact && quantized);
    exact->start(kPrompts.size());
    quantized->start(kPrompts.size());
    TokenLists fed = kPrompts;
    double difference = 0;
    for (int step = 0; step < 16; ++step) {
      ASSERT_TRUE(exact->feed(fed));
      const Done done = quantized->feed(fed);
      ASSERT_TRUE(done) << to_text(done.error());
      difference = std::max(difference, largest_difference(*quantized->logits(), *exact->logits()));
      const auto next = exact->next({});
      ASSERT_TRUE(next);
      for (size_t b = 0; b < fed.size(); ++b) fed[b] = {(*next)[b]};
    }
    EXPECT_GT(difference, 0);
    EXPECT_LT(difference, 0.01);
    RecordProperty("largest_difference_of_" + name, fmt::format("{}", difference));
  }
}

// A prompt at once, and token by token: the caches have the same integers, up to roundings of what is quantized.
TEST_F(GeneratorTest, Int8CachesOfAPromptAndOfItsTokens) {
  const auto it = generator("int4", {.capacity = 8, .cache = Cache::int8});
  ASSERT_TRUE(it);
  it->start(1);
  ASSERT_TRUE(it->feed({kPrompts[0]}));
  const HostTensor at_once = *it->logits();
  it->start(1);
  for (const int32_t token : kPrompts[0]) ASSERT_TRUE(it->feed({{token}}));
  EXPECT_LT(largest_difference(*it->logits(), at_once), 1e-3);
  for (const int32_t token : {1, 2, 3}) ASSERT_TRUE(it->feed({{token}}));
  EXPECT_EQ(said(it->feed({{4}})),
            "the cache is full: it has room for 8 tokens, and sequence 0 has 8 and gets 1 more\n"
            "  hint: a larger capacity, or fewer tokens");
}

TEST_F(GeneratorTest, Int8CachesAreSmallAndTakeNoMoreLaunches) {
  const auto it = generator("int4", {.capacity = 32, .cache = Cache::int8});
  ASSERT_TRUE(it);
  const auto generated = it->generate({kPrompts[0]}, {.most_tokens = 2});
  ASSERT_TRUE(generated) << to_text(generated.error());
  EXPECT_EQ(generated->launches, 9u * 2 + 7);
  EXPECT_EQ(it->state_bytes(), 2u * 2 * 32 * (2 * 16 + 2 * 4));  // 2 layers, 2 heads of 16, two scales of f32
}

TEST_F(GeneratorTest, CachesThatCannotBeInt8OrPaged) {
  const auto said_of = [&](auto change, Cache form = Cache::int8) {
    auto graph = graph_of("int4");
    EXPECT_TRUE(graph);
    change(*graph);
    const auto made = Generator::create(context(), generated::operators::entries(), *std::move(graph),
                                        {.capacity = 8, .cache = form});
    return made ? "made" : to_text(made.error());
  };
  EXPECT_EQ(said_of([](Graph&) {}), "made");
  const auto read_twice = [](Graph& graph) {
    const ValueId keys = graph.states.front().output;
    graph.add_output("twice",
                     graph.add({.name = "twice", .op = "fused_add", .inputs = {{"input", keys}, {"other", keys}}}));
  };
  EXPECT_EQ(said_of(read_twice),
            "node 'twice' reads a cache, and is no attention with both keys and values of it\n"
            "  hint: only caches that attention alone reads can be int8");
  EXPECT_THAT(said_of(read_twice, Cache::paged), HasSubstr("only caches that attention alone reads can be paged"));
  EXPECT_THAT(said_of(read_twice, Cache::paged_int8), HasSubstr("can be paged and int8"));
  EXPECT_THAT(said_of([](Graph& graph) { graph.values[graph.states.front().input].shape = {}; }, Cache::paged),
              HasSubstr("only such caches can be paged"));
  EXPECT_EQ(said_of([](Graph& graph) {
              const ValueId before = graph.add_input("sum", DType::f32, {3});
              const ValueId after =
                  graph.add({.name = "next", .op = "fused_add", .inputs = {{"input", before}, {"other", before}}});
              graph.add_output("next", after);
              graph.states.push_back({before, after});
            }),
            "a state of the model is no cache of keys and values of a layer of attention\n"
            "  hint: only such caches can be int8");
}

// ---- caches in blocks -----------------------------------------------------------------------------------------------

// The logits of both, while the same tokens are fed: prompts of different lengths, and then a token at a time.
TEST_F(GeneratorTest, LogitsOfPagedCachesAreThoseOfWholeCaches) {
  const std::pair<Cache, Cache> forms[] = {{Cache::of_model, Cache::paged}, {Cache::int8, Cache::paged_int8}};
  for (const std::string name : {"int4", "f16", "onnx", "multi_head"}) {
    for (const auto& [size, form] : {std::pair{2, forms[0]}, {8, forms[0]}, {2, forms[1]}, {8, forms[1]}}) {
      SCOPED_TRACE(fmt::format("{}, blocks of {}{}", name, size, form == forms[1] ? " of int8" : ""));
      const auto whole = generator(name, {.capacity = 16, .cache = form.first}),
                 paged = generator(name, {.capacity = 16, .cache = form.second, .blocks = {.size = size}});
      ASSERT_TRUE(whole && paged);
      whole->start(kPrompts.size());
      paged->start(kPrompts.size());
      TokenLists fed = kPrompts;
      for (int step = 0; step < 8; ++step) {
        ASSERT_TRUE(whole->feed(fed));
        const Done done = paged->feed(fed);
        ASSERT_TRUE(done) << to_text(done.error());
        EXPECT_TRUE(paged->logits()->data == whole->logits()->data) << "step " << step;
        const auto next = whole->next({});
        ASSERT_TRUE(next);
        for (size_t b = 0; b < fed.size(); ++b) fed[b] = {(*next)[b]};
      }
    }
  }
}

// The capacity is no multiple of the size of a block. The pool has as many blocks as the tokens need.
TEST_F(GeneratorTest, PagedCachesGiveTheTokensOfOnnxRuntime) {
  for (const Recorded& model : kRecorded) {
    SCOPED_TRACE(model.name);
    const auto it = generator(model.name, {.capacity = 29, .cache = Cache::paged, .blocks = {.size = 8, .count = 12}});
    ASSERT_TRUE(it);
    const auto together = it->generate(kPrompts, {.most_tokens = 24});
    ASSERT_TRUE(together) << to_text(together.error());
    EXPECT_EQ(together->tokens, model.tokens);
    for (const size_t rows : {size_t{0}, size_t{1}, size_t{2}}) {
      const auto one = it->generate({kPrompts[0]}, {.most_tokens = 24, .prompt_rows = rows});
      ASSERT_TRUE(one) << to_text(one.error());
      EXPECT_EQ(one->tokens, TokenLists{model.tokens[0]}) << rows << " rows";
    }
  }
}

// One recording serves all lengths, in a new block too. The caches have one block more than the pool.
TEST_F(GeneratorTest, PagedCachesPrepareNothingForFurtherTokens) {
  const auto it = generator("int4", {.capacity = 32, .cache = Cache::paged, .blocks = {.size = 4, .count = 3}});
  ASSERT_TRUE(it);
  size_t reports = 0;
  context().on_call = [&](const Call&) { ++reports; };
  it->start(1);
  ASSERT_TRUE(it->feed({{1, 2, 3}}));
  ASSERT_TRUE(it->feed({{4}}));
  const size_t prepared = reports;
  for (const int32_t token : {5, 13, 19, 65}) ASSERT_TRUE(it->feed({{token}}));
  EXPECT_THAT(*it->next({}), ElementsAre(58));
  EXPECT_EQ(reports, prepared);
  EXPECT_EQ(it->state_bytes(), 4u * 2 * (3 + 1) * 4 * 16 * 4);  // 2 layers of keys and values, 2 heads of 16, f32
  const auto generated = it->generate({kPrompts[0]}, {.most_tokens = 2});
  context().on_call = nullptr;
  ASSERT_TRUE(generated) << to_text(generated.error());
  EXPECT_EQ(generated->launches, 9u * 2 + 7);
}

TEST_F(GeneratorTest, Int8BlocksAreSmallAndTakeNoMoreLaunches) {
  const auto it = generator("int4", {.capacity = 32, .cache = Cache::paged_int8, .blocks = {.size = 4, .count = 3}});
  ASSERT_TRUE(it);
  const auto generated = it->generate({kPrompts[0]}, {.most_tokens = 2});
  ASSERT_TRUE(generated) << to_text(generated.error());
  EXPECT_EQ(generated->launches, 9u * 2 + 7);
  EXPECT_EQ(it->state_bytes(), 2u * 2 * (3 + 1) * 4 * (2 * 16 + 2 * 4));  // 2 layers, 2 heads of 16, two scales of f32
}

TEST_F(GeneratorTest, AUsedUpPoolIsRefused) {
  const auto it = generator("int4", {.capacity = 16, .cache = Cache::paged, .blocks = {.size = 4, .count = 4}});
  ASSERT_TRUE(it);
  it->start(2);
  ASSERT_TRUE(it->feed({{1, 2, 3, 4, 5}, {7, 8}}));  // two blocks, and one
  for (const int32_t token : {13, 19}) ASSERT_TRUE(it->feed({{token}, {token}}));
  const std::string used_up =
      "the pool has 4 blocks of 4 tokens, and the sequences need 5 blocks\n"
      "  hint: more blocks, or fewer tokens";
  EXPECT_EQ(said(it->feed({{65, 58}, {65, 58}})), used_up);
  ASSERT_TRUE(it->feed({{65}, {65}}));  // a refusal takes no blocks
  EXPECT_EQ(said(it->feed({{58}, {58}})), used_up);
  EXPECT_THAT(said(it->generate(kPrompts, {.most_tokens = 4}).error()), HasSubstr("the sequences need 6 blocks"));
  it->start(1);
  for (int32_t token = 0; token < 16; ++token) ASSERT_TRUE(it->feed({{token}}));
  EXPECT_THAT(said(it->feed({{1}})), HasSubstr("the cache is full: it has room for 16 tokens"));
}

// Two prompts of 5 and 2 tokens, and up to 24 new ones: 4 + 3 blocks of 8 without an end.
TEST_F(GeneratorTest, ASequenceThatHasEndedGivesItsBlocksBack) {
  const TokenLists& expected = kRecorded[0].tokens;
  const std::vector<int32_t> of_second = {expected[1].begin(), expected[1].begin() + 3};
  const int32_t end = of_second.back();
  ASSERT_EQ(std::ranges::count(expected[0], end), 0);
  const TokenLists prompts = {kPrompts[0], kPrompts[1]};
  for (const Cache form : {Cache::paged, Cache::paged_int8}) {
    const auto of_pool = [&](int64_t count) {
      return generator("int4", {.capacity = 32, .cache = form, .blocks = {.size = 8, .count = count}});
    };
    const auto large = of_pool(8), small = of_pool(4);
    ASSERT_TRUE(large && small);
    const auto given = large->generate(prompts, {.most_tokens = 24, .end_tokens = {end}});
    ASSERT_TRUE(given) << to_text(given.error());
    if (form == Cache::paged) {
      EXPECT_EQ(given->tokens, (TokenLists{expected[0], of_second}));
    }
    const auto with_few = small->generate(prompts, {.most_tokens = 24, .end_tokens = {end}});
    ASSERT_TRUE(with_few) << to_text(with_few.error());
    EXPECT_EQ(with_few->tokens, given->tokens);
    // Nothing says that a sequence may end, or none ends.
    for (const std::vector<int32_t>& end_tokens : {std::vector<int32_t>{}, {-1}})
      EXPECT_THAT(said(small->generate(prompts, {.most_tokens = 24, .end_tokens = end_tokens}).error()),
                  HasSubstr("the pool has 4 blocks of 8 tokens, and the sequences need "));
  }
}

TEST_F(GeneratorTest, EndedSequencesOfSingleSteps) {
  const auto it = generator("int4", {.capacity = 16, .cache = Cache::paged, .blocks = {.size = 4, .count = 4}});
  ASSERT_TRUE(it);
  it->start(2);
  TokenLists fed{{1, 2, 3, 4, 5}, {7, 8}};
  std::vector<int32_t> tokens;
  for (int step = 0; step < 10; ++step) {
    ASSERT_TRUE(it->feed(fed)) << step;
    if (step == 1) {
      ASSERT_TRUE(it->end(1));
      ASSERT_TRUE(it->end(1));  // once more
    }
    const auto next = it->next({});
    ASSERT_TRUE(next);
    tokens.push_back((*next)[0]);
    fed = {{(*next)[0]}, {0}};
  }
  EXPECT_TRUE(std::ranges::equal(tokens, std::span(kRecorded[0].tokens[0]).first(10)));
  EXPECT_EQ(said(it->end(2)), "there is no sequence 2: 2 were started");
}

TEST_F(GeneratorTest, BlocksThatAreNone) {
  const auto said_of = [&](const Blocks& blocks) {
    const auto made = Generator::create(context(), generated::operators::entries(), *graph_of("int4"),
                                        {.capacity = 8, .cache = Cache::paged, .blocks = blocks});
    return made ? "made" : to_text(made.error());
  };
  EXPECT_EQ(said_of({.size = 16, .count = 0}), "made");
  EXPECT_EQ(said_of({.size = 12, .count = 0}), "a block has room for 12 tokens\n  hint: it must be a power of two");
  EXPECT_EQ(said_of({.size = 0, .count = 1}), "a block has room for 0 tokens\n  hint: it must be a power of two");
  EXPECT_EQ(said_of({.size = 16, .count = -1}), "the pool has -1 blocks, and must not have fewer than 0");
}

TEST_F(GeneratorTest, ModelsThatAreNone) {
  auto model = onnx::load_model(file_of("int4"));
  ASSERT_TRUE(model);
  const auto said_of = [&](const onnx::ImportOptions& options, const LanguageNames& names, int64_t capacity = 8) {
    auto imported = onnx::import_model(*model, options);
    if (!imported) return to_text(imported.error());
    const auto made = Generator::create(context(), generated::operators::entries(), std::move(imported->graph),
                                        {.capacity = capacity, .names = names});
    return made ? "made" : to_text(made.error());
  };
  const std::vector<onnx::StateNames> states = onnx::states_of(model->graph);
  EXPECT_EQ(states.size(), 4u);
  EXPECT_EQ(states.front(), (onnx::StateNames{"past_key_values.0.key", "present.0.key"}));
  EXPECT_EQ(said_of({.states = states}, {}), "made");
  EXPECT_THAT(to_text(Generator::create(context(), generated::operators::entries(), Graph(), {}).error()),
              HasSubstr("the model has no states"));
  EXPECT_EQ(said_of({.states = states}, {}, 64), "made");
  EXPECT_THAT(said_of({.states = states}, {}, 65),
              HasSubstr("the capacity is 65 tokens, and node 'layers.0.attention"));
  EXPECT_THAT(said_of({.states = states}, {}, 65), HasSubstr("' has angles for 64 positions\n"));
  const auto learned =
      Generator::create(context(), generated::operators::entries(), *graph_of("gpt2"), {.capacity = 41});
  EXPECT_THAT(to_text(learned.error()), HasSubstr("' has rows for 40 positions\n"));
  EXPECT_EQ(said_of({.states = states}, {.tokens = "ids"}), "the model has no input 'ids'");
  EXPECT_EQ(said_of({.states = states}, {.logits = "scores"}), "the model has no output 'scores'");
  std::vector<onnx::StateNames> others = states;
  others.push_back({"input_ids", "logits"});
  EXPECT_EQ(said_of({.states = others}, {}),
            "'input_ids' and 'logits' are no cache of a layer of attention\n"
            "  hint: qgen keeps only these between runs");
  EXPECT_EQ(said_of({.states = {{"past", "logits"}}}, {}), "state 'past' is no input of the model");
  EXPECT_EQ(said_of({.states = {{"input_ids", "present"}}}, {}), "state 'present' is no output of the model");
}

class StatesTest : public testing::ShippedTest {
 protected:
  // A sum over all runs, and twice the sum.
  struct Sum {
    Graph graph;
    ValueId x, before, after;
  };
  static Sum sum_of(const Shape& x) {
    Sum sum;
    sum.x = sum.graph.add_input("x", DType::f32, x);
    sum.before = sum.graph.add_input("sum", DType::f32, {3});
    sum.after = add(sum.graph, "next sum", sum.before, sum.x);
    sum.graph.add_output("next", sum.after);
    sum.graph.add_output("twice", add(sum.graph, "twice", sum.after, sum.after));
    sum.graph.states.push_back({sum.before, sum.after});
    return sum;
  }
  static ValueId add(Graph& graph, const std::string& name, ValueId a, ValueId b) {
    return graph.add({.name = name, .op = "fused_add", .inputs = {{"input", a}, {"other", b}}});
  }
};

TEST_F(StatesTest, AreWhatTheLastRunLeft) {
  Model model = model_of(sum_of({kAnySide}).graph);
  Model other = model.beside(context());  // has a sum of its own
  const Tensors input{{"x", testing::tensor_of(DType::f32, {3}, {1, 2, 3})}};
  const auto twice_is = [&](Model& of, double factor) {
    const auto outputs = of.run(input);
    ASSERT_TRUE(outputs) << to_text(outputs.error());
    EXPECT_EQ(outputs->size(), 1u);  // the state stays
    for (int64_t i = 0; i < 3; ++i)
      EXPECT_EQ(element(outputs->at("twice"), i), factor * 2 * static_cast<double>(i + 1));
  };
  for (const double runs : {1, 2, 3}) twice_is(model, runs);
  twice_is(other, 1);
  ASSERT_TRUE(model.clear_states());
  twice_is(model, 1);
  EXPECT_EQ(model.state_bytes(), 16u);
  EXPECT_EQ(to_text(model.compiled().error()), "a model with states cannot be compiled");
}

TEST_F(StatesTest, ThatAreRefused) {
  const auto said = [&](Graph graph, const Shape& x) {
    const auto prepared = model_of(std::move(graph)).prepare({{"x", x}});
    return prepared ? "prepared" : to_text(prepared.error());
  };
  EXPECT_EQ(said(sum_of({3}).graph, {3}), "prepared");
  EXPECT_EQ(said(sum_of({2, 3}).graph, {2, 3}), "state 'sum' is f32 [3] before a run, and f32 [2, 3] after it");
  Sum late = sum_of({3});
  late.graph.add_output("late", add(late.graph, "late", late.before, late.x));
  EXPECT_EQ(said(late.graph, {3}), "state 'sum' cannot be written in place by the node that computes 'next sum'");
  Sum none = sum_of({3});
  none.graph.states.push_back({none.after, none.after});
  EXPECT_EQ(said(none.graph, {3}), "a state is an input and an output of the graph");
}

}  // namespace
}  // namespace qgen::graph
