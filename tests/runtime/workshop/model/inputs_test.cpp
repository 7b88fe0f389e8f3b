// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Inputs and outputs as a person names them.
#include "runtime/workshop/model/inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/expected_text.h"

namespace qgen::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

graph::Graph graph_with(std::initializer_list<const char*> inputs) {
  graph::Graph graph;
  for (const char* name : inputs) graph.add_input(name, DType::f32, {graph::kAnySide, 2});
  graph.add_output("y=1", graph.inputs.front());
  return graph;
}

TEST(Inputs, AreMadeUpWhereNoneIsGiven) {
  auto inputs = inputs_of(graph_with({"a", "b"}), {.shapes = {"a=3x2:f32=1"}, .batch = 5}, {});
  ASSERT_TRUE(inputs) << to_text(inputs.error());
  EXPECT_THAT(inputs->random_inputs, ElementsAre("a", "b"));
  EXPECT_EQ(inputs->tensors.at("a").shape, (Shape{3, 2}));
  EXPECT_EQ(inputs->tensors.at("b").shape, (Shape{5, 2}));
  EXPECT_TRUE(inputs->tensors.at("b").data.empty()) << "a shape that is refused costs no memory";
  ASSERT_TRUE(make(*inputs));
  EXPECT_EQ(element(inputs->tensors.at("a"), 5), 1);
  const auto numbers = inputs->tensors.at("b").as<float>();
  EXPECT_TRUE(std::ranges::all_of(numbers, [](float x) { return x >= -1 && x <= 1; }));
  EXPECT_NE(numbers[0], numbers[1]);
}

TEST(Inputs, HaveTheShapesOfACompiledModel) {
  const auto inputs = inputs_of(graph_with({"a"}), {}, {{"a", {7, 2}}});
  ASSERT_TRUE(inputs);
  EXPECT_EQ(inputs->tensors.at("a").shape, (Shape{7, 2}));
}

TEST(Inputs, NamesAreKnown) {
  const auto refusal = [](const graph::Graph& graph, const Arguments& arguments) {
    const auto inputs = inputs_of(graph, arguments, {});
    return inputs ? std::string() : inputs.error().message;
  };
  EXPECT_THAT(refusal(graph_with({"a", "b"}), {.inputs = {"x.npy"}}), HasSubstr("--input takes name=file"));
  EXPECT_THAT(refusal(graph_with({"a", "b"}), {.inputs = {"c=x.npy"}}), HasSubstr("the model has no 'c'"));
  EXPECT_THAT(refusal(graph_with({"a"}), {.inputs = {"no-such-file.npy"}}), HasSubstr("no-such-file.npy"));
  EXPECT_THAT(refusal(graph_with({"a"}), {.shapes = {"a=1x2:f32", "a=1x2:f32"}}), HasSubstr("given twice"));
}

// A name may contain the separator between a name and a file.
TEST(Outputs, AreNamed) {
  const graph::Graph graph = graph_with({"a"});
  const auto only = files_of_outputs(graph, "--output", {"out.npy"});
  ASSERT_TRUE(only);
  EXPECT_EQ(only->at("y=1"), "out.npy");
  const auto named = files_of_outputs(graph, "--output", {"y=1=out.npy"});
  ASSERT_TRUE(named);
  EXPECT_EQ(named->at("y=1"), "out.npy");
  const auto of_no_file = files_of_outputs(graph, "--output", {"y=1="});
  ASSERT_FALSE(of_no_file);
  EXPECT_TEXT(to_text(of_no_file.error()), "--output 'y=1=' names no file\n  hint: y=1=file.npy");
}

}  // namespace
}  // namespace qgen::model
