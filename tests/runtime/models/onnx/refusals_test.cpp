// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Nodes that patterns must refuse, group by group, with the message of each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/models/onnx/model_builder.h"
#include "tests/support/expected_text.h"

namespace qgen::onnx::testing {
namespace {

using ::testing::HasSubstr;
using List = std::vector<int64_t>;

// An int8 image, int8 rows and their dequantized values, for one more node.
struct Start : ModelBuilder {
  explicit Start(int64_t opset) : ModelBuilder(opset) {}
  std::string image = view(input("x", {-1, 4, 6, 6}), 0.05f, 3), rows = view(input("rows", {-1, 5, 8}), 0.05f, 3);
};

struct Refusal {
  std::string reason;
  std::string (*build)(Start& m);  // gives the result of the node that is refused
  int64_t opset = 13;
};

void expect_refused(std::span<const Refusal> rows) {
  for (const Refusal& row : rows) {
    Start m(row.opset);
    m.output(row.build(m));
    const std::string message = imported_operators(m);
    EXPECT_THAT(message, HasSubstr(fmt::format("node '{}' (", m.model.graph.nodes.back().name)));
    EXPECT_TEXT(first_reason(message), row.reason);
  }
}

TEST(Refusals, Convolutions) {
  const Refusal rows[] = {
      {"an input [?, 5, 8] and a weight [3, 8, 1, 1] are neither images [N, C, H, W] nor rows [N, "
       "C, L]",
       [](Start& m) {
         return m.node("Conv", {m.rows, m.weight({3, 8, 1, 1})});
       }},
      {"an input [?, 4, 6, 6], a weight [3, 5, 3, 3] and 1 groups do not match",
       [](Start& m) {
         return m.conv(m.image, {3, 5, 3, 3});
       }},
      {"an input [?, 4, 6, 6], a weight [4, 4, 3, 3] and 3 groups do not match",
       [](Start& m) {
         return m.conv(m.image, {4, 4, 3, 3}, {{"group", int64_t{3}}});
       }},
      {"its bias is [2], and it has 3 outputs",
       [](Start& m) {
         return m.node("Conv", {m.image, m.weight({3, 4, 1, 1}), m.reals({2}, {1, 2})});
       }},
      {"it has no input 1 (W), which Conv needs", [](Start& m) { return m.node("Conv", {m.image}); }},
      {"a window of 9 does not fit into [?, 4, 6, 6]",
       [](Start& m) {
         return m.conv(m.image, {3, 4, 9, 1});
       }},
      {"its attribute 'auto_pad' is 'SAME', and can be NOTSET, SAME_UPPER, SAME_LOWER, VALID",
       [](Start& m) {
         return m.conv(m.image, {3, 4, 3, 3}, {{"auto_pad", std::string("SAME")}});
       }},
      {"its kernel_shape is [1, 1], and its weight has a window of [3, 3]",
       [](Start& m) {
         return m.conv(m.image, {3, 4, 3, 3}, {{"kernel_shape", List{1, 1}}});
       }},
      {"strides is [], and has 2 numbers from 1 to 2^30",
       [](Start& m) {
         return m.conv(m.image, {3, 4, 3, 3}, {{"strides", List{}}});
       }},
      {"strides is [0, 1], and has 2 numbers from 1 to 2^30",
       [](Start& m) {
         return m.conv(m.image, {3, 4, 3, 3}, {{"strides", List{0, 1}}});
       }},
      {"pads is [1, 1], and has 4 numbers from 0 to 2^30",
       [](Start& m) {
         return m.conv(m.image, {3, 4, 3, 3}, {{"pads", List{1, 1}}});
       }},
      {"pads is [1073741825, 0, 0, 0], and has 4 numbers from 0 to 2^30",
       [](Start& m) {
         return m.conv(m.image, {3, 4, 3, 3}, {{"pads", List{(1 << 30) + 1, 0, 0, 0}}});
       }},
  };
  expect_refused(rows);
}

TEST(Refusals, TransposedConvolutions) {
  const Refusal rows[] = {
      {"an input [?, 4, 6, 6], a weight [5, 3, 3, 3] and 1 groups do not match",
       [](Start& m) {
         return m.node("ConvTranspose", {m.image, m.weight({5, 3, 3, 3}, 1)});
       }},
      {"output_padding or output_shape has not one number for each dimension of the window",
       [](Start& m) {
         return m.node("ConvTranspose", {m.image, m.weight({4, 3, 3, 3}, 1)}, {{"output_padding", List{1}}});
       }},
      {"output_padding or output_shape has not one number for each dimension of the window",
       [](Start& m) {
         return m.node("ConvTranspose", {m.image, m.weight({4, 3, 3, 3}, 1)}, {{"output_shape", List{}}});
       }},
      {"output_padding or output_shape has a number below 0 or above 2^30",
       [](Start& m) {
         return m.node("ConvTranspose", {m.image, m.weight({4, 3, 3, 3}, 1)}, {{"output_padding", List{-1, 0}}});
       }},
      {"its output would have -1 pixels along a dimension",
       [](Start& m) {
         return m.node("ConvTranspose", {m.image, m.weight({4, 3, 1, 1}, 1)}, {{"pads", List{3, 3, 4, 4}}});
       }},
      {"its padding depends on an unknown dimension",
       [](Start& m) {
         return m.node("ConvTranspose", {m.view(m.input("long", {1, 4, -1}), 0.1f, 0), m.weight({4, 3, 3}, 1)},
                       {{"output_shape", List{9}}});
       }},
  };
  expect_refused(rows);
}

TEST(Refusals, Products) {
  const Refusal rows[] = {
      {"an input [?, 5, 8] does not match a weight of 7 columns",
       [](Start& m) {
         return m.node("MatMul", {m.rows, m.weight({7, 6}, 1)});
       }},
      {"its alpha is 0.5, and must be 1",
       [](Start& m) {
         return m.node("Gemm", {m.rows, m.dequantize(m.random_integers(ElementType::i8, {2, 6, 8}, -9, 9), 0.1f, 0)},
                       {{"alpha", 0.5f}});
       }},
      {"matrices [?, 5, 8] and [?, 5, 8] do not match",
       [](Start& m) {
         return m.node("MatMul", {m.rows, m.rows});
       }},
      {"its first matrix is [?, 5, 8]",
       [](Start& m) {
         return m.node("Gemm", {m.rows, m.weight({8, 6}, 1)}, {{"transA", int64_t{1}}});
       }},
      {"its second matrix is transposed (transB), but not a quantized constant",
       [](Start& m) {
         return m.node("Gemm", {m.view("a", 0.1f, 0), m.view(m.input("a", {4, 8}), 0.1f, 0)}, {{"transB", int64_t{1}}});
       }},
      {"shapes [?, 5, 6] and [5] cannot be broadcast",
       [](Start& m) {
         return m.node("Gemm", {m.rows, m.weight({8, 6}, 1), m.random_reals({5}, -1, 1)});
       }},
  };
  expect_refused(rows);

  Start m(13);  // the reason of another row of the table, on a separate line
  const std::string tensor = m.dequantize(m.random_integers(ElementType::i8, {2, 6, 8}, -9, 9), 0.1f, 0);
  m.output(m.node("Gemm", {m.rows, tensor}, {{"alpha", 0.5f}}));
  EXPECT_TEXT(imported_operators(m),
              "node 'Gemm_5' (Gemm): its alpha is 0.5, and must be 1\n"
              "  not as int8, int8 weight: its weight is [2, 6, 8], and must be one matrix\n"
              "  not as real, int4 weight: its weight does not have 4 bits\n"
              "  not as real, int8 weight: its weight is [2, 6, 8], and must be one matrix");
}

TEST(Refusals, MeansAndPools) {
  const Refusal rows[] = {
      {"its input [1, 4] is neither an image [N, C, H, W] nor a row [N, C, L]",
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
      {"its input axes ('constant_8') is float32, and can be int64",
       [](Start& m) {
         return m.node("ReduceMean", {m.image, m.reals({2}, {2, 3})});
       },
       18},
      {"its axes are not constant",
       [](Start& m) {
         return m.node("ReduceMean", {m.image, m.node("Shape", {m.image})});
       },
       18},
      {"its windows are dilated, and a side of its input is unknown",
       [](Start& m) {
         return m.node("AveragePool", {m.input("batches", {1, -1, 4, 4})},
                       {{"kernel_shape", List{2, 2}}, {"dilations", List{2, 2}}});
       },
       19},
      {"it has no attribute 'kernel_shape', and AveragePool needs one",
       [](Start& m) { return m.node("AveragePool", {m.image}); }},
      {"its input [1, 4] is neither an image [N, C, H, W] nor a row [N, C, L]",
       [](Start& m) {
         return m.node("MaxPool", {m.input("flat", {1, 4})}, {{"kernel_shape", List{2}}});
       }},
  };
  expect_refused(rows);
}

TEST(Refusals, Rows) {
  const Refusal rows[] = {
      {"its axis is 3, and its input is [?, 5, 8]",
       [](Start& m) {
         return m.node("LayerNormalization", {m.rows, m.random_reals({8}, 0, 1)}, {{"axis", int64_t{3}}});
       },
       17},
      {"its weight is [5], and must be [8] as its rows",
       [](Start& m) {
         return m.node("LayerNormalization", {m.rows, m.random_reals({5}, 0, 1)});
       },
       17},
      {"its axis is 4, and its input is [?, 5, 8]",
       [](Start& m) {
         return m.node("Softmax", {m.rows}, {{"axis", int64_t{4}}});
       }},
      {"its axis is 3, and its input is [?, 5, 8]",
       [](Start& m) {
         return m.node("Concat", {m.rows, m.rows}, {{"axis", int64_t{3}}});
       }},
  };
  expect_refused(rows);
}

TEST(Refusals, ScalesAndZeroPoints) {
  const Refusal rows[] = {
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
      {"its scale is 1e-39, and can be 2^-125 to 2^119",
       [](Start& m) {
         return m.node("QuantizeLinear", {"x", m.scalar(1e-39f)});
       }},
      {"its input y_scale ('constant_8') is int64, and can be float32",
       [](Start& m) {
         return m.node("QuantizeLinear", {"x", m.list({1})});
       }},
      {"it has no scale",
       [](Start& m) {
         return m.node("QuantizeLinear", {"x", m.reals({0}, {})});
       }},
      {"it has no input 1 (y_scale), which QuantizeLinear needs",
       [](Start& m) { return m.node("QuantizeLinear", {"x"}); }},
      {"it has 3 scales and 2 zero points",
       [](Start& m) {
         return m.node("QuantizeLinear", {"x", m.reals({3}, {1, 2, 3}), m.integers(ElementType::i8, {2}, {1, 2})});
       }},
      {"its zero point is 9",
       [](Start& m) {
         return m.node("QuantizeLinear", {"x", m.scalar(1), m.zero(9, ElementType::i4)});
       },
       21},
      {"it has several scales, but its input has an unknown dimension",
       [](Start& m) {
         return m.node("QuantizeLinear", {"x", m.reals({4}, {1, 2, 3, 4})});
       }},
      {"its axis is 7, and its tensor has rank 3",
       [](Start& m) {
         return m.node("QuantizeLinear", {m.input("y", {2, 4, 3}), m.reals({4}, {1, 2, 3, 4})}, {{"axis", int64_t{7}}});
       }},
      {"it has scales [4] for 3 elements along axis 2",
       [](Start& m) {
         return m.node("QuantizeLinear", {m.input("y", {2, 4, 3}), m.reals({4}, {1, 2, 3, 4})}, {{"axis", int64_t{2}}});
       }},
      {"it has scales [2, 3] for a tensor [2, 6] in blocks of 3 along axis 1",
       [](Start& m) {
         return m.node("QuantizeLinear", {m.input("y", {2, 6}), m.reals({2, 3}, {1, 2, 3, 4, 5, 6})},
                       {{"block_size", int64_t{3}}});
       },
       21},
      {"its input x_zero_point ('constant_11') is uint8 and its input x is int8, and ONNX requires "
       "the same type",
       [](Start& m) { return m.dequantize(m.quantize("x", 0.1f, 0), 0.1f, 0, ElementType::u8); }},
      {"its input x ('x') is float32, and can be int32, int8, uint8",
       [](Start& m) { return m.dequantize("x", 0.1f, 0); }},
  };
  expect_refused(rows);
}

TEST(Refusals, OperatorsThatSayTheirQuantization) {
  const Refusal rows[] = {
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
      {"the scale of its output is not constant",
       [](Start& m) {
         const std::string zero = m.zero(0, ElementType::i8), one = m.scalar(0.1f);
         return m.node("QLinearMatMul",
                       {m.quantize("rows", 0.1f, 0), one, zero, m.random_integers(ElementType::i8, {8, 6}, -9, 9), one,
                        zero, m.input("scale", {}), zero});
       }},
      {"its input B ('constant_13') is float32, and can be int32",
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
      {"qgen does not know this operator of the domain 'com.acme'",
       [](Start& m) { return m.node("Relu", {m.image}, {}, "com.acme"); }},
      {"qgen does not know this operator", [](Start& m) { return m.node("Mystery", {m.image}); }},
  };
  expect_refused(rows);
}

TEST(Refusals, Movements) {
  const Refusal rows[] = {
      {"it has 1 starts and 2 ends",
       [](Start& m) {
         return m.node("Slice", {m.image, m.list({0}), m.list({1, 2})});
       }},
      {"its step along axis 1 is 0",
       [](Start& m) {
         return m.node("Slice", {m.image, m.list({0}), m.list({1}), m.list({1}), m.list({0})});
       }},
      {"it names axis 9, and its input has rank 4",
       [](Start& m) {
         return m.node("Slice", {m.image, m.list({0}), m.list({1}), m.list({9})});
       }},
      {"its axes [1, -3] name axis 1 twice",
       [](Start& m) {
         return m.node("Slice", {m.image, m.list({0, 1}), m.list({1, 2}), m.list({1, -3})});
       }},
      {"its axes [2, 2] name axis 2 twice",
       [](Start& m) {
         return m.node("Pad", {m.image, m.list({1, 1, 1, 1}), "", m.list({2, 2})});
       },
       18},
      {"its axes [0, 0] name axis 0 twice",
       [](Start& m) {
         return m.node("Squeeze", {m.input("one", {1, 4}), m.list({0, 0})});
       }},
      {"its num_outputs is 3, and it has 1 outputs",
       [](Start& m) {
         return m.node("Split", {m.image}, {{"axis", int64_t{1}}, {"num_outputs", int64_t{3}}});
       },
       18},
      {"its perm is [], and must have each axis of an input [?, 4, 6, 6] once",
       [](Start& m) {
         return m.node("Transpose", {m.image}, {{"perm", List{}}});
       }},
      {"its perm is [1, 0], and must have each axis of an input [?, 4, 6, 6] once",
       [](Start& m) {
         return m.node("Transpose", {m.image}, {{"perm", List{1, 0}}});
       }},
      {"its training_mode is true, and qgen drops no elements",
       [](Start& m) {
         return m.node("Dropout", {m.image, m.scalar(0.5f), m.integers(ElementType::boolean, {}, {1})});
       }},
      {"it names 2 axes, and 1 are needed",
       [](Start& m) {
         return m.node("Slice", {m.image, m.list({0}), m.list({1}), m.list({1, 2})});
       }},
      {"it names axis 4, and its input has rank 4",
       [](Start& m) {
         return m.node("Gather", {m.image, m.integers(ElementType::i64, {}, {1})}, {{"axis", int64_t{4}}});
       }},
      {"its indices are 6 to 6, in a dimension of 6",
       [](Start& m) {
         return m.node("Gather", {m.image, m.integers(ElementType::i64, {}, {6})}, {{"axis", int64_t{2}}});
       }},
      {"its mode is wrap, and can be constant, edge or reflect",
       [](Start& m) {
         return m.node("Pad", {m.image, m.list({0, 0, 1, 1, 0, 0, 1, 1})}, {{"mode", std::string("wrap")}});
       }},
      {"it has 3 pads, and an input [?, 4, 6, 6] needs 8",
       [](Start& m) {
         return m.node("Pad", {m.image, m.list({0, 0, 1})});
       }},
      {"its pads are [0, 0, -4, 0, 0, 0, -3, 0], and its input is [?, 4, 6, 6]",
       [](Start& m) {
         return m.node("Pad", {m.image, m.list({0, 0, -4, 0, 0, 0, -3, 0})});
       }},
      {"its padding value is not constant",
       [](Start& m) {
         return m.node("Pad", {m.image, m.list({0, 0, 1, 1, 0, 0, 1, 1}), m.input("value", {})});
       }},
      {"its blocksize is 3, and its input is [?, 4, 6, 6]",
       [](Start& m) {
         return m.node("DepthToSpace", {m.image}, {{"blocksize", int64_t{3}}, {"mode", std::string("CRD")}});
       }},
      {"its axis is 9, and its input is [?, 4, 6, 6]",
       [](Start& m) {
         return m.node("Flatten", {m.image}, {{"axis", int64_t{9}}});
       }},
      {"its perm is [0, 0, 1, 2], and must have each axis of an input [?, 4, 6, 6] once",
       [](Start& m) {
         return m.node("Transpose", {m.image}, {{"perm", List{0, 0, 1, 2}}});
       }},
      {"it has no input 1 (shape), which Reshape needs", [](Start& m) { return m.node("Reshape", {m.image}); }},
      {"it has antialias",
       [](Start& m) {
         return m.node("Resize", {m.image, "", m.reals({4}, {1, 1, 2, 2})}, {{"antialias", int64_t{1}}});
       },
       18},
      {"its mode is cubic, and can be nearest or linear",
       [](Start& m) {
         return m.node("Resize", {m.image, "", m.reals({4}, {1, 1, 2, 2})}, {{"mode", std::string("cubic")}});
       }},
      {"its coordinate_transformation_mode is tf_crop_and_resize, and can be half_pixel, half_pixel_symmetric, "
       "pytorch_half_pixel, align_corners or asymmetric",
       [](Start& m) {
         return m.node("Resize", {m.image, "", m.reals({4}, {1, 1, 2, 2})},
                       {{"coordinate_transformation_mode", std::string("tf_crop_and_resize")}});
       }},
      {"it changes more than height and width",
       [](Start& m) {
         return m.node("Resize", {m.image, "", m.reals({4}, {1, 2, 2, 2})});
       }},
      {"its scales are not constant, or not four",
       [](Start& m) {
         return m.node("Resize", {m.image, "", m.reals({2}, {2, 2})});
       }},
      {"its input [?, 5, 8] is not an image",
       [](Start& m) {
         return m.node("Resize", {m.rows, "", m.reals({3}, {1, 2, 2})});
       }},
  };
  expect_refused(rows);
}

TEST(Refusals, UnidirectionalAttentionOfMoreKeys) {
  const auto attention = [](Start& m, int64_t queries, int64_t keys) {
    return m.node("MultiHeadAttention",
                  {m.input("q", {1, queries, 8}), m.input("k", {1, keys, 8}), m.input("v", {1, keys, 8})},
                  {{"num_heads", int64_t{2}}, {"unidirectional", int64_t{1}}}, "com.microsoft");
  };
  for (const auto& [queries, keys, told] : {std::tuple{3, 5, "3 queries may not be fewer than 5 keys"},
                                            {3, -1, "3 queries may not be fewer than ? keys"}}) {
    Start m(17);
    m.output(attention(m, queries, keys));
    EXPECT_TEXT(first_reason(imported_operators(m)), fmt::format("it is unidirectional and has no past, and {}", told));
  }
  for (const auto& [queries, keys] : {std::pair{4, 4}, {-1, -1}, {5, 3}}) {
    Start m(17);
    m.output(attention(m, queries, keys));
    EXPECT_THAT(imported_operators(m), HasSubstr("attention")) << queries;
  }
}

// A fault common to several models has one sentence, which is true for it, ahead of all about its outputs.
TEST(Refusals, AnOperatorThatIsNotThereIsSaidFirst) {
  Start m(14);
  m.output(m.node("Unique", {m.input("steps", {2, 1, 3})}));
  m.model.graph.nodes.back().outputs.push_back("last");
  m.output("last");
  const auto imported = m.import();
  ASSERT_FALSE(imported);
  EXPECT_TEXT(imported.error().message, "node 'Unique_4' (Unique): qgen does not know this operator");
  EXPECT_THAT(imported.error().message, ::testing::Not(HasSubstr("\n")));
  EXPECT_TEXT(imported.error().hint, "docs/onnx.md lists the operators that qgen imports");
}

TEST(Refusals, AllThatAModelLacksIsListed) {
  Start m(13);
  std::string y = m.node("Det", {"x"});                                     // the first
  y = m.node("NonZero", {y});                                               // after it, and not read either
  const std::string z = m.node("Identity", {y});                            // read, if its predecessor were
  const std::string w = m.node("NonZero", {m.node("Sigmoid", {m.image})});  // parallel to it
  const std::string v = m.node("Conv", {m.image, m.weight({3, 5, 3, 3})});
  for (const std::string& value : {z, w, v}) m.output(value);
  const std::string start = "node '" + m.model.graph.nodes[4].name + "' (Det): qgen does not know this operator";
  const std::string list = imported_operators(m);
  EXPECT_THAT(list, ::testing::StartsWith(start));
  EXPECT_THAT(list, HasSubstr("\n"
                              "these nodes cannot be imported either:\n"
                              "  NonZero (2 nodes, the first is 'NonZero_5'): qgen does not know this operator\n"
                              "  Conv (node 'Conv_10'): an input"));
  EXPECT_THAT(list, ::testing::Not(HasSubstr("Identity")));
}

TEST(Refusals, OfTheModelAsAWhole) {
  ModelBuilder constant;
  constant.output(constant.integers(ElementType::i4, {1}, {1}));
  EXPECT_TEXT(imported_operators(constant), "output 'constant_0' is a constant of int4");
  Start second(13);
  second.output(second.node("MaxPool", {second.image}, {{"kernel_shape", List{2, 2}}}));
  second.model.graph.nodes.back().outputs.push_back("places");
  second.output("places");
  EXPECT_TEXT(imported_operators(second),
              "node 'MaxPool_4' (MaxPool): an output other than its first is used, and qgen computes only the first "
              "of MaxPool");
  Start unknown(13);
  unknown.output(unknown.node("Unique", {unknown.input("z", {6})}));
  unknown.model.graph.nodes.back().outputs.push_back("places");
  unknown.output("places");
  EXPECT_TEXT(imported_operators(unknown), "node 'Unique_4' (Unique): qgen does not know this operator");
  ModelBuilder wide;
  wide.output(wide.node("Relu", {wide.input("x", {4}, ElementType::bf16)}));
  EXPECT_TEXT(imported_operators(wide),
              "input 'x' is bfloat16, and inputs can be floats of 16 to 64 bits, integers and booleans");
}

}  // namespace
}  // namespace qgen::onnx::testing
