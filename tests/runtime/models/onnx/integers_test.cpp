// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// 4-bit integers, blocks of activations, and operators on 8-bit integers without a DequantizeLinear. onnx_node_test.cpp
// checks that their outputs are ONNX's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/models/onnx/compared.h"
#include "tests/support/expected_text.h"

namespace qgen::onnx::testing {
namespace {

// int8 operators read them unchanged; the nodes that produce them are bounded.
TEST(FourBits, ActivationsBetweenLayers) {
  for (const ElementType type : {ElementType::i4, ElementType::u4}) {
    const int64_t zero = type == ElementType::i4 ? -1 : 7;
    ModelBuilder m(21);
    const std::string x = m.view(m.input("x", {-1, 4, 6, 6}), 0.25f, zero, type);
    m.output(m.view(m.conv(x, {3, 4, 3, 3}), 0.2f, zero, type));
    EXPECT_EQ(imported_operators(m), "q8ta_quantize_linear requantize q8ta_conv2d requantize q8ta_dequantize");
    compare(m, {2, 4, 6, 6}, 0.2f);
  }
}

TEST(FourBits, AScaleForEachChannel) {
  ModelBuilder m(21);
  const std::string scale = m.reals({4}, {0.25f, 0.5f, 0.125f, 1}),
                    zero = m.integers(ElementType::i4, {4}, {1, 0, -8, 7});
  const std::string codes = m.node("QuantizeLinear", {m.input("x", {2, 4, 6}), scale, zero});
  m.output(m.node("DequantizeLinear", {codes, scale, zero}));
  EXPECT_EQ(imported_operators(m), "quantize_linear dequantize_affine");
  compare(m, {2, 4, 6}, 1, 0);
}

TEST(FourBits, IntegersAtTheDoorAreBytes) {
  ModelBuilder m(21);
  m.output(m.dequantize(m.input("x", {2, 3}, ElementType::u4), 0.5f, 3, ElementType::u4));
  EXPECT_EQ(imported_operators(m), "requantize q8ta_dequantize");
  const HostTensor x = make_tensor<uint8_t>(DType::u8, {2, 3}, std::vector<uint8_t>{0, 1, 3, 7, 14, 15});
  const auto outputs = judged(m.import()->graph, {{"x", x}});
  ASSERT_TRUE(outputs) << to_text(outputs.error());
  const auto reals = outputs->begin()->second.as<float>();
  EXPECT_EQ(std::vector<float>(reals.begin(), reals.end()), (std::vector<float>{-1.5f, -1, 0, 2, 5.5f, 6}));
}

// Until it was read, an output_dtype of 16 bits gave bytes.
TEST(FourBits, AnOutputDtypeIsWhatItSays) {
  const auto imported = [](int64_t output_dtype) {
    ModelBuilder m(21);
    m.output(m.node("QuantizeLinear", {m.input("x", {2, 3}), m.scalar(0.5f)}, {{"output_dtype", output_dtype}}));
    return imported_operators(m);
  };
  EXPECT_EQ(imported(0), "q8ta_quantize_linear requantize");
  EXPECT_EQ(imported(2), "q8ta_quantize_linear requantize");
  EXPECT_EQ(imported(3), "q8ta_quantize_linear");
  EXPECT_EQ(imported(22), "q8ta_quantize_linear requantize");
  EXPECT_TEXT(imported(5),
              "node 'QuantizeLinear_0' (QuantizeLinear): its integers are int16, and activations can have 8 or 4 bits");
  EXPECT_TEXT(imported(17),
              "node 'QuantizeLinear_0' (QuantizeLinear): its quantized type is a type that qgen does not have, and can "
              "be int32 or an integer type of up to 16 bits");
  EXPECT_TEXT(imported(-1),
              "node 'QuantizeLinear_0' (QuantizeLinear): its attribute 'output_dtype' is -1, and can be 0 to 23");
}

TEST(Integers, AreTheRealsOfAScaleOfOne) {
  const std::pair<std::string, std::string> rows[] = {
      {"Add", "q8ta_add"},
      {"Sub", "q8ta_add"},
      {"Mul", "q8ta_mul"},
      {"Max", "fused_add fused_relu fused_add"},
      {"Min", "fused_add fused_relu fused_add"},
  };
  for (const auto& [op, operators] : rows) {
    ModelBuilder m(14);
    m.output(m.node(op, {m.input("x", {-1, 5}, ElementType::i8), m.input("y", {5}, ElementType::i8)}));
    EXPECT_EQ(imported_operators(m), operators) << op;
  }
}

TEST(Integers, MaxOfAnyNumberAndConstants) {
  ModelBuilder m(14);
  const std::string x = m.input("x", {2, 2}, ElementType::u8), y = m.input("y", {2, 2}, ElementType::u8);
  m.output(m.node("Max", {x, y, m.integers(ElementType::u8, {2}, {200, 5})}));
  const auto bytes = [](std::vector<uint8_t> values) { return make_tensor<uint8_t>(DType::u8, {2, 2}, values); };
  const auto outputs = judged(m.import()->graph, {{"x", bytes({0, 255, 201, 4})}, {"y", bytes({7, 0, 255, 6})}});
  ASSERT_TRUE(outputs) << to_text(outputs.error());
  EXPECT_EQ(outputs->begin()->second.data, bytes({200, 255, 255, 6}).data);
}

TEST(Integers, OfTwoTypesAndOfFourBitsAreRefused) {
  ModelBuilder types(14);
  types.output(types.node("Add", {types.input("x", {5}, ElementType::i8), types.input("y", {5}, ElementType::u8)}));
  EXPECT_TEXT(imported_operators(types),
              "node 'Add_0' (Add): its input B ('y') is uint8 and its input A is int8, and ONNX requires the same "
              "type");
  ModelBuilder bits(21);
  bits.output(bits.node("Add", {bits.input("x", {5}, ElementType::i4), bits.input("y", {5}, ElementType::i4)}));
  EXPECT_TEXT(imported_operators(bits),
              "node 'Add_0' (Add): its input A ('x') is int4, and can be bfloat16, float16, float32, float64, int16, "
              "int32, int64, int8, uint16, uint32, uint64, uint8");
}

TEST(Cast, ToWhatHasAllOfTheIntegers) {
  const auto imported = [](ElementType from, int64_t to) {
    ModelBuilder m(21);
    m.output(m.node("Cast", {m.input("x", {2, 3}, from)}, {{"to", to}}));
    return imported_operators(m);
  };
  constexpr int64_t kFloat = 1, kUint8 = 2, kInt8 = 3, kHalf = 10;
  EXPECT_EQ(imported(ElementType::i8, kFloat), "q8ta_dequantize");
  EXPECT_EQ(imported(ElementType::i8, kHalf), "dequantize_affine");
  EXPECT_EQ(imported(ElementType::i4, kInt8), "");
  EXPECT_EQ(imported(ElementType::u4, kInt8), "requantize");
  EXPECT_EQ(imported(ElementType::u4, kUint8), "requantize requantize requantize");
  EXPECT_TEXT(imported(ElementType::i4, kUint8),
              "node 'Cast_0' (Cast): qgen has no operator that converts int4 to uint8");
  // Its low bits; then as uint8 for those that read the output.
  EXPECT_EQ(imported(ElementType::i8, kUint8), "pointwise requantize");
}

}  // namespace
}  // namespace qgen::onnx::testing
