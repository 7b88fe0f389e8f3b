// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Nodes that are rewritten as other nodes, branches, and layers that exporters write with many nodes. Their numbers are
// those of tests/runtime/models/graph/field_tests.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/runtime/models/onnx/compared.h"
#include "tests/support/expected_text.h"

namespace qgen::onnx::testing {
namespace {

using qgen::testing::tensor_of;
using ::testing::HasSubstr;
using ::testing::Not;

std::string becomes(const std::function<std::string(ModelBuilder&)>& build, const Shape& shape = {1, 4, 6, 6}) {
  ModelBuilder m;
  m.input("x", shape);
  m.output(build(m));
  return imported_operators(m);
}

using Axes = std::vector<int64_t>;

TEST(Rewrites, SumsAndPowers) {
  EXPECT_EQ(becomes([](ModelBuilder& m) { return m.node("Sum", {"x", "x", "x"}); }), "fused_add fused_add");
  EXPECT_EQ(becomes([](ModelBuilder& m) { return m.node("Mean", {"x", "x"}); }), "fused_add fused_mul");
  EXPECT_EQ(becomes([](ModelBuilder& m) { return m.node("Neg", {"x"}); }), "pointwise");
  EXPECT_EQ(becomes([](ModelBuilder& m) { return m.node("Abs", {"x"}); }), "pointwise");
  EXPECT_EQ(becomes([](ModelBuilder& m) { return m.node("Pow", {"x", m.scalar(2)}); }), "fused_mul");
  EXPECT_EQ(becomes([](ModelBuilder& m) { return m.node("Pow", {"x", m.scalar(3)}); }), "fused_mul fused_mul");
  EXPECT_EQ(becomes([](ModelBuilder& m) { return m.node("Pow", {"x", m.scalar(0.5f)}); }), "pointwise");
  EXPECT_EQ(becomes([](ModelBuilder& m) { return m.node("Pow", {"x", "x"}); }), "pointwise");
  EXPECT_EQ(becomes([](ModelBuilder& m) {
              return m.node("PRelu", {"x", m.reals({4, 1, 1}, {1, 2, 3, 4})});
            }),
            "pointwise");
}

TEST(Rewrites, TheGreatestAndTheLeast) {
  EXPECT_EQ(becomes([](ModelBuilder& m) { return m.node("Max", {"x", m.scalar(0.5f)}); }), "fused_clip");
  EXPECT_EQ(becomes([](ModelBuilder& m) { return m.node("Min", {m.scalar(2), "x", m.scalar(1)}); }), "fused_clip");
  EXPECT_EQ(becomes([](ModelBuilder& m) {
              return m.node("Max", {"x", m.reals({1, 4, 6, 6}, std::vector<float>(144))});
            }),
            "pointwise");
}

TEST(Rewrites, AlongAxes) {
  EXPECT_EQ(becomes([](ModelBuilder& m) { return m.node("ReduceMean", {"x"}, {{"axes", Axes{2, 3}}}); }), "avg_pool2d");
  EXPECT_EQ(becomes([](ModelBuilder& m) { return m.node("ReduceMean", {"x"}, {{"axes", Axes{1}}}); }), "reduce");
  EXPECT_EQ(becomes([](ModelBuilder& m) { return m.node("ReduceMax", {"x"}, {{"axes", Axes{0, 2}}}); }), "reduce");
  EXPECT_EQ(becomes(
                [](ModelBuilder& m) {
                  return m.node("ReduceMean", {"x"}, {{"keepdims", int64_t{0}}});
                },
                {4, 16}),
            "reduce");
  EXPECT_EQ(becomes(
                [](ModelBuilder& m) {
                  return m.node("ReduceMax", {"x"}, {{"axes", Axes{0}}});
                },
                {-1, 16}),
            "reduce");
  // Of bytes that are quantized again, pools keep to bytes.
  EXPECT_EQ(becomes([](ModelBuilder& m) {
              return m.view(m.node("ReduceMax", {m.view("x", 0.1f, 3)}, {{"axes", Axes{1}}}), 0.1f, 3);
            }),
            "q8ta_quantize_linear reshape q8ta_max_pool2d reshape q8ta_dequantize");
  EXPECT_EQ(becomes([](ModelBuilder& m) {
              return m.node("LogSoftmax", {"x"}, {{"axis", int64_t{1}}});
            }),
            "reduce fused_add");
  EXPECT_EQ(becomes([](ModelBuilder& m) { return m.node("ArgMax", {"x"}, {{"axis", int64_t{1}}}); }), "reduce");
}

TEST(Rewrites, ElementsElsewhere) {
  EXPECT_EQ(becomes([](ModelBuilder& m) {
              return m.node("DepthToSpace", {"x"}, {{"blocksize", int64_t{2}}});
            }),
            "reshape permute reshape");
  EXPECT_EQ(becomes([](ModelBuilder& m) {
              return m.node("SpaceToDepth", {"x"}, {{"blocksize", int64_t{2}}});
            }),
            "reshape permute reshape");
  EXPECT_EQ(becomes([](ModelBuilder& m) {
              return m.node("Tile", {"x", m.list({1, 2, 1, 1})});
            }),
            "reshape expand reshape");
  EXPECT_EQ(becomes([](ModelBuilder& m) {
              return m.node("Gather", {"x", m.list({3, 0, 1})}, {{"axis", int64_t{1}}});
            }),
            "gather");
}

TEST(Rewrites, Layers) {
  const auto gemm = [](std::map<std::string, AttributeData, std::less<>> attributes, const Shape& shape) {
    return becomes(
        [&](ModelBuilder& m) {
          return m.node("Gemm", {"x", m.random_reals({8, 3}, -1, 1), m.reals({3}, {1, 2, 3})}, attributes);
        },
        shape);
  };
  EXPECT_EQ(gemm({{"alpha", 0.5f}}, {2, 8}), "matmul");
  EXPECT_EQ(gemm({{"beta", 0.0f}}, {2, 8}), "matmul");
  EXPECT_EQ(gemm({{"transA", int64_t{1}}}, {8, 2}), "permute matmul");
  EXPECT_EQ(becomes(
                [](ModelBuilder& m) {
                  return m.node("MatMul", {"x", m.random_reals({8, 3}, -1, 1)});
                },
                {8}),
            "reshape matmul reshape");
  EXPECT_EQ(becomes([](ModelBuilder& m) {
              return m.node("InstanceNormalization", {"x", m.reals({4}, {1, 2, 3, 4}), m.reals({4}, {1, 2, 3, 4})});
            }),
            "reshape layer_norm reshape fused_mul fused_add");
}

TEST(Rewrites, FunctionsOfReals) {
  EXPECT_EQ(becomes([](ModelBuilder& m) { return m.node("LeakyRelu", {"x"}); }), "pointwise");
  EXPECT_EQ(becomes([](ModelBuilder& m) { return m.node("HardSigmoid", {"x"}); }), "pointwise");
  EXPECT_EQ(becomes([](ModelBuilder& m) { return m.node("Tanh", {"x"}); }), "pointwise");
}

// One launch for all of them; another reader keeps the values between them.
TEST(Rewrites, ChainsAreOneNode) {
  const auto chain = [](ModelBuilder& m) {
    return m.node("Div", {m.node("Exp", {m.node("Sqrt", {"x"})}), m.node("Erf", {"x"})});
  };
  EXPECT_EQ(becomes(chain), "pointwise");
  ModelBuilder m;
  m.input("x", {4, 6});
  const std::string root = m.node("Sqrt", {"x"});
  m.output(root);
  m.output(m.node("Exp", {m.node("Log", {root})}));
  EXPECT_EQ(imported_operators(m), "pointwise pointwise");
  // Of another shape: a repeated operand is computed once.
  EXPECT_EQ(becomes([](ModelBuilder& b) {
              return b.node("Max", {"x", b.node("Sqrt", {b.input("y", {6})})});
            }),
            "pointwise pointwise");
}

TEST(Rewrites, IntegersAndBooleans) {
  ModelBuilder m;
  m.input("a", {4}, ElementType::i64);
  m.input("b", {4}, ElementType::i64);
  m.input("x", {4});
  const std::string is_less = m.node("Less", {"a", "b"});
  m.output(m.node("Where", {m.node("Not", {is_less}), "x", m.node("Cast", {"a"}, {{"to", int64_t{1}}})}));
  m.output(m.node("Add", {"a", "b"}));
  const auto imported = m.import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_EQ(operators_of(imported->graph), "pointwise pointwise pointwise pointwise pointwise");
  EXPECT_EQ(imported->graph.values[imported->graph.inputs[0]].dtype, DType::i32);
  std::string notes;
  for (const std::string& note : texts_of(imported->notes)) notes += note;
  EXPECT_THAT(notes, HasSubstr("is int64 in the model, and int32 here"));
}

TEST(Rewrites, FunctionsOfBytesAreTables) {
  for (const std::string op : {"Tanh", "Elu", "Erf", "HardSigmoid", "Sqrt", "Exp", "Abs"}) {
    EXPECT_EQ(becomes([&](ModelBuilder& m) { return m.view(m.node(op, {m.view("x", 0.1f, 3)}), 0.05f, -1); }),
              "q8ta_quantize_linear q8ta_table q8ta_dequantize")
        << op;
  }
}

// x * Clip(x + 3, 0, 6) / 6 with a QuantizeLinear after each node, as tools that quantize every node write it.
TEST(Rewrites, NodesOfOneByteAreOneTable) {
  const auto written = [](ModelBuilder& m, bool is_read_between) {
    const std::string x = m.view("x", 0.1f, 3);
    const std::string shifted = m.view(m.node("Add", {x, m.scalar(3)}), 0.1f, -20);
    const std::string bounded = m.view(m.node("Clip", {shifted, m.scalar(0), m.scalar(6)}), 0.0235f, -128);
    if (is_read_between) m.output(bounded);
    const std::string product = m.view(m.node("Mul", {x, bounded}), 0.3f, -40);
    return m.view(m.node("Div", {product, m.scalar(6)}), 0.05f, -60);
  };
  EXPECT_EQ(becomes([&](ModelBuilder& m) { return written(m, false); }),
            "q8ta_quantize_linear q8ta_table q8ta_dequantize");
  EXPECT_EQ(becomes([&](ModelBuilder& m) { return written(m, true); }),
            "q8ta_quantize_linear q8ta_table q8ta_table q8ta_dequantize q8ta_dequantize");
}

TEST(Rewrites, NodesOfOneByteAndANumber) {
  for (const std::string op : {"Add", "Sub", "Mul", "Div", "Max", "Min"}) {
    EXPECT_EQ(becomes([&](ModelBuilder& m) {
                return m.view(m.node(op, {m.view("x", 0.1f, 3), m.scalar(0.7f)}), 0.05f, -1);
              }),
              "q8ta_quantize_linear q8ta_table q8ta_dequantize")
        << op;
  }
  // Of two tensors there is no table.
  EXPECT_EQ(becomes([](ModelBuilder& m) {
              const std::string x = m.view("x", 0.1f, 3), other = m.view("x", 0.2f, 3);
              return m.view(m.node("Mul", {x, other}), 0.05f, -1);
            }),
            "q8ta_quantize_linear q8ta_quantize_linear q8ta_mul q8ta_dequantize");
}

// ---- layers of many nodes -------------------------------------------------------------------------------------------

struct Written {
  int64_t last = -1;
  bool is_squared_by_mul = false, is_read_elsewhere = false;
};
std::string layer_norm_of(ModelBuilder& m, const Written& how) {
  const Axes axes{how.last};
  const std::string difference = m.node("Sub", {"x", m.node("ReduceMean", {"x"}, {{"axes", axes}})});
  const std::string square =
      how.is_squared_by_mul ? m.node("Mul", {difference, difference}) : m.node("Pow", {difference, m.scalar(2)});
  const std::string variance = m.node("ReduceMean", {square}, {{"axes", axes}});
  if (how.is_read_elsewhere) m.output(variance);
  const std::string root = m.node("Sqrt", {m.node("Add", {variance, m.scalar(1e-5f)})});
  const std::string product = m.node("Mul", {m.node("Div", {difference, root}), m.random_reals({32}, -1, 1)});
  return m.node("Add", {product, m.random_reals({32}, -1, 1)});
}

TEST(Layers, LayerNormOfNineNodes) {
  for (const Shape& shape : {Shape{1, 32}, {2, 5, 32}, {-1, 3, 2, 32}}) {
    EXPECT_EQ(becomes([](ModelBuilder& m) { return layer_norm_of(m, {}); }, shape), "layer_norm");
    EXPECT_EQ(becomes([](ModelBuilder& m) { return layer_norm_of(m, {.is_squared_by_mul = true}); }, shape),
              "layer_norm");
  }
  EXPECT_EQ(becomes([](ModelBuilder& m) { return layer_norm_of(m, {.last = 1}); }, {4, 32}), "layer_norm");
  EXPECT_EQ(becomes([](ModelBuilder& m) { return layer_norm_of(m, {.last = 0}); }, {4, 32}),
            "reduce fused_add fused_mul reduce fused_add pointwise pointwise fused_mul fused_add");
  EXPECT_THAT(becomes([](ModelBuilder& m) { return layer_norm_of(m, {.is_read_elsewhere = true}); }, {4, 32}),
              HasSubstr("pointwise"));
}

enum class Inverse { quotient, reciprocal, one_divided };
struct WrittenRms {
  int64_t last = -1;
  Inverse inverse = Inverse::quotient;
  bool is_squared_by_mul = false, is_read_elsewhere = false, is_of_another = false;
};
std::string rms_norm_of(ModelBuilder& m, const WrittenRms& how) {
  const std::string of = how.is_of_another ? m.node("Relu", {"x"}) : "x";
  const std::string square = how.is_squared_by_mul ? m.node("Mul", {of, of}) : m.node("Pow", {of, m.scalar(2)});
  const std::string mean = m.node("ReduceMean", {square}, {{"axes", Axes{how.last}}});
  if (how.is_read_elsewhere) m.output(mean);
  const std::string root = m.node("Sqrt", {m.node("Add", {mean, m.scalar(1e-5f)})});
  std::string quotient;
  switch (how.inverse) {
    case Inverse::quotient: quotient = m.node("Div", {"x", root}); break;
    case Inverse::reciprocal: quotient = m.node("Mul", {"x", m.node("Reciprocal", {root})}); break;
    case Inverse::one_divided: quotient = m.node("Mul", {m.node("Div", {m.scalar(1), root}), "x"}); break;
  }
  return m.node("Mul", {m.random_reals({32}, -1, 1), quotient});
}

TEST(Layers, RmsNormOfSixNodes) {
  for (const Inverse inverse : {Inverse::quotient, Inverse::reciprocal, Inverse::one_divided}) {
    for (const bool by_mul : {false, true}) {
      for (const Shape& shape : {Shape{1, 32}, {2, 5, 32}, {-1, 3, 2, 32}}) {
        const WrittenRms how{.inverse = inverse, .is_squared_by_mul = by_mul};
        EXPECT_EQ(becomes([&](ModelBuilder& m) { return rms_norm_of(m, how); }, shape), "rms_norm");
      }
    }
  }
  // Two layers may read one value, and later nodes may add to it.
  EXPECT_EQ(becomes(
                [](ModelBuilder& m) {
                  return m.node("Add", {"x", m.node("Add", {rms_norm_of(m, {}), rms_norm_of(m, {})})});
                },
                {4, 32}),
            "rms_norm rms_norm fused_add fused_add");
  EXPECT_THAT(becomes([](ModelBuilder& m) { return rms_norm_of(m, {.is_read_elsewhere = true}); }, {4, 32}),
              Not(HasSubstr("rms_norm")));
  EXPECT_THAT(becomes([](ModelBuilder& m) { return rms_norm_of(m, {.is_of_another = true}); }, {4, 32}),
              Not(HasSubstr("rms_norm")));
}

TEST(Layers, RmsNormOfOneNode) {
  for (const auto& node : {std::pair{"RMSNormalization", ""},
                           {"SimplifiedLayerNormalization", ""},
                           {"SimplifiedLayerNormalization", "com.microsoft"}}) {
    const auto of_axis = [&](int64_t axis, const Shape& weight) {
      return becomes(
          [&](ModelBuilder& m) {
            return m.node(node.first, {"x", m.random_reals(weight, -1, 1)}, {{"axis", axis}, {"epsilon", 1e-6f}},
                          node.second);
          },
          {2, 3, 4});
    };
    EXPECT_EQ(of_axis(-1, {4}), "rms_norm");
    EXPECT_EQ(of_axis(1, {3, 4}), "reshape rms_norm reshape");
    EXPECT_THAT(of_axis(-1, {3}), HasSubstr("its weight is [3], and must be [4] as its rows"));
    EXPECT_THAT(of_axis(3, {4}), HasSubstr("its axis is 3, and its input is [2, 3, 4]"));
  }
}

struct SkipNorm {
  std::string op = "SkipSimplifiedLayerNormalization";
  Shape skip = {2, 3, 32};
  int64_t weight = 32;
  size_t output = 0;
};
std::string skip_norm_of(ModelBuilder& m, const SkipNorm& how) {
  const std::string gamma = m.random_reals({how.weight}, -1, 1);
  m.node(how.op, {"x", m.random_reals(how.skip, -1, 1), gamma, m.random_reals({how.weight}, -1, 1)}, {},
         "com.microsoft");
  m.model.graph.nodes.back().outputs = {"y", "mean", "inverse", "sum"};
  return m.model.graph.nodes.back().outputs[how.output];
}

TEST(Layers, NormsOfSums) {
  const auto of = [](const SkipNorm& how) {
    return becomes([&](ModelBuilder& m) { return skip_norm_of(m, how); }, {2, 3, 32});
  };
  EXPECT_EQ(of({}), "skip_rms_norm");
  EXPECT_EQ(of({.output = 3}), "skip_rms_norm");
  EXPECT_EQ(of({.op = "SkipLayerNormalization"}), "skip_layer_norm");
  EXPECT_EQ(of({.skip = {3, 32}}), "fused_add fused_add rms_norm");
  EXPECT_EQ(of({.op = "SkipLayerNormalization", .skip = {1, 3, 32}}), "fused_add layer_norm");
  EXPECT_TEXT(of({.weight = 31}),
              "node 'SkipSimplifiedLayerNormalization_0' (SkipSimplifiedLayerNormalization): shapes [2, 3, 32] and "
              "[31] cannot be broadcast");
  EXPECT_TEXT(of({.output = 1}),
              "node 'SkipSimplifiedLayerNormalization_0' (SkipSimplifiedLayerNormalization): its output mean or "
              "inv_std_var is used, and qgen computes neither");
}

struct NormBeforeProduct {
  ElementType type = ElementType::f16;
  bool is_sum_read = true, is_norm_read = false;
  bool has_gate = false;
};
// Of six columns, of the normalized rows `y`.
std::string product_of_norm(ModelBuilder& m) {
  const std::string weight = m.random_integers(ElementType::u8, {6, 1, 16}, 0, 255);
  return m.node("MatMulNBits", {"y", weight, m.random_reals({6}, 0, 1)},
                {{"K", int64_t{32}}, {"N", int64_t{6}}, {"bits", int64_t{4}}, {"block_size", int64_t{32}}},
                "com.microsoft");
}
ModelBuilder norm_before_product(const NormBeforeProduct& how) {
  ModelBuilder m;
  const std::string x = m.input("x", {-1, 3, 32}, how.type), skip = m.input("skip", {-1, 3, 32}, how.type);
  m.node("SkipSimplifiedLayerNormalization", {x, skip, m.random_reals({32}, -1, 1)}, {{"epsilon", 0.25f}},
         "com.microsoft");
  m.model.graph.nodes.back().outputs = {"y", "", "", "sum"};
  std::string product = product_of_norm(m);
  if (how.has_gate) {
    const std::string up = product_of_norm(m);
    product = m.node("Mul", {m.node("Mul", {product, m.node("Sigmoid", {product})}), up});
  }
  m.output(product);
  if (how.is_sum_read) m.output("sum");
  if (how.is_norm_read) m.output("y");
  return m;
}

// A norm of a sum and the product that alone reads it are one node, if something reads the sum too.
TEST(Layers, NormsBeforeProducts) {
  const auto of = [](const NormBeforeProduct& how) { return imported_operators(norm_before_product(how)); };
  EXPECT_EQ(of({}), "rms_norm_linear_q4gsw");
  EXPECT_EQ(of({.type = ElementType::f32}), "skip_rms_norm linear_q4gsw");
  EXPECT_EQ(of({.is_sum_read = false}), "skip_rms_norm linear_q4gsw");
  EXPECT_EQ(of({.is_norm_read = true}), "skip_rms_norm linear_q4gsw");
  const auto imported = norm_before_product({}).import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_EQ(imported->graph.nodes[0].attributes.at("epsilon"), AttributeValue(0.25));
  EXPECT_TRUE(judged(imported->graph, {{"x", Random(1).reals(DType::f16, {1, 3, 32}, -1, 1)},
                                       {"skip", Random(2).reals(DType::f16, {1, 3, 32}, -1, 1)}}));
}

// The gate that alone reads the product becomes part of the node.
TEST(Layers, NormsBeforeGatedProducts) {
  const auto of = [](NormBeforeProduct how) {
    how.has_gate = true;
    return imported_operators(norm_before_product(how));
  };
  EXPECT_EQ(of({}), "rms_norm_gated_q4gsw");
  EXPECT_EQ(of({.type = ElementType::f32}), "skip_rms_norm linear_q4gsw silu_mul");
  EXPECT_EQ(of({.is_sum_read = false}), "skip_rms_norm linear_q4gsw silu_mul");
  EXPECT_EQ(of({.is_norm_read = true}), "skip_rms_norm linear_q4gsw silu_mul");
  const auto imported = norm_before_product({.has_gate = true}).import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_TRUE(judged(imported->graph, {{"x", Random(1).reals(DType::f16, {1, 3, 32}, -1, 1)},
                                       {"skip", Random(2).reals(DType::f16, {1, 3, 32}, -1, 1)}}));
}

struct Rotation {
  Shape shape = {2, 5, 24};
  int64_t angles = 4;
  std::map<std::string, AttributeData, std::less<>> attributes = {{"num_heads", int64_t{3}}};
  std::string domain = "com.microsoft";
};
std::string rotation_of(const Rotation& how) {
  return becomes(
      [&](ModelBuilder& m) {
        const std::string cos = m.random_reals({16, how.angles}, -1, 1), sin = m.random_reals({16, how.angles}, -1, 1);
        const std::string position = m.list({3});
        return m.node("RotaryEmbedding", {"x", position, cos, sin}, how.attributes, how.domain);
      },
      how.shape);
}

TEST(Layers, RotaryEmbeddings) {
  EXPECT_EQ(rotation_of({}), "reshape rotary_embedding reshape");
  EXPECT_EQ(rotation_of({.attributes = {}}), "reshape rotary_embedding reshape");
  EXPECT_EQ(rotation_of({.shape = {2, 3, 5, 8}}), "rotary_embedding");
  EXPECT_TEXT(rotation_of({.attributes = {{"num_heads", int64_t{5}}}}),
              "node 'RotaryEmbedding_0' (RotaryEmbedding): its input is [2, 5, 24], and it has 5 heads");
  EXPECT_TEXT(rotation_of({.angles = 3}),
              "node 'RotaryEmbedding_0' (RotaryEmbedding): its cos_cache is [16, 3], and must have one column for two "
              "of a head's 8 rotated elements");
  EXPECT_TEXT(rotation_of({.attributes = {{"num_heads", int64_t{3}}, {"scale", 2.0f}}}),
              "node 'RotaryEmbedding_0' (RotaryEmbedding): its scale is 2, and can be 1");
  EXPECT_TEXT(rotation_of({.attributes = {{"num_heads", int64_t{3}}, {"is_packed_batching", int64_t{1}}}}),
              "node 'RotaryEmbedding_0' (RotaryEmbedding): its batches are packed (is_packed_batching)");
  EXPECT_TEXT(rotation_of({.shape = {2, 24}}),
              "node 'RotaryEmbedding_0' (RotaryEmbedding): its input is [2, 24], and must have three or four "
              "dimensions");
}

// Halves between doors of f32 are computed in f32; an output of halves is rounded at the end.
TEST(Rewrites, CastsToHalvesAreLeftOut) {
  const auto half = [](ModelBuilder& m) { return m.node("Cast", {"x"}, {{"to", int64_t{10}}}); };
  EXPECT_EQ(becomes([&](ModelBuilder& m) {
              return m.node("Cast", {m.node("Relu", {half(m)})}, {{"to", int64_t{1}}});
            }),
            "fused_relu");
  ModelBuilder m;
  m.input("x", {1, 4});
  m.output(m.node("Relu", {half(m)}));
  m.model.graph.outputs.front().type = ElementType::f16;
  EXPECT_EQ(imported_operators(m), "fused_relu pointwise");
}

// ---- branches -------------------------------------------------------------------------------------------------------

std::string branched(ModelBuilder& m, const std::string& condition) {
  const auto branch = [](const std::string& op) {
    ModelGraph graph;
    graph.nodes.push_back({.name = op + "_in", .op = op, .inputs = {"x"}, .outputs = {op + "_out"}});
    graph.outputs.push_back({.name = op + "_out"});
    return Subgraph{std::make_shared<const ModelGraph>(std::move(graph))};
  };
  return m.node("If", {condition}, {{"then_branch", branch("Relu")}, {"else_branch", branch("Sigmoid")}});
}

TEST(Branches, OfAConditionThatIsKnown) {
  EXPECT_EQ(becomes([](ModelBuilder& m) { return branched(m, m.integers(ElementType::boolean, {}, {1})); }),
            "fused_relu");
  EXPECT_EQ(becomes([](ModelBuilder& m) { return branched(m, m.integers(ElementType::boolean, {}, {0})); }),
            "fused_sigmoid");
  EXPECT_EQ(becomes([](ModelBuilder& m) {
              const std::string rate = m.integers(ElementType::i64, {}, {16000});
              return branched(m, m.node("Equal", {rate, m.integers(ElementType::i64, {}, {16000})}));
            }),
            "fused_relu");
}

// Both branches run, and a Where takes one's results.
TEST(Branches, OfAConditionThatIsComputed) {
  ModelBuilder m;
  m.input("x", {1, 4});
  m.input("c", {1, 1}, ElementType::f32);
  m.output(branched(m, m.node("Greater", {"c", m.scalar(0)})));
  EXPECT_EQ(imported_operators(m), "pointwise reshape fused_relu fused_sigmoid pointwise");
  const auto imported = m.import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  const HostTensor x = tensor_of(DType::f32, {1, 4}, {-1, 0, 1, 2});
  const auto taken = judged(imported->graph, {{"x", x}, {"c", tensor_of(DType::f32, {1, 1}, {1})}});
  const auto otherwise = judged(imported->graph, {{"x", x}, {"c", tensor_of(DType::f32, {1, 1}, {-1})}});
  ASSERT_TRUE(taken) << to_text(taken.error());
  ASSERT_TRUE(otherwise) << to_text(otherwise.error());
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(element(taken->begin()->second, i), std::max(element(x, i), 0.0));
    EXPECT_NEAR(element(otherwise->begin()->second, i), 1 / (1 + std::exp(-element(x, i))), 1e-6);
  }
}

TEST(Branches, OfOtherShapes) {
  ModelBuilder m;
  m.input("x", {1, 4});
  m.input("c", {}, ElementType::f32);
  const auto branch = [](Node node) {
    ModelGraph graph;
    node.outputs = {node.op + "_out"};
    graph.outputs.push_back({.name = node.outputs.front()});
    graph.nodes.push_back(std::move(node));
    return Subgraph{std::make_shared<const ModelGraph>(std::move(graph))};
  };
  m.output(m.node("If", {m.node("Greater", {"c", m.scalar(0)})},
                  {{"then_branch", branch({.name = "a", .op = "Relu", .inputs = {"x"}})},
                   {"else_branch", branch({.name = "b", .op = "Transpose", .inputs = {"x"}})}}));
  EXPECT_TEXT(imported_operators(m),
              "node 'If_1' (If): needs branches whose results have the same shapes and types, or a condition that is "
              "known before the model runs");
}

// ---- bounds that are computed ---------------------------------------------------------------------------------------

TEST(Rewrites, ClipToComputedBounds) {
  ModelBuilder m;
  m.input("x", {4});
  m.input("low", {}, ElementType::f32);
  m.input("high", {1}, ElementType::f32);
  m.output(m.node("Clip", {"x", "low", "high"}));
  m.output(m.node("Clip", {"x", "low"}));
  m.output(m.node("Clip", {"x", "", "high"}));
  const auto imported = m.import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  const auto given = [&](float low, float high) {
    const auto outputs = judged(imported->graph, {{"x", tensor_of(DType::f32, {4}, {-3, -1, 1, 3})},
                                                  {"low", tensor_of(DType::f32, {}, {low})},
                                                  {"high", tensor_of(DType::f32, {1}, {high})}});
    EXPECT_TRUE(outputs) << to_text(outputs.error());
    std::vector<std::vector<double>> values;
    for (const ValueInfo& output : m.model.graph.outputs) {
      values.emplace_back();
      for (int64_t i = 0; i < 4; ++i) values.back().push_back(element(outputs->at(output.name), i));
    }
    return values;
  };
  using Values = std::vector<std::vector<double>>;
  EXPECT_EQ(given(-2, 2), (Values{{-2, -1, 1, 2}, {-2, -1, 1, 3}, {-3, -1, 1, 2}}));
  EXPECT_EQ(given(2, -2), (Values{{-2, -2, -2, -2}, {2, 2, 2, 3}, {-3, -2, -2, -2}}));  // the upper bound wins
}

}  // namespace
}  // namespace qgen::onnx::testing
