// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Language models of the package transformers, in small and with random weights, as PyTorch 2.11 exported them
// (bench/models/export_language_models.py). llama, gpt_neox and llama_int4 were traced (TorchScript), mistral and qwen3
// are exported programs. llama_optimized is an exported program that ONNX Runtime has saved after its extended
// optimizations, and llama_int4 is what its MatMulNBits quantizer made of llama. Models with biases of positions, GPT-J and
// decoders of encoder models are smaller: mpt and t5 were traced, and bloom, gptj, falcon and bart are exported programs.
// Their weights were made larger, so that tokens differ, and values of traced ones have short names. mpt_half is mpt in
// f16. The tokens are ONNX Runtime's (bench/models/generate_onnxruntime.js).
#include <gtest/gtest.h>

#include "runtime/models/graph/generator.h"
#include "runtime/models/onnx/import.h"
#include "tests/support/document.h"
#include "tests/support/shipped_test.h"

namespace qgen::graph {
namespace {

struct Exported {
  std::string name;
  std::vector<int32_t> tokens;  // after the prompt
  int64_t rotations = 4;
  std::vector<int32_t> prompt = {5, 17, 33, 2, 90};
};
const std::vector<int32_t> kLowPrompt = {5, 17, 33, 2, 60};  // of a vocabulary of 64 tokens
const Exported kExported[] = {
    {"llama", {100, 30, 88, 42, 100, 30, 25, 94, 14, 42, 100, 93, 12, 14, 42, 3, 125, 93, 4, 32, 98, 21, 4, 83}},
    {"llama_optimized",
     {100, 30, 88, 42, 100, 30, 25, 94, 14, 42, 100, 93, 12, 14, 42, 3, 125, 93, 4, 32, 98, 21, 4, 83}},
    {"llama_int4", {100, 30, 66, 42, 25, 42, 30, 94, 81, 5, 98, 80, 12, 5, 98, 5, 83, 94, 83, 94, 83, 30, 4, 89}},
    {"mistral", {100, 71, 32, 71, 97, 9, 63, 83, 78, 11, 116, 31, 92, 17, 67, 51, 38, 102, 63, 117, 108, 103, 89, 101}},
    {"qwen3", {110, 31, 110, 31, 110, 116, 4, 36, 36, 36, 1, 4, 1, 1, 95, 20, 48, 92, 91, 105, 114, 110, 31, 84}},
    {"gpt_neox", {114, 97, 43, 97, 43, 97, 17, 123, 65, 86, 91, 42, 28, 12, 31, 60, 59, 97, 46, 72, 2, 91, 42, 28}},
    {"bloom",
     {21, 30, 24, 54, 43, 7, 22, 54, 58, 43, 14, 4, 63, 30, 50, 30, 50, 30, 50, 30, 50, 30, 50, 30},
     0,
     kLowPrompt},
    {"mpt",
     {61, 43, 2, 40, 1, 27, 21, 41, 2, 27, 21, 17, 42, 30, 17, 47, 47, 47, 47, 47, 47, 47, 47, 47},
     0,
     kLowPrompt},
    {"gptj",
     {15, 4, 50, 15, 35, 56, 21, 45, 44, 5, 52, 56, 5, 16, 41, 2, 13, 18, 33, 15, 31, 28, 5, 52},
     4,
     kLowPrompt},
    {"falcon",
     {19, 24, 24, 51, 6, 57, 14, 36, 43, 22, 19, 59, 60, 35, 22, 22, 19, 59, 60, 8, 43, 20, 8, 43},
     4,
     kLowPrompt},
};

Expected<Graph> exported_graph(const std::string& name) {
  const std::string file = tests::source_folder() + "/tests/runtime/models/graph/exported/" + name + ".onnx";
  auto imported = onnx::import_model(std::filesystem::path(file), {.finds_states = true});
  if (!imported) return imported.error();
  return std::move(imported->graph);
}

class ExportedTest : public testing::ShippedTest, public ::testing::WithParamInterface<Exported> {
 protected:
  static Expected<Graph> graph() { return exported_graph(GetParam().name); }
};

// The whole prompt at once, and token by token.
TEST_P(ExportedTest, TokensAreThoseOfOnnxRuntime) {
  auto graph = ExportedTest::graph();
  ASSERT_TRUE(graph) << to_text(graph.error());
  const auto generator =
      Generator::create(context(), generated::operators::entries(), *std::move(graph), {.capacity = 32});
  ASSERT_TRUE(generator) << to_text(generator.error());
  for (const size_t rows : {size_t{0}, size_t{1}}) {
    const auto generated = (*generator)->generate({GetParam().prompt}, {.most_tokens = 24, .prompt_rows = rows});
    ASSERT_TRUE(generated) << to_text(generated.error());
    EXPECT_EQ(generated->tokens, TokenLists{GetParam().tokens}) << rows << " rows";
  }
}

// Both layers: keys and values stay on the device, and no matrix of scores is in memory.
TEST_P(ExportedTest, AttentionAndRotationAreOneNodeEach) {
  const auto graph = ExportedTest::graph();
  ASSERT_TRUE(graph) << to_text(graph.error());
  const auto count = [&](std::string_view op) { return std::ranges::count(graph->nodes, op, &Node::op); };
  EXPECT_EQ(count("attention"), 2);
  EXPECT_EQ(count("softmax"), 0);
  EXPECT_EQ(count("rotary_embedding"), GetParam().rotations);
  EXPECT_EQ(graph->states.size(), 4u);
}

INSTANTIATE_TEST_SUITE_P(PyTorch, ExportedTest, ::testing::ValuesIn(kExported),
                         [](const auto& test) { return test.param.name; });

// Decoders that read an encoder's keys and values, of which the last two are padding.
class ExportedDecoderTest : public ExportedTest {};

Tensors inputs_of(const Generator& generator) {
  constexpr int64_t kLength = 7;
  Tensors inputs;
  for (const auto& [name, desc] : generator.needed_inputs()) {
    Shape shape = desc.shape;
    if (name == onnx::kTokens) continue;
    std::ranges::replace(shape, kAnySide, kLength);
    shape.front() = 1;
    HostTensor& tensor = inputs.emplace(name, zeros(desc.dtype, shape)).first->second;
    const auto length = static_cast<int64_t>(name.size());
    for (int64_t i = 0; i < element_count(shape); ++i) {
      const int64_t value = desc.dtype == DType::i32 ? int64_t{i < kLength - 2} : (i * 37 + length * 11) % 101 - 50;
      set_element(tensor, i, static_cast<double>(value) / (desc.dtype == DType::i32 ? 1 : 32));
    }
  }
  return inputs;
}

TEST_P(ExportedDecoderTest, TokensAreThoseOfOnnxRuntime) {
  auto graph = ExportedTest::graph();
  ASSERT_TRUE(graph) << to_text(graph.error());
  EXPECT_EQ(std::ranges::count(graph->nodes, "attention", &Node::op), 4);
  const auto generator =
      Generator::create(context(), generated::operators::entries(), *std::move(graph), {.capacity = 24});
  ASSERT_TRUE(generator) << to_text(generator.error());
  const Done set = (*generator)->set_inputs(inputs_of(**generator));
  ASSERT_TRUE(set) << to_text(set.error());
  for (const size_t rows : {size_t{0}, size_t{1}, size_t{3}}) {
    const auto generated = (*generator)->generate({GetParam().prompt}, {.most_tokens = 16, .prompt_rows = rows});
    ASSERT_TRUE(generated) << to_text(generated.error());
    EXPECT_EQ(generated->tokens, TokenLists{GetParam().tokens}) << rows << " rows";
  }
}

const Exported kDecoders[] = {
    {"t5", {46, 59, 32, 52, 15, 32, 52, 15, 24, 32, 52, 48, 15, 46, 32, 52}, 0, {3, 17, 9, 30}},
    {"bart", {26, 26, 26, 59, 59, 59, 63, 63, 63, 63, 63, 6, 63, 20, 20, 63}, 0, {3, 17, 9, 30}},
};
INSTANTIATE_TEST_SUITE_P(PyTorch, ExportedDecoderTest, ::testing::ValuesIn(kDecoders),
                         [](const auto& test) { return test.param.name; });

class PositionBiasTest : public testing::ShippedTest {};

// In f32, ALiBi is computed once. In f16 it is of distances, which each sequence has its own of.
TEST_F(PositionBiasTest, SequencesOfABatch) {
  const std::vector<int32_t> prompts[] = {{5, 17, 33, 2, 60}, {9, 3}};
  for (const std::string name : {"bloom", "mpt", "mpt_half"}) {
    SCOPED_TRACE(name);
    auto graph = exported_graph(name);
    ASSERT_TRUE(graph) << to_text(graph.error());
    const auto generator =
        Generator::create(context(), generated::operators::entries(), *std::move(graph), {.capacity = 40});
    ASSERT_TRUE(generator) << to_text(generator.error());
    EXPECT_TRUE((*generator)->needed_inputs().empty());
    const auto all = (*generator)->generate({prompts[0], prompts[1]}, {.most_tokens = 12});
    ASSERT_TRUE(all) << to_text(all.error());
    const auto& nodes = (*generator)->model().graph().nodes;
    const auto multiplies = [](const Node& node) { return node.name.starts_with("written out Mul"); };
    EXPECT_EQ(std::ranges::any_of(nodes, multiplies), name == "mpt_half");
    for (size_t i = 0; i < 2; ++i) {
      const auto one = (*generator)->generate({prompts[i]}, {.most_tokens = 12});
      ASSERT_TRUE(one) << to_text(one.error());
      EXPECT_EQ(one->tokens.front(), all->tokens[i]);
    }
  }
}

}  // namespace
}  // namespace qgen::graph
