// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// bmm and fused_bmm on every kernel, bit-exact.
#include <algorithm>

#include "operators.h"
#include "runtime/engine/tensor/quant_params.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/expected_text.h"
#include "tests/support/smallest_normal.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

using namespace generated::operators;
using testing::Random;
using testing::tensor_of;

// A matrix, or a batch of them, and of integers their parameters; all different.
struct Operand {
  Shape shape, params;
  DType dtype = DType::i8;
};

void add_operand(Request& request, const std::string& name, const Operand& operand, Random& random) {
  if (is_real(operand.dtype)) {
    request.inputs[name] = random.reals(operand.dtype, operand.shape, -2, 2);
    return;
  }
  const IntegerRange range = *range_of(operand.dtype);
  request.inputs[name] = random.integers(operand.dtype, operand.shape, range.min, range.max);
  request.inputs[name + "_scale"] = random.reals(DType::f32, operand.params, 0.01, 0.03);
  request.inputs[name + "_zero_point"] = random.integers(DType::i32, operand.params, -128, 127);
}

// Without its own dtype the output is i8.
Request request_of(const Operand& input, const Operand& other, const Operand& output) {
  Random random(41);
  Request request;
  add_operand(request, "input", input, random);
  add_operand(request, "other", other, random);
  request.attributes["output_dtype"] = std::string(name(output.dtype));
  if (is_real(output.dtype)) return request;
  request.inputs["output_scale"] = random.reals(DType::f32, output.params, 0.1, 0.3);
  request.inputs["output_zero_point"] = random.integers(DType::i32, output.params, -20, 20);
  return request;
}

class BmmTest : public testing::KernelTest {
 protected:
  void expect_product(std::string_view op, const Operand& input, const Operand& other, const Operand& output,
                      const measure::VerifyOptions& options = kEveryVariantAsAsked) {
    SCOPED_TRACE(fmt::format("{}: {} {} by {} times {} {} by {} -> {} by {}", op, name(input.dtype),
                             to_text(input.shape), to_text(input.params), name(other.dtype), to_text(other.shape),
                             to_text(other.params), name(output.dtype), to_text(output.params)));
    expect_reference(op, request_of(input, other, output), options);
  }
};

TEST_F(BmmTest, EverySpecialization) {
  expect_product("bmm", {{2, 5, 36}, {}}, {{2, 36, 8}, {}}, {}, kEverythingAsAsked);
  expect_product("fused_bmm", {{2, 5, 36}, {2, 5, 4}}, {{2, 36, 8}, {}}, {}, kEverythingAsAsked);
}

TEST_F(BmmTest, EveryMixture) {
  const DType kDTypes[] = {DType::f32, DType::f16, DType::i8, DType::u8, DType::i16, DType::i32};
  for (const DType a : kDTypes) {
    for (const DType b : kDTypes) {
      for (const DType c : kDTypes) {
        const DType dtypes[] = {a, b, c};
        const auto has = [&](DType dtype) { return std::ranges::find(dtypes, dtype) != std::end(dtypes); };
        if (has(DType::f32) && has(DType::f16)) continue;
        expect_product("fused_bmm", {{3, 17}, {3, 1}, a}, {{17, 6}, {}, b}, {{}, {}, c});
      }
    }
  }
  // Dequantized int8, which needs parameters that change along K.
  for (const DType c : kDTypes) {
    for (const DType bytes : {DType::i8, DType::u8}) {
      expect_product("fused_bmm", {{3, 18}, {3, 2}, bytes}, {{18, 6}, {}, DType::i8}, {{}, {}, c});
      expect_product("fused_bmm", {{3, 18}, {3, 2}, bytes}, {{18, 6}, {}, DType::u8}, {{}, {}, c});
    }
  }
}

// Around the sizes of tiles and words; odd dimensions, and dimensions of one and of zero; K past a stage.
TEST_F(BmmTest, Shapes) {
  struct Row {
    int64_t m, n, k;
  };
  const Row kRows[] = {{1, 1, 1},    {1, 64, 32},  {2, 3, 4},   {4, 4, 31},    {5, 4, 33},   {3, 5, 36},
                       {63, 65, 8},  {64, 64, 64}, {65, 63, 7}, {130, 129, 5}, {1, 200, 40}, {200, 1, 40},
                       {7, 12, 260}, {0, 4, 8},    {4, 0, 8},   {4, 8, 0}};
  for (const auto& [m, n, k] : kRows) {
    expect_product("bmm", {{m, k}, {}}, {{k, n}, {}}, {});
    expect_product("bmm", {{m, k}, {}, DType::u8}, {{k, n}, {}, DType::u8}, {{}, {}, DType::u8});
    expect_product("fused_bmm", {{m, k}, {}}, {{k, n}, {}, DType::f32}, {});
  }
}

// Batches of any rank, repeated on either side, and in blocks.
TEST_F(BmmTest, Batches) {
  struct Row {
    Operand input, other, output;
  };
  const Row kRows[] = {
      {{{3, 4, 5}, {}}, {{3, 5, 8}, {}}, {}},
      {{{3, 4, 5}, {3, 1, 1}}, {{5, 8}, {}}, {}},
      {{{4, 5}, {}}, {{2, 3, 5, 8}, {2, 3, 1, 1}}, {{}, {1, 3, 1, 1}}},
      {{{2, 1, 4, 8}, {}}, {{1, 3, 8, 8}, {1, 3, 1, 8}}, {{}, {2, 3, 4, 8}}},
      {{{2, 1, 2, 1, 1, 1, 3, 4}, {}}, {{2, 3, 1, 2, 4, 5}, {}}, {}},
      {{{4, 6, 5}, {2, 3, 1}}, {{4, 5, 6}, {2, 1, 3}}, {{}, {4, 2, 2}}},
      {{{0, 4, 5}, {}}, {{1, 5, 8}, {}}, {}},
  };
  for (const Row& row : kRows) {
    expect_product("bmm", row.input, row.other, row.output);
    Row real = row;
    real.other.dtype = DType::f32;
    expect_product("fused_bmm", real.input, real.other, real.output);
  }
}

// Per tensor, row, column and block on each operand; along K they change the terms of the sum.
TEST_F(BmmTest, EveryGranularity) {
  const Shape kInput[] = {{}, {1, 1}, {6, 1}, {2, 1}, {1, 2}, {6, 8}, {3, 4}};
  const Shape kOther[] = {{}, {1, 10}, {1, 5}, {2, 1}, {8, 10}};
  for (const Shape& input : kInput) {
    for (const Shape& other : kOther) expect_product("fused_bmm", {{6, 8}, input}, {{8, 10}, other}, {{}, {3, 5}});
  }
}

// Sums of 131,072 products of the least byte are 2^31; one zero point at the other end doubles each factor.
TEST_F(BmmTest, SumsPastThirtyTwoBits) {
  const int64_t k = 131072;
  for (const double zero_point : {0.0, 127.0}) {
    Request request;
    request.inputs["input"] = tensor_of(DType::i8, {2, k}, {-128});
    request.inputs["input_scale"] = tensor_of(DType::f32, {}, {0.001});
    request.inputs["input_zero_point"] = tensor_of(DType::i32, {}, {zero_point});
    request.inputs["other"] = tensor_of(DType::i8, {k, 4}, {-128, 127, -128, 1});
    request.inputs["other_scale"] = tensor_of(DType::f32, {1, 4}, {0.5, 1.0, 2.0, 3.0});
    request.inputs["other_zero_point"] = tensor_of(DType::i32, {1, 4}, {0.0, -128.0, zero_point, 5.0});
    expect_reference("bmm", request, kEveryVariantAsAsked);
    request.inputs["input"] = tensor_of(DType::u8, {2, k}, {255, 0});
    request.inputs["other"] = tensor_of(DType::u8, {k, 4}, {0, 255, 255, 1});
    expect_reference("bmm", request, kEveryVariantAsAsked);
  }
}

// Sums halfway between two floats, next to them and beyond them; and zero points outside int8.
TEST_F(BmmTest, SumsRoundToEvenOnce) {
  Request request;
  request.inputs["input"] = tensor_of(DType::i8, {4, 1}, {1, 3, -1, -127});
  request.inputs["input_scale"] = tensor_of(DType::f32, {}, {1.0});
  request.inputs["other"] = tensor_of(DType::i8, {1, 8}, {0, 1, 2, 3, 4, 5, 126, 127});
  request.inputs["other_scale"] = tensor_of(DType::f32, {}, {1.0});
  for (const double zero_point : {-16777216.0, -33554430.0, -2147483648.0, 2147483647.0}) {
    request.inputs["other_zero_point"] = tensor_of(DType::i32, {}, {zero_point});
    request.inputs["input_zero_point"] = tensor_of(DType::i32, {}, {0.0});
    expect_reference("bmm", request, kEveryVariantAsAsked);
    request.inputs["input_zero_point"] = tensor_of(DType::i32, {}, {-8388607.0});
    expect_reference("bmm", request, kEveryVariantAsAsked);
    Request unsigned_bytes = request;
    unsigned_bytes.inputs["other"] = tensor_of(DType::u8, {1, 8}, {0, 1, 2, 3, 4, 128, 254, 255});
    expect_reference("bmm", unsigned_bytes, kEveryVariantAsAsked);
  }
}

TEST_F(BmmTest, ExtremeNumbers) {
  const double inf = kInfinity, nan = kNan;
  Request request;
  request.inputs["input"] = tensor_of(DType::f32, {4, 4},
                                      {1e-40, 1e-30, -1e-30, -0.0, 3e38, 3e38, -3e38, 1.0,  //
                                       inf, 1.0, 2.0, -1.0, nan, 0.0, 1e-20, -1e-20});
  request.inputs["other"] =
      tensor_of(DType::f32, {4, 3}, {1.0, 1e-10, -1e38, 2.0, 1e-9, 0.0, 1e-8, 1e-38, 0.5, -1.0, -2.0, 1e-20});
  expect_reference("fused_bmm", request, kEverythingAsAsked);
  request.inputs["output_scale"] = tensor_of(DType::f32, {}, {1e-30});
  expect_reference("fused_bmm", request, kEverythingAsAsked);

  Request bytes = request_of({{4, 8}, {4, 1}}, {{8, 4}, {1, 4}}, {{}, {}, DType::f32});
  bytes.inputs["input_scale"] = tensor_of(DType::f32, {4, 1}, {1e-40, 1e-30, 3e38, nan});
  bytes.inputs["other_scale"] = tensor_of(DType::f32, {1, 4}, {1.0, 1e-9, 1e30, inf});
  expect_reference("bmm", bytes, kEveryVariantAsAsked);
}

// docs/affine.md: a product that comes to 2^-126 counts as zero. For floating-point operands that is each term of a
// sum.
TEST_F(BmmTest, TermsNextToTheSmallestNormal) {
  const auto [x, y] = testing::factors_of_the_smallest_normal(testing::floats_below_one());
  const int64_t count = std::ssize(x);
  Request request;
  request.inputs["input"] = tensor_of(DType::f32, {count, 1, 1}, x);
  request.inputs["other"] = tensor_of(DType::f32, {count, 1, 1}, y);
  request.attributes["output_dtype"] = std::string("float32");
  expect_reference("fused_bmm", request, kEveryVariantAsAsked);
  // With a term before it, and one after.
  request.inputs["input"] = tensor_of(DType::f32, {count, 1, 3}, {0.75});
  request.inputs["other"] = tensor_of(DType::f32, {count, 3, 1}, {0x1p-125});
  for (int64_t i = 0; i < count; ++i) {
    set_element(request.inputs["input"], 3 * i + 1, x[static_cast<size_t>(i)]);
    set_element(request.inputs["other"], 3 * i + 1, y[static_cast<size_t>(i)]);
  }
  expect_reference("fused_bmm", request, kEveryVariantAsAsked);
  request.attributes["output_dtype"] = std::string("int8");
  request.inputs["output_scale"] = tensor_of(DType::f32, {}, {testing::kSmallestNormal});
  expect_reference("fused_bmm", request, kEveryVariantAsAsked);
}

// Of integers it is the product of their scales.
TEST_F(BmmTest, ScalesNextToTheSmallestNormal) {
  const auto [x, y] = testing::factors_of_the_smallest_normal(testing::floats_below_one());
  const int64_t count = std::ssize(x);
  Request request;
  request.inputs["input_scale"] = tensor_of(DType::f32, {count, 1, 1}, x);
  request.inputs["other_scale"] = tensor_of(DType::f32, {count, 1, 1}, y);
  for (const DType bytes : {DType::i8, DType::u8}) {
    request.inputs["input"] = tensor_of(bytes, {count, 2, 5}, {20, 1, 100, 7, 0, 33});
    request.inputs["other"] = tensor_of(bytes, {count, 5, 2}, {1, 2, 0});
    request.attributes["output_dtype"] = std::string("float32");
    request.inputs.erase("output_scale");
    expect_reference("bmm", request, kEveryVariantAsAsked);
    expect_reference("fused_bmm", request, kEveryVariantAsAsked);
    request.attributes["output_dtype"] = std::string("int8");
    request.inputs["output_scale"] = tensor_of(DType::f32, {}, {testing::kSmallestNormal});
    expect_reference("bmm", request, kEveryVariantAsAsked);
  }
  // 16-bit integers have no integer sum: each is dequantized, and multiplied as a float.
  request.inputs["input"] = tensor_of(DType::i16, {count, 1, 2}, {1, -1, 2});
  request.inputs["other"] = tensor_of(DType::i8, {count, 2, 1}, {1, 3});
  expect_reference("fused_bmm", request, kEveryVariantAsAsked);
}

// Cases whose results can be worked out by hand.
TEST_F(BmmTest, GoldenCase) {
  Request request;
  request.inputs["input"] = tensor_of(DType::i8, {1, 2, 2}, {1, 2, 3, 4});
  request.inputs["input_scale"] = tensor_of(DType::f32, {}, {0.5});
  request.inputs["input_zero_point"] = tensor_of(DType::i32, {}, {1});
  request.inputs["other"] = tensor_of(DType::i8, {1, 2, 2}, {5, 6, 7, 8});
  request.inputs["other_scale"] = tensor_of(DType::f32, {}, {2});
  request.inputs["output_scale"] = tensor_of(DType::f32, {}, {1});
  request.inputs["output_zero_point"] = tensor_of(DType::i32, {}, {-1});
  const auto expected = reference::find("bmm")(*complete(*find_operator("bmm"), request));
  EXPECT_EQ(expected.at("output").data, tensor_of(DType::i8, {1, 2, 2}, {6, 7, 30, 35}).data);
  expect_reference("bmm", request, kEverythingAsAsked);
}

TEST_F(BmmTest, Refusals) {
  const TensorDesc a{DType::i8, {2, 3, 4}}, b{DType::i8, {2, 4, 5}}, x{DType::f32, {2, 4, 5}}, scale{DType::f32, {}};
  const auto said = [](const Expected<Call>& call) { return call ? "accepted" : to_text(call.error()); };
  // To bytes of one scale.
  const auto product = [&](const TensorDesc& input, const TensorDesc& other, const TensorDesc& input_scale,
                           const TensorDesc& other_scale) {
    return said(bmm_call(
        {.input = input, .input_scale = input_scale, .other = other, .other_scale = other_scale, .output_scale = scale},
        {.output_dtype = DType::i8}));
  };
  const auto fused = [&](const FusedBmmInputs<Described>& inputs, const FusedBmmAttributes& attributes) {
    return said(fused_bmm_call(inputs, attributes));
  };
  EXPECT_EQ(product(a, b, scale, scale), "accepted");
  EXPECT_TEXT(product(a, x, scale, scale), "other is f32, and can be i8, u8");
  EXPECT_TEXT(product(a, b, {DType::f32, {2, 3, 2}}, scale),
              "input_scale has shape [2, 3, 2], and bmm needs a single scale along K of [2, 3, 4]\n"
              "  hint: fused_bmm accepts several scales along K");
  EXPECT_TEXT(product(a, b, scale, {DType::f32, {1, 4, 1}}),
              "other_scale has shape [1, 4, 1], and bmm needs a single scale along K of [2, 4, 5]\n"
              "  hint: fused_bmm accepts several scales along K");
  EXPECT_TEXT(product(a, a, scale, scale), "other has shape [2, 3, 4]\n  hint: it is [..., K, N], and K of input is 4");
  EXPECT_TEXT(product(a, {DType::i8, {4}}, scale, scale),
              "other has shape [4]\n  hint: it is [..., K, N], and K of input is 4");
  EXPECT_TEXT(product(a, {DType::i8, {3, 4, 5}}, scale, scale),
              "shapes [2] and [3] cannot be broadcast: a dimension is 2 in one and 3 in the other\n"
              "  hint: the dimensions must be equal, or one of them 1");
  EXPECT_EQ(fused({.input = a, .input_scale = scale, .other = x}, {.output_dtype = DType::f32}), "accepted");
  EXPECT_TEXT(product({DType::i16, {2, 3, 4}}, b, scale, scale), "input is i16, and can be i8, u8");
  const auto fused_to_bytes = [&](DType input) {
    return fused({.input = TensorDesc{input, {2, 3, 4}},
                  .input_scale = scale,
                  .other = b,
                  .other_scale = scale,
                  .output_scale = scale},
                 {.output_dtype = DType::i8});
  };
  EXPECT_EQ(fused_to_bytes(DType::i16), "accepted");
  EXPECT_TEXT(fused_to_bytes(DType::u16), "input is u16, and can be f32, f16, i8, u8, i16, i32");
  EXPECT_TEXT(fused({.input = a, .input_scale = scale, .other = x}, {.output_dtype = DType::f16}),
              "some operands are f32 and others f16, and no kernel accepts both\n"
              "  hint: convert one of them");
  EXPECT_TEXT(fused({.input = a, .input_scale = scale, .other = b}, {.output_dtype = DType::f32}),
              "other is i8, and has no scale\n  hint: give other_scale");
}

}  // namespace
}  // namespace qgen
