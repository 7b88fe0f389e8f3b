// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Language models of the package transformers, in small and with random weights, as PyTorch 2.11 exported them
// (bench/models/export_language_models.py). llama, gpt_neox and llama_int4 were traced (TorchScript), mistral and qwen3
// are exported programs. llama_optimized is an exported program that ONNX Runtime has saved after its extended
// optimizations, and llama_int4 is what its MatMulNBits quantizer made of llama. The tokens are ONNX Runtime's
// (bench/models/generate_onnxruntime.js).
#include <gtest/gtest.h>

#include "runtime/models/graph/generator.h"
#include "runtime/models/onnx/import.h"
#include "tests/support/document.h"
#include "tests/support/shipped_test.h"

namespace qgen::graph {
namespace {

struct Exported {
  std::string name;
  std::vector<int32_t> tokens;  // after kPrompt
};
const std::vector<int32_t> kPrompt = {5, 17, 33, 2, 90};
const Exported kExported[] = {
    {"llama", {100, 30, 88, 42, 100, 30, 25, 94, 14, 42, 100, 93, 12, 14, 42, 3, 125, 93, 4, 32, 98, 21, 4, 83}},
    {"llama_optimized",
     {100, 30, 88, 42, 100, 30, 25, 94, 14, 42, 100, 93, 12, 14, 42, 3, 125, 93, 4, 32, 98, 21, 4, 83}},
    {"llama_int4", {100, 30, 66, 42, 25, 42, 30, 94, 81, 5, 98, 80, 12, 5, 98, 5, 83, 94, 83, 94, 83, 30, 4, 89}},
    {"mistral", {100, 71, 32, 71, 97, 9, 63, 83, 78, 11, 116, 31, 92, 17, 67, 51, 38, 102, 63, 117, 108, 103, 89, 101}},
    {"qwen3", {110, 31, 110, 31, 110, 116, 4, 36, 36, 36, 1, 4, 1, 1, 95, 20, 48, 92, 91, 105, 114, 110, 31, 84}},
    {"gpt_neox", {114, 97, 43, 97, 43, 97, 17, 123, 65, 86, 91, 42, 28, 12, 31, 60, 59, 97, 46, 72, 2, 91, 42, 28}},
};

class ExportedTest : public testing::ShippedTest, public ::testing::WithParamInterface<Exported> {
 protected:
  static Expected<Graph> graph() {
    const std::string file =
        tests::source_folder() + "/tests/runtime/models/graph/exported/" + GetParam().name + ".onnx";
    auto imported = onnx::import_model(std::filesystem::path(file), {.finds_states = true});
    if (!imported) return imported.error();
    return std::move(imported->graph);
  }
};

// The whole prompt at once, and token by token.
TEST_P(ExportedTest, TokensAreThoseOfOnnxRuntime) {
  auto graph = ExportedTest::graph();
  ASSERT_TRUE(graph) << to_text(graph.error());
  const auto generator =
      Generator::create(context(), generated::operators::entries(), *std::move(graph), {.capacity = 32});
  ASSERT_TRUE(generator) << to_text(generator.error());
  for (const size_t rows : {size_t{0}, size_t{1}}) {
    const auto generated = (*generator)->generate({kPrompt}, {.most_tokens = 24, .prompt_rows = rows});
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
  EXPECT_EQ(count("rotary_embedding"), 4);
  EXPECT_EQ(graph->states.size(), 4u);
}

INSTANTIATE_TEST_SUITE_P(PyTorch, ExportedTest, ::testing::ValuesIn(kExported),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace qgen::graph
