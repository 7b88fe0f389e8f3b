// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What patterns must not match, group by group: a node, and what its refusal says of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/onnx/model_builder.h"

namespace qgen::onnx::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using List = std::vector<int64_t>;

// An image of bytes, rows of bytes and their reals, for one node more.
struct Start : ModelBuilder {
  explicit Start(int64_t opset) : ModelBuilder(opset) {}
  std::string image = view(input("x", {-1, 4, 6, 6}), 0.05f, 3), rows = view(input("rows", {-1, 5, 8}), 0.05f, 3);
};

struct Row {
  std::string reason;
  std::string (*build)(Start& m);  // gives the result of the node that is refused
  int64_t opset = 13;
};

void expect_refused(std::span<const Row> rows) {
  for (const Row& row : rows) {
    Start m(row.opset);
    m.output(row.build(m));
    const std::string refused = fmt::format("node '{}' (", m.model.graph.nodes.back().name);
    EXPECT_THAT(imported_operators(m), AllOf(HasSubstr(refused), HasSubstr(row.reason)));
  }
}

TEST(Refusals, Convolutions) {
  const Row rows[] = {
      {"are no images or rows",
       [](Start& m) {
         return m.node("Conv", {m.rows, m.weight({3, 8, 1, 1})});
       }},
      {"an input [?, 4, 6, 6], a weight [3, 5, 3, 3] and 1 groups do not go together",
       [](Start& m) {
         return m.conv(m.image, {3, 5, 3, 3});
       }},
      {"and 3 groups do not go together",
       [](Start& m) {
         return m.conv(m.image, {4, 4, 3, 3}, {{"group", int64_t{3}}});
       }},
      {"its bias is [2], and it has 3 outputs",
       [](Start& m) {
         return m.node("Conv", {m.image, m.weight({3, 4, 1, 1}), m.reals({2}, {1, 2})});
       }},
      {"its bias is no constant",
       [](Start& m) {
         return m.node("Conv", {m.image, m.weight({3, 4, 3, 3}), m.input("bias", {3})});
       }},
      {"it has no input 1", [](Start& m) { return m.node("Conv", {m.image}); }},
      {"a window of 9 has no place in",
       [](Start& m) {
         return m.conv(m.image, {3, 4, 9, 1});
       }},
      {"auto_pad 'SAME'",
       [](Start& m) {
         return m.conv(m.image, {3, 4, 3, 3}, {{"auto_pad", std::string("SAME")}});
       }},
      {"strides is [0, 1], and has 2 numbers from 1 up",
       [](Start& m) {
         return m.conv(m.image, {3, 4, 3, 3}, {{"strides", List{0, 1}}});
       }},
      {"pads is [1, 1], and has 4 numbers from 0 up",
       [](Start& m) {
         return m.conv(m.image, {3, 4, 3, 3}, {{"pads", List{1, 1}}});
       }},
  };
  expect_refused(rows);
}

TEST(Refusals, TransposedConvolutions) {
  const Row rows[] = {
      {"an input [?, 4, 6, 6], a weight [5, 3, 3, 3] and 1 groups do not go together",
       [](Start& m) {
         return m.node("ConvTranspose", {m.image, m.weight({5, 3, 3, 3}, 1)});
       }},
      {"output_padding or output_shape has another length than the window",
       [](Start& m) {
         return m.node("ConvTranspose", {m.image, m.weight({4, 3, 3, 3}, 1)}, {{"output_padding", List{1}}});
       }},
      {"output_padding or output_shape has a number below 0",
       [](Start& m) {
         return m.node("ConvTranspose", {m.image, m.weight({4, 3, 3, 3}, 1)}, {{"output_padding", List{-1, 0}}});
       }},
      {"its output has -1 pixels",
       [](Start& m) {
         return m.node("ConvTranspose", {m.image, m.weight({4, 3, 1, 1}, 1)}, {{"pads", List{3, 3, 4, 4}}});
       }},
      {"its padding depends on a side that is not known",
       [](Start& m) {
         return m.node("ConvTranspose", {m.view(m.input("long", {1, 4, -1}), 0.1f, 0), m.weight({4, 3, 3}, 1)},
                       {{"output_shape", List{9}}});
       }},
  };
  expect_refused(rows);
}

TEST(Refusals, Products) {
  const Row rows[] = {
      {"does not go with 7 columns",
       [](Start& m) {
         return m.node("MatMul", {m.rows, m.weight({7, 6}, 1)});
       }},
      {"several matrices or none",
       [](Start& m) {
         return m.node("Gemm", {m.rows, m.dequantize(m.random_integers(ElementType::i8, {2, 6, 8}, -9, 9), 0.1f, 0)},
                       {{"alpha", 0.5f}});
       }},
      {"matrices [?, 5, 8] and [?, 5, 8] do not go together",
       [](Start& m) {
         return m.node("MatMul", {m.rows, m.rows});
       }},
      {"a vector is multiplied by a matrix",
       [](Start& m) {
         return m.node("MatMul", {m.view(m.input("v", {5}), 0.1f, 0), m.rows});
       }},
      {"its first matrix is turned (transA)",
       [](Start& m) {
         return m.node("Gemm", {m.rows, m.weight({8, 6}, 1)}, {{"transA", int64_t{1}}});
       }},
      {"alpha is -1",
       [](Start& m) {
         return m.node("Gemm", {m.rows, m.weight({8, 6}, 1)}, {{"alpha", -1.0f}});
       }},
      {"its second matrix is turned (transB), and no quantized constant",
       [](Start& m) {
         return m.node("Gemm", {m.view("a", 0.1f, 0), m.view(m.input("a", {4, 8}), 0.1f, 0)}, {{"transB", int64_t{1}}});
       }},
      {"its bias is [5], and it has 6 outputs",
       [](Start& m) {
         return m.node("Gemm", {m.rows, m.weight({8, 6}, 1), m.random_reals({5}, -1, 1)});
       }},
  };
  expect_refused(rows);
}

TEST(Refusals, MeansAndPools) {
  const Row rows[] = {
      {"is no image or row",
       [](Start& m) {
         return m.node("GlobalAveragePool", {m.view(m.input("flat", {1, 4}), 0.1f, 0)});
       }},
      {"its channels are last",
       [](Start& m) {
         return m.node("QLinearGlobalAveragePool",
                       {m.quantize("x", 0.1f, 0), m.scalar(0.1f), m.zero(0, ElementType::i8), m.scalar(0.1f),
                        m.zero(0, ElementType::i8)},
                       {{"channels_last", int64_t{1}}}, "com.microsoft");
       }},
      {"its axes are no constants",
       [](Start& m) {
         return m.node("ReduceMean", {m.image, m.reals({2}, {2, 3})});
       },
       18},
      {"a mean along other axes than those of an image",
       [](Start& m) {
         return m.node("ReduceMean", {m.image}, {{"axes", List{1, 2, 3}}});
       }},
      {"it has dilations",
       [](Start& m) {
         return m.node("AveragePool", {m.image}, {{"kernel_shape", List{2, 2}}, {"dilations", List{2, 2}}});
       },
       19},
      {"does not go with a window of 0 sides", [](Start& m) { return m.node("AveragePool", {m.image}); }},
      {"its input is [1, 4]",
       [](Start& m) {
         return m.node("MaxPool", {m.input("flat", {1, 4})}, {{"kernel_shape", List{2}}});
       }},
  };
  expect_refused(rows);
}

TEST(Refusals, Rows) {
  const Row rows[] = {
      {"its axis is 3 of [?, 5, 8]",
       [](Start& m) {
         return m.node("LayerNormalization", {m.rows, m.random_reals({8}, 0, 1)}, {{"axis", int64_t{3}}});
       },
       17},
      {"its weight is [5], and its rows are [8]",
       [](Start& m) {
         return m.node("LayerNormalization", {m.rows, m.random_reals({5}, 0, 1)});
       },
       17},
      {"its axis is 4 of [?, 5, 8]",
       [](Start& m) {
         return m.node("Softmax", {m.rows}, {{"axis", int64_t{4}}});
       }},
      {"its axis is 3 of",
       [](Start& m) {
         return m.node("Concat", {m.rows, m.rows}, {{"axis", int64_t{3}}});
       }},
  };
  expect_refused(rows);
}

TEST(Refusals, ScalesAndZeroPoints) {
  const Row rows[] = {
      {"its scale is 0",
       [](Start& m) {
         return m.node("QuantizeLinear", {"x", m.scalar(0)});
       }},
      {"its scale is -1",
       [](Start& m) {
         return m.node("QuantizeLinear", {"x", m.scalar(-1)});
       }},
      {"its scale is inf",
       [](Start& m) {
         return m.node("QuantizeLinear", {"x", m.scalar(1e38f * 10)});
       }},
      {"and can be 2^-125 to 2^119",
       [](Start& m) {
         return m.node("QuantizeLinear", {"x", m.scalar(1e-39f)});
       }},
      {"its scale is no constant of reals",
       [](Start& m) {
         return m.node("QuantizeLinear", {"x", m.list({1})});
       }},
      {"it has no scale",
       [](Start& m) {
         return m.node("QuantizeLinear", {"x", m.reals({0}, {})});
       }},
      {"it has no input or no scale", [](Start& m) { return m.node("QuantizeLinear", {"x"}); }},
      {"it has 3 scales and 2 zero points",
       [](Start& m) {
         return m.node("QuantizeLinear", {"x", m.reals({3}, {1, 2, 3}), m.integers(ElementType::i8, {2}, {1, 2})});
       }},
      {"its zero point is 9",
       [](Start& m) {
         return m.node("QuantizeLinear", {"x", m.scalar(1), m.zero(9, ElementType::i4)});
       },
       21},
      {"it has several scales, and its input a side that is not known",
       [](Start& m) {
         return m.node("QuantizeLinear", {"x", m.reals({4}, {1, 2, 3, 4})});
       }},
      {"axis 7 of a tensor of rank 3",
       [](Start& m) {
         return m.node("QuantizeLinear", {m.input("y", {2, 4, 3}), m.reals({4}, {1, 2, 3, 4})}, {{"axis", int64_t{7}}});
       }},
      {"it has scales [4] for 3 elements along axis 2",
       [](Start& m) {
         return m.node("QuantizeLinear", {m.input("y", {2, 4, 3}), m.reals({4}, {1, 2, 3, 4})}, {{"axis", int64_t{2}}});
       }},
      {"in blocks of 3 along axis 1",
       [](Start& m) {
         return m.node("QuantizeLinear", {m.input("y", {2, 6}), m.reals({2, 3}, {1, 2, 3, 4, 5, 6})},
                       {{"block_size", int64_t{3}}});
       },
       21},
      {"its last block of 4 is not whole",
       [](Start& m) {
         return m.node("QuantizeLinear", {m.input("y", {2, 6}), m.reals({2, 2}, {1, 2, 3, 4})},
                       {{"block_size", int64_t{4}}});
       },
       21},
      {"its integers are of int8 and its zero point of uint8",
       [](Start& m) { return m.dequantize(m.quantize("x", 0.1f, 0), 0.1f, 0, ElementType::u8); }},
      {"its input does not consist of integers", [](Start& m) { return m.dequantize("x", 0.1f, 0); }},
  };
  expect_refused(rows);
}

TEST(Refusals, OperatorsThatSayTheirQuantization) {
  const Row rows[] = {
      {"input 0 has several scales",
       [](Start& m) {
         const std::string zero = m.zero(0, ElementType::i8), one = m.scalar(0.1f);
         return m.node("QLinearMatMul", {m.quantize("rows", 0.1f, 0), m.reals({2}, {1, 2}), zero,
                                         m.random_integers(ElementType::i8, {8, 6}, -9, 9), one, zero, one, zero});
       }},
      {"input 3 is [8, 6], and has 2 scales",
       [](Start& m) {
         const std::string zero = m.zero(0, ElementType::i8), one = m.scalar(0.1f);
         return m.node("QLinearMatMul",
                       {m.quantize("rows", 0.1f, 0), one, zero, m.random_integers(ElementType::i8, {8, 6}, -9, 9),
                        m.reals({2}, {1, 2}), zero, one, zero});
       }},
      {"the scale of its output is no constant",
       [](Start& m) {
         const std::string zero = m.zero(0, ElementType::i8), one = m.scalar(0.1f);
         return m.node("QLinearMatMul",
                       {m.quantize("rows", 0.1f, 0), one, zero, m.random_integers(ElementType::i8, {8, 6}, -9, 9), one,
                        zero, m.input("scale", {}), zero});
       }},
      {"its bias is no constant of int32",
       [](Start& m) {
         const std::string zero = m.zero(0, ElementType::i8), one = m.scalar(0.1f);
         return m.node("QLinearConv",
                       {m.quantize("x", 0.1f, 0), one, zero, m.random_integers(ElementType::i8, {3, 4, 1, 1}, -9, 9),
                        one, zero, one, zero, m.reals({3}, {1, 2, 3})});
       }},
      {"input 1 has 2 zero points",
       [](Start& m) {
         return m.node("MatMulInteger", {m.quantize("rows", 0.1f, 0), m.random_integers(ElementType::i8, {8, 6}, -9, 9),
                                         "", m.integers(ElementType::i8, {2}, {1, 2})});
       }},
      {"domain 'com.acme' has no such operator here",
       [](Start& m) { return m.node("Relu", {m.image}, {}, "com.acme"); }},
      {"this operator is not known", [](Start& m) { return m.node("Mystery", {m.image}); }},
      {"needs a power of a tensor",
       [](Start& m) {
         return m.node("Pow", {m.image, m.scalar(2)});
       }},
  };
  expect_refused(rows);
}

TEST(Refusals, Movements) {
  const Row rows[] = {
      {"it has 1 starts and 2 ends",
       [](Start& m) {
         return m.node("Slice", {m.image, m.list({0}), m.list({1, 2})});
       }},
      {"a step of 0",
       [](Start& m) {
         return m.node("Slice", {m.image, m.list({0}), m.list({1}), m.list({1}), m.list({0})});
       }},
      {"axis 9 of 4",
       [](Start& m) {
         return m.node("Slice", {m.image, m.list({0}), m.list({1}), m.list({9})});
       }},
      {"it names 2 axes, and 1 are needed",
       [](Start& m) {
         return m.node("Slice", {m.image, m.list({0}), m.list({1}), m.list({1, 2})});
       }},
      {"axis 4 of 4",
       [](Start& m) {
         return m.node("Gather", {m.image, m.integers(ElementType::i64, {}, {1})}, {{"axis", int64_t{4}}});
       }},
      {"places 6 to 6 of 6",
       [](Start& m) {
         return m.node("Gather", {m.image, m.integers(ElementType::i64, {}, {6})}, {{"axis", int64_t{2}}});
       }},
      {"its mode is wrap",
       [](Start& m) {
         return m.node("Pad", {m.image, m.list({0, 0, 1, 1, 0, 0, 1, 1})}, {{"mode", std::string("wrap")}});
       }},
      {"it has 3 pads",
       [](Start& m) {
         return m.node("Pad", {m.image, m.list({0, 0, 1})});
       }},
      {"pads [0, 0, -4, 0, 0, 0, -3, 0] of",
       [](Start& m) {
         return m.node("Pad", {m.image, m.list({0, 0, -4, 0, 0, 0, -3, 0})});
       }},
      {"what it pads with is no constant",
       [](Start& m) {
         return m.node("Pad", {m.image, m.list({0, 0, 1, 1, 0, 0, 1, 1}), m.input("value", {})});
       }},
      {"blocks of 3 of",
       [](Start& m) {
         return m.node("DepthToSpace", {m.image}, {{"blocksize", int64_t{3}}, {"mode", std::string("CRD")}});
       }},
      {"there is no operator of reals",
       [](Start& m) {
         return m.node("DepthToSpace", {"x"}, {{"blocksize", int64_t{2}}, {"mode", std::string("CRD")}});
       }},
      {"axis 9 of [?, 4, 6, 6]",
       [](Start& m) {
         return m.node("Flatten", {m.image}, {{"axis", int64_t{9}}});
       }},
      {"perm [0, 0, 1, 2] of",
       [](Start& m) {
         return m.node("Transpose", {m.image}, {{"perm", List{0, 0, 1, 2}}});
       }},
      {"its shape is not known before the model runs", [](Start& m) { return m.node("Reshape", {m.image}); }},
      {"it has antialias",
       [](Start& m) {
         return m.node("Resize", {m.image, "", m.reals({4}, {1, 1, 2, 2})}, {{"antialias", int64_t{1}}});
       },
       18},
      {"its mode is cubic",
       [](Start& m) {
         return m.node("Resize", {m.image, "", m.reals({4}, {1, 1, 2, 2})}, {{"mode", std::string("cubic")}});
       }},
      {"its coordinate_transformation_mode is tf_crop_and_resize",
       [](Start& m) {
         return m.node("Resize", {m.image, "", m.reals({4}, {1, 1, 2, 2})},
                       {{"coordinate_transformation_mode", std::string("tf_crop_and_resize")}});
       }},
      {"it changes more than height and width",
       [](Start& m) {
         return m.node("Resize", {m.image, "", m.reals({4}, {1, 2, 2, 2})});
       }},
      {"its scales are no constants, or not four",
       [](Start& m) {
         return m.node("Resize", {m.image, "", m.reals({2}, {2, 2})});
       }},
      {"is no image",
       [](Start& m) {
         return m.node("Resize", {m.rows, "", m.reals({3}, {1, 2, 2})});
       }},
  };
  expect_refused(rows);
}

TEST(Refusals, OfTheModelAsAWhole) {
  ModelBuilder constant;
  constant.output(constant.scalar(1));
  EXPECT_THAT(imported_operators(constant), HasSubstr("is a constant"));
  Start second(13);
  second.output(second.node("MaxPool", {second.image}, {{"kernel_shape", List{2, 2}}}));
  second.model.graph.nodes.back().outputs.push_back("places");
  second.output("places");
  EXPECT_THAT(imported_operators(second), HasSubstr("more than its first output is used"));
  ModelBuilder wide;
  wide.output(wide.node("Relu", {wide.input("x", {4}, ElementType::i32)}));
  EXPECT_THAT(imported_operators(wide), HasSubstr("inputs are of float32, float16, and integers of 8 and 4 bits"));
}

}  // namespace
}  // namespace qgen::onnx::testing
