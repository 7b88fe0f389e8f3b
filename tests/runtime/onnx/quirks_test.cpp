// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What real exporters write, beside the patterns' own tests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/onnx/compared.h"

namespace qgen::onnx::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Quirks, AWeightThatTwoLayersShareIsOneConstant) {
  ModelBuilder m;
  const std::string x = m.view(m.input("x", {-1, 4, 6, 6}), 0.05f, 3);
  const std::string codes = m.random_integers(ElementType::i8, {4, 4, 1, 1}, -127, 127);
  std::string y = x;
  for (int i = 0; i < 2; ++i) y = m.view(m.node("Conv", {y, m.dequantize(codes, 0.01f, 0)}), 0.05f, 0);
  m.output(y);
  const auto imported = m.import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  const auto weight_of = [&](size_t node) {
    return std::ranges::find(imported->graph.nodes[node].inputs, "weight", &graph::Port::operand)->value;
  };
  EXPECT_EQ(weight_of(1), weight_of(2));
}

TEST(Quirks, ADequantizeLinearForEachReaderIsNoMatter) {
  ModelBuilder m;
  const std::string codes = m.quantize(m.input("x", {-1, 4, 6, 6}), 0.05f, 3);
  const std::string a = m.dequantize(codes, 0.05f, 3), b = m.dequantize(codes, 0.05f, 3);
  m.output(m.view(m.node("Add", {a, b}), 0.1f, 0));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize q8ta_add q8ta_dequantize");
}

TEST(Quirks, AZeroPointThatIsLeftOutIsUnsigned) {
  for (const bool is_empty : {false, true}) {
    ModelBuilder m;
    std::vector<std::string> inputs{m.input("x", {4}), m.scalar(0.1f)};
    if (is_empty) inputs.push_back("");
    m.output(m.node("QuantizeLinear", inputs));
    EXPECT_EQ(imported_operators(m), "q8ta_quantize requantize");
    const auto outputs = judged(m.import()->graph, {{"x", qgen::testing::tensor_of(DType::f32, {4}, {-1, 0, 1, 100})}});
    ASSERT_TRUE(outputs) << to_text(outputs.error());
    const auto codes = outputs->begin()->second.as<uint8_t>();
    EXPECT_EQ(std::vector<int>(codes.begin(), codes.end()), (std::vector<int>{0, 0, 10, 255}));
  }
}

TEST(Quirks, AScaleOfOneElementIsOne) {
  ModelBuilder m;
  const std::string x = m.input("x", {2, 3});
  m.output(m.node("QuantizeLinear", {x, m.reals({1}, {0.1f}), m.integers(ElementType::i8, {1}, {3})}));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize");
}

TEST(Quirks, ATransposeBetweenQuantizeAndDequantize) {
  ModelBuilder m;
  const std::string codes = m.quantize(m.input("x", {-1, 1, 6, 4}), 0.05f, 3);
  const std::string turned = m.node("Transpose", {codes}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
  m.output(m.dequantize(turned, 0.05f, 3));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize reshape q8ta_dequantize");
  compare(m, {2, 1, 6, 4}, 0.05f);
}

TEST(Quirks, ABiasWhoseScaleIsNotThatOfItsSums) {
  ModelBuilder m;
  const std::string x = m.view(m.input("x", {-1, 4, 6, 6}), 0.05f, 3);
  const std::string b =
      m.node("DequantizeLinear", {m.integers(ElementType::i32, {8}, {1, 2, 3, 4, 5, 6, 7, 8}), m.scalar(0.25f)});
  m.output(m.view(m.node("Conv", {x, m.weight({8, 4, 3, 3}), b}), 0.1f, 0));
  const auto imported = m.import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  ASSERT_EQ(imported->notes.size(), 1U);
  EXPECT_THAT(imported->notes[0].reason, HasSubstr("its bias has a scale of 0.25"));
  compare(m, {1, 4, 6, 6}, 0.1f);
}

TEST(Quirks, AFloatWeightThatTheModelQuantizes) {
  ModelBuilder m;
  const std::string x = m.view(m.input("x", {-1, 4, 6, 6}), 0.05f, 3);
  std::vector<float> reals;
  for (int i = 0; i < 32; ++i) reals.push_back(static_cast<float>(m.random.real(-1, 1)));
  const std::string w = m.view(m.reals({8, 4, 1, 1}, reals), 0.01f, 0);
  m.output(m.view(m.node("Conv", {x, w}), 0.1f, 0));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize q8ta_conv2d q8ta_dequantize");
  compare(m, {1, 4, 6, 6}, 0.1f);
}

TEST(Quirks, ShapesThatAreComputed) {
  ModelBuilder m;
  const std::string x = m.view(m.input("x", {-1, 4, 6, 6}), 0.05f, 3);
  const std::string shape = m.node("Shape", {x});
  const std::string batch = m.node("Slice", {shape, m.list({0}), m.list({1}), m.list({0})});
  const std::string sides = m.node("Slice", {shape, m.list({2}), m.list({INT64_MAX}), m.list({0})});
  const auto side = [&](int64_t i) {
    const std::string one = m.node("Gather", {sides, m.integers(ElementType::i64, {}, {i})});
    return m.node("Cast", {one}, {{"to", int64_t{7}}});
  };
  const std::string pixels = m.node("Unsqueeze", {m.node("Mul", {side(0), side(1)}), m.list({0})});
  const std::string target = m.node("Concat", {batch, m.list({-1}), pixels}, {{"axis", int64_t{0}}});
  m.output(m.node("Reshape", {x, target}));
  const auto imported = m.import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_EQ(operators_of(imported->graph), "q8ta_quantize reshape q8ta_dequantize");
  EXPECT_EQ(std::get<std::vector<int64_t>>(imported->graph.nodes[1].attributes.at("shape")),
            (std::vector<int64_t>{0, 4, 36}));
}

TEST(Quirks, TwoUnknownSidesThatChangeTheirPlacesAreRefused) {
  ModelBuilder m;
  ValueInfo info{"x", ElementType::f32, std::vector<InputSide>{{0, "batch"}, {0, "length"}, {4, ""}}};
  m.model.graph.inputs.push_back(info);
  const std::string shape = m.node("Shape", {"x"});
  const auto side = [&](int64_t i) { return m.node("Gather", {shape, m.list({i})}); };
  const std::string target = m.node("Concat", {side(1), side(0), m.list({4})}, {{"axis", int64_t{0}}});
  m.output(m.node("Reshape", {"x", target}));
  EXPECT_THAT(imported_operators(m), HasSubstr("two sides that are not known"));
}

TEST(Quirks, OpsetTenAndMicrosoftsOwn) {
  ModelBuilder m(10);
  const std::string x = m.input("x", {-1, 4});
  const std::string q = m.node("QuantizeLinear", {x, m.scalar(0.1f), m.zero(0, ElementType::i8)}, {}, "com.microsoft");
  m.output(m.node("DequantizeLinear", {q, m.scalar(0.1f), m.zero(0, ElementType::i8)}, {}, "com.microsoft"));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize q8ta_dequantize");
  m.model.opsets[""] = 6;
  EXPECT_THAT(imported_operators(m), HasSubstr("the model is of opset 6"));
}

TEST(Quirks, AnInitializerThatIsAnInputTooIsAConstant) {
  ModelBuilder m;
  const std::string x = m.view(m.input("x", {-1, 4}), 0.1f, 0);
  EXPECT_EQ(m.model.graph.inputs.size(), 1U);
  m.output(m.node("Identity", {x}));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize q8ta_dequantize");
}

TEST(Quirks, NodesInAnyOrderAndNodesThatNothingNeeds) {
  ModelBuilder m;
  m.output(m.view(m.input("x", {-1, 4}), 0.1f, 0));
  m.node("Softmax", {"x"});
  std::ranges::reverse(m.model.graph.nodes);
  EXPECT_EQ(imported_operators(m), "q8ta_quantize q8ta_dequantize");
}

// Sides without elements cost a file nothing.
TEST(Quirks, WeightsWithoutElementsAreRefused) {
  ModelBuilder m;
  const std::string x = m.view(m.input("x", {1, 4, 6, 6}), 0.05f, 3);
  const std::string w = m.dequantize(m.integers(ElementType::i8, {int64_t{1} << 40, 0, 1, 1}, {}), 0.1f, 0);
  m.output(m.view(m.node("Conv", {x, w}, {{"group", INT64_MAX}}), 0.1f, 0));
  EXPECT_THAT(imported_operators(m), HasSubstr("has no elements"));
}

TEST(Quirks, NumbersThatOverflow) {
  const std::pair<std::string, AttributeData> rows[] = {{"group", INT64_MAX},
                                                        {"group", INT64_MIN},
                                                        {"strides", std::vector<int64_t>{INT64_MAX, 1}},
                                                        {"pads", std::vector<int64_t>{INT64_MAX, 0, 0, INT64_MAX}},
                                                        {"dilations", std::vector<int64_t>{int64_t{1} << 31, 1}},
                                                        {"output_padding", std::vector<int64_t>{INT64_MAX, 1}},
                                                        {"output_shape", std::vector<int64_t>{INT64_MIN, 1}}};
  for (const auto& [name, value] : rows) {
    ModelBuilder m;
    const std::string x = m.view(m.input("x", {1, 4, 6, 6}), 0.05f, 3);
    m.output(m.view(m.node("ConvTranspose", {x, m.weight({4, 3, 3, 3}, 1)}, {{name, value}}), 0.1f, 0));
    EXPECT_FALSE(m.import()) << name;
  }
  ModelBuilder m;
  const std::string x = m.view(m.input("x", {1, 4, int64_t{1} << 40, 6}), 0.05f, 3);
  m.output(m.view(m.node("ConvTranspose", {x, m.weight({4, 3, 3, 3}, 1)}), 0.1f, 0));
  EXPECT_THAT(imported_operators(m), HasSubstr("has a side of more than 2^30"));
}

TEST(Quirks, BlocksOfAVectorAreNoChannels) {
  ModelBuilder m(21);
  const std::string codes = m.random_integers(ElementType::i8, {8, 1}, -127, 127);
  const std::string w = m.node("DequantizeLinear", {codes, m.reals({2, 1}, {0.1f, 0.2f})},
                               {{"axis", int64_t{0}}, {"block_size", int64_t{4}}});
  m.output(m.node("Add", {m.node("Reshape", {w, m.list({8})}), m.input("x", {8})}));
  EXPECT_THAT(imported_operators(m), HasSubstr("do not become those of"));
}

TEST(Quirks, AConvolutionOfAVector) {
  ModelBuilder m;
  const std::string x = m.view(m.input("x", {1, 4}), 0.05f, 3);
  m.output(
      m.view(m.node("Conv", {x, m.dequantize(m.random_integers(ElementType::i8, {4}, -127, 127), 0.1f, 0)}), 0.1f, 0));
  EXPECT_THAT(imported_operators(m), HasSubstr("are no images or rows"));
}

}  // namespace
}  // namespace qgen::onnx::testing
