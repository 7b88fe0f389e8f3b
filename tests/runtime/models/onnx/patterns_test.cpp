// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Each row of the table of patterns: graphs that it matches, and graphs that it must not match.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tests/runtime/models/onnx/compared.h"
#include "tests/support/expected_text.h"

namespace qgen::onnx::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Pads = std::vector<int64_t>;

const graph::Node& node_of(const Imported& imported, std::string_view op) {
  return *std::ranges::find(imported.graph.nodes, op, &graph::Node::op);
}
template <typename T>
T attribute_of(const graph::Node& node, std::string_view name) {
  return std::get<T>(node.attributes.find(name)->second);
}
bool reads(const graph::Node& node, std::string_view operand) {
  return std::ranges::find(node.inputs, operand, &graph::Port::operand) != node.inputs.end();
}

struct Image : ModelBuilder {
  std::string x = view(input("x", {-1, 4, 6, 6}), 0.05f, 3);
};

// ---- activations ----------------------------------------------------------------------------------------------------

TEST(Activations, ReluIsAWord) {
  Image m;
  m.output(m.view(m.node("Relu", {m.conv(m.x, {8, 4, 3, 3})}), 0.1f, -100));
  const auto imported = m.import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_EQ(attribute_of<std::string>(node_of(*imported, "q8ta_conv2d"), "activation"), "relu");
  EXPECT_EQ(node_of(*imported, "q8ta_conv2d").name, "Conv_3 + Relu_4");
  compare(m, {1, 4, 6, 6}, 0.1f);
}

// A zero point above the least integer: a Relu that is dropped would let negative values through.
TEST(Activations, ReluWithAHighZeroPointStays) {
  Image m;
  m.output(m.view(m.node("Relu", {m.conv(m.x, {8, 4, 3, 3})}), 0.1f, 0));
  compare(m, {1, 4, 6, 6}, 0.1f);
}

TEST(Activations, OddBoundsAreATableThatIsExact) {
  Image m;
  m.output(m.view(m.node("Clip", {m.conv(m.x, {8, 4, 3, 3}), m.scalar(-0.7f), m.scalar(3.3f)}), 0.05f, 4));
  const auto imported = m.import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_TRUE(reads(node_of(*imported, "q8ta_conv2d"), "table"));
  EXPECT_THAT(imported->notes, IsEmpty());
  compare(m, {1, 4, 6, 6}, 0.05f);
}

TEST(Activations, ClipWithOneBoundOrAttributes) {
  for (const bool has_attributes : {false, true}) {
    Image m;
    if (has_attributes) m.model.opsets[""] = 10;
    const std::string codes = m.random_integers(ElementType::i8, {8, 4, 3, 3}, -127, 127);
    const std::string y = m.node("Conv", {m.x, m.dequantize(codes, 0.02f, 0)});
    m.output(m.view(
        has_attributes ? m.node("Clip", {y}, {{"min", 0.0f}, {"max", 6.0f}}) : m.node("Clip", {y, "", m.scalar(2.5f)}),
        0.05f, 4));
    if (!has_attributes) compare(m, {1, 4, 6, 6}, 0.05f);
    else EXPECT_EQ(attribute_of<std::string>(node_of(*m.import(), "q8ta_conv2d"), "activation"), "relu6");
  }
}

TEST(Activations, TwoBoundsAreTheirCommonOnes) {
  Image m;
  const std::string y = m.node("Relu", {m.conv(m.x, {8, 4, 3, 3})});
  m.output(m.view(m.node("Clip", {y, m.scalar(-1), m.scalar(6)}), 0.05f, 4));
  EXPECT_EQ(attribute_of<std::string>(node_of(*m.import(), "q8ta_conv2d"), "activation"), "relu6");
}

// A table reads integers that the model does not have. So a function becomes one only if no result can differ by more
// than one; otherwise it is computed in floating point.
TEST(Activations, AreATableIfItLosesAtMostAQuantum) {
  const std::string fused = "q8ta_quantize_linear q8ta_conv2d q8ta_dequantize";
  const auto with = [](std::string_view function) {
    return fmt::format("q8ta_quantize_linear q8ta_conv2d_dequantize {} q8ta_quantize_linear q8ta_dequantize", function);
  };
  struct Row {
    std::string op;
    float scale;
    int zero_point;
    std::string operators;
    bool has_table = false;
  };
  const Row rows[] = {
      {"HardSwish", 0.08f, -20, fused},                      // a word
      {"Sigmoid", 0.02f, -128, fused, true},                 // of a coarse result
      {"Sigmoid", 1.0f / 256, -128, with("fused_sigmoid")},  // 1.6 quanta
      {"LeakyRelu", 0.08f, -20, with("pointwise")},          // 20 quanta: steep on one side only
      {"Exp", 0.05f, -128, with("pointwise")},               // steep at one end
      {"Log", 0.02f, 100, with("pointwise")},                // undefined below 0
  };
  for (const Row& row : rows) {
    Image m;
    m.output(m.view(m.node(row.op, {m.conv(m.x, {8, 4, 3, 3})}), row.scale, row.zero_point));
    EXPECT_EQ(imported_operators(m), row.operators) << row.op << " " << row.scale;
    const auto imported = m.import();
    ASSERT_TRUE(imported) << row.op << ": " << to_text(imported.error());
    EXPECT_EQ(imported->notes.size(), row.op == "HardSwish" ? 0U : 1U) << row.op;
    if (row.operators == fused) {
      EXPECT_EQ(reads(node_of(*imported, "q8ta_conv2d"), "table"), row.has_table) << row.op;
    }
    if (!row.has_table && row.op != "Log") compare(m, {1, 4, 6, 6}, row.scale);
  }
}

TEST(Activations, TableOfSiluLosesAtMostAQuantum) {
  Image m;
  const std::string y = m.conv(m.x, {8, 4, 3, 3});
  m.output(m.view(m.node("Mul", {y, m.node("Sigmoid", {y})}), 0.1f, -125));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_conv2d q8ta_dequantize");
  const auto imported = m.import();
  const auto data = Random(11).reals(DType::f32, {1, 4, 6, 6}, -2, 2);
  const auto outputs = judged(imported->graph, {{"x", data}});
  ASSERT_TRUE(outputs) << to_text(outputs.error());
  Floats given{{1, 4, 6, 6}, {}};
  for (int64_t i = 0; i < 144; ++i) given.values.push_back(element(data, i));
  const auto expected = FloatJudge(m.model).run({{"x", given}});
  const Floats& wanted = expected.at(m.model.graph.outputs[0].name);
  for (size_t i = 0; i < wanted.values.size(); ++i)
    EXPECT_NEAR(element(outputs->begin()->second, static_cast<int64_t>(i)), wanted.values[i], 0.101) << i;
}

// Between QuantizeLinear and DequantizeLinear after a layer: its epilogue has the function of the layer's bytes.
TEST(Activations, OfALayersBytesAreItsTable) {
  for (const std::string op : {"LeakyRelu", "HardSwish", "Sigmoid", "Relu"}) {
    for (const bool is_read_twice : {false, true}) {
      Image m;
      const std::string y = m.view(m.conv(m.x, {8, 4, 3, 3}), 0.05f, 3);
      m.output(m.view(m.node(op, {y}), 0.02f, -7));
      if (is_read_twice) m.output(m.view(m.node("Transpose", {y}, {{"perm", Pads{0, 2, 3, 1}}}), 0.05f, 3));
      const auto imported = m.import();
      ASSERT_TRUE(imported) << op << ": " << to_text(imported.error());
      EXPECT_EQ(reads(node_of(*imported, "q8ta_conv2d"), "table"), !is_read_twice) << op;
      if (!is_read_twice) {
        EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_conv2d q8ta_dequantize") << op;
      }
      compare(m, {1, 4, 6, 6}, 0.05f);
    }
  }
}

// The residual of a layer with a table: the sum reads the table's results.
TEST(Activations, ALayersTableIsBeforeItsResidual) {
  Image m;
  const std::string y = m.view(m.conv(m.x, {4, 4, 1, 1}), 0.05f, 3);
  const std::string gated = m.view(m.node("Sigmoid", {y}), 0.005f, -128);
  m.output(m.view(m.node("Add", {m.x, gated}), 0.06f, -9));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_conv2d q8ta_dequantize");
  compare(m, {1, 4, 6, 6}, 0.06f);
}

TEST(Activations, OfAQuantizedValueAreOperators) {
  const std::pair<std::string, std::string> rows[] = {{"Relu", "q8ta_relu"},
                                                      {"HardSwish", "q8ta_hardswish"},
                                                      {"Sigmoid", "q8ta_sigmoid"},
                                                      {"LeakyRelu", "q8ta_leaky_relu"},
                                                      {"Clip", "requantize"}};
  for (const auto& [op, becomes] : rows) {
    Image m;
    m.output(m.view(op == "Clip" ? m.node(op, {m.x, m.scalar(-1), m.scalar(1)}) : m.node(op, {m.x}), 0.03f, -7));
    EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear " + becomes + " q8ta_dequantize");
    compare(m, {1, 4, 6, 6}, 0.03f);
  }
}

// Where no table can be, functions are chains.
TEST(Activations, OfRealsAreChains) {
  const auto becomes = [](const std::function<void(Image&)>& build) {
    Image m;
    build(m);
    return imported_operators(m);
  };
  EXPECT_EQ(becomes([](Image& m) { m.output(m.node("Softmax", {m.node("Erf", {m.x})})); }),
            "q8ta_quantize_linear q8ta_dequantize pointwise softmax");
  EXPECT_EQ(becomes([](Image& m) { m.output(m.node("Elu", {m.x})); }),
            "q8ta_quantize_linear q8ta_dequantize pointwise");
  EXPECT_EQ(becomes([](Image& m) { m.output(m.node("Erf", {"x"})); }), "pointwise");
  // A value with several readers is computed immediately.
  EXPECT_EQ(becomes([](Image& m) {
              const std::string y = m.node("Erf", {m.conv(m.x, {4, 4, 1, 1})});
              m.output(m.node("Add", {y, y}));
            }),
            "q8ta_quantize_linear q8ta_conv2d_dequantize pointwise fused_add");
  // A sum has no table.
  EXPECT_EQ(becomes([](Image& m) {
              m.output(m.view(m.node("Relu", {m.node("Erf", {m.node("Add", {m.x, m.x})})}), 0.1f, 0));
            }),
            "q8ta_quantize_linear fused_add pointwise fused_relu q8ta_quantize_linear q8ta_dequantize");
}

TEST(Activations, SeveralOfRealsAreAnOperatorEach) {
  Image m;
  const std::string y = m.node("Sigmoid", {m.node("Relu", {m.conv(m.x, {4, 4, 1, 1})})});
  m.output(m.node("Clip", {m.node("Relu", {m.node("HardSwish", {y})}), m.scalar(0.1f), m.scalar(0.5f)}));
  const auto imported = m.import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_EQ(operators_of(imported->graph),
            "q8ta_quantize_linear q8ta_conv2d_dequantize fused_sigmoid fused_hardswish fused_clip");
  EXPECT_EQ(attribute_of<std::string>(imported->graph.nodes[1], "activation"), "relu");
  EXPECT_EQ(imported->graph.nodes[4].name, "Relu_7 + Clip_8");
  compare(m, {1, 4, 6, 6}, 1e-3f);
  Image sum;
  const std::string gate = sum.node("Sigmoid", {sum.node("HardSwish", {sum.node("Add", {sum.x, sum.x})})});
  sum.output(sum.view(gate, 1.0f / 256, -128));
  EXPECT_EQ(imported_operators(sum),
            "q8ta_quantize_linear fused_add fused_hardswish fused_sigmoid q8ta_quantize_linear q8ta_dequantize");
  compare(sum, {1, 4, 6, 6}, 1.0f / 256);
}

TEST(Activations, MoreThanSixteenAreRefused) {
  Image m;
  std::string y = m.conv(m.x, {4, 4, 1, 1});
  for (int i = 0; i < 17; ++i) y = m.node("Sigmoid", {y});
  m.output(m.view(y, 0.1f, 0));
  EXPECT_TEXT(imported_operators(m),
              "node 'Sigmoid_20' (Sigmoid): it is the 17th function of one value in a row, and qgen fuses at most 16");
}

// As exporters write it for opsets that have no such operator.
TEST(Activations, HardSwishInSeveralNodes) {
  const std::vector<std::function<std::string(Image&, const std::string&, const std::string&)>> ways = {
      [](Image& m, const std::string& y, const std::string& clip) {
        return m.node("Div", {m.node("Mul", {y, clip}), m.scalar(6)});
      },
      [](Image& m, const std::string& y, const std::string& clip) {
        return m.node("Mul", {m.scalar(1.0f / 6), m.node("Mul", {clip, y})});
      },
      [](Image& m, const std::string& y, const std::string& clip) {
        return m.node("Mul", {y, m.node("Div", {clip, m.scalar(6)})});
      },
      [](Image& m, const std::string& y, const std::string& clip) {
        return m.node("Mul", {m.node("Mul", {clip, m.scalar(1.0f / 6)}), y});
      }};
  for (const auto& way : ways) {
    Image m;
    const std::string y = m.conv(m.x, {8, 4, 3, 3});
    const std::string clip = m.node("Clip", {m.node("Add", {y, m.scalar(3)}), m.scalar(0), m.scalar(6)});
    m.output(m.view(way(m, y, clip), 0.1f, -120));
    EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_conv2d q8ta_dequantize");
    EXPECT_EQ(attribute_of<std::string>(node_of(*m.import(), "q8ta_conv2d"), "activation"), "hardswish");
    compare(m, {1, 4, 6, 6}, 0.1f);
  }
}

TEST(Activations, HardSwishOfANodeWithoutInputs) {
  Image m;
  const std::string clip = m.node("Clip", {});
  m.output(m.node("Div", {m.node("Mul", {m.x, clip}), m.scalar(6)}));
  EXPECT_TEXT(imported_operators(m), "node 'Clip_2' (Clip): it has no input 0 (input), which Clip needs");
}

TEST(Activations, HardSwishIsNothingElse) {
  struct Row {
    float addend, high, divisor;
    bool is_shared;
  };
  const Row rows[] = {{2, 6, 6, false}, {3, 5, 6, false}, {3, 6, 5, false}, {3, 6, 6, true}};
  for (const Row& row : rows) {
    Image m;
    const std::string y = m.view(m.conv(m.x, {8, 4, 3, 3}), 0.1f, 0);
    const std::string clip =
        m.node("Clip", {m.node("Add", {y, m.scalar(row.addend)}), m.scalar(0), m.scalar(row.high)});
    m.output(m.node("Div", {m.node("Mul", {y, clip}), m.scalar(row.divisor)}));
    if (row.is_shared) m.output(clip);
    EXPECT_TEXT(imported_operators(m), "q8ta_quantize_linear q8ta_conv2d fused_add fused_clip fused_mul fused_mul")
        << row.addend;
    compare(m, {1, 4, 6, 6}, 1e-3f);
  }
}

TEST(Activations, ClipWithBoundsThatAreComputedIsNoPartOfTheConvolution) {
  Image m;
  m.output(m.view(m.node("Clip", {m.conv(m.x, {8, 4, 3, 3}), m.input("low", {})}), 0.1f, 0));
  EXPECT_TEXT(imported_operators(m),
              "q8ta_quantize_linear q8ta_conv2d_dequantize pointwise q8ta_quantize_linear q8ta_dequantize");
}

// ---- who reads what -------------------------------------------------------------------------------------------------

// A6 of the register of the system that qgen replaces: such a relu was nevertheless fused into the convolution.
TEST(Users, A6_AReluWithSeveralIsComputedInReals) {
  Image m;
  const std::string y = m.node("Relu", {m.conv(m.x, {8, 4, 3, 3})});
  m.output(m.view(y, 0.1f, -128));
  m.output(m.node("Add", {y, y}));
  const auto imported = m.import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_EQ(operators_of(imported->graph),
            "q8ta_quantize_linear q8ta_conv2d_dequantize q8ta_quantize_linear q8ta_dequantize fused_add");
  ASSERT_EQ(imported->notes.size(), 1U);
  EXPECT_TEXT(imported->notes[0].reason,
              "is computed in floating point: 3 nodes read its result, and only 1 quantize it");
  compare(m, {1, 4, 6, 6}, 0.1f);
}

TEST(Users, TwoQuantizationsOfOneResult) {
  Image m;
  const std::string y = m.conv(m.x, {8, 4, 3, 3});
  m.output(m.view(y, 0.1f, 0));
  m.output(m.view(y, 0.2f, 5));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_conv2d q8ta_conv2d q8ta_dequantize q8ta_dequantize");
  compare(m, {1, 4, 6, 6}, 0.2f);
}

TEST(Users, TheSameQuantizationTwiceIsOne) {
  Image m;
  const std::string y = m.conv(m.x, {8, 4, 3, 3});
  m.output(m.view(y, 0.1f, 0));
  m.output(m.view(y, 0.1f, 0));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_conv2d q8ta_dequantize");
}

TEST(Users, QuantizationsThatCancelAndThatDoNot) {
  Image m;
  m.output(m.quantize(m.x, 0.05f, 3));
  m.output(m.quantize(m.x, 0.07f, 3));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear requantize");
  compare(m, {1, 4, 6, 6}, 1);
}

// The parameters are those of the DequantizeLinear that is read, whichever made the integers.
TEST(Users, ParametersOfTheConsumer) {
  Image m;
  m.x = m.dequantize(m.quantize(m.x, 0.05f, 3), 0.2f, -9);
  m.output(m.view(m.conv(m.x, {8, 4, 3, 3}), 0.3f, 0));
  compare(m, {1, 4, 6, 6}, 0.3f);
}

// ---- residuals ------------------------------------------------------------------------------------------------------

struct Residual : Image {
  std::string result = view(conv(x, {4, 4, 1, 1}), 0.06f, 2);
};

TEST(Residuals, BelongToTheLayer) {
  Residual m;
  m.output(m.view(m.node("Relu", {m.node("Add", {m.x, m.result})}), 0.1f, -128));
  const auto imported = m.import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_EQ(operators_of(imported->graph), "q8ta_quantize_linear q8ta_conv2d q8ta_dequantize");
  const graph::Node& conv = node_of(*imported, "q8ta_conv2d");
  EXPECT_TRUE(reads(conv, "residual"));
  EXPECT_EQ(attribute_of<double>(conv, "result_scale"), double{0.06f});
  EXPECT_EQ(attribute_of<double>(conv, "residual_scale"), double{0.05f});
  EXPECT_EQ(attribute_of<double>(conv, "output_scale"), double{0.1f});
  compare(m, {1, 4, 6, 6}, 0.1f);
}

TEST(Residuals, NotWhereReluIsMoreThanTheZeroPoint) {
  Residual m;
  m.output(m.view(m.node("Relu", {m.node("Add", {m.x, m.result})}), 0.1f, -100));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_conv2d q8ta_add q8ta_dequantize");
  compare(m, {1, 4, 6, 6}, 0.1f);
}

TEST(Residuals, NotWhereTheResultHasAnotherReader) {
  Residual m;
  m.output(m.view(m.node("Add", {m.x, m.result}), 0.1f, 0));
  m.output(m.result);
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_conv2d q8ta_add q8ta_dequantize q8ta_dequantize");
}

TEST(Residuals, NotWhereShapesDiffer) {
  Image m;
  const std::string y = m.view(m.conv(m.x, {1, 4, 1, 1}), 0.06f, 2);
  m.output(m.view(m.node("Add", {m.x, y}), 0.1f, 0));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_conv2d q8ta_add q8ta_dequantize");
  compare(m, {1, 4, 6, 6}, 0.1f);
}

TEST(Residuals, NotWhereTheSumReadsItOtherwise) {
  Image m;
  const std::string y = m.dequantize(m.quantize(m.conv(m.x, {4, 4, 1, 1}), 0.06f, 2), 0.05f, 2);
  m.output(m.view(m.node("Add", {m.x, y}), 0.1f, 0));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_conv2d q8ta_add q8ta_dequantize");
}

TEST(Residuals, AnAddendOfRealsStaysOne) {
  Residual m;
  m.output(m.view(m.node("Add", {m.result, m.input("other", {-1, 4, 6, 6})}), 0.1f, 0));
  const auto imported = m.import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_EQ(operators_of(imported->graph), "q8ta_quantize_linear q8ta_conv2d fused_add q8ta_dequantize");
  ASSERT_EQ(imported->notes.size(), 1U);
  EXPECT_TEXT(imported->notes[0].reason,
              "becomes fused_add, because better operators do not fit: int8, int8: input 1 is not quantized to 8 or "
              "4 bits with one scale");
}

// ---- of two ---------------------------------------------------------------------------------------------------------

TEST(OfTwo, SumsDifferencesAndProducts) {
  const std::pair<std::string, std::string> rows[] = {{"Add", "q8ta_add"}, {"Sub", "q8ta_add"}, {"Mul", "q8ta_mul"}};
  for (const auto& [op, becomes] : rows) {
    Image m;
    const std::string y = m.view(m.x, 0.03f, -4);
    m.output(m.view(m.node(op, {m.x, y}), 0.04f, 1));
    EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear requantize " + becomes + " q8ta_dequantize") << op;
    compare(m, {2, 4, 6, 6}, 0.04f);
  }
}

TEST(OfTwo, AConstantThatIsQuantized) {
  Image m;
  const std::string c =
      m.dequantize(m.random_integers(ElementType::u8, {4, 1, 1}, 0, 255), 0.01f, 130, ElementType::u8);
  m.output(m.view(m.node("Mul", {c, m.x}), 0.02f, 1));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_mul q8ta_dequantize");
  compare(m, {2, 4, 6, 6}, 0.02f);
}

TEST(OfTwo, AConstantOfReals) {
  Image m;
  m.output(m.view(m.node("Mul", {m.x, m.scalar(0.5f)}), 0.02f, 1));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_table q8ta_dequantize");
  compare(m, {2, 4, 6, 6}, 0.02f);
}

// The product with the reciprocal, which is rounded once more.
TEST(OfTwo, ADivisionByAConstantIsAProduct) {
  Image m;
  const std::string divisor =
      m.dequantize(m.integers(ElementType::u8, {4, 1, 1}, {3, 6, 7, 255}), 1, 0, ElementType::u8);
  m.output(m.view(m.node("Div", {m.node("Div", {m.x, m.scalar(6)}), divisor}), 0.01f, 1));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear fused_mul fused_mul q8ta_dequantize");
  compare(m, {2, 4, 6, 6}, 0.01f);
  ModelBuilder halves;
  halves.output(halves.node("Div", {halves.input("x", {4}, ElementType::f16), halves.scalar(4)}));
  EXPECT_EQ(imported_operators(halves), "fused_mul");
}

TEST(OfTwo, AQuotientOtherwiseIsAChain) {
  Image m;
  m.output(m.node("Div", {m.scalar(6), m.x}));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_dequantize pointwise");
  for (const float divisor : {0.0f, 1e-39f, 3e38f, std::nanf("")}) {
    Image odd;
    odd.output(odd.node("Div", {odd.x, odd.scalar(divisor)}));
    EXPECT_THAT(imported_operators(odd), HasSubstr("whose reciprocal is not a normal float")) << divisor;
  }
}

TEST(OfTwo, BoundsOfASumAreARequantization) {
  Image m;
  m.output(m.view(m.node("Clip", {m.node("Add", {m.x, m.x}), m.scalar(-1), m.scalar(2)}), 0.04f, 1));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_add requantize q8ta_dequantize");
  compare(m, {1, 4, 6, 6}, 0.04f);
}

// ---- normalization that was not folded ------------------------------------------------------------------------------

struct Normalized : Image {
  std::string normalize(const std::string& input_name, std::vector<float> factors = {0.5f, -1, 2, 1}) {
    return node("BatchNormalization",
                {input_name, reals({4}, std::move(factors)), reals({4}, {0.1f, 0, -0.2f, 1}),
                 reals({4}, {0.3f, -0.1f, 0, 0.2f}), reals({4}, {0.5f, 1, 2, 0.1f})},
                {{"epsilon", 0.01f}});
  }
  // A weight of these integers, all with one scale.
  std::string bytes(const Shape& shape, const std::vector<int64_t>& values) {
    return dequantize(integers(ElementType::i8, shape, values), 0.02f, 0);
  }
};

TEST(Normalization, BehindAConvolutionIsAPartOfIt) {
  // A factor below 0 turns signs around, and one of 0 leaves the offset alone.
  for (const float first : {0.5f, 0.0f, -0.0f}) {
    for (const bool has_bias : {false, true}) {
      Normalized m;
      std::vector<std::string> inputs{m.x, m.weight({4, 4, 3, 3})};
      if (has_bias) inputs.push_back(m.reals({4}, {1, -2, 0.5f, 3}));
      m.output(
          m.view(m.node("Relu", {m.normalize(m.node("Conv", std::move(inputs)), {first, -1, 2, -0.3f})}), 0.05f, -128));
      EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_conv2d q8ta_dequantize");
      compare(m, {2, 4, 6, 6}, 0.05f);
    }
  }
}

TEST(Normalization, BehindAConvolutionOfGroupsOrOfReals) {
  Normalized groups;
  groups.output(
      groups.view(groups.normalize(groups.conv(groups.x, {4, 2, 3, 2}, {{"group", int64_t{2}}})), 0.05f, -100));
  EXPECT_EQ(imported_operators(groups), "q8ta_quantize_linear q8ta_conv2d q8ta_dequantize");
  compare(groups, {2, 4, 6, 6}, 0.05f);
  Normalized transposed;
  transposed.output(transposed.view(
      transposed.normalize(transposed.node("ConvTranspose", {transposed.x, transposed.weight({4, 2, 3, 2}, 1)},
                                           {{"group", int64_t{2}}})),
      0.05f, -100));
  EXPECT_EQ(imported_operators(transposed), "q8ta_quantize_linear q8ta_conv2d_transposed q8ta_dequantize");
  compare(transposed, {2, 4, 6, 6}, 0.05f);
  Normalized reals;
  reals.output(reals.normalize(reals.conv("x", {4, 4, 3, 3})));
  EXPECT_EQ(imported_operators(reals), "conv2d_q8csw");
  compare(reals, {2, 4, 6, 6}, 1e-3f);
}

// Scales take the factor's magnitude, rounded once; integers its sign.
TEST(Normalization, IsTheFactorOfTheScales) {
  Normalized m;
  const std::string ones = m.reals({4}, {1, 1, 1, 1}), zeros = m.reals({4}, {0, 0, 0, 0});
  const std::string layer =
      m.node("Conv", {m.x, m.bytes({4, 4, 1, 1}, {1, 2, 3, 4, -5, 6, 7, -127, 9, 10, 11, 12, -128, 0, 1, 2})});
  m.output(m.view(
      m.node("BatchNormalization", {layer, m.reals({4}, {0.3f, -3, 0, 0.7f}), ones, zeros, ones}, {{"epsilon", 0.0f}}),
      0.05f, 0));
  const auto imported = m.import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  const graph::Node& made = node_of(*imported, "q8ta_conv2d");
  const auto constant = [&](std::string_view operand) -> const HostTensor& {
    const auto port = std::ranges::find(made.inputs, operand, &graph::Port::operand);
    return *imported->graph.values[port->value].data;
  };
  EXPECT_THAT(constant("weight").as<int8_t>(), ElementsAre(1, 2, 3, 4, 5, -6, -7, 127, 0, 0, 0, 0, -128, 0, 1, 2));
  EXPECT_THAT(constant("weight_scales").as<float>(),
              ElementsAre(0.02f * 0.3f, 0.02f * 3, 0.02f, static_cast<float>(double{0.02f} * double{0.7f})));
  EXPECT_THAT(constant("bias").as<float>(), ElementsAre(1, 1, 1, 1));
}

TEST(Normalization, ElsewhereIsAProductAndASum) {
  Normalized before;
  before.output(before.view(before.normalize(before.x), 0.05f, 3));
  EXPECT_EQ(imported_operators(before), "q8ta_quantize_linear fused_mul fused_add q8ta_dequantize");
  compare(before, {2, 4, 6, 6}, 0.05f);
  // A value that is quantized, goes through a function or is read by others stays a separate value of the model.
  Normalized quantized;
  quantized.output(
      quantized.view(quantized.normalize(quantized.view(quantized.conv(quantized.x, {4, 4, 3, 3}), 0.1f, 0)), 0.1f, 3));
  EXPECT_EQ(imported_operators(quantized), "q8ta_quantize_linear q8ta_conv2d fused_mul fused_add q8ta_dequantize");
  Normalized function;
  function.output(function.normalize(function.node("Relu", {function.conv(function.x, {4, 4, 3, 3})})));
  EXPECT_EQ(imported_operators(function), "q8ta_quantize_linear q8ta_conv2d_dequantize fused_mul fused_add");
  Normalized shared;
  const std::string layer = shared.conv(shared.x, {4, 4, 3, 3});
  shared.output(shared.normalize(layer));
  shared.output(layer);
  EXPECT_EQ(imported_operators(shared), "q8ta_quantize_linear q8ta_conv2d_dequantize fused_mul fused_add");
}

TEST(Normalization, IsNoPartOfALayerWithoutAPlaceForIt) {
  const std::string apart = "q8ta_quantize_linear q8ta_conv2d_dequantize fused_mul fused_add q8ta_dequantize";
  Normalized lowest;  // 128 is no byte
  lowest.output(
      lowest.view(lowest.normalize(lowest.node("Conv", {lowest.x, lowest.bytes({4, 1, 1, 1}, {-128, -128, -128, -128})},
                                               {{"group", int64_t{4}}})),
                  0.05f, 3));
  EXPECT_EQ(imported_operators(lowest), apart);
  compare(lowest, {2, 4, 6, 6}, 0.05f);
  Normalized tiny;  // scales are normal floats
  tiny.output(tiny.view(tiny.normalize(tiny.conv(tiny.x, {4, 4, 1, 1}), {1e-38f, 1, 1, 1}), 0.05f, 3));
  EXPECT_EQ(imported_operators(tiny), apart);
}

// ---- products and sums with a constant behind a layer ---------------------------------------------------------------

struct Rows : ModelBuilder {
  std::string x = view(input("x", {-1, 5, 8}), 0.05f, 3);
};

TEST(Scaled, BehindAConvolutionIsAPartOfIt) {
  for (const bool has_bias : {false, true}) {
    Normalized m;
    std::vector<std::string> inputs{m.x, m.weight({4, 4, 3, 3})};
    if (has_bias) inputs.push_back(m.reals({4}, {1, -2, 0.5f, 3}));
    const std::string scaled = m.node("Mul", {m.node("Conv", std::move(inputs)), m.reals({4, 1, 1}, {0.5f, -1, 0, 2})});
    const std::string moved = m.node("Add", {m.reals({1, 4, 1, 1}, {0.1f, 0, -0.2f, 1}), scaled});
    m.output(m.view(m.node("Relu", {m.node("Sub", {moved, m.scalar(0.5f)})}), 0.05f, -128));
    EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_conv2d q8ta_dequantize");
    compare(m, {2, 4, 6, 6}, 0.05f);
  }
  Normalized transposed;
  const std::string layer =
      transposed.node("ConvTranspose", {transposed.x, transposed.weight({4, 2, 3, 2}, 1)}, {{"group", int64_t{2}}});
  transposed.output(
      transposed.view(transposed.node("Mul", {transposed.reals({4, 1, 1}, {0.5f, -1, 0.25f, 2}), layer}), 0.05f, -10));
  EXPECT_EQ(imported_operators(transposed), "q8ta_quantize_linear q8ta_conv2d_transposed q8ta_dequantize");
  compare(transposed, {2, 4, 6, 6}, 0.05f);
}

TEST(Scaled, BehindALinearLayerIsAPartOfIt) {
  for (const bool quantizes : {true, false}) {
    Rows m;
    const std::string scaled =
        m.node("Mul", {m.node("MatMul", {m.x, m.weight({8, 6}, 1)}), m.reals({6}, {1, -2, 0.5f, 3, 0, -0.25f})});
    const std::string turned = m.node("Sub", {m.reals({1, 6}, {1, 0, -1, 0.5f, 2, 0}), scaled});
    const std::string y = m.node("Mul", {turned, m.scalar(0.5f)});
    m.output(quantizes ? m.view(y, 0.05f, 2) : y);
    EXPECT_EQ(imported_operators(m), quantizes ? "q8ta_quantize_linear q8ta_linear q8ta_dequantize"
                                               : "q8ta_quantize_linear q8ta_linear_dequantize");
    compare(m, {2, 5, 8}, quantizes ? 0.05f : 1e-3f);
  }
}

TEST(Scaled, ADivisionIsAPartOfALayerToo) {
  Normalized m;
  const std::string layer = m.node("Conv", {m.x, m.weight({4, 4, 3, 3}), m.reals({4}, {1, -2, 0.5f, 3})});
  m.output(m.view(m.node("Div", {layer, m.reals({4, 1, 1}, {3, -0.7f, 6, 1})}), 0.05f, -10));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_conv2d q8ta_dequantize");
  compare(m, {2, 4, 6, 6}, 0.05f);
  Normalized zero;
  zero.output(zero.node("Div", {zero.conv(zero.x, {4, 4, 1, 1}), zero.reals({4, 1, 1}, {3, 0, 6, 1})}));
  EXPECT_TEXT(imported_operators(zero), "node 'Div_4' (Div): it divides by 0, whose reciprocal is not a normal float");
  Normalized of_a_constant;
  of_a_constant.output(of_a_constant.node(
      "Div", {of_a_constant.reals({4, 1, 1}, {3, 1, 6, 1}), of_a_constant.conv(of_a_constant.x, {4, 4, 1, 1})}));
  EXPECT_EQ(imported_operators(of_a_constant), "q8ta_quantize_linear q8ta_conv2d_dequantize pointwise");
}

// The scale takes the constant's magnitude, rounded once, and without a sum there is no bias.
TEST(Scaled, IsTheFactorOfTheScales) {
  Normalized m;
  const std::string layer = m.node("Conv", {m.x, m.bytes({2, 4, 1, 1}, {1, 2, 3, 4, -5, 6, 7, -127})});
  m.output(m.view(m.node("Mul", {layer, m.reals({2, 1, 1}, {0.3f, -3})}), 0.05f, 0));
  const auto imported = m.import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  const graph::Node& made = node_of(*imported, "q8ta_conv2d");
  EXPECT_FALSE(reads(made, "bias"));
  const auto constant = [&](std::string_view operand) -> const HostTensor& {
    const auto port = std::ranges::find(made.inputs, operand, &graph::Port::operand);
    return *imported->graph.values[port->value].data;
  };
  EXPECT_THAT(constant("weight").as<int8_t>(), ElementsAre(1, 2, 3, 4, 5, -6, -7, 127));
  EXPECT_THAT(constant("weight_scales").as<float>(), ElementsAre(0.02f * 0.3f, 0.02f * 3));
}

TEST(Scaled, ElsewhereStaysApart) {
  const std::string apart = "q8ta_quantize_linear q8ta_conv2d_dequantize fused_mul";
  const auto operators_with = [](const Shape& shape, std::vector<float> values) {
    Normalized m;
    m.output(m.node("Mul", {m.conv(m.x, {4, 4, 1, 1}), m.reals(shape, std::move(values))}));
    return imported_operators(m);
  };
  // Of columns, rows, pixels and larger ranks, some with as many elements as there are channels.
  EXPECT_EQ(operators_with({6}, {1, 2, 3, 4, 5, 6}), apart);
  EXPECT_EQ(operators_with({6, 1}, {1, 2, 3, 4, 5, 6}), apart);
  EXPECT_EQ(operators_with({1, 1, 1, 6}, {1, 2, 3, 4, 5, 6}), apart);
  EXPECT_EQ(operators_with({1, 4, 1, 6}, std::vector<float>(24, 2)), apart);
  EXPECT_EQ(operators_with({1, 1, 4, 1, 1}, {1, 2, 3, 4}), apart);
  Rows rows;
  rows.output(
      rows.node("Mul", {rows.node("MatMul", {rows.x, rows.weight({8, 5}, 1)}), rows.reals({5, 1}, {1, 2, 3, 4, 5})}));
  EXPECT_EQ(imported_operators(rows), "q8ta_quantize_linear q8ta_linear_dequantize fused_mul");
  compare(rows, {2, 5, 8}, 1e-3f);
  // Scales are finite and normal.
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float bad : {1e-38f, -kInfinity, std::nanf("")})
    EXPECT_EQ(operators_with({4, 1, 1}, {1, bad, 1, 1}), apart) << bad;

  Normalized quantized;
  quantized.output(quantized.node("Mul", {quantized.view(quantized.conv(quantized.x, {4, 4, 1, 1}), 0.1f, 0),
                                          quantized.reals({4, 1, 1}, {1, 2, 3, 4})}));
  EXPECT_EQ(imported_operators(quantized), "q8ta_quantize_linear q8ta_conv2d fused_mul");
  Normalized function;
  function.output(function.node("Mul", {function.node("Relu", {function.conv(function.x, {4, 4, 1, 1})}),
                                        function.reals({4, 1, 1}, {1, 2, 3, 4})}));
  EXPECT_EQ(imported_operators(function), apart);
  Normalized shared;
  const std::string layer = shared.conv(shared.x, {4, 4, 1, 1});
  shared.output(shared.node("Mul", {layer, shared.reals({4, 1, 1}, {1, 2, 3, 4})}));
  shared.output(layer);
  EXPECT_EQ(imported_operators(shared), apart);
  Normalized computed;
  computed.output(
      computed.node("Mul", {computed.conv(computed.x, {4, 4, 1, 1}), computed.input("factors", {4, 1, 1})}));
  EXPECT_EQ(imported_operators(computed), apart);
  ModelBuilder nibbles(21);
  const std::string codes = nibbles.random_integers(ElementType::i4, {8, 6}, -8, 7);
  const std::string weight =
      nibbles.node("DequantizeLinear", {codes, nibbles.reals({6}, {1, 2, 3, 4, 5, 6})}, {{"axis", int64_t{1}}});
  nibbles.output(
      nibbles.node("Mul", {nibbles.node("MatMul", {nibbles.input("x", {-1, 5, 8}), weight}), nibbles.scalar(-1)}));
  EXPECT_EQ(imported_operators(nibbles), "linear_q4gsw fused_mul");
}

TEST(Normalization, ByWhatIsReadIsRefused) {
  Normalized training;
  training.model.opsets[""] = 14;
  training.output(training.normalize(training.x));
  training.model.graph.nodes.back().attributes["training_mode"] = int64_t{1};
  EXPECT_TEXT(imported_operators(training),
              "node 'BatchNormalization_2' (BatchNormalization): it computes mean and variance while it runs "
              "(training_mode), or for each pixel (spatial)");
  Normalized computed;
  const std::string ones = computed.reals({4}, {1, 1, 1, 1});
  computed.output(computed.node("BatchNormalization", {computed.x, ones, ones, ones, computed.input("variance", {4})}));
  EXPECT_TEXT(imported_operators(computed),
              "node 'BatchNormalization_2' (BatchNormalization): input 4 is not a floating-point constant");
  Normalized short_one;
  const std::string three = short_one.reals({3}, {1, 1, 1});
  short_one.output(short_one.node("BatchNormalization", {short_one.x, three, three, three, three}));
  EXPECT_TEXT(imported_operators(short_one),
              "node 'BatchNormalization_2' (BatchNormalization): input 1 is [3], and the normalized input is [?, 4, "
              "6, 6]");
}

TEST(Notes, AreToldOnceForAllNodes) {
  const Note notes[] = {{"a", "slow"}, {"b", "wrong"}, {"c", "slow"}};
  EXPECT_THAT(texts_of(notes), ElementsAre("node 'a' and 1 more: slow", "node 'b': wrong"));
}

// ---- of several -----------------------------------------------------------------------------------------------------

TEST(Joined, PartsOfSeveralScalesAlongAnyAxis) {
  for (const int64_t axis : {0, 1, -1}) {
    Image m;
    const std::string y = m.view(m.conv(m.x, {4, 4, 1, 1}), 0.04f, -6);
    m.output(m.view(m.node("Concat", {m.x, y, m.x}, {{"axis", axis}}), 0.045f, 2));
    EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_conv2d q8ta_concat q8ta_dequantize");
    compare(m, {2, 4, 6, 6}, 0.045f);
  }
}

TEST(Joined, MoreThanFourInTwoLevels) {
  Image m;
  std::vector<std::string> parts;
  for (int i = 0; i < 9; ++i)
    parts.push_back(i % 2 == 0 ? m.x : m.view(m.x, 0.03f + 0.001f * static_cast<float>(i), i));
  m.output(m.view(m.node("Concat", parts, {{"axis", int64_t{1}}}), 0.045f, 2));
  EXPECT_EQ(imported_operators(m),
            "q8ta_quantize_linear requantize requantize requantize requantize q8ta_concat q8ta_concat q8ta_concat "
            "q8ta_dequantize");
  compare(m, {2, 4, 6, 6}, 0.045f);
}

TEST(Joined, RealPartsAreQuantizedAsTheWhole) {
  Image m;
  m.output(m.view(m.node("Relu", {m.node("Concat", {m.x, "x"}, {{"axis", int64_t{2}}})}), 0.045f, 2));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_quantize_linear q8ta_concat requantize q8ta_dequantize");
  compare(m, {1, 4, 6, 6}, 0.045f);
}

TEST(Joined, OneIsItself) {
  Image m;
  m.output(m.node("Concat", {m.x}, {{"axis", int64_t{1}}}));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_dequantize");
}

TEST(Joined, RealsAreOneConcat) {
  for (const int64_t axis : {0, 1, -1}) {
    Image m;
    m.output(m.node("Sigmoid", {m.node("Concat", {m.x, "x", m.x}, {{"axis", axis}})}));
    EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_dequantize concat fused_sigmoid");
    compare(m, {2, 4, 6, 6}, 1e-3f);
  }
}

TEST(Joined, MoreThanFourRealsInTwoLevels) {
  Image m;
  m.output(m.node("Concat", {"x", m.x, "x", "x", "x", m.x}, {{"axis", int64_t{2}}}));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_dequantize concat concat concat");
  compare(m, {2, 4, 6, 6}, 1e-3f);
}

TEST(Joined, BytesOfOneScaleStayBytes) {
  Image m;
  m.output(m.node("Sigmoid", {m.node("Concat", {m.x, m.x}, {{"axis", int64_t{1}}})}));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_concat q8ta_dequantize fused_sigmoid");
  compare(m, {2, 4, 6, 6}, 1e-3f);
}

TEST(Joined, RealsKeepTheirBits) {
  ModelBuilder m;
  m.output(m.node("Concat", {m.input("x", {4}), "x"}, {{"axis", int64_t{0}}}));
  const uint32_t bits[] = {0, 0x80000000, 0x7fc12345, 1};  // zeros, a NaN, the least subnormal
  const auto outputs = judged(m.import()->graph, {{"x", make_tensor<uint32_t>(DType::f32, {4}, bits)}});
  ASSERT_TRUE(outputs) << to_text(outputs.error());
  const auto made = outputs->begin()->second.as<uint32_t>();
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(made[i], bits[i % 4]);
}

TEST(Joined, ConstantsAreOfTheDtypeBesideThem) {
  ModelBuilder m;
  m.output(m.node("Concat", {m.reals({1}, {2}), m.input("x", {2}, ElementType::f16)}, {{"axis", int64_t{0}}}));
  const auto outputs = judged(m.import()->graph, {{"x", qgen::testing::tensor_of(DType::f16, {2}, {3, 5})}});
  ASSERT_TRUE(outputs) << to_text(outputs.error());
  const HostTensor expected = qgen::testing::tensor_of(DType::f16, {3}, {2, 3, 5});
  EXPECT_EQ(outputs->begin()->second.dtype, DType::f16);
  EXPECT_EQ(outputs->begin()->second.data, expected.data);
}

TEST(Joined, NotOfOtherSides) {
  Image sides;
  sides.output(
      sides.view(sides.node("Concat", {sides.x, sides.conv(sides.x, {8, 4, 3, 3})}, {{"axis", int64_t{1}}}), 0.1f, 0));
  EXPECT_TEXT(imported_operators(sides),
              "node 'Concat_4' (Concat): [?, 4, 6, 6] and [?, 8, 4, 4] cannot be concatenated along axis 1");
}

TEST(Joined, HalvesNextToFloatsAreFloats) {
  ModelBuilder m;
  m.output(m.node("Concat", {m.input("x", {2}, ElementType::f16), m.input("y", {1})}, {{"axis", int64_t{0}}}));
  EXPECT_EQ(imported_operators(m), "pointwise concat");
  const auto outputs = judged(m.import()->graph, {{"x", qgen::testing::tensor_of(DType::f16, {2}, {3, 5})},
                                                  {"y", qgen::testing::tensor_of(DType::f32, {1}, {0.1})}});
  ASSERT_TRUE(outputs) << to_text(outputs.error());
  EXPECT_EQ(outputs->begin()->second.data, qgen::testing::tensor_of(DType::f32, {3}, {3, 5, 0.1}).data);
}

// ---- windows --------------------------------------------------------------------------------------------------------

TEST(Windows, PaddingOfFourNumbersAndDilation) {
  Image m;
  m.output(m.view(
      m.conv(m.x, {8, 2, 3, 2},
             {{"pads", Pads{0, 1, 2, 0}}, {"dilations", Pads{1, 2}}, {"group", int64_t{2}}, {"strides", Pads{2, 1}}}),
      0.1f, 0));
  compare(m, {2, 4, 6, 6}, 0.1f);
}

TEST(Windows, AutoPad) {
  for (const std::string way : {"SAME_UPPER", "SAME_LOWER"}) {
    Image m, said;
    for (Image* it : {&m, &said}) {
      std::map<std::string, AttributeData, std::less<>> attributes{{"strides", Pads{2, 2}}};
      if (it == &m) attributes["auto_pad"] = way;
      else attributes["pads"] = way == "SAME_UPPER" ? Pads{0, 0, 1, 1} : Pads{1, 1, 0, 0};
      it->output(it->view(it->conv(it->x, {8, 4, 3, 3}, attributes), 0.1f, 0));
    }
    EXPECT_EQ(node_of(*m.import(), "q8ta_conv2d").attributes, node_of(*said.import(), "q8ta_conv2d").attributes) << way;
  }
}

TEST(Windows, AutoPadOfAnUnknownSideIsRefused) {
  ModelBuilder m;
  const std::string x = m.view(m.input("x", {1, 4, -1, 6}), 0.05f, 3);
  m.output(m.view(m.conv(x, {8, 4, 3, 3}, {{"auto_pad", std::string("SAME_UPPER")}}), 0.1f, 0));
  EXPECT_TEXT(imported_operators(m), "node 'Conv_3' (Conv): auto_pad depends on an unknown dimension");
}

TEST(Windows, Pools) {
  for (const int64_t includes : {0, 1}) {
    Image m;
    m.output(m.view(m.node("AveragePool", {m.x},
                           {{"kernel_shape", Pads{3, 3}}, {"pads", Pads{1, 1, 1, 1}}, {"count_include_pad", includes}}),
                    0.02f, 1));
    EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_avg_pool2d q8ta_dequantize");
    compare(m, {2, 4, 6, 6}, 0.02f);
  }
  Image m;
  m.output(m.view(
      m.node("MaxPool", {m.x}, {{"kernel_shape", Pads{3, 3}}, {"pads", Pads{1, 0, 1, 2}}, {"strides", Pads{2, 1}}}),
      0.02f, 1));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_max_pool2d requantize q8ta_dequantize");
  compare(m, {2, 4, 6, 6}, 0.02f);
}

TEST(Windows, GlobalMeansAreOneOperator) {
  for (const std::string op : {"GlobalAveragePool", "ReduceMean", "AveragePool"}) {
    Image m;
    m.output(m.view(op == "ReduceMean"    ? m.node(op, {m.x}, {{"axes", Pads{-1, 2}}})
                    : op == "AveragePool" ? m.node(op, {m.x}, {{"kernel_shape", Pads{6, 6}}})
                                          : m.node(op, {m.x}),
                    0.02f, 1));
    EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_avg_pool2d q8ta_dequantize");
    const auto outputs = judged(m.import()->graph, {{"x", Random(3).reals(DType::f32, {2, 4, 6, 6}, -2, 2)}});
    ASSERT_TRUE(outputs) << to_text(outputs.error());
    EXPECT_EQ(outputs->begin()->second.shape, (Shape{2, 4, 1, 1}));
  }
  Image m;
  m.output(m.view(m.node("ReduceMean", {m.x}, {{"axes", Pads{2, 3}}, {"keepdims", int64_t{0}}}), 0.02f, 1));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_avg_pool2d reshape q8ta_dequantize");
}

TEST(Windows, MeanAlongOtherAxes) {
  Image m;
  m.output(m.view(m.node("ReduceMean", {m.x}, {{"axes", Pads{1}}}), 0.02f, 1));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear reshape q8ta_avg_pool2d reshape q8ta_dequantize");
}

TEST(Windows, Transposed) {
  for (const int64_t groups : {1, 2}) {
    Image m;
    const std::string w = m.weight({4, 3, 3, 2}, 1);
    const std::string b = m.reals({3 * groups}, std::vector<float>(static_cast<size_t>(3 * groups), 0.3f));
    m.output(m.view(
        m.node(
            "ConvTranspose", {m.x, w, b},
            {{"strides", Pads{2, 2}}, {"pads", Pads{1, 0, 0, 1}}, {"group", groups}, {"output_padding", Pads{1, 0}}}),
        0.1f, 0));
    EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_conv2d_transposed q8ta_dequantize");
    compare(m, {2, 4, 6, 6}, 0.1f);
  }
}

TEST(Windows, TransposedWithScalesAlongItsInputsHasAWeightOfReals) {
  Image m;
  m.output(m.view(m.node("ConvTranspose", {m.x, m.weight({4, 3, 3, 3}, 0)}), 0.1f, 0));
  EXPECT_EQ(imported_operators(m),
            "q8ta_quantize_linear q8ta_dequantize conv2d_transposed q8ta_quantize_linear q8ta_dequantize");
  EXPECT_TEXT(m.import()->notes[0].reason,
              "becomes conv2d_transposed, because better operators do not fit: int8, int8 weight: weight "
              "'constant_4' [4, 3, 3, 3] has scales [4, 1, 1, 1], and can have one for each element along axis 1");
  compare(m, {2, 4, 6, 6}, 0.1f);
}

// The floating-point values contain the scales' factors and signs.
TEST(Windows, TransposedThatNothingQuantizes) {
  for (const int64_t groups : {1, 2}) {
    Image m;
    const std::string y = m.node("ConvTranspose", {m.x, m.weight({4, 3, 3, 3}, 1)},
                                 {{"strides", std::vector<int64_t>{2, 2}}, {"group", groups}});
    const std::string factors = m.random_reals({3 * groups, 1, 1}, -2, 2);
    m.output(m.node("Relu", {m.node("Mul", {y, factors})}));
    EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_dequantize conv2d_transposed");
    compare(m, {2, 4, 6, 6}, 1e-3f);
  }
}

TEST(Windows, AConvolutionOfIntegersWhoseRealsAreNotKnown) {
  Image m;
  m.output(m.conv(m.view(m.node("Relu", {m.x}), 0.05f, -128), {3, 4, 3, 3}));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_relu q8ta_conv2d_dequantize");
  compare(m, {2, 4, 6, 6}, 1e-3f);
}

// ---- convolutions with a weight of reals ----------------------------------------------------------------------------

// As the first layer and the head of a network that keeps them in floats.
TEST(RealWeights, OfRealsAndOfIntegers) {
  Image m;
  const std::string first = m.node("Conv", {"x", m.random_reals({6, 2, 3, 3}, -1, 1), m.random_reals({6}, -1, 1)},
                                   {{"group", int64_t{2}}, {"pads", std::vector<int64_t>{1, 0, 2, 1}}});
  const std::string middle = m.conv(m.view(m.node("Relu", {first}), 0.05f, -128), {4, 6, 3, 3});
  const std::string head = m.node("ConvTranspose", {m.view(middle, 0.1f, 3), m.random_reals({4, 3, 2, 2}, -1, 1)},
                                  {{"strides", std::vector<int64_t>{2, 2}}});
  m.output(head);
  EXPECT_EQ(imported_operators(m), "conv2d q8ta_quantize_linear q8ta_conv2d q8ta_dequantize conv2d_transposed");
  EXPECT_EQ(std::get<std::string>(m.import()->graph.nodes[0].attributes.at("activation")), "relu");
  compare(m, {2, 4, 6, 6}, 0.4f);
}

TEST(RealWeights, TakeABatchNormalizationAndABias) {
  for (const std::string op : {"Conv", "ConvTranspose"}) {
    Image m;
    const std::string y = m.node(op, {"x", m.random_reals({4, 4, 3, 3}, -1, 1)});
    const std::string shifted = m.node("Add", {y, m.random_reals({1, 4, 1, 1}, -1, 1)});
    m.output(m.node("BatchNormalization", {shifted, m.random_reals({4}, -2, 2), m.random_reals({4}, -1, 1),
                                           m.random_reals({4}, -1, 1), m.random_reals({4}, 0.5, 2)}));
    EXPECT_EQ(imported_operators(m), op == "Conv" ? "conv2d" : "conv2d_transposed");
    compare(m, {2, 4, 6, 6}, 1e-3f);
  }
}

TEST(RealWeights, OfHalvesAndOfActivations) {
  ModelBuilder halves;
  const std::string x = halves.input("x", {-1, 4, 6, 6}, ElementType::f16);
  const std::string w = halves.random_reals({3, 4, 3, 3}, -1, 1);
  halves.output(halves.node("Conv", {x, w}));
  EXPECT_EQ(imported_operators(halves), "conv2d");
  const auto imported = halves.import();
  const graph::Node& node = imported->graph.nodes[0];
  EXPECT_EQ(imported->graph.values[node.inputs[1].value].data->dtype, DType::f16);

  ModelBuilder computed;
  computed.output(computed.node("Conv", {computed.input("x", {-1, 4, 6, 6}), computed.input("w", {3, 4, 3, 3})}));
  EXPECT_EQ(imported_operators(computed), "conv2d");

  ModelBuilder both;
  both.output(both.node("Conv", {both.input("x", {-1, 4, 6, 6}), both.input("w", {3, 4, 3, 3}, ElementType::f16)}));
  EXPECT_EQ(imported_operators(both), "pointwise conv2d");
}

TEST(Windows, PixelShuffle) {
  Image m;
  m.output(m.view(m.node("DepthToSpace", {m.x}, {{"blocksize", int64_t{2}}, {"mode", std::string("CRD")}}), 0.05f, 3));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_pixel_shuffle q8ta_dequantize");
  Image other;
  other.output(other.view(other.node("DepthToSpace", {other.x}, {{"blocksize", int64_t{2}}}), 0.05f, 3));
  EXPECT_EQ(imported_operators(other), "q8ta_quantize_linear reshape permute reshape q8ta_dequantize");
}

// ---- linear layers --------------------------------------------------------------------------------------------------

TEST(Linear, MatMulWithAndWithoutAQuantization) {
  for (const bool quantizes : {true, false}) {
    Rows m;
    const std::string y = m.node("MatMul", {m.x, m.weight({8, 6}, 1)});
    m.output(quantizes ? m.view(y, 0.1f, 2) : y);
    EXPECT_EQ(imported_operators(m), quantizes ? "q8ta_quantize_linear q8ta_linear q8ta_dequantize"
                                               : "q8ta_quantize_linear q8ta_linear_dequantize");
    compare(m, {2, 5, 8}, quantizes ? 0.1f : 1e-3f);
  }
}

// If an operator quantizes its input itself, the input must be one that the model quantized so, as far as known. Else
// it takes the integers.
TEST(Linear, ReadsIntegersWhereItsRealsAreNotKnown) {
  Rows computed;
  const std::string relu = computed.view(computed.node("Relu", {computed.x}), 0.05f, -128);
  computed.output(computed.node("MatMul", {relu, computed.weight({8, 6}, 1)}));
  EXPECT_EQ(imported_operators(computed), "q8ta_quantize_linear q8ta_relu q8ta_linear_dequantize");
  compare(computed, {2, 5, 8}, 1e-3f);
  ModelBuilder unequal;
  const std::string x = unequal.dequantize(unequal.quantize(unequal.input("x", {-1, 5, 8}), 0.05f, 3), 0.04f, 3);
  unequal.output(unequal.node("MatMul", {x, unequal.weight({8, 6}, 1)}));
  EXPECT_EQ(imported_operators(unequal), "q8ta_quantize_linear q8ta_linear_dequantize");
  compare(unequal, {2, 5, 8}, 1e-3f);
}

TEST(Linear, ChainedWithoutAQuantizationBetween) {
  Rows m;
  const std::string y = m.node("MatMul", {m.x, m.weight({8, 6}, 1)});
  m.output(m.view(m.node("MatMul", {y, m.weight({6, 7}, 1)}), 0.1f, 2));
  EXPECT_EQ(imported_operators(m),
            "q8ta_quantize_linear q8ta_linear_dequantize linear_q8csw q8ta_quantize_linear q8ta_dequantize");
  compare(m, {2, 5, 8}, 0.1f);
}

TEST(Linear, GemmBothWays) {
  for (const int64_t turned : {0, 1}) {
    ModelBuilder m;
    const std::string x = m.view(m.input("x", {-1, 8}), 0.05f, 3);
    const std::string w = turned ? m.weight({6, 8}, 0) : m.weight({8, 6}, 1);
    m.output(m.view(m.node("Gemm", {x, w, m.reals({1, 6}, {1, 2, 3, 4, 5, 6})},
                           {{"transB", turned}, {"alpha", 0.5f}, {"beta", 2.0f}}),
                    0.1f, 2));
    EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_linear q8ta_dequantize");
    compare(m, {3, 8}, 0.1f);
  }
}

TEST(Linear, ATransposedWeightTakesItsScalesAlong) {
  Rows m;
  const std::string w = m.node("Transpose", {m.weight({6, 8}, 0)}, {{"perm", Pads{1, 0}}});
  m.output(m.view(m.node("MatMul", {m.x, w}), 0.1f, 2));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_linear q8ta_dequantize");
  compare(m, {2, 5, 8}, 0.1f);
}

TEST(Linear, AConstantThatIsAddedIsTheBias) {
  Rows m;
  const std::string y = m.node("MatMul", {m.x, m.weight({8, 6}, 1)});
  m.output(m.view(m.node("Relu", {m.node("Add", {m.reals({6}, {1, -1, 2, -2, 0, 3}), y})}), 0.1f, 2));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_linear q8ta_dequantize");
  EXPECT_EQ(m.import()->graph.nodes[1].name, "MatMul_3 + Add_4 + Relu_5");
  compare(m, {2, 5, 8}, 0.1f);
}

TEST(Linear, AConstantAlongRowsIsNone) {
  Rows m;
  const std::string y = m.node("MatMul", {m.x, m.weight({8, 6}, 1)});
  m.output(m.view(m.node("Add", {y, m.reals({5, 1}, {1, -1, 2, -2, 0})}), 0.1f, 2));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_linear_dequantize fused_add q8ta_dequantize");
  compare(m, {2, 5, 8}, 0.1f);
}

TEST(Linear, TwoActivations) {
  for (const bool quantizes : {true, false}) {
    Rows m;
    const std::string y = m.node("MatMul", {m.x, m.node("Reshape", {m.x, m.list({0, 8, 5})})});
    m.output(quantizes ? m.view(y, 0.1f, 2) : y);
    EXPECT_EQ(imported_operators(m),
              quantizes ? "q8ta_quantize_linear reshape bmm q8ta_dequantize" : "q8ta_quantize_linear reshape bmm");
    compare(m, {2, 5, 8}, quantizes ? 0.1f : 1e-3f);
  }
}

TEST(Linear, WeightsOfFourBits) {
  for (const bool has_groups : {true, false}) {
    ModelBuilder m(21);
    const std::string x = m.input("x", {-1, 5, 8});
    const std::string codes = m.random_integers(has_groups ? ElementType::u4 : ElementType::i4, {8, 6},
                                                has_groups ? 0 : -8, has_groups ? 15 : 7);
    std::vector<float> scales;
    for (int i = 0; i < 12; ++i) scales.push_back(0.01f * static_cast<float>(i + 1));
    const std::string w =
        has_groups
            ? m.node("DequantizeLinear",
                     {codes, m.reals({2, 6}, scales), m.integers(ElementType::u4, {2, 6}, std::vector<int64_t>(12, 8))},
                     {{"axis", int64_t{0}}, {"block_size", int64_t{4}}})
            : m.node("DequantizeLinear", {codes, m.reals({6}, {scales.begin(), scales.begin() + 6})},
                     {{"axis", int64_t{1}}});
    m.output(m.node("MatMul", {x, w}));
    EXPECT_EQ(imported_operators(m), "linear_q4gsw");
    if (!has_groups) {
      compare(m, {2, 5, 8}, 1e-3f);
      continue;
    }
    const auto imported = m.import();
    const auto& values = imported->graph.values;
    const auto found = std::ranges::find(imported->graph.nodes[0].inputs, "weight_scales", &graph::Port::operand);
    EXPECT_EQ(values[found->value].shape, (Shape{6, 2}));
    EXPECT_EQ(values[found->value].data->as<float>()[1], scales[6]);  // of column 0, the second group
  }
}

// bmm sums integers over all of K, and so does not fit.
TEST(Linear, WeightsOfBytesInBlocks) {
  for (const std::string op : {"MatMul", "Gemm"}) {
    for (const int64_t zero_point : {0, 3}) {
      for (const bool takes_bytes : {true, false}) {
        for (const bool quantizes : {true, false}) {
          ModelBuilder m(21);
          const std::string x = m.input("x", {-1, 8});
          const std::string codes = m.random_integers(ElementType::i8, {8, 6}, -100, 100);
          const std::string zeros = m.integers(ElementType::i8, {2, 6}, std::vector<int64_t>(12, zero_point));
          const std::string w = m.node("DequantizeLinear", {codes, m.random_reals({2, 6}, 0.01, 0.02), zeros},
                                       {{"axis", int64_t{0}}, {"block_size", int64_t{4}}});
          const std::string y = m.node(op, {takes_bytes ? m.view(x, 0.05f, 3) : x, w});
          m.output(quantizes ? m.view(y, 0.1f, 2) : y);
          EXPECT_EQ(imported_operators(m), fmt::format("{}fused_bmm{}", takes_bytes ? "q8ta_quantize_linear " : "",
                                                       quantizes ? " q8ta_dequantize" : ""));
          compare(m, {5, 8}, quantizes ? 0.1f : 1e-3f);
        }
      }
    }
  }
}

// As exporters write linear layers: with transB, and a bias, for which the product has no place.
TEST(Linear, WeightsInBlocksOfAGemm) {
  for (const ElementType type : {ElementType::i8, ElementType::u4}) {
    ModelBuilder m(21);
    const std::string x = m.view(m.input("x", {-1, 8}), 0.05f, 3);
    const std::string codes = m.random_integers(type, {6, 8}, 0, 15);
    const std::string zeros = m.integers(type, {6, 2}, {1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4});
    const std::string w = m.node("DequantizeLinear", {codes, m.random_reals({6, 2}, 0.01, 0.02), zeros},
                                 {{"axis", int64_t{1}}, {"block_size", int64_t{4}}});
    m.output(m.view(m.node("Gemm", {x, w, m.random_reals({6}, -1, 1)}, {{"transB", int64_t{1}}}), 0.1f, 2));
    EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear fused_bmm fused_add q8ta_dequantize");
    compare(m, {5, 8}, 0.1f);
    m.model.graph.nodes[3].attributes["beta"] = 2.0f;
    EXPECT_THAT(imported_operators(m),
                AllOf(HasSubstr("(Gemm): its beta is 2, and must be 1"), HasSubstr("not as int8, int8 weight: ")));
  }
}

TEST(Linear, AFirstMatrixWithScalesAlongItsColumns) {
  Rows m;
  const std::string a = m.weight({6, 5}, 1);
  m.output(m.node("MatMul", {a, m.x}));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear fused_bmm");
  Rows rows;
  rows.output(rows.node("MatMul", {rows.weight({6, 5}, 0), rows.x}));
  EXPECT_EQ(imported_operators(rows), "q8ta_quantize_linear bmm");
}

TEST(Linear, WeightsWithZeroPointsRunInReals) {
  ModelBuilder m;
  const std::string x = m.input("x", {-1, 5, 8});
  m.output(m.node("MatMul",
                  {x, m.dequantize(m.random_integers(ElementType::u8, {8, 6}, 0, 255), 0.01f, 100, ElementType::u8)}));
  EXPECT_EQ(imported_operators(m), "fused_bmm");
  compare(m, {2, 5, 8}, 1e-3f);
}

// ---- products of reals ----------------------------------------------------------------------------------------------

struct Reals : ModelBuilder {
  std::string x = input("x", {-1, 5, 8});
  std::string w = random_reals({8, 6}, -1, 1);
};

// A constant is stored transposed, once for all its products.
TEST(Matmul, ByAConstant) {
  Reals m;
  m.output(m.node("Add", {m.node("MatMul", {m.x, m.w}), m.node("MatMul", {m.node("Sigmoid", {m.x}), m.w})}));
  EXPECT_EQ(imported_operators(m), "fused_sigmoid matmul matmul fused_add");
  const auto imported = m.import();
  std::vector<graph::ValueId> matrices;
  for (const graph::Node& node : imported->graph.nodes) {
    if (node.op != "matmul") continue;
    EXPECT_TRUE(attribute_of<bool>(node, "transpose_other"));
    matrices.push_back(std::ranges::find(node.inputs, "other", &graph::Port::operand)->value);
  }
  ASSERT_EQ(matrices.size(), 2u);
  EXPECT_EQ(matrices[0], matrices[1]);
  EXPECT_EQ(imported->graph.values[matrices[0]].shape, (Shape{6, 8}));
  compare(m, {2, 5, 8}, 1e-3f);
}

TEST(Matmul, GemmBothWaysWithItsBiasAndActivation) {
  for (const int64_t turned : {0, 1}) {
    ModelBuilder m;
    const std::string x = m.input("x", {-1, 8}), w = m.random_reals(turned ? Shape{6, 8} : Shape{8, 6}, -1, 1);
    m.output(m.node("Relu", {m.node("Gemm", {x, w, m.random_reals({6}, -1, 1)}, {{"transB", turned}})}));
    const auto imported = m.import();
    ASSERT_TRUE(imported) << to_text(imported.error());
    EXPECT_EQ(operators_of(imported->graph), "matmul");
    EXPECT_EQ(imported->graph.nodes[0].name, "Gemm_0 + Relu_1");
    EXPECT_TRUE(reads(imported->graph.nodes[0], "bias"));
    EXPECT_EQ(attribute_of<std::string>(imported->graph.nodes[0], "activation"), "relu");
    compare(m, {3, 8}, 1e-3f);
  }
}

TEST(Matmul, AConstantThatIsAddedIsTheBias) {
  Reals m;
  m.output(m.node("Add", {m.reals({6}, {1, -1, 2, -2, 0, 3}), m.node("MatMul", {m.x, m.w})}));
  EXPECT_EQ(imported_operators(m), "matmul");
  compare(m, {2, 5, 8}, 1e-3f);
  Reals rows;
  rows.output(rows.node("Add", {rows.node("MatMul", {rows.x, rows.w}), rows.reals({5, 1}, {1, -1, 2, -2, 0})}));
  EXPECT_EQ(imported_operators(rows), "matmul fused_add");
  compare(rows, {2, 5, 8}, 1e-3f);
}

// The operator has words for some functions, and a separate operator after it for others.
TEST(Matmul, OtherFunctionsStandBehindIt) {
  Reals m;
  m.output(m.node("Sigmoid", {m.node("MatMul", {m.x, m.w})}));
  EXPECT_EQ(imported_operators(m), "matmul fused_sigmoid");
  compare(m, {2, 5, 8}, 1e-3f);
}

TEST(Matmul, OfTwoActivations) {
  Reals m;
  m.output(m.node("MatMul", {m.x, m.node("Reshape", {m.node("Sigmoid", {m.x}), m.list({0, 8, 5})})}));
  EXPECT_FALSE(attribute_of<bool>(node_of(*m.import(), "matmul"), "transpose_other"));
  compare(m, {2, 5, 8}, 1e-3f);
}

// A Transpose of the last two dimensions is an attribute of the product; who else reads its result has it as before.
TEST(Matmul, ByMatricesThatAreTurnedOver) {
  for (const bool is_shared : {false, true}) {
    Reals m;
    const std::string turned = m.node("Transpose", {m.node("Sigmoid", {m.x})}, {{"perm", Pads{0, 2, 1}}});
    m.output(m.node("MatMul", {m.x, turned}));
    if (is_shared) m.output(turned);
    EXPECT_EQ(imported_operators(m), is_shared ? "fused_sigmoid permute matmul" : "fused_sigmoid matmul");
    EXPECT_TRUE(attribute_of<bool>(node_of(*m.import(), "matmul"), "transpose_other"));
    compare(m, {2, 5, 8}, 1e-3f);
  }
  ModelBuilder twice;
  const std::string x = twice.input("x", {-1, 8});
  const std::string turned = twice.node("Transpose", {twice.node("Sigmoid", {x})}, {{"perm", Pads{1, 0}}});
  twice.output(twice.node("Gemm", {twice.node("MatMul", {x, turned}), turned}, {{"transB", int64_t{1}}}));
  EXPECT_EQ(imported_operators(twice), "fused_sigmoid matmul matmul");
}

TEST(Matmul, OtherDimensionsThatMoveStay) {
  ModelBuilder m;
  const std::string x = m.input("x", {3, 3, 3});
  m.output(m.node("MatMul", {x, m.node("Transpose", {m.node("Sigmoid", {x})}, {{"perm", Pads{2, 1, 0}}})}));
  EXPECT_EQ(imported_operators(m), "fused_sigmoid permute matmul");
  EXPECT_FALSE(attribute_of<bool>(node_of(*m.import(), "matmul"), "transpose_other"));
  compare(m, {3, 3, 3}, 1e-3f);
}

TEST(Matmul, OfHalves) {
  ModelBuilder m;
  const std::string x = m.input("x", {-1, 5, 8}, ElementType::f16);
  m.output(m.node("Relu", {m.node("MatMul", {x, m.random_reals({8, 6}, -1, 1)})}));
  const auto imported = m.import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_EQ(operators_of(imported->graph), "matmul");
  const auto other = std::ranges::find(imported->graph.nodes[0].inputs, "other", &graph::Port::operand);
  EXPECT_EQ(imported->graph.values[other->value].dtype, DType::f16);
}

TEST(Matmul, BeforeAQuantization) {
  Reals m;
  m.output(m.view(m.node("MatMul", {m.x, m.w}), 0.1f, 2));
  EXPECT_EQ(imported_operators(m), "matmul q8ta_quantize_linear q8ta_dequantize");
  compare(m, {2, 5, 8}, 0.1f);
}

// A quantized operand keeps the operator that reads it directly, and its bit-exact sum.
TEST(Matmul, IsNotOfQuantizedOperands) {
  ModelBuilder m;
  const std::string x = m.input("x", {-1, 5, 8});
  m.output(m.node("MatMul", {m.view(x, 0.05f, 3), m.node("Transpose", {x}, {{"perm", Pads{0, 2, 1}}})}));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear permute fused_bmm");
  compare(m, {2, 5, 8}, 1e-3f);
}

TEST(Matmul, TakesFactorsOfConstants) {
  const auto becomes = [](const std::map<std::string, AttributeData, std::less<>>& attributes) {
    ModelBuilder m;
    const std::string x = m.input("x", {8, 8});
    m.output(m.node("Gemm", {x, m.random_reals({8, 8}, -1, 1), m.random_reals({8}, -1, 1)}, attributes));
    return imported_operators(m);
  };
  EXPECT_EQ(becomes({}), "matmul");
  EXPECT_EQ(becomes({{"alpha", 0.5f}}), "matmul");
  EXPECT_EQ(becomes({{"beta", 2.0f}}), "matmul");
  EXPECT_EQ(becomes({{"transA", int64_t{1}}}), "permute matmul");
}

// ---- convolutions that are not matched ------------------------------------------------------------------------------

// ONNX Runtime quantizes weights with zero points of 127 and 128; 0 and 255 are the farthest.
TEST(Convolutions, WeightsOfAnyZeroPoint) {
  for (const int64_t zero_point : {0, 100, 127, 128, 255}) {
    Image m;
    const std::string codes = m.random_integers(ElementType::u8, {8, 4, 3, 3}, 0, 255);
    const std::string x = m.node("Conv", {m.x, m.dequantize(codes, 0.01f, zero_point, ElementType::u8)});
    m.output(m.view(x, 0.1f, 0));
    EXPECT_EQ(imported_operators(m), zero_point == 128
                                         ? "q8ta_quantize_linear q8ta_conv2d q8ta_dequantize"
                                         : "q8ta_quantize_linear q8ta_concat q8ta_conv2d q8ta_dequantize");
    compare(m, {1, 4, 6, 6}, 0.1f);
  }
}

TEST(Refusals, SayNodeAndReason) {
  Image zero_points;
  zero_points.output(zero_points.view(
      zero_points.node("Conv", {zero_points.x, zero_points.dequantize(
                                                   zero_points.random_integers(ElementType::u8, {8, 4, 3, 3}, 0, 255),
                                                   0.01f, 100, ElementType::u8)}),
      0.1f, 0));
  const auto imported = zero_points.import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_EQ(imported->notes[0].node, "Conv_3");
  EXPECT_TEXT(imported->notes[0].reason,
              "becomes q8ta_conv2d, because better operators do not fit: int8, int8 weight: weight 'constant_4' of "
              "uint8 has zero point 100: an integer minus it is 146, and can be -128 to 127");
  EXPECT_TEXT(imported->notes[0].reason,
              "becomes q8ta_conv2d, because better operators do not fit: int8, int8 weight: weight 'constant_4' of "
              "uint8 has zero point 100: an integer minus it is 146, and can be -128 to 127");
  EXPECT_EQ(operators_of(imported->graph), "q8ta_quantize_linear q8ta_concat q8ta_conv2d q8ta_dequantize");

  Image sides;
  sides.output(sides.node("Conv", {sides.x, sides.reals({1, 3, 1, 1}, {1, 2, 3})}));
  EXPECT_TEXT(imported_operators(sides),
              "node 'Conv_2' (Conv): an input [?, 4, 6, 6], a weight [1, 3, 1, 1] and 1 groups do not match");
  EXPECT_TEXT(imported_operators(sides),
              "node 'Conv_2' (Conv): an input [?, 4, 6, 6], a weight [1, 3, 1, 1] and 1 groups do not match");

  Image erf;
  erf.output(erf.view(erf.node("Erf", {erf.x}), 1.0f / 256, -128));
  EXPECT_EQ(imported_operators(erf), "q8ta_quantize_linear q8ta_table q8ta_dequantize");

  Image bits;
  bits.output(bits.quantize(bits.x, 0.1f, 0, ElementType::i16));
  EXPECT_TEXT(imported_operators(bits),
              "node 'QuantizeLinear_2' (QuantizeLinear): its integers are int16, and activations can have 8 or 4 bits");

  Image computed;
  computed.output(computed.node("QuantizeLinear", {computed.x, computed.input("scale", {})}));
  EXPECT_EQ(imported_operators(computed), "q8ta_quantize_linear q8ta_dequantize pointwise requantize");
}

TEST(Linear, ZeroPointsThatLeaveSignedBytesAreTakenOff) {
  Rows m;
  const std::string codes = m.random_integers(ElementType::u8, {8, 6}, 0, 200);
  m.output(m.view(m.node("MatMul", {m.x, m.dequantize(codes, 0.01f, 99, ElementType::u8)}), 0.1f, 2));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_linear q8ta_dequantize");
  compare(m, {2, 5, 8}, 0.1f);
}

}  // namespace
}  // namespace qgen::onnx::testing
