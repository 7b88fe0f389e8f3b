// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The network of scripts/demo, from its file to its answers on the device: bit-exact with its operators' definitions,
// and mostly right on scenes outside its training set.
#include <gtest/gtest.h>

#include "examples/picture/answers.h"
#include "runtime/models/onnx/import.h"
#include "runtime/models/onnx/reader.h"
#include "runtime/workshop/model/judge.h"
#include "tests/support/shipped_test.h"
#include "tests/support/source_folder.h"

namespace qgen::picture {
namespace {

constexpr uint32_t kJudgedSeed = 1000000;  // of train.py

class RecognisedTest : public testing::ShippedTest {
 protected:
  void SetUp() override {
    ShippedTest::SetUp();
    auto imported = onnx::import_model(tests::source_folder() + "/examples/picture/scenes.onnx");
    ASSERT_TRUE(imported) << to_text(imported.error());
    EXPECT_TRUE(imported->notes.empty()) << imported->notes.front().reason;
    graph = std::move(imported->graph);
    model.emplace(model_of(graph));
  }

  static Tensors input_of(const Drawing& drawing) {
    HostTensor image = drawing.image;
    image.shape.insert(image.shape.begin(), 1);
    return {{"input", std::move(image)}};
  }
  HostTensor logits_of(const Drawing& drawing) {
    auto outputs = model->run(input_of(drawing));
    EXPECT_TRUE(outputs) << to_text(outputs.error());
    return outputs ? outputs->begin()->second : HostTensor();
  }
  double right_of(const Drawing& drawing) {
    const auto answers = answers_of(logits_of(drawing), drawing.kinds);
    const auto right = std::ranges::count_if(answers, [](const Answer& answer) { return answer.said == answer.shown; });
    return static_cast<double>(right) / static_cast<double>(answers.size());
  }

  graph::Graph graph;
  std::optional<graph::Model> model;
};

TEST_F(RecognisedTest, IsItsDefinition) {
  const Drawing drawing = draw(random_scene(kJudgedSeed), kHeight, kWidth);
  const auto expected = model::outputs_by_reference(graph, generated::operators::entries(), input_of(drawing));
  ASSERT_TRUE(expected) << to_text(expected.error());
  EXPECT_TRUE(logits_of(drawing).data == expected->begin()->second.data);
}

TEST_F(RecognisedTest, ScenesThatItNeverSaw) {
  constexpr uint32_t kScenes = 10;
  double right = 0;
  for (uint32_t i = 0; i < kScenes; ++i) right += right_of(draw(random_scene(kJudgedSeed + i), kHeight, kWidth));
  EXPECT_GT(right / kScenes, 0.97);
  EXPECT_GT(right_of(draw(demo_scene(), kHeight, kWidth)), 0.98);
}

}  // namespace
}  // namespace qgen::picture
