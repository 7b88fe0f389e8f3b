// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The list of a model's nodes without an operator, and the checks of its inputs before the import.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/models/onnx/model_builder.h"
#include "tests/support/expected_text.h"

namespace qgen::onnx::testing {
namespace {

TEST(Support, ListsAllThatIsMissing) {
  ModelBuilder m;
  m.input("x", {1, 4});
  const std::string lost = m.node("Det", {m.node("Relu", {"x"})});
  m.output(m.node("Unique", {lost}));
  m.output(m.node("NonZero", {"x"}));
  m.output(m.node("NonZero", {m.node("Relu", {"x"})}));
  const auto support = check_support(m.model);
  ASSERT_TRUE(support) << to_text(support.error());
  EXPECT_EQ(support->nodes, 6U);
  std::vector<std::string> lines;
  for (const Lack& lack : support->lacks)
    lines.push_back(fmt::format("{} x {}: {}", lack.nodes.size(), lack.op, lack.reason));
  EXPECT_THAT(lines, ::testing::UnorderedElementsAre("1 x Det: qgen does not know this operator",
                                                     "1 x Unique: qgen does not know this operator",
                                                     "2 x NonZero: qgen does not know this operator"));
  EXPECT_TEXT(imported_operators(m),
              "node 'Det_1' (Det): qgen does not know this operator\n"
              "these nodes cannot be imported either:\n"
              "  Unique (node 'Unique_2'): qgen does not know this operator\n"
              "  NonZero (2 nodes, the first is 'NonZero_3'): qgen does not know this operator");
}

TEST(Support, OfAModelThatIsRead) {
  ModelBuilder m;
  m.input("x", {1, 4});
  m.output(m.node("Relu", {"x"}));
  const auto support = check_support(m.model);
  ASSERT_TRUE(support) << to_text(support.error());
  EXPECT_TRUE(support->lacks.empty());
}

TEST(Support, OfAModelThatIsNone) {
  ModelBuilder m;
  m.input("x", {1, 4});
  m.output(m.node("Relu", {"y"}));
  EXPECT_TEXT(to_text(check_support(m.model).error()),
              "node 'Relu_0' reads 'y', which is neither an input of the model nor a result of a node");
}

// ---- shapes ---------------------------------------------------------------------------------------------------------

std::vector<InputSide> sides(const std::vector<std::string>& names) {
  std::vector<InputSide> list;
  for (const std::string& name : names) {
    const bool is_number = name.find_first_not_of("0123456789") == std::string::npos;
    list.push_back(is_number ? InputSide{std::stoll(name), {}} : InputSide{0, name});
  }
  return list;
}

struct TwoImages : ModelBuilder {
  explicit TwoImages(const std::vector<std::string>& of_y) {
    model.graph.inputs.push_back({"x", ElementType::f32, sides({"N", "3", "H", "W"})});
    model.graph.inputs.push_back({"y", ElementType::f32, sides(of_y)});
    output(node("Add", {"x", "y"}));
  }
};

TEST(Sides, OfUnknownNamesGoTogether) {
  for (const auto& of_y : {std::vector<std::string>{"N", "3", "H", "W"}, {"M", "3", "K", "5"}, {"1", "3", "1", "1"}})
    EXPECT_EQ(imported_operators(TwoImages(of_y)), "fused_add");
}

TEST(Sides, AreBoundByName) {
  TwoImages m({"N", "3", "H", "W"});
  const auto imported = import_model(m.model, {.shapes = {{"x", {2, 3, 8, 6}}}});
  ASSERT_TRUE(imported) << to_text(imported.error());
  for (const graph::ValueId input : imported->graph.inputs)
    EXPECT_EQ(imported->graph.values[input].shape, (Shape{2, 3, 8, 6}));
  const auto said = [&](graph::InputShapes shapes) {
    return to_text(import_model(m.model, {.shapes = std::move(shapes)}).error());
  };
  EXPECT_TEXT(said({{"x", {2, 3, 8, 6}}, {"y", {2, 3, 9, 6}}}),
              "input 'y' is given as [2, 3, 9, 6], and its side 'H' is 8 of input 'x'");
  EXPECT_TEXT(said({{"x", {2, 4, 8, 6}}}),
              "input 'x' is given as [2, 4, 8, 6], and the model has a side of 3 along axis 1");
  EXPECT_TEXT(said({{"x", {2, 3}}}), "input 'x' is given as [2, 3], and the model has it of rank 4");
}

// A residual block keeps its sides, whose names are not numbers.
TEST(Sides, SurviveWindows) {
  ModelBuilder m;
  m.model.graph.inputs.push_back({"x", ElementType::f32, sides({"N", "4", "H", "W"})});
  const std::string x = m.view("x", 0.05f, 0);
  const std::string y = m.view(m.conv(x, {4, 4, 3, 3}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}}), 0.06f, 2);
  m.output(m.view(m.node("Add", {y, x}), 0.1f, 0));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_conv2d q8ta_dequantize") << "the sum is the residual";
}

TEST(Constants, StandForTypesThatAreNotComputedWith) {
  ModelBuilder m;
  m.input("x", {1, 4});
  m.model.graph.inputs.push_back({"sr", ElementType::i64, std::vector<InputSide>()});
  const std::string factor = m.node("Cast", {"sr"}, {{"to", int64_t{1}}});
  m.output(m.node("Mul", {"x", factor}));
  const int32_t rate = 16000;
  const auto imported =
      import_model(m.model, {.constants = {{"sr", make_tensor<int32_t>(DType::i32, {}, std::span(&rate, 1))}}});
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_EQ(operators_of(imported->graph), "fused_mul");
  EXPECT_EQ(imported_operators(m), "pointwise fused_mul");
}

}  // namespace
}  // namespace qgen::onnx::testing
