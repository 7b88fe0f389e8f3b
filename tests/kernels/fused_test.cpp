// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// requantize, fused_relu, fused_hardswish, fused_sigmoid, fused_clip, fused_add and fused_mul on every kernel,
// bit-exact.
#include <cmath>

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

// An operand of a dtype and, of integers, with parameters of a shape; all different.
struct Operand {
  DType dtype = DType::f32;
  Shape shape, params;
};

void add_operand(Request& request, const std::string& name, const Operand& operand, Random& random) {
  if (is_real(operand.dtype)) {
    request.inputs[name] = random.reals(operand.dtype, operand.shape, -7, 7);
    return;
  }
  const IntegerRange range = *range_of(operand.dtype);
  request.inputs[name] = random.integers(operand.dtype, operand.shape, range.min, range.max);
  // Scales that bring the whole range to about -6 .. 6.
  const double scale = 12.0 / static_cast<double>(range.max - range.min);
  request.inputs[name + "_scale"] = random.reals(DType::f32, operand.params, 0.5 * scale, 1.5 * scale);
  request.inputs[name + "_zero_point"] = random.integers(DType::i32, operand.params, range.min / 8, range.max / 8);
}

void add_output(Request& request, const Operand& output, Random& random) {
  const auto word = output.dtype == DType::f32   ? "float32"
                    : output.dtype == DType::f16 ? "float16"
                                                 : name(output.dtype);
  request.attributes["output_dtype"] = std::string(word);
  if (is_real(output.dtype)) return;
  const IntegerRange range = *range_of(output.dtype);
  const double scale = 12.0 / static_cast<double>(range.max - range.min);
  request.inputs["output_scale"] = random.reals(DType::f32, output.params, 0.5 * scale, 1.5 * scale);
  request.inputs["output_zero_point"] = random.integers(DType::i32, output.params, range.min / 8, range.max / 8);
}

Request unary_request(const Operand& input, const Operand& output) {
  Random random(31);
  Request request;
  add_operand(request, "input", input, random);
  add_output(request, output, random);
  return request;
}

Request binary_request(const Operand& input, const Operand& other, const Operand& output) {
  Random random(32);
  Request request;
  add_operand(request, "input", input, random);
  add_operand(request, "other", other, random);
  add_output(request, output, random);
  return request;
}

class FusedTest : public testing::KernelTest {
 protected:
  void expect_unary(const Operand& input, const Operand& output, const measure::VerifyOptions& options) {
    SCOPED_TRACE(fmt::format("{} {} by {} -> {} by {}", name(input.dtype), to_text(input.shape), to_text(input.params),
                             name(output.dtype), to_text(output.params)));
    Request request = unary_request(input, output);
    if (!is_real(input.dtype) && !is_real(output.dtype)) expect_reference("requantize", request, options);
    expect_reference("fused_relu", request, options);
    expect_reference("fused_hardswish", request, options);
    expect_reference("fused_sigmoid", request, options);
    request.attributes["low"] = -1.25;
    request.attributes["high"] = 2.5;
    expect_reference("fused_clip", request, options);
  }

  void expect_binary(const Operand& input, const Operand& other, const Operand& output,
                     const measure::VerifyOptions& options) {
    SCOPED_TRACE(fmt::format("{} {} by {} with {} {} by {} -> {} by {}", name(input.dtype), to_text(input.shape),
                             to_text(input.params), name(other.dtype), to_text(other.shape), to_text(other.params),
                             name(output.dtype), to_text(output.params)));
    Request request = binary_request(input, other, output);
    expect_reference("fused_mul", request, options);
    request.attributes["alpha"] = -1.75;
    expect_reference("fused_add", request, options);
  }
};

// Quads for more than two rounds of the largest workgroup: an invocation has several, and others end before theirs.
TEST_F(FusedTest, EverySpecialization) {
  const Shape shape{3, 4, 5}, long_shape{4 * (2 * 256 + 77) + 3}, one{};
  expect_unary({DType::i8, long_shape, one}, {DType::u8, long_shape, one}, kEverythingAsAsked);
  expect_unary({DType::f32, shape, one}, {DType::f32, shape, one}, kEveryVariant);
  expect_binary({DType::i8, long_shape, one}, {DType::i8, long_shape, one}, {DType::i8, long_shape, one},
                kEverythingAsAsked);
  expect_binary({DType::i8, shape, {3, 1, 1}}, {DType::f32, {5}, one}, {DType::f32, shape, one}, kEverythingAsAsked);
  expect_binary({DType::i16, long_shape, one}, {DType::i32, long_shape, one}, {DType::i16, long_shape, one},
                kEverythingAsAsked);
}

// Signed and not, each mixture with the functions of lib/fused_elements.glsl.
TEST_F(FusedTest, BytesOfOneParameterEach) {
  const Shape shape{37}, one{};
  for (const DType a : {DType::i8, DType::u8}) {
    for (const DType b : {DType::i8, DType::u8}) {
      expect_unary({a, shape, one}, {b, shape, one}, {});
      for (const DType c : {DType::i8, DType::u8}) {
        expect_binary({a, shape, one}, {b, shape, one}, {c, shape, one}, {});
      }
    }
  }
}

// Every pair of dtypes, and every triple.
TEST_F(FusedTest, EveryMixture) {
  const auto are_two_reals = [](DType a, DType b) { return is_real(a) && is_real(b) && a != b; };
  const Shape shape{2, 3, 5}, one{};
  const DType kAll[] = {DType::f32, DType::f16, DType::i8, DType::u8, DType::i16, DType::i32};
  for (const DType a : kAll) {
    for (const DType b : kAll) {
      if (are_two_reals(a, b)) continue;
      expect_unary({a, shape, {2, 1, 1}}, {b, shape, one}, kEveryVariantAsAsked);
      for (const DType c : kAll) {
        if (are_two_reals(b, c) || are_two_reals(a, c)) continue;
        expect_binary({a, shape, one}, {b, shape, {1, 3, 1}}, {c, shape, one}, kEveryVariantAsAsked);
      }
    }
  }
}

// Per tensor, channel, group, and in blocks of all dimensions, on each operand; and sizes that fill no quad.
TEST_F(FusedTest, EveryGranularity) {
  const Shape kShapes[] = {{8, 6, 6, 6}, {4, 6, 2, 3}};
  const Shape kParams[] = {{}, {1}, {4, 1, 1, 1}, {1, 6, 1, 1}, {1, 1, 1, 3}, {4, 2, 1, 1}, {2, 3, 2, 3}, {4, 6, 2, 3}};
  for (const Shape& shape : kShapes) {
    for (const Shape& params : kParams) {
      if (!block_of(shape, params)) continue;
      const Operand plain{DType::i8, shape, {}}, blocked{DType::i8, shape, params};
      expect_unary(blocked, plain, kEveryVariantAsAsked);
      expect_unary(plain, blocked, kEveryVariantAsAsked);
      expect_binary(blocked, plain, blocked, kEveryVariantAsAsked);
      expect_binary(plain, blocked, plain, kEveryVariantAsAsked);
      expect_binary({DType::i16, shape, params}, {DType::f32, shape, {}}, {DType::i32, shape, params},
                    kEveryVariantAsAsked);
    }
  }
  const Shape kOdd[] = {{},  {1},    {2},      {3}, {5}, {4097}, {1, 1, 1, 1, 1, 1, 1, 3}, {2, 1, 2, 1, 3, 1, 2, 1},
                        {0}, {3, 0}, {0, 2, 1}};
  for (const Shape& shape : kOdd) {
    expect_unary({DType::i8, shape, {}}, {DType::i8, shape, {}}, kEveryVariantAsAsked);
    expect_binary({DType::i8, shape, {}}, {DType::f32, shape, {}}, {DType::i8, shape, {}}, kEveryVariantAsAsked);
    expect_binary({DType::i32, shape, {}}, {DType::i16, shape, {}}, {DType::i16, shape, {}}, kEveryVariantAsAsked);
  }
}

TEST_F(FusedTest, Broadcasting) {
  struct Row {
    Shape a, a_params, b, b_params, c_params;
  };
  const Row kRows[] = {
      {{2, 3, 4}, {}, {}, {}, {}},
      {{2, 3, 4}, {2, 1, 1}, {4}, {2}, {1, 3, 1}},
      {{4}, {}, {2, 3, 4}, {1, 1, 4}, {}},
      {{2, 1, 4}, {1, 1, 4}, {3, 1}, {3, 1}, {2, 3, 4}},
      {{1, 3, 1}, {1, 3, 1}, {2, 1, 4}, {}, {2, 1, 1}},
      {{5, 1, 1, 2}, {}, {3, 1, 1}, {}, {}},
      {{2, 3}, {}, {1, 1, 1}, {}, {}},
      {{0, 3}, {}, {3}, {}, {}},
      {{1, 3}, {}, {0, 1}, {}, {}},
  };
  for (const Row& row : kRows) {
    expect_binary({DType::i8, row.a, row.a_params}, {DType::u8, row.b, row.b_params}, {DType::i8, {}, row.c_params},
                  kEveryVariantAsAsked);
    expect_binary({DType::f32, row.a, {}}, {DType::i8, row.b, row.b_params}, {DType::f32, {}, {}},
                  kEveryVariantAsAsked);
    expect_binary({DType::i16, row.a, row.a_params}, {DType::i8, row.b, row.b_params}, {DType::i32, {}, row.c_params},
                  kEveryVariantAsAsked);
  }
}

TEST_F(FusedTest, ExtremeNumbers) {
  const std::initializer_list<double> kReals = {0.0,     -0.0,      1e-40,      -1e-40, 1.2e-38, 3.4e38,
                                                -3.4e38, kInfinity, -kInfinity, kNan,   -3.0,    -2.9999999,
                                                3.0,     6e-39,     0.5,        -1.5};
  Request request;
  request.inputs["input"] = tensor_of(DType::f32, {16}, kReals);
  expect_reference("fused_relu", request, kEveryVariantAsAsked);
  expect_reference("fused_hardswish", request, kEveryVariantAsAsked);
  expect_reference("fused_sigmoid", request, kEveryVariantAsAsked);
  expect_reference("fused_clip", request, kEveryVariantAsAsked);
  for (const char* bound : {"low", "high"}) {
    Request bounded = request;
    bounded.attributes[bound] = 1e-40;
    expect_reference("fused_clip", bounded, kEveryVariantAsAsked);
  }
  request.inputs["other"] = tensor_of(DType::f32, {16, 1}, kReals);
  expect_reference("fused_add", request, kEveryVariantAsAsked);
  expect_reference("fused_mul", request, kEveryVariantAsAsked);
  request.inputs["output_scale"] = tensor_of(DType::f32, {}, {0.25});
  request.attributes["quant_min"] = int64_t{-100};
  request.attributes["quant_max"] = int64_t{99};
  expect_reference("fused_add", request, kEveryVariantAsAsked);
  expect_reference("fused_mul", request, kEveryVariantAsAsked);

  // Zero points at the ends of i32, and scales that saturate everything.
  Request integers;
  integers.inputs["input"] = tensor_of(DType::i32, {4}, {-2147483648.0, 2147483647.0, 0.0, 7.0});
  integers.inputs["input_scale"] = tensor_of(DType::f32, {4}, {1.0, 1e-30, 1e30, 3.0});
  integers.inputs["input_zero_point"] = tensor_of(DType::i32, {4}, {2147483647.0, -2147483648.0, 1.0, 7.0});
  integers.inputs["output_scale"] = tensor_of(DType::f32, {}, {1e-38});
  integers.inputs["output_zero_point"] = tensor_of(DType::i32, {}, {2147483647.0});
  integers.attributes["output_dtype"] = std::string("int32");
  expect_reference("requantize", integers, kEveryVariantAsAsked);
  integers.inputs["output_scale"] = tensor_of(DType::f32, {}, {1.0});
  integers.inputs["output_zero_point"] = tensor_of(DType::i32, {}, {-2147483648.0});
  integers.attributes["quant_min"] = int64_t{-2147483648};
  integers.attributes["quant_max"] = int64_t{100};
  expect_reference("requantize", integers, kEveryVariantAsAsked);
  integers.inputs["other"] = tensor_of(DType::f32, {4}, {0.0, -0.0, 1.0, 3e38});
  expect_reference("fused_add", integers, kEveryVariantAsAsked);
  expect_reference("fused_mul", integers, kEveryVariantAsAsked);
}

// Significands of every exponent: the division by six is made of sums and products.
TEST_F(FusedTest, HardswishOfEveryExponent) {
  std::vector<double> reals;
  for (int exponent = -126; exponent < 128; ++exponent) {
    for (const double significand : {1.0, 1.2499998807907104, 1.5, 1.5000001192092896, 1.9999998807907104}) {
      reals.push_back(std::ldexp(significand, exponent));
      reals.push_back(-std::ldexp(significand, exponent));
    }
  }
  Request request;
  request.inputs["input"] = tensor_of(DType::f32, {static_cast<int64_t>(reals.size())}, reals);
  expect_reference("fused_hardswish", request, kEveryVariantAsAsked);
  expect_reference("fused_sigmoid", request, kEveryVariantAsAsked);
}

// Across all k of the exponential, the ends of its range included.
TEST_F(FusedTest, SigmoidOfManyReals) {
  std::vector<double> reals;
  for (int i = -9600; i <= 9600; ++i) reals.push_back(i / 100.0);
  for (const double end : {87.0, 88.0}) {
    for (const double sign : {-1.0, 1.0}) {
      for (const double ulp : {-0x1p-17, 0.0, 0x1p-17}) reals.push_back(sign * (end + ulp));
    }
  }
  Request request;
  request.inputs["input"] = tensor_of(DType::f32, {static_cast<int64_t>(reals.size())}, reals);
  expect_reference("fused_sigmoid", request, kEveryVariantAsAsked);
  request.inputs["input"] = tensor_of(DType::f16, {static_cast<int64_t>(reals.size())}, reals);
  expect_reference("fused_sigmoid", request, kEveryVariantAsAsked);
}

// docs/affine.md: a product that comes to 2^-126 counts as zero.
class FusedNextToTheSmallestNormalTest : public FusedTest {
 protected:
  // To floating point, and to integers that show whether there was a 2^-126.
  void expect_products(Request request) {
    expect_reference("fused_mul", request, kEveryVariantAsAsked);
    request.attributes["output_dtype"] = std::string("int8");
    for (const double scale : {testing::kSmallestNormal, 2 * testing::kSmallestNormal}) {
      request.inputs["output_scale"] = tensor_of(DType::f32, {}, {scale});
      expect_reference("fused_mul", request, kEveryVariantAsAsked);
    }
  }
  // A quantized operand, one scale each; the dequantized value is their product.
  static void add_integers(Request& request, const std::string& name, DType dtype, double integer,
                           const std::vector<double>& scales) {
    const Shape shape{std::ssize(scales)};
    request.inputs[name] = tensor_of(dtype, shape, {integer});
    request.inputs[name + "_scale"] = tensor_of(DType::f32, shape, scales);
  }
};

TEST_F(FusedNextToTheSmallestNormalTest, ProductsOfReals) {
  const auto [x, y] = testing::factors_of_the_smallest_normal(testing::floats_below_one());
  const Shape shape{std::ssize(x)};
  Request request;
  request.inputs["input"] = tensor_of(DType::f32, shape, x);
  request.inputs["other"] = tensor_of(DType::f32, shape, y);
  request.attributes["output_dtype"] = std::string("float32");
  expect_products(request);
}

TEST_F(FusedNextToTheSmallestNormalTest, ProductsOfEveryMixture) {
  const auto [x, y] = testing::factors_of_the_smallest_normal(testing::short_floats_below_one());
  const Shape shape{std::ssize(x)};
  Request request;
  request.attributes["output_dtype"] = std::string("float32");
  request.inputs["input"] = tensor_of(DType::f32, shape, x);
  for (const DType dtype : {DType::i8, DType::u8, DType::i16, DType::i32}) {
    add_integers(request, "other", dtype, 1, y);
    expect_products(request);
  }
  request.attributes["output_dtype"] = std::string("float16");
  request.inputs["input"] = tensor_of(DType::f16, shape, x);
  add_integers(request, "other", DType::i8, 1, y);
  expect_products(request);
  request.attributes["output_dtype"] = std::string("float32");
  for (const DType dtype : {DType::i8, DType::i16}) {
    add_integers(request, "input", dtype, 1, x);
    expect_products(request);
  }
}

TEST_F(FusedNextToTheSmallestNormalTest, ProductsOfBytesOfOneParameterEach) {
  const auto [x, y] = testing::factors_of_the_smallest_normal({97 / 128.0, 101 / 128.0, 119 / 128.0});
  for (size_t i = 0; i < x.size(); ++i) {
    Request request;
    request.inputs["input"] = tensor_of(DType::i8, {37}, {x[i] * 128, 1, -3, 0, 127});
    request.inputs["input_scale"] = tensor_of(DType::f32, {}, {0x1p-7});
    request.inputs["other"] = tensor_of(DType::i8, {37}, {1, -1, 2});
    request.inputs["other_scale"] = tensor_of(DType::f32, {}, {y[i]});
    request.attributes["output_dtype"] = std::string("float32");
    expect_products(request);
  }
}

// Alpha is one number for all: its product with the other operand counts.
TEST_F(FusedNextToTheSmallestNormalTest, Sums) {
  for (const double alpha : testing::floats_below_one()) {
    const auto [x, y] = testing::factors_of_the_smallest_normal({alpha});
    Request request;
    request.inputs["input"] = tensor_of(DType::f32, {4, 1}, {0.0, -0.0, testing::kSmallestNormal, -0x1.4p-126});
    request.inputs["other"] = tensor_of(DType::f32, {std::ssize(y)}, y);
    request.attributes["alpha"] = alpha;
    expect_reference("fused_add", request, kEveryVariantAsAsked);
    request.inputs["output_scale"] = tensor_of(DType::f32, {}, {testing::kSmallestNormal});
    expect_reference("fused_add", request, kEveryVariantAsAsked);
  }
}

// A sixth of three times x comes to 2^-126.
TEST_F(FusedNextToTheSmallestNormalTest, Hardswish) {
  std::vector<double> reals;
  for (const float middle : {0x1p-125f, 0x1p-126f, 0x3p-126f, 0x6p-126f}) {
    float x = middle;
    for (int i = 0; i < 4; ++i) x = std::nextafter(x, 0.0f);
    for (int i = 0; i < 9; ++i, x = std::nextafter(x, 1.0f)) {
      reals.push_back(static_cast<double>(x));
      reals.push_back(-static_cast<double>(x));
    }
  }
  Request request;
  request.inputs["input"] = tensor_of(DType::f32, {std::ssize(reals)}, reals);
  expect_reference("fused_hardswish", request, kEveryVariantAsAsked);
  request.inputs["output_scale"] = tensor_of(DType::f32, {}, {testing::kSmallestNormal});
  expect_reference("fused_hardswish", request, kEveryVariantAsAsked);
}

TEST_F(FusedTest, SubnormalAlphaCountsAsZero) {
  Request request;
  request.inputs["input"] = tensor_of(DType::f32, {4}, {0.0, -0.0, 1.0, 1e-30});
  request.inputs["other"] = tensor_of(DType::f32, {4, 1}, {3e38, -3e38, 1.0, kInfinity});
  for (const double alpha : {1e-40, -1e-40, 0x0.fffffep-126, 0x1p-126}) {
    request.attributes["alpha"] = alpha;
    expect_reference("fused_add", request, kEveryVariantAsAsked);
  }
}

// On either side of the limits of lib/fused_elements.glsl: 2^-40 and 2^40, values that are no numbers, zero points out
// of range. 37 elements end within a quad.
TEST_F(FusedTest, BytesOfExtremeScales) {
  const double tame[] = {0x1p-40, 0x1p40, -0.04, 1.0};
  const double wild[] = {0x1.fffffep-41, 0x1.000002p40, 1e-38, 1e-45, 0.0, kInfinity, kNan, 3e38};
  std::vector<double> scales(std::begin(tame), std::end(tame));
  scales.insert(scales.end(), std::begin(wild), std::end(wild));
  Random random(33);
  Request request;
  for (const std::string name : {"input", "other"}) {
    request.inputs[name] = random.integers(DType::i8, {37}, -128, 127);
    request.inputs[name + "_scale"] = tensor_of(DType::f32, {}, {0.04});
    request.inputs[name + "_zero_point"] = tensor_of(DType::i32, {}, {3.0});
  }
  for (const double output : {0.05, 1e-30}) {
    request.inputs["output_scale"] = tensor_of(DType::f32, {}, {output});
    for (const double scale : scales) {
      SCOPED_TRACE(fmt::format("scale {} to {}", scale, output));
      request.inputs["input_scale"] = tensor_of(DType::f32, {}, {scale});
      Request unary = request;
      for (const std::string name : {"other", "other_scale", "other_zero_point"}) unary.inputs.erase(name);
      for (const char* op : {"requantize", "fused_relu", "fused_hardswish"}) expect_reference(op, unary, {});
      for (const double alpha : {1.0, 1e-30}) {
        request.attributes["alpha"] = alpha;
        expect_reference("fused_add", request, {});
      }
      request.attributes.erase("alpha");
      expect_reference("fused_mul", request, {});
    }
  }
  request.inputs["other_zero_point"] = tensor_of(DType::i32, {}, {2147483647.0});
  expect_reference("fused_add", request, {});
}

// Ties go to the even integer, as in every rounding.
TEST_F(FusedTest, TiesGoToEven) {
  Request request;
  request.inputs["input"] = tensor_of(DType::i8, {8}, {-5, -3, -1, 1, 3, 5, 7, 9});
  request.inputs["input_scale"] = tensor_of(DType::f32, {}, {0.5});
  request.inputs["output_scale"] = tensor_of(DType::f32, {}, {1.0});
  expect_reference("requantize", request, kEveryVariantAsAsked);
  const auto expected = reference::find("requantize")(*complete(*find_operator("requantize"), request));
  EXPECT_EQ(expected.at("output").data, tensor_of(DType::i8, {8}, {-2, -2, 0, 0, 2, 2, 4, 4}).data);
}

// Cases whose results others published; here they are the reference's own, which judges the kernels.
TEST_F(FusedTest, GoldenCases) {
  struct Row {
    std::string_view op;
    Request request;
    HostTensor expected;
  };
  const auto real = [](const Shape& shape, std::initializer_list<double> values) {
    return tensor_of(DType::f32, shape, values);
  };
  const auto bytes_of = [](const Shape& shape, std::initializer_list<double> values) {
    return tensor_of(DType::i8, shape, values);
  };
  const Row kRows[] = {
      {"fused_add",
       {.inputs = {{"input", bytes_of({4}, {2, 4, 6, 8})},
                   {"input_scale", real({}, {0.5})},
                   {"other", real({4}, {1, 1, 1, 1})},
                   {"output_scale", real({}, {0.5})}},
        .attributes = {},
        .representations = {}},
       bytes_of({4}, {4, 6, 8, 10})},
      {"fused_mul",
       {.inputs = {{"input", bytes_of({2, 2}, {2, 4, 6, 8})},
                   {"input_scale", real({2, 1}, {0.5, 1.0})},
                   {"other", real({2, 2}, {2, 2, 2, 2})},
                   {"output_scale", real({}, {0.5})}},
        .attributes = {},
        .representations = {}},
       bytes_of({2, 2}, {4, 8, 24, 32})},
      {"fused_mul",
       {.inputs = {{"input", real({2, 2}, {2, 3, 7, 9})},
                   {"other", real({}, {1})},
                   {"output_scale", real({2, 1}, {0.5, 1.0})}},
        .attributes = {},
        .representations = {}},
       bytes_of({2, 2}, {4, 6, 7, 9})},
      {"fused_hardswish",
       {.inputs = {{"input", bytes_of({6}, {-6, -3, 0, 3, 6, 10})},
                   {"input_scale", real({}, {1})},
                   {"output_scale", real({}, {1})}},
        .attributes = {},
        .representations = {}},
       bytes_of({6}, {0, 0, 0, 3, 6, 10})},
  };
  for (const Row& row : kRows) {
    const auto completed = complete(*find_operator(row.op), row.request);
    ASSERT_TRUE(completed) << to_text(completed.error());
    EXPECT_EQ(reference::find(row.op)(*completed).at("output").data, row.expected.data) << row.op;
    expect_reference(row.op, row.request, kEveryVariantAsAsked);
  }
}

TEST_F(FusedTest, Refusals) {
  const TensorDesc q{DType::i8, {4, 6}}, x{DType::f32, {4, 6}}, scale{DType::f32, {}}, zero_point{DType::i32, {}};
  const auto said = [](const Expected<Call>& call) { return call ? "accepted" : to_text(call.error()); };
  const auto relu = [&](const FusedReluInputs<Described>& inputs, const FusedReluAttributes& attributes = {}) {
    return said(fused_relu_call(inputs, attributes));
  };
  const auto add = [&](const FusedAddInputs<Described>& inputs, const FusedAddAttributes& attributes = {}) {
    return said(fused_add_call(inputs, attributes));
  };
  // Of q, with a zero point and to bytes, within bounds.
  const auto within = [&](int64_t least, int64_t greatest) {
    return relu({.input = q, .input_scale = scale, .input_zero_point = zero_point, .output_scale = scale},
                {.output_dtype = DType::i8, .quant_min = least, .quant_max = greatest});
  };
  EXPECT_EQ(within(-128, 127), "accepted");
  EXPECT_EQ(relu({.input = q, .input_scale = scale, .input_zero_point = zero_point, .output_scale = scale}),
            "accepted");
  EXPECT_TEXT(relu({.input = TensorDesc{DType::u32, {4}}, .input_scale = scale}),
              "input is u32, and can be f32, f16, i8, u8, i16, i32");
  EXPECT_TEXT(relu({.input = q}), "input is i8, and has no scale\n  hint: give input_scale");
  EXPECT_TEXT(relu({.input = x, .input_scale = scale}),
              "input is f32, and has a scale\n"
              "  hint: integer operands have a scale, floating-point ones have none");
  EXPECT_TEXT(relu({.input = x}, {.output_dtype = DType::i8}),
              "output is i8, and has no scale\n  hint: give output_scale");
  EXPECT_TEXT(relu({.input = q, .input_scale = TensorDesc{DType::f32, {4}}}),
              "parameters of shape [4] do not fit data of shape [4, 6]: their ranks are 1 and 2\n  hint: give it the "
              "data's rank: "
              "[4, 1] for dimension 0");
  EXPECT_TEXT(
      relu({.input = q, .input_scale = TensorDesc{DType::f32, {4, 4}}}),
      "parameters of shape [4, 4] do not fit data of shape [4, 6]: dimension 1 has 6 elements and 4 parameters, which "
      "does not divide it");
  EXPECT_TEXT(relu({.input = q,
                    .input_scale = TensorDesc{DType::f32, {4, 1}},
                    .input_zero_point = TensorDesc{DType::i32, {1, 6}}}),
              "input_zero_point has shape [1, 6], and input_scale has [4, 1]\n"
              "  hint: give one zero point, or one per scale");
  EXPECT_TEXT(relu({.input = q, .input_scale = TensorDesc{DType::f16, {}}}), "input_scale is f16, and can be f32");
  EXPECT_TEXT(said(fused_clip_call({.input = x}, {.low = 2, .high = 1})), "low is 2, which is above high, 1");
  EXPECT_EQ(within(5, 4), "quant_min 5 is above quant_max 4");
  EXPECT_TEXT(within(-129, 4), "quant_min -129 and quant_max 4 exceed the range of i8, -128 to 127");
  EXPECT_TEXT(relu({.input = x}, {.output_dtype = DType::f16}),
              "some operands are f32 and others f16, and no kernel accepts both\n"
              "  hint: convert one of them");
  EXPECT_TEXT(add({.input = q,
                   .input_scale = scale,
                   .input_zero_point = zero_point,
                   .other = TensorDesc{DType::u16, {4, 6}},
                   .other_scale = scale}),
              "other is u16, and can be f32, f16, i8, u8, i16, i32");
  EXPECT_TEXT(add({.input = q, .input_scale = scale, .input_zero_point = zero_point, .other = x},
                  {.output_dtype = DType::bf16}),
              "output_dtype is 'bf16', and must be one of f32, f16, i8, u8, i16, i32");
  EXPECT_TEXT(add({.input = x, .other = TensorDesc{DType::f32, {4, 5}}}),
              "shapes [4, 6] and [4, 5] cannot be broadcast: a dimension is 6 in one and 5 in the other\n"
              "  hint: the dimensions must be equal, or one of them 1");
  const auto requantized = [&](const TensorDesc& input, DType output_dtype) {
    return said(
        requantize_call({.input = input, .input_scale = scale, .output_scale = scale}, {.output_dtype = output_dtype}));
  };
  EXPECT_EQ(requantized(q, DType::u8), "accepted");
  EXPECT_TEXT(requantized(x, DType::i8), "input is f32, and can be i8, u8, i16, i32");
  EXPECT_TEXT(requantized(q, DType::f32), "output_dtype is 'f32', and must be one of i8, u8, i16, i32");
}

}  // namespace
}  // namespace qgen
