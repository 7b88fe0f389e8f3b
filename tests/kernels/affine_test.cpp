// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// quantize_affine, quantize_linear, dequantize_affine and choose_qparams_affine, each on every kernel, against
// docs/affine.md's references.
//
// Drivers take a third of a second to compile a pipeline. So the conformance cases try every specialization from and to
// every storage, and the tests below only those where sizes could matter.
#include "runtime/workshop/reference/affine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "choose_qparams_affine.h"
#include "quantize_affine.h"
#include "runtime/engine/operators/affine/dequantize_to.h"
#include "runtime/engine/tensor/quant_params.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/quotients.h"
#include "tests/support/smallest_normal.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

using namespace generated::operators;
using testing::kSmallestNormal;
using testing::Random;
using testing::tensor_of;

// By the reciprocal of the scale, and by the scale.
constexpr const char* kQuantizers[] = {"quantize_affine", "quantize_linear"};

struct Blocks {
  Shape shape, block;
};

// Floating-point values beyond the integers' range with scales about 0.05, and every parameter different.
Request quantize_request(const Blocks& blocks, DType output_dtype, std::optional<IntegerRange> range, uint32_t seed) {
  Random random(seed);
  const Shape counts = *params_shape(blocks.shape, blocks.block);
  Request request;
  request.inputs["input"] = random.reals(DType::f32, blocks.shape, -9, 9);
  request.inputs["scale"] = random.reals(DType::f32, counts, 0.02, 0.08);
  request.inputs["zero_point"] = random.integers(DType::i32, counts, -20, 20);
  request.attributes["block_size"] = blocks.block;
  request.attributes["output_dtype"] = std::string(name(output_dtype));
  if (range) {
    request.attributes["quant_min"] = range->min;
    request.attributes["quant_max"] = range->max;
  }
  return request;
}

Request dequantize_request(const Blocks& blocks, DType input_dtype, uint32_t seed) {
  Random random(seed);
  const Shape counts = *params_shape(blocks.shape, blocks.block);
  const IntegerRange range = *range_of(input_dtype);
  Request request;
  request.inputs["input"] = random.integers(input_dtype, blocks.shape, range.min, range.max);
  request.inputs["scale"] = random.reals(DType::f32, counts, -0.08, 0.08);
  request.inputs["zero_point"] = random.integers(DType::i32, counts, -20, 20);
  request.attributes["block_size"] = blocks.block;
  return request;
}

Request choose_request(const Blocks& blocks, std::string_view mapping, uint32_t seed) {
  Request request;
  request.inputs["input"] = Random(seed).reals(DType::f32, blocks.shape, -9, 5);
  request.attributes["block_size"] = blocks.block;
  request.attributes["mapping_type"] = std::string(mapping);
  return request;
}

class AffineTest : public testing::KernelTest {
 protected:
  void expect_quantized(const Request& request, const measure::VerifyOptions& options) {
    for (const char* op : kQuantizers) expect_reference(op, request, options);
  }

  // All, of one way to cut one shape.
  void expect_all(const Blocks& blocks, const measure::VerifyOptions& options) {
    SCOPED_TRACE(to_text(blocks.shape) + " in blocks of " + to_text(blocks.block));
    expect_quantized(quantize_request(blocks, DType::i8, std::nullopt, 1), options);
    expect_reference("dequantize_affine", dequantize_request(blocks, DType::i8, 2), options);
    expect_reference("choose_qparams_affine", choose_request(blocks, "asymmetric", 3), options);
  }
};

// ---- images by their own range --------------------------------------------------------------------------------------

TEST_F(AffineTest, QuantizesImagesByTheirOwnRange) {
  const Shape shapes[] = {{1, 1, 1, 1},  {2, 3, 5, 7},    {1, 16, 4, 4}, {1, 70, 3, 3},
                          {3, 5, 1, 11}, {1, 33, 20, 21}, {0, 4, 3, 3}};
  for (const Shape& shape : shapes) {
    SCOPED_TRACE(to_text(shape));
    for (const auto& [low, high] : {std::pair{-3.0, 5.0}, {0.5, 2.0}, {-4.0, -1.0}, {0.0, 0.0}}) {
      for (const DType dtype : {DType::f32, DType::f16}) {
        Request request;
        request.inputs["input"] = Random(5).reals(dtype, shape, low, high);
        expect_reference("dynamic_quantize_image", request, kEveryVariant);
      }
    }
  }
}

// NaN makes the scale NaN, and each integer the zero point; infinity makes it infinite.
TEST_F(AffineTest, QuantizesImagesWithNanAndInfinity) {
  for (const double special : {kNan, kInfinity}) {
    Request request;
    request.inputs["input"] = Random(5).reals(DType::f32, {1, 6, 3, 3}, -1, 1);
    set_element(request.inputs["input"], 7, special);
    expect_reference("dynamic_quantize_image", request, kEveryVariant);
  }
}

// ---- shapes ---------------------------------------------------------------------------------------------------------

// clang-format off
const Blocks kGranularities[] = {
    {{1}, {1}},
    {{7}, {7}},
    {{3, 4, 10}, {3, 4, 10}},                          // per tensor
    {{3, 4, 10}, {3, 1, 10}},                          // per channel: every 10 elements the next, 4 in turn
    {{3, 4, 10}, {1, 1, 10}},                          // per token
    {{3, 4, 10}, {1, 1, 5}},                           // per group, that words of four straddle
    {{2, 8, 16}, {1, 1, 4}},                           // and that they do not
    {{6, 4, 6}, {3, 2, 2}},                            // in every dimension
    {{5, 1, 7}, {1, 1, 7}},
    {{13, 17}, {13, 1}},                               // along the first dimension
    {{31, 37}, {1, 37}},                               // primes
    {{101}, {1}},                                      // one parameter an element
    {{2, 3, 4, 5}, {1, 3, 2, 5}},
    {{2, 6, 5, 8}, {2, 2, 5, 1}},
};
// clang-format on

TEST_F(AffineTest, EveryGranularity) {
  for (const Blocks& blocks : kGranularities) expect_all(blocks, kEveryVariant);
}

// Sizes about the elements that a workgroup takes: 64 to 1024, by one or by four.
TEST_F(AffineTest, EverySpecialization) {
  for (const int64_t side : {63, 64, 65, 255, 256, 257, 1023, 1024, 1025, 4095, 4096, 4097}) {
    expect_all({{side}, {side}}, kEverythingAsAsked);
    expect_all({{3, side}, {3, 1}}, kEverythingAsAsked);
    expect_all({{side, 3}, {side, 1}}, kEverythingAsAsked);
  }
}

// Words that share parameters in every way there is, in numbers that do and do not come out even among invocations.
TEST_F(AffineTest, WordsOfTheSameBlocks) {
  // clang-format off
  const Blocks rows[] = {
      {{6, 256}, {1, 128}},                            // runs whose quarters are words of one block
      {{3, 96}, {1, 32}},
      {{5, 3072}, {1, 3072}},
      {{64, 96}, {32, 32}},                            // also where the next run's parameter is not the next
      {{9, 44}, {9, 1}},                               // columns, in 9 rows
      {{4, 2, 44}, {4, 1, 11}},                        // columns of words that runs straddle
      {{6, 12, 7, 7}, {6, 1, 7, 7}},
      {{5, 12, 6, 6}, {5, 1, 6, 6}},                   // words of one block each, a period apart
  };
  // clang-format on
  for (const Blocks& blocks : rows) expect_all(blocks, kEverythingAsAsked);
}

std::vector<int64_t> divisors_of(int64_t side) {
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d <= side; ++d) {
    if (side % d == 0) divisors.push_back(d);
  }
  return divisors;
}

// Every shape of three sides of 1 to 4, in every block.
TEST_F(AffineTest, EverySmallShape) {
  for (int64_t shape = 0; shape < 4 * 4 * 4; ++shape) {
    const Shape sides = {shape / 16 + 1, shape / 4 % 4 + 1, shape % 4 + 1};
    for (const int64_t a : divisors_of(sides[0])) {
      for (const int64_t b : divisors_of(sides[1])) {
        for (const int64_t c : divisors_of(sides[2])) expect_all({sides, {a, b, c}}, kEveryVariantAsAsked);
      }
    }
  }
}

// Sides that do and do not fill texels, in blocks that span them or not.
TEST_F(AffineTest, EverySmallShapeInEveryTexture) {
  constexpr int64_t kSides[] = {1, 3, 5};
  for (int64_t shape = 0; shape < 3 * 3 * 3; ++shape) {
    const Shape sides = {2, kSides[shape / 9], kSides[shape / 3 % 3], kSides[shape % 3]};
    expect_all({sides, {1, sides[1], 1, sides[3]}}, kEveryVariant);
    expect_all({sides, {2, 1, sides[2], 1}}, kEveryVariant);
  }
}

TEST_F(AffineTest, EveryRank) {
  const Shape sides = {2, 3, 1, 2, 3, 2, 1, 5};
  for (size_t rank = 0; rank <= kMaxRank; ++rank) {
    const Shape shape(sides.end() - static_cast<ptrdiff_t>(rank), sides.end());
    Shape alternating = shape;
    for (size_t d = 0; d < rank; d += 2) alternating[d] = 1;
    expect_all({shape, shape}, kEveryVariant);
    expect_all({shape, alternating}, kEveryVariant);
    expect_all({shape, Shape(rank, 1)}, kEveryVariant);
  }
}

TEST_F(AffineTest, EmptyTensors) {
  const Blocks rows[] = {{{0}, {0}},       {{0}, {1}},       {{3, 0}, {1, 1}},
                         {{3, 0}, {1, 0}}, {{0, 4}, {1, 4}}, {{2, 0, 3}, {2, 0, 3}}};
  for (const Blocks& blocks : rows) expect_all(blocks, kEveryVariant);
}

// More workgroups than a grid has along x, so that the dispatcher folds it.
TEST_F(AffineTest, PastOneRowOfWorkgroups) {
  const Blocks blocks{{2, 65536 * 32 + 1}, {1, 1}};
  expect_reference_of("quantize_affine.f32.i8.buffer.buffer.vec1/workgroup64.items1",
                      quantize_request(blocks, DType::i8, std::nullopt, 4));
  expect_reference_of("dequantize_affine.i8.f32.buffer.buffer.vec1/workgroup64.items1",
                      dequantize_request(blocks, DType::i8, 4));
  expect_reference_of("choose_qparams_affine.f32.buffer.shared.vec1/workgroup64.team1",
                      choose_request(blocks, "symmetric", 4));
}

// ---- dtypes and ranges ----------------------------------------------------------------------------------------------

constexpr DType kIntegerTypes[] = {DType::i8, DType::u8, DType::i16, DType::i32};

TEST_F(AffineTest, EveryIntegerType) {
  for (const DType dtype : kIntegerTypes) {
    const Blocks blocks{{5, 4, 6}, {1, 4, 3}};
    expect_quantized(quantize_request(blocks, dtype, std::nullopt, 4), kEveryVariant);
    expect_reference("dequantize_affine", dequantize_request(blocks, dtype, 5), kEveryVariant);
  }
}

TEST_F(AffineTest, NarrowRanges) {
  const IntegerRange ranges[] = {{-8, 7}, {-4, 3}, {-1, 0}, {0, 0}, {5, 100}, {-100, -5}};
  for (const IntegerRange& range : ranges) {
    expect_quantized(quantize_request({{6, 10}, {1, 5}}, DType::i8, range, 6), kEveryVariant);
    for (const char* mapping : {"asymmetric", "symmetric", "symmetric_no_clipping_err"}) {
      Request choose = choose_request({{6, 10}, {1, 5}}, mapping, 7);
      choose.attributes["quant_min"] = range.min;
      choose.attributes["quant_max"] = range.max;
      expect_reference("choose_qparams_affine", choose, kEveryVariant);
    }
  }
}

// ---- values ---------------------------------------------------------------------------------------------------------

// x / 0.5 halfway between integers, at both ends of i8 and around zero: to the even one.
TEST_F(AffineTest, Ties) {
  std::vector<double> values;
  for (int q = -131; q <= 130; ++q) values.push_back((q + 0.5) * 0.5);
  Request request;
  request.inputs["input"] = tensor_of(DType::f32, {static_cast<int64_t>(values.size())}, values);
  request.inputs["scale"] = tensor_of(DType::f32, {}, {0.5});
  for (const double zero_point : {0.0, 1.0, -7.0}) {
    request.inputs["zero_point"] = tensor_of(DType::i32, {}, {zero_point});
    expect_quantized(request, kEveryVariant);
  }
}

TEST_F(AffineTest, QuotientsAreNoProducts) {
  Random random(17);
  size_t count = 0;
  for (int i = 0; i < 24; ++i) {
    const auto scale = i == 0 ? 5.0f / 255 : static_cast<float>(random.real(0.001, 3));
    const std::vector<double> reals = testing::quotients_apart(scale);
    if (reals.empty()) continue;
    count += reals.size();
    Request request;
    request.inputs["input"] = tensor_of(DType::f32, {std::ssize(reals)}, reals);
    request.inputs["scale"] = tensor_of(DType::f32, {}, {scale});
    expect_quantized(request, kEverythingAsAsked);
  }
  EXPECT_GT(count, 100U);
}

// ONNX's own example: -2.5 / (5 / 255) is -127.49999, and -2.5 * 51 is -127.5.
TEST_F(AffineTest, OnnxDividesByTheScale) {
  EXPECT_EQ(reference::quantize(-2.5f, 5.0f / 255, 153, {0, 255}), 25);
  EXPECT_EQ(reference::quantize_linear(-2.5f, 5.0f / 255, 153, {0, 255}), 26);
}

constexpr double kLargest = 0x1.fffffep127, kLargestHalf = 65504;
// clang-format off
const double kSpecials[] = {0,        -0.0,        kInfinity,    -kInfinity,       kNan,           kSmallestNormal,
                            -kSmallestNormal,
                            0x1p-127, 0x1p-149,    -0x1p-149, kLargest,  -kLargest,      0x1p-14,         0x1p-24,
                            -0x1p-24, kLargestHalf, 65520,  2147483648.0, -2147483648.0, 2147483520.0,    4294967296.0,
                            1,       -1,           0.5,     1.5,         2.5,            -0.5,            1e-3};
// clang-format on

// Every pair of a special value and a special scale; zero points at the ends of i32 saturate the sum and the
// difference.
TEST_F(AffineTest, SpecialValuesAndScales) {
  constexpr int64_t kCount = std::size(kSpecials);
  std::vector<double> pairs;
  for (const double x : kSpecials) pairs.insert(pairs.end(), kCount, x);
  Request request;
  request.inputs["input"] = tensor_of(DType::f32, {kCount, kCount}, pairs);
  request.inputs["scale"] = tensor_of(DType::f32, {1, kCount}, kSpecials);
  for (const double zero_point : {0.0, 2147483647.0, -2147483648.0}) {
    request.inputs["zero_point"] = tensor_of(DType::i32, {}, {zero_point});
    for (const DType dtype : {DType::i8, DType::i32}) {
      request.attributes["output_dtype"] = std::string(name(dtype));
      expect_quantized(request, kEveryVariant);
    }
  }
}

// The same pairs, a scale a time: four neighbours of one block, some of them NaN or infinite.
TEST_F(AffineTest, SpecialValuesUnderOneScale) {
  std::vector<double> values;
  constexpr size_t kCount = std::size(kSpecials);
  for (size_t i = 0; i < 4 * kCount; ++i) values.push_back(kSpecials[(i + i / (kCount + 1)) % kCount]);
  Request request;
  request.inputs["input"] = tensor_of(DType::f32, {std::ssize(values)}, values);
  for (const double scale : kSpecials) {
    request.inputs["scale"] = tensor_of(DType::f32, {}, {scale});
    for (const double zero_point : {3.0, 2097153.0}) {
      request.inputs["zero_point"] = tensor_of(DType::i32, {}, {zero_point});
      expect_quantized(request, kEverythingAsAsked);
    }
  }
}

TEST_F(AffineTest, DequantizesEverySpecialScale) {
  const double integers[] = {0, 1, -1, 127, -128, 16777217, -16777219, 2147483647, -2147483648.0, 33554433};
  constexpr int64_t kCount = std::size(kSpecials);
  std::vector<double> pairs;
  for (const double q : integers) pairs.insert(pairs.end(), kCount, q);
  Request request;
  request.inputs["input"] = tensor_of(DType::i32, {std::ssize(integers), kCount}, pairs);
  request.inputs["scale"] = tensor_of(DType::f32, {1, kCount}, kSpecials);
  for (const double zero_point : {0.0, 3.0, 2147483647.0, -2147483648.0}) {
    request.inputs["zero_point"] = tensor_of(DType::i32, {1, 1}, {zero_point});
    expect_reference("dequantize_affine", request, kEveryVariant);
  }
}

// All f16 values: the input is widened exactly.
TEST_F(AffineTest, EveryHalf) {
  HostTensor input = zeros(DType::f16, {256, 256});
  for (size_t i = 0; i < 65536; ++i) input.as<uint16_t>()[i] = static_cast<uint16_t>(i);
  Request request;
  request.inputs["input"] = input;
  for (const double scale : {0.0313, 1.0, 6e-8, 300.0}) {
    request.inputs["scale"] = tensor_of(DType::f32, {}, {scale});
    request.attributes["output_dtype"] = "int16";
    expect_quantized(request, kEveryVariant);
  }
}

// All integers of 16 bits with scales that round to every kind of half: subnormal, tied, overflowing.
TEST_F(AffineTest, EveryRoundingToHalf) {
  HostTensor input = zeros(DType::i16, {256, 256});
  for (size_t i = 0; i < 65536; ++i) input.as<uint16_t>()[i] = static_cast<uint16_t>(i);
  Request request;
  request.inputs["input"] = input;
  request.attributes["output_dtype"] = "float16";
  for (const double scale : {1.0, 0x1p-25, 0x1p-30, 1.99951171875, 2.0000002, -0.33}) {
    request.inputs["scale"] = tensor_of(DType::f32, {}, {scale});
    expect_reference("dequantize_affine", request, kEveryVariant);
  }
}

TEST_F(AffineTest, ReciprocalsAreExact) {
  Random random(8);
  Request request;
  constexpr int64_t kCount = 1 << 16;
  request.inputs["input"] = tensor_of(DType::f32, {kCount}, {0x1p23});
  // Products are the reciprocals' significands, so that one off by an ulp shows in i32.
  HostTensor scale = zeros(DType::f32, {kCount});
  for (int64_t i = 0; i < kCount; ++i) set_element(scale, i, random.real(1, 2));
  for (int64_t i = 0; i < 1024; ++i) {
    set_element(scale, i, 1 + static_cast<double>(i) * 0x1p-23);
    set_element(scale, i + 1024, 2 - static_cast<double>(i) * 0x1p-23);
  }
  request.inputs["scale"] = scale;
  request.attributes["output_dtype"] = "int32";
  expect_quantized(request, kEveryVariantAsAsked);
}

TEST_F(AffineTest, ZeroPointMayBeSharedOrAbsent) {
  Request request = quantize_request({{4, 6}, {1, 3}}, DType::u8, std::nullopt, 9);
  request.inputs["zero_point"] = tensor_of(DType::i32, {1}, {17});
  expect_quantized(request, kEveryVariant);
  request.inputs.erase("zero_point");
  expect_quantized(request, kEveryVariant);
  Request back = dequantize_request({{4, 6}, {1, 3}}, DType::u8, 10);
  back.inputs.erase("zero_point");
  expect_reference("dequantize_affine", back, kEveryVariant);
}

// ---- choosing -------------------------------------------------------------------------------------------------------

constexpr const char* kMappings[] = {"asymmetric", "symmetric", "symmetric_no_clipping_err"};

// The least integer has no magnitude in its type: no shortcut may treat it as a small one.
TEST_F(AffineTest, ZeroPointsAndBoundsAtTheEndsOfInt32) {
  const double least = -2147483648.0, most = 2147483647.0;
  for (const double zero_point : {least, most, 0.0}) {
    Request request;
    request.inputs["input"] = tensor_of(DType::f32, {8}, {-3e9, -2147483648.0, -5e8, -1.5, 0.0, 99.0, 5e8, 3e9});
    request.inputs["scale"] = tensor_of(DType::f32, {}, {1.0});
    request.inputs["zero_point"] = tensor_of(DType::i32, {}, {zero_point});
    request.attributes["output_dtype"] = std::string("int32");
    request.attributes["quant_min"] = int64_t{-2147483648};
    request.attributes["quant_max"] = int64_t{100};
    expect_quantized(request, kEveryVariant);
    Request back;
    back.inputs["input"] = tensor_of(DType::i8, {8}, {-128, -7, -1, 0, 1, 7, 100, 127});
    back.inputs["scale"] = request.inputs["scale"];
    back.inputs["zero_point"] = request.inputs["zero_point"];
    expect_reference("dequantize_affine", back, kEveryVariant);
  }
}

TEST_F(AffineTest, EveryMappingOfEveryType) {
  for (const char* mapping : kMappings) {
    for (const DType dtype : kIntegerTypes) {
      Request request = choose_request({{6, 8, 5}, {2, 8, 1}}, mapping, 11);
      request.attributes["target_dtype"] = std::string(name(dtype));
      expect_reference("choose_qparams_affine", request, kEveryVariant);
    }
  }
}

// A block each of: one special value among ordinary ones.
TEST_F(AffineTest, ChoosesFromSpecialValues) {
  constexpr int64_t kCount = std::size(kSpecials);
  HostTensor input = Random(12).reals(DType::f32, {kCount, 7}, -1, 1);
  for (int64_t i = 0; i < kCount; ++i) set_element(input, i * 7 + i % 7, kSpecials[i]);
  HostTensor alone = zeros(DType::f32, {kCount, 1});
  for (int64_t i = 0; i < kCount; ++i) set_element(alone, i, kSpecials[i]);
  for (const HostTensor* values : {&input, &alone}) {
    for (const char* mapping : kMappings) {
      for (const double eps : {-1.0, 0.0, 0.125}) {
        Request request;
        request.inputs["input"] = *values;
        request.attributes["block_size"] = Shape{1, values->shape[1]};
        request.attributes["mapping_type"] = mapping;
        if (eps >= 0) request.attributes["eps"] = eps;
        expect_reference("choose_qparams_affine", request, kEveryVariant);
      }
    }
  }
}

// Neither the rounded quotient nor the difference saturates: only the clamp to the bounds does.
TEST_F(AffineTest, ZeroPointsAcrossTheWholeOfInt32) {
  const std::vector<double> rows = {-4,         -3,  -2, -1, -4,        4,  0, 0, -4,   1,   2, 0, -1,    3,    0, 0,
                                    -1,         1e9, 0,  0,  -1e9,      1,  0, 0, -0.7, 0.3, 0, 0, -1,    0,    0, 1e-9,
                                    -kInfinity, 1,   2,  3,  kInfinity, -1, 0, 0, 1,    2,   3, 4, -3e38, 3e38, 0, 0};
  Request request;
  request.inputs["input"] = tensor_of(DType::f32, {12, 4}, rows);
  request.attributes["block_size"] = Shape{1, 4};
  request.attributes["target_dtype"] = std::string("int32");
  const int64_t least = -2147483648LL, most = 2147483647;
  for (const auto& [low, high] : {std::pair{least, most}, {least, int64_t{100}}, {int64_t{-5}, most}, {least, least}}) {
    request.attributes["quant_min"] = low;
    request.attributes["quant_max"] = high;
    for (const double eps : {0.0, 1e-9, 0x1p-40}) {
      request.attributes["eps"] = eps;
      expect_reference("choose_qparams_affine", request, kEveryVariant);
    }
  }
  Request golden;
  golden.inputs["input"] = tensor_of(DType::f32, {4}, {-4, -3, -2, -1});
  golden.attributes["target_dtype"] = std::string("int32");
  expect_reference("choose_qparams_affine", golden, kEveryVariant);
  const Tensors made =
      reference::find("choose_qparams_affine")(*complete(*find_operator("choose_qparams_affine"), golden));
  EXPECT_EQ(element(made.at("zero_point"), 0), 2147483647);
}

// (2 - 2^-23) * 2^-127 has 24 significant bits and would be a tie among subnormal floats: it is below 2^-126, and zero.
TEST_F(AffineTest, QuotientsNextToTheSmallestNormal) {
  const double below = 2 - 0x1p-23;
  Request request;
  request.inputs["input"] = tensor_of(DType::f32, {4, 1}, {-below * 0x1p-120, -0x1p-119, -below * 0x1p-119, -1e-40});
  request.attributes["block_size"] = Shape{1, 1};
  request.attributes["eps"] = 0.0;
  for (const char* mapping : kMappings) {
    request.attributes["mapping_type"] = mapping;
    expect_reference("choose_qparams_affine", request, kEveryVariant);
  }
  // By 2^31, half of the range of int32.
  request.inputs["input"] =
      tensor_of(DType::f32, {4, 1}, {below * 0x1p-96, 0x1p-95, -below * 0x1p-96, below * 0x1p-95});
  request.attributes["target_dtype"] = std::string("int32");
  for (const char* mapping : kMappings) {
    request.attributes["mapping_type"] = mapping;
    expect_reference("choose_qparams_affine", request, kEveryVariant);
  }
}

// A block without elements has the parameters of zeros; a dimension without elements has no blocks in others.
TEST_F(AffineTest, ParametersOfNoElements) {
  struct Row {
    std::optional<Shape> block;
    Shape parameters;
  };
  const Row kRows[] = {{std::nullopt, {1, 1}},
                       {Shape{4, 0}, {1, 1}},
                       {Shape{1, 0}, {4, 1}},
                       {Shape{4, 1}, {1, 0}},
                       {Shape{2, 7}, {2, 0}}};
  for (const Row& row : kRows) {
    Request request;
    request.inputs["input"] = zeros(DType::f32, {4, 0});
    if (row.block) request.attributes["block_size"] = *row.block;
    expect_reference("choose_qparams_affine", request, kEveryVariant);
    const auto completed = complete(*find_operator("choose_qparams_affine"), request);
    const Tensors made = reference::find("choose_qparams_affine")(*completed);
    EXPECT_EQ(made.at("scale").data, tensor_of(DType::f32, row.parameters, {kSmallestNormal}).data);
    EXPECT_EQ(made.at("zero_point").data, tensor_of(DType::i32, row.parameters, {-128}).data);
    EXPECT_EQ(made.at("scale").shape, row.parameters);
  }
}

TEST_F(AffineTest, DropsSpannedDimensions) {
  for (const Blocks& blocks : kGranularities) {
    Request request = choose_request(blocks, "asymmetric", 13);
    request.attributes["keepdim"] = false;
    expect_reference("choose_qparams_affine", request, kEveryVariantAsAsked);
  }
}

// Blocks long enough for two passes: as one run, as several, cut unevenly, and with the extremes at the very ends.
TEST_F(AffineTest, LongBlocks) {
  const Blocks rows[] = {{{70'001}, {70'001}},
                         {{3, 20'001}, {1, 20'001}},
                         {{2, 100, 90}, {1, 100, 90}},
                         {{9'000, 2}, {9'000, 1}},
                         {{2, 64, 128}, {2, 64, 128}}};
  for (const Blocks& blocks : rows) {
    Request request = choose_request(blocks, "asymmetric", 14);
    set_element(request.inputs["input"], element_count(blocks.shape) - 1, 77);
    set_element(request.inputs["input"], 0, -99);
    expect_reference("choose_qparams_affine", request, kEverythingAsAsked);
    expect_reference("choose_qparams_affine", request, kEveryVariant);
  }
}

// ---- defects, by their numbers in the register of the system that qgen replaces ------------------------------------

// A missing bound counted as given when the other was; mappings and eps were read and forgotten.
TEST_F(AffineTest, A8_EachBoundMappingAndEpsCounts) {
  Request request = choose_request({{6, 40}, {1, 40}}, "asymmetric", 15);
  for (const std::string_view mapping : {"asymmetric", "symmetric", "symmetric_no_clipping_err"}) {
    SCOPED_TRACE(mapping);
    request.attributes = {{"block_size", std::vector<int64_t>{1, 40}}, {"mapping_type", std::string(mapping)}};
    const auto chosen = [&](const Request& asked) {
      expect_reference("choose_qparams_affine", asked, kEveryVariant);
      const auto completed = complete(*find_operator("choose_qparams_affine"), asked);
      const Tensors made = reference::find("choose_qparams_affine")(*completed);
      return element(made.at("scale"), 0);
    };
    const double plain = chosen(request);
    Request other = request;
    other.attributes["eps"] = 0.5;
    EXPECT_EQ(chosen(other), 0.5);
    other = request;
    other.attributes["quant_min"] = int64_t{-16};
    const double with_min = chosen(other);
    other.attributes["quant_max"] = int64_t{127};
    EXPECT_EQ(with_min, chosen(other));
    EXPECT_NE(with_min, plain);
    other.attributes.erase("quant_min");
    other.attributes["quant_max"] = int64_t{15};
    const double with_max = chosen(other);
    other.attributes["quant_min"] = int64_t{-128};
    EXPECT_EQ(with_max, chosen(other));
    EXPECT_NE(with_max, plain);
  }
}

// A row's parameters were right for K a multiple of four, in two dimensions, and wrong after a resize.
TEST_F(AffineTest, A3_RowsOfAnyLengthAndRankOneAfterTheOther) {
  for (const Shape& shape : {Shape{5, 7}, Shape{2, 3, 13}, Shape{1, 1}, Shape{4, 64}, Shape{5, 7}}) {
    Shape block(shape.size(), 1);
    block.back() = shape.back();
    expect_reference("choose_qparams_affine", choose_request({shape, block}, "asymmetric", 16), kEveryVariant);
  }
}

// ---- views ----------------------------------------------------------------------------------------------------------

struct ViewCase {
  const char* name;
  Shape base;
  View view;
  Shape block;
};
// clang-format off
const ViewCase kViews[] = {
    {"transposed", {6, 10}, {{10, 6}, {1, 10}, 0}, {5, 2}},
    {"sliced rows", {8, 9}, {{3, 9}, {18, 1}, 9}, {1, 9}},
    {"sliced columns", {8, 9}, {{8, 4}, {9, 2}, 1}, {2, 4}},
    {"backwards", {21}, {{21}, {-1}, 20}, {7}},
    {"dense from an odd element", {23}, {{5, 4}, {4, 1}, 3}, {1, 2}},
    {"dense from the fourth element", {24}, {{5, 4}, {4, 1}, 4}, {1, 4}},
    {"permuted", {2, 3, 4, 5}, {{4, 2, 5, 3}, {5, 60, 1, 20}, 0}, {2, 1, 5, 3}},
    {"rank 8", {1, 2, 3, 1, 2, 3, 1, 4}, {{4, 1, 3, 2, 1, 3, 2, 1}, {1, 7, 4, 12, 9, 24, 72, 0}, 0},
     {2, 1, 3, 1, 1, 1, 2, 1}},
};
// clang-format on

HostTensor gathered(const HostTensor& base, const View& view) {
  HostTensor dense = zeros(base.dtype, view.shape);
  for (int64_t i = 0; i < element_count(view.shape); ++i) {
    int64_t rest = i, place = view.offset;
    for (size_t d = view.shape.size(); d-- > 0;) {
      place += rest % view.shape[d] * view.strides[d];
      rest /= view.shape[d];
    }
    set_element(dense, i, element(base, place));
  }
  return dense;
}

// The elements that no element of the view is.
std::vector<double> untouched(const HostTensor& base, const View& view) {
  HostTensor places = zeros(DType::i32, base.shape);
  for (int64_t i = 0; i < element_count(base.shape); ++i) set_element(places, i, static_cast<double>(i));
  std::set<double> touched;
  const HostTensor seen = gathered(places, view);
  for (int64_t i = 0; i < element_count(view.shape); ++i) touched.insert(element(seen, i));
  std::vector<double> rest;
  for (int64_t i = 0; i < element_count(base.shape); ++i) {
    if (!touched.contains(static_cast<double>(i))) rest.push_back(element(base, i));
  }
  return rest;
}

template <typename T>
T value_of(Expected<T> result) {
  EXPECT_TRUE(result) << to_text(result.error());
  return *std::move(result);
}

class AffineViewTest : public testing::KernelTest, public ::testing::WithParamInterface<ViewCase> {
 protected:
  static DeviceTensor uploaded(const HostTensor& tensor) {
    return value_of(context().executor.upload(tensor, Storage::buffer));
  }
};

TEST_P(AffineViewTest, Quantizes) {
  const auto& [label, base_shape, view, block] = GetParam();
  for (const DType dtype : {DType::f32, DType::f16}) {
    Random random(15);
    const HostTensor base = random.reals(dtype, base_shape, -9, 9);
    const HostTensor scale = random.reals(DType::f32, *params_shape(view.shape, block), 0.02, 0.08);
    const DeviceTensor input = uploaded(base), device_scale = uploaded(scale);
    PreparedCall prepared;
    prepared.call = value_of(quantize_affine_call(
        {.input = desc_of(ViewedTensor(input, view)), .scale = desc_of(device_scale)}, {.block_size = block}));
    prepared.arguments =
        generated::quantize_affine::Operands<Argument>{.input = &input, .scale = &device_scale, .output = Argument()};
    expect_outputs(
        prepared,
        {{"output", reference::quantize_affine(gathered(base, view), block, scale, nullptr, DType::i8, {-128, 127})}});
  }
}

TEST_P(AffineViewTest, Chooses) {
  const auto& [label, base_shape, view, block] = GetParam();
  const HostTensor base = Random(16).reals(DType::f32, base_shape, -9, 9);
  const DeviceTensor input = uploaded(base);
  PreparedCall prepared;
  prepared.call =
      value_of(choose_qparams_affine_call({.input = desc_of(ViewedTensor(input, view))}, {.block_size = block}));
  prepared.arguments = generated::choose_qparams_affine::Operands<Argument>{
      .input = &input, .scale = Argument(), .zero_point = Argument()};
  auto [scale, zero_point] = reference::choose_qparams_affine(gathered(base, view), block, MappingType::asymmetric,
                                                              {-128, 127}, std::numeric_limits<float>::min());
  expect_outputs(prepared, {{"scale", std::move(scale)}, {"zero_point", std::move(zero_point)}});
}

// Into a view; the memory between its elements keeps its value.
TEST_P(AffineViewTest, Dequantizes) {
  const auto& [label, base_shape, view, block] = GetParam();
  Context on_device = context();
  Random random(17);
  const HostTensor integers = random.integers(DType::i8, view.shape, -128, 127);
  const HostTensor scale = random.reals(DType::f32, *params_shape(view.shape, block), 0.02, 0.08);
  const HostTensor before = random.reals(DType::f32, base_shape, -1, 1);
  const DeviceTensor input = uploaded(integers), device_scale = uploaded(scale), output = uploaded(before);
  const HostTensor expected = reference::dequantize_affine(integers, block, scale, nullptr, DType::f32);
  const ViewedTensor into(output, view);
  const Call call = value_of(
      dequantize_affine_to_call({.input = desc_of(input), .scale = desc_of(device_scale)}, block, desc_of(into)));
  const Selection selection = select(call.problem, on_device.profile, on_device.library, {.all_specializations = true});
  ASSERT_FALSE(selection.ranked.empty()) << explain(selection);
  for (const Choice& choice : selection.ranked) {
    SCOPED_TRACE(choice.id);
    value_of(on_device.executor.write(output, before));
    on_device.force_kernel = choice.id;
    value_of(dequantize_affine_to(on_device, {.input = input, .scale = device_scale}, block, into));
    const HostTensor after = value_of(on_device.executor.download(output));
    EXPECT_EQ(gathered(after, view).data, expected.data);
    EXPECT_EQ(untouched(after, view), untouched(before, view));
    EXPECT_TRUE(value_of(on_device.executor.guards_are_intact(output)));
  }
}

INSTANTIATE_TEST_SUITE_P(Views, AffineViewTest, ::testing::ValuesIn(kViews), [](const auto& row) {
  std::string name = row.param.name;
  std::ranges::replace(name, ' ', '_');
  return name;
});

}  // namespace
}  // namespace qgen
