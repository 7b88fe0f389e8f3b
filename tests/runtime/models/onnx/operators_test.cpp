// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Operators with quantization parameters as inputs, compared with the same model written with QuantizeLinear and
// DequantizeLinear.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/models/onnx/compared.h"
#include "tests/support/expected_text.h"

namespace qgen::onnx::testing {
namespace {

using ::testing::HasSubstr;
constexpr auto kMicrosoft = "com.microsoft";

struct Bytes : ModelBuilder {
  std::string x = input("x", {-1, 4, 6, 6}, ElementType::u8);
  std::vector<std::string> with(const std::string& value, float scale, int64_t zero_point,
                                ElementType type = ElementType::u8) {
    return {value, scalar(scale), zero(zero_point, type)};
  }
  static std::vector<std::string> joined(std::vector<std::string> first, const std::vector<std::string>& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }
  std::vector<std::string> to(float scale, int64_t zero_point, ElementType type = ElementType::u8) {
    return {scalar(scale), zero(zero_point, type)};
  }
};

// Both models have the same constants, since their seeds are the same.
void expect_same(const ModelBuilder& a, const ModelBuilder& b, const Shape& shape) {
  const auto first = a.import(), second = b.import();
  ASSERT_TRUE(first) << to_text(first.error());
  ASSERT_TRUE(second) << to_text(second.error());
  const HostTensor x = Random(5).integers(DType::u8, shape, 0, 255);
  const auto outputs = judged(first->graph, {{"x", x}}), others = judged(second->graph, {{"x", x}});
  ASSERT_TRUE(outputs) << to_text(outputs.error());
  ASSERT_TRUE(others) << to_text(others.error());
  EXPECT_EQ(outputs->begin()->second.dtype, DType::u8);
  EXPECT_EQ(outputs->begin()->second.data, others->begin()->second.data);
}

TEST(QuantizedOperators, UnsignedBytesAtTheDoor) {
  Bytes m;
  m.output(m.quantize(m.node("Relu", {m.dequantize(m.x, 0.05f, 120, ElementType::u8)}), 0.04f, 7, ElementType::u8));
  EXPECT_EQ(imported_operators(m), "requantize q8ta_relu requantize");
  compare(m, {2, 4, 6, 6}, 1);
}

TEST(QuantizedOperators, Conv) {
  Bytes m, views;
  std::vector<float> scales{0.01f, 0.02f, 0.015f};
  for (Bytes* it : {&m, &views}) {
    const std::string w = it->random_integers(ElementType::i8, {3, 4, 3, 3}, -128, 127);
    const std::string s = it->reals({3}, scales), z = it->integers(ElementType::i8, {3}, {0, 0, 0});
    const std::string b = it->integers(ElementType::i32, {3}, {400, -300, 77});
    if (it == &m) {
      auto inputs = Bytes::joined(m.with(m.x, 0.05f, 120), {w, s, z});
      m.output(m.node("QLinearConv", Bytes::joined(Bytes::joined(inputs, m.to(0.3f, 90)), {b})));
      continue;
    }
    std::vector<float> bias_scales;
    for (const float scale : scales) bias_scales.push_back(0.05f * scale);
    const std::string y =
        it->node("Conv", {it->dequantize(it->x, 0.05f, 120, ElementType::u8),
                          it->node("DequantizeLinear", {w, s, z}, {{"axis", int64_t{0}}}),
                          it->node("DequantizeLinear", {b, it->reals({3}, bias_scales)}, {{"axis", int64_t{0}}})});
    it->output(it->quantize(y, 0.3f, 90, ElementType::u8));
  }
  EXPECT_EQ(imported_operators(m), "requantize q8ta_conv2d requantize");
  expect_same(m, views, {2, 4, 6, 6});
  compare(views, {2, 4, 6, 6}, 1);
}

TEST(QuantizedOperators, MatMulWithAnyZeroPoints) {
  Bytes m;
  m.x = m.input("y", {-1, 6, 6}, ElementType::u8);
  m.model.graph.inputs.erase(m.model.graph.inputs.begin());
  const std::string w = m.random_integers(ElementType::u8, {6, 5}, 0, 255);
  m.output(m.node("QLinearMatMul",
                  Bytes::joined(Bytes::joined(m.with(m.x, 0.05f, 120), m.with(w, 0.01f, 99)), m.to(0.2f, 90))));
  EXPECT_EQ(imported_operators(m), "requantize bmm requantize");
  ModelBuilder views;
  const std::string y = views.input("y", {-1, 6, 6}, ElementType::u8);
  const std::string v = views.random_integers(ElementType::u8, {6, 5}, 0, 255);
  views.output(views.quantize(views.node("MatMul", {views.dequantize(y, 0.05f, 120, ElementType::u8),
                                                    views.dequantize(v, 0.01f, 99, ElementType::u8)}),
                              0.2f, 90, ElementType::u8));
  compare(views, {2, 6, 6}, 1);
  const HostTensor data = Random(5).integers(DType::u8, {2, 6, 6}, 0, 255);
  EXPECT_EQ(judged(m.import()->graph, {{"y", data}})->begin()->second.data,
            judged(views.import()->graph, {{"y", data}})->begin()->second.data);
}

TEST(QuantizedOperators, AddMulPoolAndFunctions) {
  struct Row {
    std::string op, becomes;
    bool has_two;
  };
  const Row rows[] = {{"QLinearAdd", "requantize q8ta_add requantize", true},
                      {"QLinearMul", "requantize q8ta_mul requantize", true},
                      {"QLinearGlobalAveragePool", "requantize q8ta_avg_pool2d requantize", false},
                      {"QLinearSigmoid", "requantize q8ta_sigmoid requantize", false},
                      {"QLinearLeakyRelu", "requantize q8ta_leaky_relu requantize", false}};
  for (const Row& row : rows) {
    Bytes m, views;
    auto inputs = m.with(m.x, 0.05f, 120);
    if (row.has_two) inputs = Bytes::joined(inputs, m.with(m.x, 0.03f, 20));
    m.output(m.node(row.op, Bytes::joined(inputs, m.to(0.04f, 10)), {}, kMicrosoft));
    EXPECT_EQ(imported_operators(m), row.becomes) << row.op;
    std::vector<std::string> operands{views.dequantize(views.x, 0.05f, 120, ElementType::u8)};
    if (row.has_two) operands.push_back(views.dequantize(views.x, 0.03f, 20, ElementType::u8));
    views.output(views.quantize(views.node(row.op.substr(7), operands), 0.04f, 10, ElementType::u8));
    expect_same(m, views, {2, 4, 6, 6});
    compare(views, {2, 4, 6, 6}, 1);
  }
}

TEST(QuantizedOperators, ConcatOfAnyNumber) {
  for (const size_t count : {1, 2, 5}) {
    Bytes m, views;
    std::vector<std::string> inputs = m.to(0.04f, 10), operands;
    for (size_t i = 0; i < count; ++i) {
      const auto zero_point = static_cast<int64_t>(20 * i);
      inputs = Bytes::joined(inputs, m.with(m.x, 0.03f, zero_point));
      operands.push_back(views.dequantize(views.x, 0.03f, zero_point, ElementType::u8));
    }
    m.output(m.node("QLinearConcat", inputs, {{"axis", int64_t{1}}}, kMicrosoft));
    views.output(views.quantize(views.node("Concat", operands, {{"axis", int64_t{1}}}), 0.04f, 10, ElementType::u8));
    EXPECT_EQ(imported_operators(m), count == 1   ? "requantize requantize requantize"
                                     : count == 2 ? "requantize q8ta_concat requantize"
                                                  : "requantize q8ta_concat q8ta_concat requantize");
    expect_same(m, views, {2, 4, 6, 6});
    compare(views, {2, 4, 6, 6}, 1);
  }
  Bytes none;
  none.output(none.node("QLinearConcat", none.to(0.04f, 10), {{"axis", int64_t{1}}}, kMicrosoft));
  EXPECT_TEXT(imported_operators(none), "node 'QLinearConcat_0' (QLinearConcat): it has no input 0");
  Bytes cut;
  cut.output(cut.node("QLinearConcat", Bytes::joined(cut.to(0.04f, 10), {cut.x}), {{"axis", int64_t{1}}}, kMicrosoft));
  EXPECT_TEXT(imported_operators(cut),
              "node 'QLinearConcat_0' (QLinearConcat): input 2 is missing, or its scale or zero point is not constant");
}

TEST(QuantizedOperators, Gemm) {
  ModelBuilder m;
  const std::string x = m.input("x", {-1, 8});
  const std::string q = m.quantize(x, 0.05f, 3);
  const std::string w = m.random_integers(ElementType::i8, {6, 8}, -127, 127),
                    b = m.integers(ElementType::i32, {6}, {1, 2, 300, -4, -500, 6});
  const std::string zeros = m.integers(ElementType::i8, {6}, {0, 0, 0, 0, 0, 0});
  const std::string y =
      m.node("QGemm",
             {q, m.scalar(0.05f), m.zero(3, ElementType::i8), w, m.reals({6}, {.01f, .02f, .03f, .04f, .05f, .06f}),
              zeros, b, m.scalar(0.2f), m.zero(1, ElementType::i8)},
             {{"transB", int64_t{1}}}, kMicrosoft);
  m.output(m.dequantize(y, 0.2f, 1));
  EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear q8ta_linear q8ta_dequantize");
}

TEST(QuantizedOperators, MatMulNBits) {
  ModelBuilder m;
  const std::string x = m.input("x", {-1, 5, 8});
  // Rows of N, K / 2 bytes: the first of two neighbours is in the low half.
  const std::string packed = m.integers(ElementType::u8, {2, 2, 2}, {0x98, 0xba, 0x10, 0x32, 0xfe, 0xdc, 0x88, 0x88});
  m.output(m.node("MatMulNBits", {x, packed, m.reals({4}, {1, 2, 3, 4})},
                  {{"K", int64_t{8}}, {"N", int64_t{2}}, {"bits", int64_t{4}}, {"block_size", int64_t{4}}},
                  kMicrosoft));
  const auto imported = m.import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_EQ(operators_of(imported->graph), "linear_q4gsw");
  const auto& node = imported->graph.nodes[0];
  const auto weight = std::ranges::find(node.inputs, "weight", &graph::Port::operand)->value;
  const auto codes = imported->graph.values[weight].data->as<int8_t>();
  EXPECT_EQ(std::vector<int>(codes.begin(), codes.begin() + 8), (std::vector<int>{0, 1, 2, 3, -8, -7, -6, -5}));
  EXPECT_TRUE(judged(imported->graph, {{"x", Random(1).reals(DType::f32, {1, 5, 8}, -1, 1)}}));
}

// The same weights, packed and as QuantizeLinear's: any zero points, 4 and 8 bits, with a bias.
TEST(QuantizedOperators, MatMulNBitsIsAProductWithADequantizedWeight) {
  struct Row {
    int64_t bits, block;
    bool has_zeros, has_bias;
    std::string becomes;
  };
  const Row rows[] = {{4, 4, false, false, "linear_q4gsw"},      {4, 4, false, true, "linear_q4gsw"},
                      {4, 4, true, false, "fused_bmm"},          {4, 4, true, true, "fused_bmm fused_add"},
                      {4, 12, true, false, "linear_q8csw"},      {8, 4, false, false, "fused_bmm"},
                      {8, 4, true, true, "fused_bmm fused_add"}, {8, 12, false, true, "linear_q8csw"}};
  constexpr int64_t kK = 12, kN = 2;
  for (const Row& row : rows) {
    const int64_t values = int64_t{1} << row.bits, groups = kK / row.block;
    ModelBuilder m(21), views(21);
    for (ModelBuilder* it : {&m, &views}) {
      const std::string x = it->input("x", {-1, 5, kK});
      std::vector<int64_t> codes, zeros(static_cast<size_t>(kN * groups), values / 2);
      for (int64_t i = 0; i < kN * kK; ++i) codes.push_back(it->random.integer(0, values - 1));
      for (int64_t& zero : zeros) zero = row.has_zeros ? it->random.integer(0, values - 1) : zero;
      const std::string scales = it->random_reals({kN, groups}, 0.01, 0.02), bias = it->reals({kN}, {1, -2});
      if (it == &views) {
        const ElementType type = row.bits == 4 ? ElementType::u4 : ElementType::u8;
        const std::string w = it->node(
            "DequantizeLinear", {it->integers(type, {kN, kK}, codes), scales, it->integers(type, {kN, groups}, zeros)},
            {{"axis", int64_t{1}}, {"block_size", row.block}});
        const std::string turned = it->node("Transpose", {w}, {{"perm", std::vector<int64_t>{1, 0}}});
        const std::string y = it->node("MatMul", {x, turned});
        it->output(row.has_bias ? it->node("Add", {y, bias}) : y);
        continue;
      }
      const auto packed = [&](const std::vector<int64_t>& list, int64_t columns) {
        std::vector<int64_t> bytes;
        for (size_t i = 0; i < list.size(); ++i) {
          const bool is_high = row.bits == 4 && static_cast<int64_t>(i) % columns % 2 == 1;
          if (is_high) bytes.back() |= list[i] << 4;
          else bytes.push_back(list[i]);
        }
        return it->integers(ElementType::u8, {std::ssize(bytes)}, bytes);
      };
      std::vector<std::string> inputs{x, packed(codes, kK), scales, row.has_zeros ? packed(zeros, groups) : ""};
      if (row.has_bias) inputs.insert(inputs.end(), {"", bias});
      it->output(it->node("MatMulNBits", inputs, {{"K", kK}, {"N", kN}, {"bits", row.bits}, {"block_size", row.block}},
                          kMicrosoft));
    }
    EXPECT_EQ(imported_operators(m), row.becomes) << row.bits << " " << row.block;
    compare(views, {1, 5, kK}, 1e-3f);
    const HostTensor x = Random(5).reals(DType::f32, {1, 5, kK}, -2, 2);
    const auto outputs = judged(m.import()->graph, {{"x", x}}), others = judged(views.import()->graph, {{"x", x}});
    ASSERT_TRUE(outputs) << to_text(outputs.error());
    for (int64_t i = 0; i < 5 * kN; ++i)
      EXPECT_NEAR(element(outputs->begin()->second, i), element(others->begin()->second, i), 1e-5);
  }
}

// It is gone through more often than others are, and is no attack.
// The rows of an embedding: with zero points in the middle an operator for it, else dequantized during import.
TEST(QuantizedOperators, GatherBlockQuantized) {
  const auto imported_with = [](ModelBuilder& m, const std::string& zeros, int64_t bits) {
    const std::string table = bits == 4 ? m.integers(ElementType::u8, {2, 2}, {0x98, 0xba, 0x10, 0x32})
                                        : m.integers(ElementType::u8, {2, 4}, {128, 129, 130, 131, 0, 1, 2, 255});
    std::vector<std::string> inputs{table, m.input("ids", {-1, 3}, ElementType::i64), m.reals({2, 2}, {1, 2, 3, 4})};
    if (!zeros.empty()) inputs.push_back(zeros);
    m.output(m.node("GatherBlockQuantized", inputs, {{"bits", bits}, {"block_size", int64_t{2}}}, kMicrosoft));
    return m.import();
  };
  const HostTensor ids = qgen::testing::tensor_of(DType::i32, {1, 3}, {1, 0, 1});
  ModelBuilder middle;
  const auto symmetric = imported_with(middle, "", 4);
  ASSERT_TRUE(symmetric) << to_text(symmetric.error());
  EXPECT_EQ(operators_of(symmetric->graph), "embedding_q4gsw");
  const auto& node = symmetric->graph.nodes[0];
  const auto weight = std::ranges::find(node.inputs, "weight", &graph::Port::operand)->value;
  const auto codes = symmetric->graph.values[weight].data->as<int8_t>();
  EXPECT_EQ(std::vector<int>(codes.begin(), codes.end()), (std::vector<int>{0, 1, 2, 3, -8, -7, -6, -5}));
  EXPECT_TRUE(judged(symmetric->graph, {{"ids", ids}}));
  ModelBuilder other, bytes;
  const auto shifted = imported_with(other, other.integers(ElementType::u8, {2, 1}, {0x80, 0x08}), 4);
  ASSERT_TRUE(shifted) << to_text(shifted.error());
  EXPECT_EQ(operators_of(shifted->graph), "gather");
  const auto table = shifted->graph.nodes[0].inputs[0].value;
  const auto reals = shifted->graph.values[table].data->as<float>();
  EXPECT_EQ(std::vector<float>(reals.begin(), reals.end()), (std::vector<float>{8, 9, 4, 6, -24, -21, 8, 12}));
  const auto of_bytes = imported_with(bytes, "", 8);
  ASSERT_TRUE(of_bytes) << to_text(of_bytes.error());
  EXPECT_EQ(operators_of(of_bytes->graph), "gather");
}

TEST(QuantizedOperators, GatherBlockQuantizedThatIsRefused) {
  struct {
    Shape scales;
    std::map<std::string, AttributeData, std::less<>> attributes;
    std::string_view said;
  } const rows[] = {
      {{2, 3}, {}, "its scales are [2, 3], and the table has 2 x 1 blocks"},
      {{2, 1}, {{"bits", int64_t{2}}}, "its table is of 2 bits, and can be of 4 or 8"},
      {{2, 1}, {{"gather_axis", int64_t{1}}}, "it gathers along another axis than the first"},
      {{2, 1}, {{"quantize_axis", int64_t{0}}}, "its blocks are not along the last"},
      {{2, 1}, {{"block_size", int64_t{0}}}, "its blocks have 0 integers"},
  };
  for (const auto& row : rows) {
    ModelBuilder m;
    const std::vector<float> scales(static_cast<size_t>(element_count(row.scales)), 1.0f);
    m.output(m.node("GatherBlockQuantized",
                    {m.integers(ElementType::u8, {2, 2}, {1, 2, 3, 4}), m.input("ids", {3}, ElementType::i64),
                     m.reals(row.scales, scales)},
                    row.attributes, kMicrosoft));
    EXPECT_THAT(imported_operators(m), HasSubstr(row.said));
  }
}

TEST(QuantizedOperators, ALargeMatMulNBits) {
  constexpr int64_t kSide = 1024, kGroups = kSide / 32;
  ModelBuilder m;
  const auto bytes = [&](int64_t count, std::byte all) {
    return m.constant(
        {.type = ElementType::u8, .shape = {count}, .data = std::vector<std::byte>(static_cast<size_t>(count), all)});
  };
  const std::string scales = m.reals({kSide * kGroups}, std::vector<float>(kSide * kGroups, 0.01f));
  m.output(m.node("MatMulNBits",
                  {m.input("x", {-1, kSide}), bytes(kSide * kSide / 2, std::byte{255}), scales,
                   bytes(kSide * kGroups / 2, std::byte{0}), "", m.random_reals({kSide}, -1, 1)},
                  {{"K", kSide}, {"N", kSide}, {"bits", int64_t{4}}, {"block_size", int64_t{32}}}, kMicrosoft));
  EXPECT_EQ(imported_operators(m), "fused_bmm fused_add");
}

TEST(QuantizedOperators, MatMulNBitsThatIsRefused) {
  using Changes = std::map<std::string, int64_t>;
  struct Row {
    std::string what;
    Changes attributes;
    std::vector<std::string> more;  // inputs after the scales
    std::string reason;
  };
  const Row rows[] = {
      {"bits", {{"bits", 2}}, {}, "its weight is of 2 bits, and can be of 4 or 8"},
      {"g_idx", {}, {"", "indices"}, "it has group indices (g_idx)"},
      {"K",
       {{"K", 9}},
       {},
       "its weight and its scales are not constants of 2 x 3 blocks, as N, "
       "K and block_size require"},
      {"block",
       {{"block_size", 0}},
       {},
       "its blocks have 0 integers of 4 bits, and a block must "
       "be 1 to 2^30 whole bytes"},
      {"more than there are numbers",
       {{"K", int64_t{1} << 31}, {"N", int64_t{1} << 31}, {"bits", 8}},
       {},
       "its weight is 2147483648 x 2147483648, and dimensions can be 1 to 2^30"},
      {"odd",
       {{"block_size", 1}},
       {},
       "its blocks have 1 integers of 4 bits, and a block must be 1 to 2^30 whole "
       "bytes"},
      {"N",
       {{"N", 3}},
       {},
       "its weight and its scales are not constants of 3 x 2 blocks, as N, "
       "K and block_size require"},
      {"width",
       {{"bits", 8}},
       {},
       "its weight and its scales are not constants of 2 x 2 blocks, "
       "as N, K and block_size require"},
      {"zero points of another size",
       {},
       {"packed"},
       "its zero points are not a constant of bytes "
       "with one for each scale"},
      {"zero points of reals",
       {},
       {"scales"},
       "its zero points are not a constant of bytes with "
       "one for each scale"},
      {"zero points that are computed",
       {},
       {"zeros"},
       "its zero points are not a constant of bytes "
       "with one for each scale"},
  };
  for (const Row& row : rows) {
    ModelBuilder m;
    Tensor packed{.name = "packed", .type = ElementType::u8, .shape = {2, 2, 2}, .data = std::vector<std::byte>(8)};
    m.constant(std::move(packed));
    m.constant(tensor_of<float>(ElementType::f32, {4}, std::vector<float>{1, 2, 3, 4}, "scales"));
    m.input("zeros", {2}, ElementType::u8);
    m.constant(tensor_of<int32_t>(ElementType::i32, {8}, std::vector<int32_t>(8), "indices"));
    std::vector<std::string> inputs{m.input("x", {-1, 5, 8}), "packed", "scales"};
    inputs.insert(inputs.end(), row.more.begin(), row.more.end());
    std::map<std::string, AttributeData, std::less<>> attributes{
        {"K", int64_t{8}}, {"N", int64_t{2}}, {"bits", int64_t{4}}, {"block_size", int64_t{4}}};
    for (const auto& [name, value] : row.attributes) attributes[name] = value;
    m.output(m.node("MatMulNBits", inputs, attributes, kMicrosoft));
    EXPECT_THAT(imported_operators(m), HasSubstr("(MatMulNBits): ")) << row.what;
    EXPECT_TEXT(first_reason(imported_operators(m)), row.reason) << row.what;
  }
}

TEST(QuantizedOperators, ConvOfOneTapWithAnyZeroPoints) {
  Bytes m, views;
  for (Bytes* it : {&m, &views}) {
    const std::string w = it->random_integers(ElementType::u8, {3, 4, 1, 1}, 0, 255);
    if (it == &m)
      m.output(m.node("QLinearConv",
                      Bytes::joined(Bytes::joined(m.with(m.x, 0.05f, 120), m.with(w, 0.01f, 255)), m.to(0.3f, 90))));
    else
      it->output(it->quantize(it->node("Conv", {it->dequantize(it->x, 0.05f, 120, ElementType::u8),
                                                it->dequantize(w, 0.01f, 255, ElementType::u8)}),
                              0.3f, 90, ElementType::u8));
  }
  EXPECT_EQ(imported_operators(m), "requantize q8ta_concat q8ta_conv2d requantize");
  expect_same(m, views, {2, 4, 6, 6});
  compare(views, {2, 4, 6, 6}, 1);
}

TEST(QuantizedOperators, ProductsOfIntegers) {
  ModelBuilder m;
  const std::string a = m.input("a", {2, 3}, ElementType::u8);
  const std::string b = m.integers(ElementType::u8, {3, 2}, {1, 4, 2, 5, 3, 6});
  m.output(m.node("MatMulInteger", {a, b, m.zero(12, ElementType::u8), m.zero(0, ElementType::u8)}));
  EXPECT_EQ(imported_operators(m), "requantize bmm quantize_affine");
  const auto outputs =
      judged(m.import()->graph, {{"a", qgen::testing::tensor_of(DType::u8, {2, 3}, {11, 7, 3, 10, 6, 2})}});
  ASSERT_TRUE(outputs) << to_text(outputs.error());
  const auto sums = outputs->begin()->second.as<int32_t>();
  EXPECT_EQ(std::vector<int32_t>(sums.begin(), sums.end()), (std::vector<int32_t>{-38, -83, -44, -98}));
}

TEST(QuantizedOperators, ConvolutionsOfIntegers) {
  ModelBuilder m;
  const std::string x = m.input("x", {1, 1, 3, 3}, ElementType::u8);
  const std::string w = m.integers(ElementType::u8, {1, 1, 2, 2}, {129, 129, 129, 129});
  m.output(m.node("ConvInteger", {x, w, m.zero(1, ElementType::u8), m.zero(128, ElementType::u8)}));
  const auto imported = m.import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  const auto outputs =
      judged(imported->graph, {{"x", qgen::testing::tensor_of(DType::u8, {1, 1, 3, 3}, {2, 3, 4, 5, 6, 7, 8, 9, 10})}});
  ASSERT_TRUE(outputs) << to_text(outputs.error());
  const auto sums = outputs->begin()->second.as<int32_t>();
  EXPECT_EQ(std::vector<int32_t>(sums.begin(), sums.end()), (std::vector<int32_t>{12, 16, 24, 28}));
}

TEST(QuantizedOperators, QuantizedWhileTheModelRuns) {
  ModelBuilder m;
  const std::string x = m.input("x", {-1, 5, 4});
  Node quantize{
      .name = "quantize", .op = "DynamicQuantizeLinear", .inputs = {x}, .outputs = {"codes", "scale", "zero"}};
  m.model.graph.nodes.push_back(quantize);
  const std::string w = m.random_integers(ElementType::i8, {4, 3}, -127, 127);
  const std::string sums = m.node("Cast", {m.node("MatMulInteger", {"codes", w, "zero"})}, {{"to", int64_t{1}}});
  m.output(m.node("Mul", {sums, m.node("Mul", {"scale", m.scalar(0.01f)})}));
  EXPECT_EQ(imported_operators(m), "choose_qparams_affine quantize_linear bmm");
  const auto outputs = judged(m.import()->graph, {{"x", Random(1).reals(DType::f32, {2, 5, 4}, -1, 1)}});
  ASSERT_TRUE(outputs) << to_text(outputs.error());
  EXPECT_EQ(outputs->begin()->second.shape, (Shape{2, 5, 3}));
}

namespace {

// DynamicQuantizeLinear, an integer layer, Cast, Mul of the scales, and perhaps Add and Relu, as quantize_dynamic of ONNX
// Runtime writes them.
struct DynamicLayer {
  std::string name;
  Shape input, weight;
  int64_t groups = 1, padding = 0, weight_zero = 128;
  bool has_scales = false;  // one for each channel
  bool has_bias = true, has_relu = true;
  double low = -1, high = 2;  // of the input
  std::string operators = "conv2d_dq8ta_q8csw";

  bool is_matrix() const { return weight.size() == 2; }
  int64_t channels() const { return is_matrix() ? weight[1] : weight[0]; }
  Shape of_channels() const {
    Shape shape(is_matrix() ? 1 : weight.size(), 1);
    shape[is_matrix() ? 0 : 1] = channels();
    return shape;
  }
};

struct DynamicModel {
  ModelBuilder m;
  std::string weight, scales, bias;
};

std::string add_layer(DynamicModel& model, const DynamicLayer& layer) {
  ModelBuilder& m = model.m;
  model.weight = m.random_integers(ElementType::u8, layer.weight, std::max<int64_t>(0, layer.weight_zero - 200), 255);
  model.scales = layer.has_scales ? m.random_reals(layer.of_channels(), 0.001, 0.02) : m.scalar(0.0123f);
  const std::string both = m.node("Mul", {"scale", model.scales});
  const std::vector<std::string> inputs{"codes", model.weight, "zero", m.zero(layer.weight_zero, ElementType::u8)};
  const std::vector<int64_t> pads(2 * (layer.weight.size() - 2), layer.padding);
  const std::string sums = layer.is_matrix() ? m.node("MatMulInteger", inputs)
                                             : m.node("ConvInteger", inputs, {{"pads", pads}, {"group", layer.groups}});
  std::string y = m.node("Mul", {m.node("Cast", {sums}, {{"to", int64_t{1}}}), both});
  if (layer.has_bias) y = m.node("Add", {y, model.bias = m.random_reals(layer.of_channels(), -1, 1)});
  return layer.has_relu ? m.node("Relu", {y}) : y;
}

DynamicModel model_of(const DynamicLayer& layer) {
  DynamicModel model;
  const std::string x = model.m.input("x", layer.input);
  model.m.model.graph.nodes.push_back(
      {.name = "quantize", .op = "DynamicQuantizeLinear", .inputs = {x}, .outputs = {"codes", "scale", "zero"}});
  return model;
}

// As ONNX defines the nodes, one after another, each rounded to float.
std::vector<float> by_definition(const DynamicLayer& layer, const DynamicModel& model, const HostTensor& x) {
  float low = 0, high = 0;
  for (const float value : x.as<float>()) low = std::min(low, value), high = std::max(high, value);
  const float scale = (high - low) / 255;
  const float zero = std::clamp(std::nearbyint((0 - low) / scale), 0.0f, 255.0f);
  std::vector<int64_t> codes;
  for (const float value : x.as<float>())
    codes.push_back(static_cast<int64_t>(std::clamp(std::nearbyint(value / scale) + zero, 0.0f, 255.0f) - zero));
  const auto& constants = model.m.model.graph.initializers;
  const Tensor& weight = *constants.at(model.weight);
  const Tensor& scales = *constants.at(model.scales);
  const auto result = [&](int64_t sum, int64_t channel) {
    const float both = scale * scales.real(layer.has_scales ? channel : 0);
    float y = static_cast<float>(sum) * both;
    if (layer.has_bias) y = y + constants.at(model.bias)->real(channel);
    return layer.has_relu ? std::max(y, 0.0f) : y;
  };
  const auto w = [&](int64_t i) { return weight.integer(i) - layer.weight_zero; };
  std::vector<float> results;
  if (layer.is_matrix()) {
    const int64_t k = layer.weight[0], n = layer.weight[1];
    for (int64_t i = 0; i < std::ssize(codes) / k * n; ++i) {
      int64_t sum = 0;
      for (int64_t c = 0; c < k; ++c) sum += codes[static_cast<size_t>(i / n * k + c)] * w(c * n + i % n);
      results.push_back(result(sum, i % n));
    }
    return results;
  }
  const int64_t height = layer.input[2], width = layer.input[3], channels = layer.weight[1], taps = layer.weight[2];
  const int64_t rows = height + 2 * layer.padding - taps + 1, columns = width + 2 * layer.padding - taps + 1;
  for (int64_t i = 0; i < layer.input[0] * layer.weight[0] * rows * columns; ++i) {
    const int64_t o = i / columns / rows % layer.weight[0], n = i / columns / rows / layer.weight[0];
    const int64_t first = o / (layer.weight[0] / layer.groups) * channels;
    int64_t sum = 0;
    for (int64_t tap = 0; tap < channels * taps * taps; ++tap) {
      const int64_t row = i / columns % rows - layer.padding + tap / taps % taps;
      const int64_t column = i % columns - layer.padding + tap % taps;
      if (row < 0 || row >= height || column < 0 || column >= width) continue;
      const int64_t c = first + tap / taps / taps;
      sum += codes[static_cast<size_t>(((n * layer.input[1] + c) * height + row) * width + column)] *
             w(o * channels * taps * taps + tap);
    }
    results.push_back(result(sum, o));
  }
  return results;
}

const DynamicLayer kDynamicLayers[] = {
    {.name = "values of both signs", .input = {2, 4, 6, 6}, .weight = {3, 4, 3, 3}, .padding = 1},
    {.name = "values never below 0", .input = {1, 4, 6, 6}, .weight = {3, 4, 3, 3}, .padding = 1, .low = 0},
    {.name = "values below 0 only", .input = {1, 4, 6, 6}, .weight = {3, 4, 3, 3}, .padding = 2, .high = -0.5},
    {.name = "a weight far from its zero point",
     .input = {1, 16, 6, 5},
     .weight = {8, 16, 3, 3},
     .padding = 1,
     .weight_zero = 60,
     .low = -3},
    {.name = "a scale for each channel",
     .input = {1, 5, 4, 4},
     .weight = {6, 5, 3, 3},
     .weight_zero = 200,
     .has_scales = true},
    {.name = "no bias, no Relu", .input = {1, 5, 4, 4}, .weight = {6, 5, 2, 2}, .has_bias = false, .has_relu = false},
    {.name = "one tap", .input = {1, 20, 4, 4}, .weight = {6, 20, 1, 1}, .weight_zero = 140},
    {.name = "depthwise", .input = {1, 8, 6, 6}, .weight = {8, 1, 3, 3}, .groups = 8, .padding = 1},
    {.name = "an empty batch", .input = {0, 4, 6, 6}, .weight = {3, 4, 3, 3}, .padding = 1},
    {.name = "a matrix",
     .input = {2, 5, 7},
     .weight = {7, 6},
     .has_relu = false,
     .operators = "choose_qparams_affine quantize_linear bmm fused_add"},
};

}  // namespace

TEST(QuantizedOperators, LayersQuantizedWhileTheModelRuns) {
  for (const DynamicLayer& layer : kDynamicLayers) {
    SCOPED_TRACE(layer.name);
    DynamicModel model = model_of(layer);
    model.m.output(add_layer(model, layer));
    EXPECT_EQ(imported_operators(model.m), layer.operators);
    const HostTensor x = Random(1).reals(DType::f32, layer.input, layer.low, layer.high);
    const auto outputs = judged(model.m.import()->graph, {{"x", x}});
    ASSERT_TRUE(outputs) << to_text(outputs.error());
    const auto result = outputs->begin()->second.as<float>();
    EXPECT_EQ(std::vector<float>(result.begin(), result.end()), by_definition(layer, model, x));
  }
}

namespace {

// A layer of two images that a Concat joins.
DynamicModel joined_model(const DynamicLayer& layer, int64_t channels, int64_t axis) {
  DynamicModel model;
  ModelBuilder& m = model.m;
  const Shape& all = layer.input;
  const std::string a = m.input("a", {all[0], channels, all[2], all[3]});
  const std::string b = m.input("b", {all[0], all[1] - channels, all[2], all[3]});
  const std::string x = m.node("Concat", {a, b}, {{"axis", axis}});
  m.model.graph.nodes.push_back(
      {.name = "quantize", .op = "DynamicQuantizeLinear", .inputs = {x}, .outputs = {"codes", "scale", "zero"}});
  return model;
}

std::vector<float> joined_channels(const HostTensor& a, const HostTensor& b) {
  std::vector<float> values;
  const int64_t batch = a.shape[0], of_a = element_count(a.shape) / batch, of_b = element_count(b.shape) / batch;
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t i = 0; i < of_a; ++i) values.push_back(a.as<float>()[static_cast<size_t>(n * of_a + i)]);
    for (int64_t i = 0; i < of_b; ++i) values.push_back(b.as<float>()[static_cast<size_t>(n * of_b + i)]);
  }
  return values;
}

}  // namespace

// A Concat of channels becomes a part of the convolution that quantizes, if nothing else reads it.
TEST(QuantizedOperators, LayersOfJoinedImagesQuantizedWhileTheModelRuns) {
  const DynamicLayer layer{.name = "", .input = {2, 7, 6, 5}, .weight = {3, 7, 3, 3}, .padding = 1, .weight_zero = 90};
  for (const int64_t axis : {1, -3}) {
    DynamicModel model = joined_model(layer, 3, axis);
    model.m.output(add_layer(model, layer));
    EXPECT_EQ(imported_operators(model.m), "conv2d_dq8ta_q8csw");
    const HostTensor a = Random(1).reals(DType::f32, {2, 3, 6, 5}, -1, 2),
                     b = Random(2).reals(DType::f32, {2, 4, 6, 5}, -3, 1);
    const auto outputs = judged(model.m.import()->graph, {{"a", a}, {"b", b}});
    ASSERT_TRUE(outputs) << to_text(outputs.error());
    const auto result = outputs->begin()->second.as<float>();
    const HostTensor x = make_tensor<float>(DType::f32, layer.input, joined_channels(a, b));
    EXPECT_EQ(std::vector<float>(result.begin(), result.end()), by_definition(layer, model, x));
  }
}

TEST(QuantizedOperators, AConcatWithAnotherReaderStays) {
  const DynamicLayer layer{.name = "", .input = {1, 7, 6, 5}, .weight = {3, 7, 3, 3}};
  DynamicModel model = joined_model(layer, 3, 1);
  model.m.output(add_layer(model, layer));
  model.m.output(model.m.model.graph.nodes[0].outputs[0]);
  EXPECT_EQ(imported_operators(model.m), "concat conv2d_dq8ta_q8csw");
  // Along the height it is no join of channels.
  const DynamicLayer high{.name = "", .input = {1, 4, 6, 5}, .weight = {3, 4, 3, 3}};
  DynamicModel rows;
  ModelBuilder& m = rows.m;
  const std::string x =
      m.node("Concat", {m.input("a", {1, 4, 2, 5}), m.input("b", {1, 4, 4, 5})}, {{"axis", int64_t{2}}});
  m.model.graph.nodes.push_back(
      {.name = "quantize", .op = "DynamicQuantizeLinear", .inputs = {x}, .outputs = {"codes", "scale", "zero"}});
  m.output(add_layer(rows, high));
  EXPECT_EQ(imported_operators(m), "concat conv2d_dq8ta_q8csw");
}

// The quantized tensor is computed once, and its readers have weights of their own.
TEST(QuantizedOperators, LayersThatShareAQuantizedTensor) {
  const DynamicLayer one{.name = "", .input = {1, 4, 6, 6}, .weight = {3, 4, 3, 3}, .padding = 1, .weight_zero = 90};
  const DynamicLayer other{.name = "", .input = {1, 4, 6, 6}, .weight = {5, 4, 1, 1}, .has_relu = false};
  DynamicModel first = model_of(one);
  first.m.output(add_layer(first, one));
  DynamicModel second = first;
  second.m.output(add_layer(second, other));
  EXPECT_EQ(imported_operators(second.m), "dynamic_quantize_image dq8ta_conv2d dq8ta_conv2d");
  const HostTensor x = Random(1).reals(DType::f32, one.input, -2, 1);
  const auto outputs = judged(second.m.import()->graph, {{"x", x}});
  ASSERT_TRUE(outputs) << to_text(outputs.error());
  for (const auto& [model, layer, index] : {std::tuple(&first, &one, 0), {&second, &other, 1}}) {
    const auto result = outputs->at(second.m.model.graph.outputs[static_cast<size_t>(index)].name).as<float>();
    EXPECT_EQ(std::vector<float>(result.begin(), result.end()), by_definition(*layer, *model, x));
  }
}

// The sums themselves are integers, and what the model computes of the bytes beside a convolution stays as it is.
TEST(QuantizedOperators, SumsOfATensorQuantizedWhileTheModelRuns) {
  const DynamicLayer layer{.name = "", .input = {1, 4, 5, 5}, .weight = {3, 4, 3, 3}};
  DynamicModel model = model_of(layer);
  ModelBuilder& m = model.m;
  const std::string w = m.random_integers(ElementType::u8, layer.weight, 0, 255);
  m.output(m.node("ConvInteger", {"codes", w, "zero", m.zero(128, ElementType::u8)}));
  for (const char* name : {"codes", "scale", "zero"}) m.output(name);
  EXPECT_EQ(imported_operators(m),
            "dynamic_quantize_image reshape dq8ta_conv2d quantize_affine requantize reshape requantize");
  const HostTensor x = Random(1).reals(DType::f32, layer.input, -1, 2);
  const auto outputs = judged(m.import()->graph, {{"x", x}});
  ASSERT_TRUE(outputs) << to_text(outputs.error());
  const HostTensor &codes = outputs->at("codes"), &sums = outputs->at(m.model.graph.outputs[0].name);
  const double zero = element(outputs->at("zero"), 0);
  for (int64_t i = 0; i < element_count(sums.shape); ++i) {
    double sum = 0;
    for (int64_t tap = 0; tap < 36; ++tap) {
      const int64_t place = (tap / 9 * 5 + i / 3 % 3 + tap / 3 % 3) * 5 + i % 3 + tap % 3;
      sum += (element(codes, place) - zero) *
             static_cast<double>(m.model.graph.initializers.at(w)->integer(i / 9 * 36 + tap) - 128);
    }
    EXPECT_EQ(element(sums, i), sum) << i;
  }
}

TEST(QuantizedOperators, ZeroPointsMayBeComputed) {
  ModelBuilder m;
  const std::string x = m.input("x", {-1, 4, 6, 6}, ElementType::u8);
  m.output(m.node("ConvInteger",
                  {x, m.random_integers(ElementType::u8, {3, 4, 1, 1}, 0, 255), m.input("zero", {}, ElementType::u8)}));
  EXPECT_TEXT(imported_operators(m),
              "requantize requantize reshape pointwise dequantize_affine conv2d quantize_affine");
}

TEST(QuantizedOperators, AScaleForEachChannelOfActivations) {
  ModelBuilder m;
  const std::string x = m.input("x", {2, 3, 4});
  const std::string scales = m.reals({3}, {0.1f, 0.2f, 0.3f}), zeros = m.integers(ElementType::u8, {3}, {7, 128, 250});
  const std::string q = m.node("QuantizeLinear", {x, scales, zeros}, {{"axis", int64_t{1}}});
  m.output(m.node("DequantizeLinear", {q, scales, zeros}, {{"axis", int64_t{-2}}}));
  EXPECT_EQ(imported_operators(m), "quantize_linear dequantize_affine");
  compare(m, {2, 3, 4}, 1e-3f);
}

TEST(QuantizedOperators, ScalesThatAreInputsMayBeGiven) {
  ModelBuilder m;
  m.output(m.node("QuantizeLinear", {m.input("x", {4}), m.input("scale", {}), m.input("zero", {}, ElementType::u8)}));
  EXPECT_TEXT(imported_operators(m), "requantize pointwise pointwise fused_add pointwise requantize")
      << "by its definition, in floating point";
  const ImportOptions options{.constants = {{"scale", qgen::testing::tensor_of(DType::f32, {}, {2})},
                                            {"zero", qgen::testing::tensor_of(DType::u8, {}, {128})}}};
  const auto imported = import_model(m.model, options);
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_EQ(operators_of(imported->graph), "q8ta_quantize_linear requantize");
  const auto wrong = import_model(m.model, {.constants = {{"scales", HostTensor{}}}});
  ASSERT_FALSE(wrong);
  EXPECT_TEXT(wrong.error().message, "constant 'scales' is no input of the model");
}

}  // namespace
}  // namespace qgen::onnx::testing
