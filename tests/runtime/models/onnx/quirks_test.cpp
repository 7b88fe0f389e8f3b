// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Models as real exporters write them, in addition to the patterns' tests. A survey of models found these quirks:
//
//   Clip with one bound, attributes, bounds of f16      Activations.ClipWithOneBoundOrAttributes,
//                                                       Quirks.ClipWithBoundsOfHalves
//   HardSwish or SiLU between Conv and QuantizeLinear   Activations.AreATableIfItLosesAtMostAQuantum,
//                                                       Activations.TableOfSiluLosesAtMostAQuantum
//   initializers that several share                     Quirks.AWeightThatTwoLayersShareIsOneConstant
//   a DequantizeLinear for each reader                  Quirks.ADequantizeLinearForEachReaderIsNoMatter
//   a zero point that is left out or empty              Quirks.AZeroPointThatIsLeftOutIsUnsigned
//   Transpose or Reshape behind a weight's scales       Linear.ATransposedWeightTakesItsScalesAlong,
//                                                       Quirks.BlocksOfAVectorAreNoChannels
//   Transpose between quantization and its inverse      Quirks.ATransposeBetweenQuantizeAndDequantize
//   scales of ConvTranspose, with groups                Windows.Transposed,
//                                                       Quirks.ATransposedConvolutionWithAScaleForOutputsOfAllGroups
//   Gemm both ways, axis -1, a B of rank 3              Linear.GemmBothWays, Quirks.AScaleAxisFromTheEnd,
//                                                       Quirks.AConstantOfSeveralMatrices
//   auto_pad                                            Windows.AutoPad, Windows.AutoPadOfAnUnknownSideIsRefused
//   pads that differ at both ends                       Windows.PaddingOfFourNumbersAndDilation
//   ceil_mode with a window wholly in padding           Quirks.AWindowWhollyInPaddingIsLeftOut
//   three ways to say a mean of an image                Windows.GlobalMeansAreOneOperator
//   shapes by Shape, Gather, Concat                     Quirks.ShapesThatAreComputed
//   what Softmax is quantized to                        Quirks.SoftmaxIsQuantizedToFixedParameters
//   weights of -128                                     Quirks.AWeightOfTheLeastByteStays
//   a sum with reals, of which one note tells           Residuals.AnAddendOfRealsStaysOne,
//                                                       Quirks.SeveralAddendsOfRealsAreToldOnce
//   QuantizeLinear at the input                         QuantizedOperators.UnsignedBytesAtTheDoor
//   Resize with sizes or scales                         Movements.ResizesOfNearestPixels, .ResizesThatAreRefused
//   opset 10, and com.microsoft's operators             Quirks.OpsetTenAndMicrosoftsOwn, QuantizedOperators.*
//   BatchNormalization that was not folded              Normalization.*
//   external data beyond 2 GB; raw and typed data       External.BeyondTwoGigabytes, Reader.RawAndTypedData
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/models/onnx/compared.h"
#include "tests/support/expected_text.h"

namespace qgen::onnx::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Quirks, ClipWithBoundsOfHalves) {
  ModelBuilder m;
  const std::string x = m.view(m.input("x", {-1, 4, 6, 6}), 0.05f, 3);
  const auto half = [&](int64_t bits) { return m.integers(ElementType::f16, {}, {bits}); };
  m.output(m.view(m.node("Clip", {m.conv(x, {8, 4, 3, 3}), half(0xb800), half(0x4000)}), 0.02f, 4));  // -0.5 and 2
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_conv2d q8ta_dequantize");
  compare(m, {1, 4, 6, 6}, 0.02f);
  ModelBuilder halves;
  const std::string low = halves.integers(ElementType::f16, {}, {0xb800});
  halves.output(halves.node("Clip", {halves.input("x", {4}, ElementType::f16), low}));
  EXPECT_EQ(imported_operators(halves), "fused_clip");
  EXPECT_EQ(std::get<double>(halves.import()->graph.nodes[0].attributes.at("low")), -0.5);
}

// Scales go along the outputs of one group: one for each output of all of them would be ambiguous.
TEST(Quirks, ATransposedConvolutionWithAScaleForOutputsOfAllGroups) {
  ModelBuilder m;
  const std::string x = m.view(m.input("x", {-1, 4, 6, 6}), 0.05f, 3);
  const std::string w =
      m.node("DequantizeLinear",
             {m.random_integers(ElementType::i8, {4, 3, 3, 3}, -127, 127), m.random_reals({6}, 0.01, 0.02)},
             {{"axis", int64_t{1}}});
  m.output(m.view(m.node("ConvTranspose", {x, w}, {{"group", int64_t{2}}}), 0.1f, 0));
  EXPECT_TEXT(imported_operators(m),
              "node 'DequantizeLinear_2' (DequantizeLinear): it has scales [6] for 3 elements along axis 1");
}

TEST(Quirks, AScaleAxisFromTheEnd) {
  ModelBuilder m;
  const std::string x = m.view(m.input("x", {-1, 5, 8}), 0.05f, 3);
  const std::string w = m.node("DequantizeLinear",
                               {m.random_integers(ElementType::i8, {8, 6}, -127, 127), m.random_reals({6}, 0.01, 0.02)},
                               {{"axis", int64_t{-1}}});
  m.output(m.view(m.node("MatMul", {x, w}), 0.1f, 2));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_linear q8ta_dequantize");
  compare(m, {2, 5, 8}, 0.1f);
}

TEST(Quirks, AConstantOfSeveralMatrices) {
  for (const int64_t count : {1, 2}) {
    ModelBuilder m;
    const std::string x = m.view(m.input("x", {2, 5, 8}), 0.05f, 3);
    m.output(m.view(m.node("MatMul", {x, m.weight({count, 8, 6}, 2)}), 0.1f, 2));
    EXPECT_EQ(imported_operators(m), count == 1 ? "q8ta_quantize_linear q8ta_linear q8ta_dequantize"
                                                : "q8ta_quantize_linear bmm q8ta_dequantize");
    compare(m, {2, 5, 8}, 0.1f);
  }
}

// Two places and not three: the third would read padding alone.
TEST(Quirks, AWindowWhollyInPaddingIsLeftOut) {
  for (const std::string op : {"MaxPool", "AveragePool"}) {
    for (const bool is_quantized : {true, false}) {
      ModelBuilder m;
      const std::string x = m.input("x", {-1, 4, 6, 6});
      const std::string y = m.node(op, {is_quantized ? m.view(x, 0.05f, 3) : x},
                                   {{"kernel_shape", std::vector<int64_t>{2, 2}},
                                    {"strides", std::vector<int64_t>{3, 3}},
                                    {"pads", std::vector<int64_t>{0, 0, 1, 1}},
                                    {"ceil_mode", int64_t{1}}});
      m.output(is_quantized ? m.view(y, 0.05f, 3) : y);
      const auto outputs = judged(m.import()->graph, {{"x", Random(3).reals(DType::f32, {2, 4, 6, 6}, -2, 2)}});
      ASSERT_TRUE(outputs) << to_text(outputs.error());
      EXPECT_EQ(outputs->begin()->second.shape, (Shape{2, 4, 2, 2})) << op;
      compare(m, {2, 4, 6, 6}, is_quantized ? 0.05f : 1e-3f);
    }
  }
}

TEST(Quirks, SoftmaxIsQuantizedToFixedParameters) {
  struct Row {
    ElementType type;
    float scale;
    int64_t zero_point;
  };
  const Row rows[] = {
      {ElementType::u8, 1.0f / 256, 0}, {ElementType::i8, 1.0f / 256, -128}, {ElementType::i8, 1.0f / 127, 0}};
  for (const Row& row : rows) {
    ModelBuilder m;
    const std::string x = m.view(m.input("x", {-1, 5, 8}), 0.05f, 3);
    m.output(m.view(m.node("Softmax", {x}), row.scale, row.zero_point, row.type));
    EXPECT_EQ(imported_operators(m),
              "q8ta_quantize_linear q8ta_dequantize softmax q8ta_quantize_linear q8ta_dequantize");
    compare(m, {2, 5, 8}, row.scale);
  }
}

TEST(Quirks, AWeightOfTheLeastByteStays) {
  ModelBuilder m;
  const std::string x = m.view(m.input("x", {-1, 2, 6, 6}), 0.05f, 3);
  m.output(m.view(m.node("Conv", {x, m.dequantize(m.integers(ElementType::i8, {1, 2, 1, 1}, {-128, -127}), 0.01f, 0)}),
                  0.02f, 0));
  const auto imported = m.import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  const auto& inputs = imported->graph.nodes[1].inputs;
  const auto codes = std::ranges::find(inputs, "weight", &graph::Port::operand)->value;
  EXPECT_EQ(imported->graph.values[codes].data->as<int8_t>()[0], -128);
  compare(m, {1, 2, 6, 6}, 0.02f);
}

TEST(Quirks, SeveralAddendsOfRealsAreToldOnce) {
  ModelBuilder m;
  const std::string x = m.view(m.input("x", {-1, 4, 6, 6}), 0.05f, 3);
  for (int i = 0; i < 3; ++i) m.output(m.view(m.node("Add", {m.view(m.conv(x, {4, 4, 1, 1}), 0.1f, 0), "x"}), 0.1f, 0));
  const auto imported = m.import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  const auto texts = texts_of(imported->notes);
  ASSERT_EQ(texts.size(), 1U);
  EXPECT_THAT(texts[0], HasSubstr("and 2 more: becomes fused_add"));
}

TEST(Quirks, EachOpsetFromThirteenOn) {
  for (int64_t opset = 13; opset <= 25; ++opset) {
    ModelBuilder m(opset);
    const std::string x = m.view(m.input("x", {-1, 4, 6, 6}), 0.05f, 3);
    const std::string layer = m.node("Relu", {m.conv(x, {8, 4, 3, 3}, {{"pads", std::vector<int64_t>{1, 0, 2, 1}}})});
    m.output(m.view(layer, 0.1f, -128));
    EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_conv2d q8ta_dequantize") << opset;
    compare(m, {2, 4, 6, 6}, 0.1f);
  }
  for (const int64_t opset : {0, 26})
    EXPECT_THAT(imported_operators(ModelBuilder(opset)), ::testing::HasSubstr("and qgen reads 1 to 25"));
}

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
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_table q8ta_dequantize");
}

TEST(Quirks, AZeroPointThatIsLeftOutIsUnsigned) {
  for (const bool is_empty : {false, true}) {
    ModelBuilder m;
    std::vector<std::string> inputs{m.input("x", {4}), m.scalar(0.1f)};
    if (is_empty) inputs.push_back("");
    m.output(m.node("QuantizeLinear", inputs));
    EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear requantize");
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
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear");
}

TEST(Quirks, ATransposeBetweenQuantizeAndDequantize) {
  ModelBuilder m;
  const std::string codes = m.quantize(m.input("x", {-1, 1, 6, 4}), 0.05f, 3);
  const std::string turned = m.node("Transpose", {codes}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
  m.output(m.dequantize(turned, 0.05f, 3));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear reshape q8ta_dequantize");
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
  EXPECT_TEXT(imported->notes[0].reason,
              "its bias has a scale of 0.25, and its sums have 0.0005763082850919407; the bias is dequantized and "
              "added");
  compare(m, {1, 4, 6, 6}, 0.1f);
}

TEST(Quirks, AFloatWeightThatTheModelQuantizes) {
  ModelBuilder m;
  const std::string x = m.view(m.input("x", {-1, 4, 6, 6}), 0.05f, 3);
  std::vector<float> reals;
  for (int i = 0; i < 32; ++i) reals.push_back(static_cast<float>(m.random.real(-1, 1)));
  const std::string w = m.view(m.reals({8, 4, 1, 1}, reals), 0.01f, 0);
  m.output(m.view(m.node("Conv", {x, w}), 0.1f, 0));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_conv2d q8ta_dequantize");
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
  EXPECT_EQ(operators_of(imported->graph), "q8ta_quantize_linear reshape q8ta_dequantize");
  EXPECT_EQ(std::get<std::vector<int64_t>>(imported->graph.nodes[1].attributes.at("shape")),
            (std::vector<int64_t>{0, 4, 36}));
}

TEST(Quirks, ASideOfNoElementsMayMove) {
  ModelBuilder m(14);
  const std::string x = m.node("Relu", {m.input("x", {1, 3, 0, 9})});
  m.output(m.node("Reshape", {x, m.list({9, 0, 3, 1})}, {{"allowzero", int64_t{1}}}));
  const auto imported = m.import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_EQ(std::get<std::vector<int64_t>>(imported->graph.nodes.back().attributes.at("shape")),
            (std::vector<int64_t>{9, -1, 3, 1}));
}

TEST(Quirks, SoftmaxesOfNoElementsAreEmpty) {
  for (const std::string op : {"LogSoftmax", "Hardmax"}) {
    ModelBuilder m;
    m.output(m.node(op, {m.node("Relu", {m.input("x", {0, 4})})}, {{"axis", int64_t{0}}}));
    EXPECT_EQ(imported_operators(m), "fused_relu") << op;
  }
}

TEST(Quirks, TwoUnknownSidesThatChangeTheirPlacesAreRefused) {
  ModelBuilder m;
  ValueInfo info{"x", ElementType::f32, std::vector<InputSide>{{0, "batch"}, {0, "length"}, {4, ""}}};
  m.model.graph.inputs.push_back(info);
  const std::string shape = m.node("Shape", {"x"});
  const auto side = [&](int64_t i) { return m.node("Gather", {shape, m.list({i})}); };
  const std::string target = m.node("Concat", {side(1), side(0), m.list({4})}, {{"axis", int64_t{0}}});
  m.output(m.node("Reshape", {"x", target}));
  EXPECT_TEXT(imported_operators(m),
              "node 'Reshape_4' (Reshape): [?, ?, 4] is reshaped to [?, ?, 4], which has two unknown dimensions");
}

// As PyTorch's exporters write expand(-1, 4): each dimension is compared with -1, and a dimension is never negative.
TEST(Quirks, DimensionsAreNotMinusOne) {
  const auto shape_of_model = [](std::string_view op) {
    ModelBuilder m;
    const std::string x = m.input("x", {-1, 4, 2}), shape = m.node("Shape", {x});
    const auto side = [&](int64_t i) { return m.node("Gather", {shape, m.list({i})}); };
    const std::string batch = op.empty() ? side(0) : m.node(std::string(op), {side(0), m.list({3})});
    const std::string wanted = m.node("Concat", {batch, m.list({-1}), m.list({2})}, {{"axis", int64_t{0}}});
    const std::string chosen =
        m.node("Where", {m.node("Equal", {wanted, m.list({-1, -1, -1})}), m.list({1, 4, 1}), wanted});
    m.output(m.node("Reshape", {m.node("Relu", {x}), chosen}));
    return imported_operators(m);
  };
  EXPECT_EQ(shape_of_model(""), "fused_relu");
  // A difference can be -1.
  EXPECT_THAT(shape_of_model("Sub"), ::testing::HasSubstr("an input is computed of unknown dimensions"));
}

TEST(Quirks, AConcatOfOneValueIsNoConcat) {
  ModelBuilder m;
  const std::string one = m.node("Concat", {m.input("x", {2, 4})}, {{"axis", int64_t{-2}}});
  m.output(m.node("Relu", {one}));
  m.model.graph.nodes.push_back(
      {.name = "dead", .op = "Concat", .inputs = {"x"}, .attributes = {{"axis", int64_t{2}}}});
  EXPECT_EQ(imported_operators(m), "fused_relu");
}

// Dead nodes are visited too.
TEST(Quirks, NodesWithoutOutputs) {
  for (const std::string op : {"QuickGelu", "BiasGelu", "EmbedLayerNormalization"}) {
    ModelBuilder m;
    m.output(m.node("Relu", {m.input("x", {2, 4})}));
    m.model.graph.nodes.push_back({.name = "dead", .op = op, .domain = "com.microsoft", .inputs = {"x"}});
    EXPECT_EQ(imported_operators(m), "fused_relu") << op;
  }
}

TEST(Quirks, OpsetTenAndMicrosoftsOwn) {
  ModelBuilder m(10);
  const std::string x = m.input("x", {-1, 4});
  const std::string q = m.node("QuantizeLinear", {x, m.scalar(0.1f), m.zero(0, ElementType::i8)}, {}, "com.microsoft");
  m.output(m.node("DequantizeLinear", {q, m.scalar(0.1f), m.zero(0, ElementType::i8)}, {}, "com.microsoft"));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_dequantize");
  m.model.opsets[""] = 0;
  EXPECT_TEXT(imported_operators(m), "the model has opset 0, and qgen reads 1 to 25");
}

// Attributes that ended with opset 7: that a model does not train, or that an operand is repeated.
TEST(Quirks, OpsetsBeforeSeven) {
  ModelBuilder m(6);
  const std::string x = m.input("x", {2, 3, 4, 4});
  const std::string sum = m.node("Add", {x, m.reals({4}, {1, 2, 3, 4})}, {{"broadcast", int64_t{1}}});
  m.output(m.node("PRelu", {m.node("Dropout", {sum}, {{"is_test", int64_t{1}}}), m.reals({3}, {1, 2, 3})}));
  EXPECT_EQ(imported_operators(m), "fused_add pointwise");
  ModelBuilder along(6);
  along.output(along.node("Add", {along.input("x", {2, 3, 4, 4}), along.reals({3}, {1, 2, 3})},
                          {{"broadcast", int64_t{1}}, {"axis", int64_t{1}}}));
  EXPECT_EQ(imported_operators(along), "fused_add");
}

TEST(Quirks, AnInitializerThatIsAnInputTooIsAConstant) {
  ModelBuilder m;
  const std::string x = m.view(m.input("x", {-1, 4}), 0.1f, 0);
  EXPECT_EQ(m.model.graph.inputs.size(), 1U);
  m.output(m.node("Identity", {x}));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_dequantize");
}

TEST(Quirks, NodesInAnyOrderAndNodesThatNothingNeeds) {
  ModelBuilder m;
  m.output(m.view(m.input("x", {-1, 4}), 0.1f, 0));
  m.node("Softmax", {"x"});
  std::ranges::reverse(m.model.graph.nodes);
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_dequantize");
}

// Sides without elements cost a file nothing.
TEST(Quirks, WeightsWithoutElementsAreRefused) {
  ModelBuilder m;
  const std::string x = m.view(m.input("x", {1, 4, 6, 6}), 0.05f, 3);
  const std::string w = m.dequantize(m.integers(ElementType::i8, {int64_t{1} << 40, 0, 1, 1}, {}), 0.1f, 0);
  m.output(m.view(m.node("Conv", {x, w}, {{"group", INT64_MAX}}), 0.1f, 0));
  EXPECT_TEXT(imported_operators(m), "node 'Conv_3' (Conv): its weight has no elements");
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
  EXPECT_TEXT(imported_operators(m),
              "node 'ConvTranspose_3' (ConvTranspose): an input [1, 4, 1099511627776, 6] has a dimension of more "
              "than 2^30");
}

TEST(Quirks, BlocksOfAVectorAreNoChannels) {
  ModelBuilder m(21);
  const std::string codes = m.random_integers(ElementType::i8, {8, 1}, -127, 127);
  const std::string w = m.node("DequantizeLinear", {codes, m.reals({2, 1}, {0.1f, 0.2f})},
                               {{"axis", int64_t{0}}, {"block_size", int64_t{4}}});
  m.output(m.node("Add", {m.node("Reshape", {w, m.list({8})}), m.input("x", {8})}));
  EXPECT_TEXT(imported_operators(m),
              "node 'Reshape_1' (Reshape): scales [2, 1] of [8, 1] cannot be kept in a reshape to [8]");
}

TEST(Quirks, AConvolutionOfAVector) {
  ModelBuilder m;
  const std::string x = m.view(m.input("x", {1, 4}), 0.05f, 3);
  m.output(
      m.view(m.node("Conv", {x, m.dequantize(m.random_integers(ElementType::i8, {4}, -127, 127), 0.1f, 0)}), 0.1f, 0));
  EXPECT_TEXT(imported_operators(m),
              "node 'Conv_3' (Conv): an input [1, 4] and a weight [4] are neither images [N, C, H, W] nor rows [N, "
              "C, L]");
}

}  // namespace
}  // namespace qgen::onnx::testing
