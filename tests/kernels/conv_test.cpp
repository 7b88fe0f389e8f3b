// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Convolutions, each on every kernel, against docs/convolution.md's reference.
#include <cmath>
#include <functional>
#include <numeric>

#include "operators.h"
#include "runtime/engine/calls/attributes.h"
#include "runtime/engine/operators/linear/int8_epilogue.h"
#include "tests/kernels/behind_the_result.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/expected_text.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

using namespace generated::operators;
using testing::Random;
using testing::tensor_of;
using Numbers = std::vector<int64_t>;

struct ConvCase {
  Shape input, weight;
  Numbers stride{1}, padding{0}, dilation{1};
  int64_t groups = 1;
  std::string activation = "none";
  bool has_bias = true;
  Numbers output_padding{};  // of transposed ones
};

std::string text_of(const ConvCase& c) {
  const auto list = [](const Numbers& numbers) { return to_text(AttributeValue(numbers)); };
  return fmt::format("input {}, weight {}, stride {}, padding {}, dilation {}, groups {}", to_text(c.input),
                     to_text(c.weight), list(c.stride), list(c.padding), list(c.dilation), c.groups);
}

// Weights and inputs of every value, and scales such that a few outputs in a hundred saturate.
Request request_of(const ConvCase& c, int64_t outputs) {
  Random random(static_cast<uint32_t>(element_count(c.input) + element_count(c.weight)));
  const int64_t depth = std::max<int64_t>(element_count(c.weight) / std::max<int64_t>(outputs, 1), 1);
  Request request;
  request.inputs["input"] = random.integers(DType::i8, c.input, -128, 127);
  request.inputs["weight"] = random.integers(DType::i8, c.weight, -128, 127);
  request.inputs["weight_scales"] = random.reals(DType::f32, {outputs}, 0.001, 0.004);
  if (c.has_bias) request.inputs["bias"] = random.reals(DType::f32, {outputs}, -4, 4);
  request.attributes["input_scale"] = 0.02;
  request.attributes["input_zero_point"] = int64_t{-7};
  request.attributes["output_scale"] = 0.004 * std::sqrt(static_cast<double>(depth));
  request.attributes["output_zero_point"] = int64_t{5};
  request.attributes["activation"] = c.activation;
  request.attributes["stride"] = c.stride;
  request.attributes["padding"] = c.padding;
  request.attributes["dilation"] = c.dilation;
  request.attributes["groups"] = c.groups;
  return request;
}

Request forward(const ConvCase& c) { return request_of(c, c.weight[0]); }

Request transposed(const ConvCase& c) {
  Request request = request_of(c, c.weight[1] * c.groups);
  if (!c.output_padding.empty()) request.attributes["output_padding"] = c.output_padding;
  return request;
}

// The same without the last rounding.
Request left_real(Request request) {
  for (const char* name : {"output_scale", "output_zero_point"}) request.attributes.erase(name);
  return request;
}

// And in floating point, for convolutions that compute in int8, and for those with only the weight in int8.
Request of_reals(const ConvCase& c) {
  Request request = left_real(forward(c));
  request.inputs["input"] = Random(static_cast<uint32_t>(element_count(c.input))).reals(DType::f32, c.input, -3, 3);
  return request;
}
Request of_real_sums(const ConvCase& c) {
  Request request = of_reals(c);
  for (const char* name : {"input_scale", "input_zero_point"}) request.attributes.erase(name);
  return request;
}

// And with a floating-point weight, forward or transposed.
Request with_real_weight(Request request, DType dtype = DType::f32) {
  for (const char* name : {"input_scale", "input_zero_point", "output_scale", "output_zero_point"})
    request.attributes.erase(name);
  request.inputs.erase("weight_scales");
  Random random(31);
  for (const char* name : {"input", "weight"})
    request.inputs[name] = random.reals(dtype, Shape(request.inputs[name].shape), -3, 3);
  return request;
}

// And with the scale and the zero point of the input as tensors, and weights that may have zero points too.
Request with_computed_scale(const ConvCase& c, int64_t zero_point, bool has_weight_zero_points) {
  Request request = left_real(forward(c));
  for (const char* name : {"input_scale", "input_zero_point"}) request.attributes.erase(name);
  request.inputs["scale"] = tensor_of(DType::f32, {1}, {0.0173});
  request.inputs["zero_point"] = tensor_of(DType::i32, {1}, {static_cast<double>(zero_point)});
  if (!has_weight_zero_points) return request;
  const int64_t outputs = c.weight[0], channels = c.input[1];
  request.inputs["weight_zero_points"] = Random(7).integers(DType::i32, {outputs}, -128, 127);
  Shape shape = c.input;
  shape[1] = 1;
  HostTensor sums = zeros(DType::i32, shape);
  const HostTensor& input = request.inputs["input"];
  const int64_t plane = element_count(Shape(shape.begin() + 2, shape.end()));
  for (int64_t i = 0; i < element_count(input.shape); ++i) {
    const int64_t pixel = i / plane / channels * plane + i % plane;
    set_element(sums, pixel, element(sums, pixel) + element(input, i) - static_cast<double>(zero_point));
  }
  request.inputs["channel_sums"] = sums;
  return request;
}

class ConvTest : public testing::KernelTest {
 protected:
  void expect_right(const ConvCase& c, const measure::VerifyOptions& options) {
    SCOPED_TRACE(text_of(c));
    expect_reference("q8ta_conv2d", forward(c), options);
  }
  void expect_transposed_right(const ConvCase& c, const measure::VerifyOptions& options) {
    SCOPED_TRACE(text_of(c));
    expect_reference("q8ta_conv2d_transposed", transposed(c), options);
    expect_reference("conv2d_transposed", with_real_weight(transposed(c)), options);
  }
  void expect_right_of_reals(const ConvCase& c, const measure::VerifyOptions& options) {
    SCOPED_TRACE(text_of(c));
    expect_reference("conv2d_q8ta_q8csw", of_reals(c), options);
    expect_reference("q8ta_conv2d_dequantize", left_real(forward(c)), options);
    expect_reference("conv2d_q8csw", of_real_sums(c), options);
    expect_reference("conv2d", with_real_weight(forward(c)), options);
  }
  // The reference is compared with results by hand, and every kernel in every layout with the reference.
  void expect_by_hand(std::string_view op, const Request& request, const HostTensor& expected) {
    EXPECT_EQ(reference::find(op)(*complete(*find_operator(op), request)).at("output").data, expected.data);
    expect_reference(op, request, kEveryVariant);
  }
};

// clang-format off
const ConvCase kShapes[] = {
    {{1, 1, 1, 1}, {1, 1, 1, 1}},
    {{1, 3, 5, 7}, {5, 3, 3, 3}, {1}, {1}},                               // an image of three channels
    {{2, 3, 9, 8}, {6, 3, 7, 7}, {2}, {3}, {1}, 1, "relu"},               // a window larger than the image
    {{1, 16, 6, 5}, {8, 16, 3, 3}, {1}, {1}, {1}, 1, "relu6"},            // channels that are vectors
    {{2, 32, 7, 7}, {20, 32, 3, 3}, {2}, {1}},                            // several images in a tile
    {{1, 16, 9, 9}, {4, 16, 3, 3}, {2, 1}, {2, 0, 1, 3}, {1, 2}},         // every list of two and four
    {{1, 64, 4, 4}, {16, 64, 3, 3}, {1}, {1}, {1}, 1, "hardswish", false},
    {{1, 30, 5, 5}, {10, 30, 2, 2}},                                      // channels that are not whole words
    {{1, 8, 6, 6}, {8, 4, 3, 3}, {1}, {1}, {1}, 2},                       // groups of whole words
    {{1, 32, 5, 5}, {32, 16, 3, 3}, {1}, {1}, {1}, 2},                    // and of vectors
    {{1, 6, 5, 5}, {9, 2, 3, 3}, {1}, {1}, {1}, 3},                       // and of neither
    {{2, 8, 9, 10}, {8, 1, 3, 3}, {1}, {1}, {1}, 8},                      // depthwise
    {{1, 5, 9, 10}, {5, 1, 3, 3}, {2}, {1}, {1}, 5},
    {{1, 8, 11, 11}, {8, 1, 5, 5}, {2}, {2}, {1}, 8},
    {{1, 4, 11, 11}, {4, 1, 3, 5}, {1}, {2}, {2}, 4},
    {{1, 4, 7, 9}, {4, 1, 5, 5}, {1}, {2}, {1}, 4},
    {{1, 4, 9, 7}, {4, 1, 3, 3}, {2, 1}, {1}, {1}, 4},                    // with strides that differ
    {{1, 4, 8, 8}, {12, 1, 3, 3}, {1}, {1}, {1}, 4},                      // with a multiplier
    {{2, 16, 3, 5}, {24, 16, 1, 1}},                                      // a linear layer of pixels
    {{1, 18, 3, 5}, {7, 18, 1, 1}},
    {{1, 16, 5, 5}, {8, 16, 1, 1}, {2}},                                  // that skips some
    {{1, 4, 2, 2}, {4, 4, 1, 1}, {1}, {3}},                               // padding larger than the window
};
// clang-format on

TEST_F(ConvTest, GivesTheReferenceInEveryShapeAndLayout) {
  for (const ConvCase& c : kShapes) expect_right(c, kEveryVariant);
}

// clang-format off
const ConvCase kTransposedShapes[] = {
    {{1, 1, 1, 1}, {1, 1, 1, 1}},
    {{1, 16, 4, 4}, {16, 16, 3, 3}, {1}, {1}},                            // one phase
    {{1, 16, 4, 5}, {16, 8, 3, 3}, {2}, {1}, {1}, 1, "relu", true, {1}},
    {{2, 3, 4, 3}, {3, 5, 4, 4}, {2}, {1}},
    {{1, 16, 3, 3}, {16, 4, 3, 3}, {3, 2}, {0}, {2, 1}},                  // strides and dilations that share no divisor
    {{1, 4, 4, 4}, {4, 8, 3, 3}, {2}, {1}, {2}, 1, "none", false},        // and that do: phases without a tap
    {{1, 4, 3, 3}, {4, 4, 2, 2}, {4}},                                    // a stride past the window
    {{1, 8, 4, 4}, {8, 4, 3, 3}, {2}, {1}, {1}, 2},
    {{1, 6, 4, 4}, {6, 3, 3, 3}, {2}, {1}, {1}, 2},
    {{1, 4, 5, 5}, {4, 1, 3, 3}, {1}, {2, 0, 1, 2}, {1}, 4},
};
// clang-format on

TEST_F(ConvTest, TransposedGivesTheReferenceInEveryShapeAndLayout) {
  for (const ConvCase& c : kTransposedShapes) expect_transposed_right(c, kEveryVariant);
}

TEST_F(ConvTest, TakesEmptySides) {
  for (const ConvCase& c : {ConvCase{{0, 4, 3, 3}, {4, 4, 3, 3}},
                            {{1, 0, 3, 3}, {4, 0, 3, 3}},
                            {{1, 4, 3, 3}, {0, 4, 3, 3}},
                            {{1, 4, 0, 0}, {4, 4, 1, 1}, {1}, {1}}}) {
    expect_right(c, kEveryVariantAsAsked);
    expect_right_of_reals(c, kEveryVariantAsAsked);
  }
  expect_right_of_reals({{1, 4, 0, 0}, {4, 1, 3, 3}, {1}, {2}, {1}, 4}, kEveryVariantAsAsked);
  expect_transposed_right({{0, 4, 3, 3}, {4, 4, 3, 3}, {2}}, kEveryVariantAsAsked);
  expect_transposed_right({{1, 0, 3, 3}, {0, 4, 3, 3}, {2}}, kEveryVariantAsAsked);
}

TEST_F(ConvTest, RowsKeepTheirRank) {
  expect_right({{2, 5, 11}, {6, 5, 3}, {2}, {1, 2}, {2}}, kEveryVariantAsAsked);
  expect_right({{1, 16, 9}, {8, 16, 1}}, kEveryVariantAsAsked);
  expect_transposed_right({{2, 5, 11}, {5, 6, 3}, {2}, {1}, {1}, 1, "none", true, {1}}, kEveryVariantAsAsked);
  expect_right_of_reals({{2, 5, 11}, {6, 5, 3}, {2}, {1, 2}, {2}}, kEveryVariantAsAsked);
}

TEST_F(ConvTest, GivesTheReferenceWithEverySpecialization) {
  expect_right({{1, 16, 9, 9}, {36, 16, 3, 3}, {1}, {1}}, kEverythingAsAsked);
  expect_right({{1, 8, 9, 9}, {8, 1, 3, 3}, {1}, {1}, {1}, 8}, kEverythingAsAsked);
}

// ---- behind the result ----------------------------------------------------------------------------------------------

TEST_F(ConvTest, LooksResultsUpAndAddsAResidual) {
  struct Case {
    ConvCase conv;
    Shape output;
  };
  // clang-format off
  const Case cases[] = {{{{2, 16, 5, 6}, {10, 16, 3, 3}, {1}, {1}}, {2, 10, 5, 6}},
                        {{{1, 3, 9, 9}, {6, 3, 3, 3}, {2}, {1}}, {1, 6, 5, 5}},
                        {{{1, 8, 5, 6}, {8, 1, 3, 3}, {1}, {1}, {1}, 8}, {1, 8, 5, 6}},
                        {{{1, 16, 3, 5}, {24, 16, 1, 1}}, {1, 24, 3, 5}},
                        {{{1, 128, 3, 3}, {4, 128, 3, 3}, {1}, {1}}, {1, 4, 3, 3}}};  // k in slices
  // clang-format on
  for (const Case& c : cases) {
    Request request = forward(c.conv);
    testing::add_table(request);
    expect_reference("q8ta_conv2d", request, kEveryVariantAsAsked);
    testing::add_residual(request, c.output);
    expect_reference("q8ta_conv2d", request, kEveryVariant);
  }
  for (const int64_t channels : {16, 256}) {  // 256: k in slices
    Request request = transposed({{1, channels, 4, 4}, {channels, 6, 3, 3}, {2}, {1}, {1}, 1, "relu"});
    testing::add_table(request);
    testing::add_residual(request, {1, 6, 7, 7});
    expect_reference("q8ta_conv2d_transposed", request, channels == 16 ? kEveryVariant : kEveryVariantAsAsked);
  }
}

// Outputs in sixteens and no table: matrices have a special path for them, also with sums that are no exact float (k
// past 514), and for groups.
TEST_F(ConvTest, AddsAResidualToSixteensOfChannels) {
  const ConvCase cases[] = {{{1, 16, 5, 6}, {32, 16, 1, 1}},
                            {{2, 64, 3, 3}, {16, 64, 3, 3}, {1}, {1}},
                            {{1, 32, 4, 5}, {96, 16, 3, 3}, {1}, {1}, {1}, 2, "relu6"}};
  for (const ConvCase& c : cases) {
    Request request = forward(c);
    expect_reference("q8ta_conv2d", request, kEveryVariant);
    testing::add_residual(request, {c.input[0], c.weight[0], c.input[2], c.input[3]});
    expect_reference("q8ta_conv2d", request, kEveryVariant);
  }
}

// ---- reals in and out -----------------------------------------------------------------------------------------------

// Each of f32 and of f16.
TEST_F(ConvTest, OfRealsGivesTheReferenceInEveryShape) {
  for (const ConvCase& c : kShapes) expect_right_of_reals(c, kEveryVariant);
}

TEST_F(ConvTest, OfRealsTakesALinearLayer) {
  for (const Shape& input : {Shape{3, 20, 1, 1}, {1, 64, 1, 1}, {2, 16, 1}}) {
    const Shape weight = input.size() == 3 ? Shape{10, 16, 1} : Shape{10, input[1], 1, 1};
    expect_right_of_reals({input, weight}, kEveryVariant);
  }
}

TEST_F(ConvTest, OfRealsGivesTheReferenceWithEverySpecialization) {
  const ConvCase c{{1, 16, 7, 7}, {18, 16, 3, 3}, {1}, {1}};
  expect_right_of_reals(c, kEverythingAsAsked);
  Request halves = of_real_sums(c);
  halves.inputs["input"] = Random(21).reals(DType::f16, c.input, -3, 3);
  expect_reference("conv2d_q8csw", halves, kEverythingAsAsked);
  expect_reference("conv2d", with_real_weight(forward(c), DType::f16), kEverythingAsAsked);
  expect_reference("conv2d_transposed", with_real_weight(transposed({{1, 8, 5, 5}, {8, 6, 3, 3}, {2}}), DType::f16),
                   kEverythingAsAsked);
}

// Tiles end within pixels of the second image, and within channels of a group.
TEST_F(ConvTest, OfRealsTakesSeveralTiles) {
  expect_reference("conv2d_q8csw", of_real_sums({{2, 6, 9, 10}, {268, 3, 3, 3}, {1}, {1}, {1}, 2}), kEveryVariant);
  expect_reference("conv2d_transposed", with_real_weight(transposed({{2, 6, 9, 10}, {6, 67, 3, 3}, {1}, {1}, {1}, 2})),
                   kEveryVariant);
  expect_reference("conv2d_transposed", with_real_weight(transposed({{1, 5, 18, 17}, {5, 134, 4, 3}, {2}, {1}})),
                   kEveryVariant);
}

// k is cut into slices.
TEST_F(ConvTest, OfRealsJoinsSlices) {
  expect_right_of_reals({{1, 192, 3, 3}, {5, 192, 3, 3}, {1}, {1}}, kEveryVariant);
}

// NaN and infinity spoil the places that read them, and no other; in int8 NaN is the zero point, and infinity
// saturates.
TEST_F(ConvTest, OfRealsTakesNanAndInfinity) {
  const ConvCase c{{1, 4, 6, 6}, {6, 4, 3, 3}, {1}, {1}};
  for (Request request : {of_reals(c), of_real_sums(c)}) {
    const bool is_int8 = request.attributes.contains("input_scale");
    set_element(request.inputs["input"], 0, kNan);
    set_element(request.inputs["input"], 143, kInfinity);
    // infinity times 0 has no defined result here
    request.inputs["weight"] = Random(1).integers(DType::i8, c.weight, 1, 7);
    expect_reference(is_int8 ? "conv2d_q8ta_q8csw" : "conv2d_q8csw", request, kEveryVariantAsAsked);
  }
  for (const DType dtype : {DType::f32, DType::f16}) {
    Request request = with_real_weight(forward(c), dtype);
    request.inputs["weight"] = Random(1).reals(dtype, c.weight, 1, 7);
    set_element(request.inputs["input"], 0, kNan);
    set_element(request.inputs["input"], 143, kInfinity);
    expect_reference("conv2d", request, kEveryVariantAsAsked);
    request.attributes["stride"] = std::vector<int64_t>{2};
    request.inputs["weight"] = Random(1).reals(dtype, {4, 6, 3, 3}, 1, 7);
    expect_reference("conv2d_transposed", request, kEveryVariantAsAsked);
  }
}

// Products of small and of large ones, too, which neither f16 nor a sum of halves has.
TEST_F(ConvTest, OfRealsTakesWhatIsNextToTheEndsOfHalves) {
  for (const bool is_input : {true, false}) {
    Request request =
        with_real_weight(forward({{1, 16, 5, 5}, {8, 16, 3, 3}, {1}, {1}, {1}, 1, "none", false}), DType::f16);
    HostTensor &small = request.inputs[is_input ? "input" : "weight"],
               &large = request.inputs[is_input ? "weight" : "input"];
    small = Random(2).integers(DType::f16, Shape(small.shape), -1023, 1023);
    for (int64_t i = 0; i < element_count(small.shape); ++i) set_element(small, i, element(small, i) * 0x1p-24);
    large = Random(3).reals(DType::f16, Shape(large.shape), -60000, 60000);
    expect_reference("conv2d", request, kEveryVariantAsAsked);
  }
}

// Halves below 2^-14, which conversions and matrices of halves may not take for zeros.
TEST_F(ConvTest, OfRealsTakesSubnormalHalves) {
  Request request = of_real_sums({{1, 16, 5, 5}, {8, 16, 3, 3}, {1}, {1}, {1}, 1, "none", false});
  HostTensor& input = request.inputs["input"];
  input = Random(2).integers(DType::f16, input.shape, -1023, 1023);
  for (int64_t i = 0; i < element_count(input.shape); ++i) set_element(input, i, element(input, i) * 0x1p-24);
  expect_reference("conv2d_q8csw", request, kEveryVariantAsAsked);
}

// ---- a computed input scale -----------------------------------------------------------------------------------------

TEST_F(ConvTest, OfAComputedScaleGivesTheReferenceInEveryShape) {
  for (const ConvCase& c : kShapes) {
    SCOPED_TRACE(text_of(c));
    expect_reference("dq8ta_conv2d", with_computed_scale(c, -7, false), kEveryVariant);
    if (c.groups == 1) expect_reference("dq8ta_conv2d", with_computed_scale(c, 100, true), kEveryVariant);
  }
}

TEST_F(ConvTest, OfAComputedScaleTakesRowsSlicesAndEmptySides) {
  const ConvCase cases[] = {{{2, 5, 11}, {6, 5, 3}, {2}, {1, 2}, {2}},
                            {{1, 192, 3, 3}, {5, 192, 3, 3}, {1}, {1}},
                            {{0, 4, 3, 3}, {4, 4, 3, 3}},
                            {{1, 0, 3, 3}, {4, 0, 3, 3}},
                            {{1, 4, 3, 3}, {0, 4, 3, 3}}};
  for (const ConvCase& c : cases) {
    SCOPED_TRACE(text_of(c));
    expect_reference("dq8ta_conv2d", with_computed_scale(c, -128, false), kEveryVariantAsAsked);
    expect_reference("dq8ta_conv2d", with_computed_scale(c, 127, true), kEveryVariantAsAsked);
  }
}

// Sums of the greatest magnitude, which no float holds: 255 * 255 * 1,152.
TEST_F(ConvTest, OfAComputedScaleAddsTheLargestProductsExactly) {
  const ConvCase c{{1, 128, 4, 4}, {5, 128, 3, 3}, {1}, {1}};
  for (const int64_t sign : {1, -1}) {
    Request request = with_computed_scale(c, -128, true);
    for (const char* name : {"input", "weight"}) {
      HostTensor& bytes = request.inputs[name];
      const bool is_input = std::string_view(name) == "input";
      for (int64_t i = 0; i < element_count(bytes.shape); ++i) set_element(bytes, i, is_input || sign > 0 ? 127 : -128);
    }
    HostTensor& zero_points = request.inputs["weight_zero_points"];
    for (int64_t i = 0; i < 5; ++i) set_element(zero_points, i, sign > 0 ? -128 : 127);
    HostTensor& sums = request.inputs["channel_sums"];
    for (int64_t i = 0; i < element_count(sums.shape); ++i) set_element(sums, i, 128 * 255);
    expect_reference("dq8ta_conv2d", request, kEveryVariant);
  }
}

// ---- an input that is quantized by its range ------------------------------------------------------------------------

// `joined` channels are in further inputs, one for each number.
Request by_its_range(const ConvCase& c, std::initializer_list<int64_t> joined, bool has_weight_zero_points,
                     double low = -1, double high = 2) {
  Request request = with_computed_scale(c, 0, false);
  for (const char* name : {"scale", "zero_point"}) request.inputs.erase(name);
  Shape shape = c.input;
  int index = 2;
  for (const int64_t channels : joined) {
    shape[1] = channels;
    request.inputs[fmt::format("input_{}", index)] =
        Random(20u + static_cast<unsigned>(index)).reals(DType::f32, shape, low, high);
    ++index;
  }
  shape[1] = std::accumulate(joined.begin(), joined.end(), c.input[1], std::minus<>());
  request.inputs["input"] = Random(20).reals(DType::f32, shape, low / 2, high / 2);
  if (has_weight_zero_points)
    request.inputs["weight_zero_points"] = Random(7).integers(DType::i32, {c.weight[0]}, -128, 127);
  return request;
}

TEST_F(ConvTest, ByItsRangeGivesTheReferenceInEveryShape) {
  for (const ConvCase& c : kShapes) {
    SCOPED_TRACE(text_of(c));
    expect_reference("conv2d_dq8ta_q8csw", by_its_range(c, {}, false), kEveryVariant);
    if (c.groups == 1 && c.input[1] > 1)
      expect_reference("conv2d_dq8ta_q8csw", by_its_range(c, {c.input[1] / 2}, true), kEveryVariant);
  }
}

TEST_F(ConvTest, ByItsRangeJoinsUpToFourInputs) {
  const ConvCase cases[] = {{{2, 11, 5, 7}, {6, 11, 3, 3}, {1}, {1}},
                            {{1, 40, 13, 17}, {9, 40, 3, 3}, {1}, {1}},
                            {{2, 9, 11}, {6, 9, 3}, {2}, {1, 2}, {2}},
                            {{0, 9, 3, 3}, {4, 9, 3, 3}},
                            {{1, 9, 3, 3}, {0, 9, 3, 3}}};
  for (const ConvCase& c : cases) {
    SCOPED_TRACE(text_of(c));
    for (const auto& [low, high] : {std::pair{-3.0, 5.0}, {0.5, 2.0}, {-4.0, -1.0}, {0.0, 0.0}}) {
      expect_reference("conv2d_dq8ta_q8csw", by_its_range(c, {3, 1, 2}, true, low, high), kEveryVariantAsAsked);
      expect_reference("conv2d_dq8ta_q8csw", by_its_range(c, {0, 5}, false, low, high), kEveryVariantAsAsked);
    }
  }
}

// The range of 1,500,000 elements is found by 256 workgroups, in loops of several steps.
TEST_F(ConvTest, ByItsRangeFindsTheRangeOfLongInputs) {
  const ConvCase c{{1, 6, 500, 500}, {1, 6, 1, 1}};
  for (const int64_t at : {int64_t{0}, int64_t{749'999}}) {
    Request request = by_its_range(c, {3}, false, 0, 1);
    set_element(request.inputs["input"], at, 7);
    set_element(request.inputs["input_2"], 749'999 - at, -3);
    expect_reference("conv2d_dq8ta_q8csw", request, kEveryVariantAsAsked);
  }
}

// ---- every small problem --------------------------------------------------------------------------------------------

// One side of a problem.
struct Side {
  int64_t pixels, taps, stride, before, after, dilation, output_padding = 0;
};

// All that have an output position: one to four pixels, one to three taps, strides of 1 to 3, 0 to 2 pixels of padding
// at each end, dilations of 1 and 2.
std::vector<Side> forward_sides() {
  std::vector<Side> sides;
  for (int64_t i = 0; i < 4 * 3 * 3 * 3 * 3 * 2; ++i) {
    const Side side{i / 162 + 1, i / 54 % 3 + 1, i / 18 % 3 + 1, i / 6 % 3, i / 2 % 3, i % 2 + 1};
    const bool has_representation = side.dilation * (side.taps - 1) < side.pixels + side.before + side.after;
    if (has_representation && (side.taps > 1 || side.dilation == 1)) sides.push_back(side);
  }
  return sides;
}

// All that have an output: the same of one to three pixels, with every output_padding that they may have.
std::vector<Side> transposed_sides() {
  std::vector<Side> sides;
  for (int64_t i = 0; i < 3 * 3 * 3 * 3 * 3 * 2 * 3; ++i) {
    const Side side{i / 486 + 1, i / 162 % 3 + 1, i / 54 % 3 + 1, i / 18 % 3, i / 6 % 3, i / 3 % 2 + 1, i % 3};
    const int64_t reached = (side.pixels - 1) * side.stride + side.dilation * (side.taps - 1) + 1 + side.output_padding;
    const bool is_taken = side.output_padding < std::max(side.stride, side.dilation);
    if (is_taken && reached > side.before + side.after && (side.taps > 1 || side.dilation == 1)) sides.push_back(side);
  }
  return sides;
}

// Input channels and output channels of a group, and groups: for each kind of kernel, and for none.
struct Channels {
  int64_t input, output, groups;
};
constexpr Channels kChannels[] = {{3, 5, 1}, {16, 4, 1}, {1, 1, 4}, {4, 4, 2}, {2, 1, 3}};

// A window's weight is [O, C / groups, taps], or turned.
ConvCase case_of(const Side& y, const Side& x, const Channels& channels, bool is_transposed) {
  const auto [input, output, groups] = channels;
  ConvCase c{
      {1, input * groups, y.pixels, x.pixels},
      is_transposed ? Shape{input * groups, output, y.taps, x.taps} : Shape{output * groups, input, y.taps, x.taps},
      {y.stride, x.stride},
      {y.before, x.before, y.after, x.after},
      {y.dilation, x.dilation},
      groups};
  if (is_transposed) c.output_padding = {y.output_padding, x.output_padding};
  return c;
}

// The index-th pair of layouts for input and output.
std::map<std::string, Representation, std::less<>> representations_of(size_t index) {
  constexpr Layout kLayouts[] = {Layout::strided, Layout::packed_4c, Layout::packed_4w4c, Layout::packed_4c1w};
  return {{"input", {Storage::buffer, kLayouts[index % 4]}}, {"output", {Storage::buffer, kLayouts[index / 4 % 4]}}};
}

// The index-th request of an operator: layouts take turns, and where all is real, dtypes.
Request asked(std::string_view op, const ConvCase& c, size_t index) {
  if (op == "conv2d_q8csw") return of_real_sums(c);
  if (op == "conv2d_transposed") return with_real_weight(transposed(c), index % 2 == 0 ? DType::f32 : DType::f16);
  Request request = op == "q8ta_conv2d_transposed" ? transposed(c) : forward(c);
  request.representations = representations_of(index);
  return request;
}

// Each size of the list is once the height and once the width of a problem with each kind of channels; the pairs of
// layouts take turns. So 2295 problems are convolved and 3780 transposed, which takes nine and eleven seconds of one
// core on llvmpipe. `kStep` shares no divisor with the length of a list.
class EverySmallProblem : public testing::KernelTest {
 protected:
  void expect_right(std::string_view op, const std::vector<Side>& sides, std::span<const Channels> kinds = kChannels) {
    constexpr size_t kStep = 101;
    ASSERT_EQ(std::gcd(sides.size(), kStep), 1u);
    size_t index = 0;
    for (const Channels& channels : kinds) {
      for (size_t i = 0; i < sides.size(); ++i) {
        const ConvCase c =
            case_of(sides[(i * kStep + 7) % sides.size()], sides[i], channels, op.ends_with("transposed"));
        SCOPED_TRACE(text_of(c));
        expect_reference(op, asked(op, c, index++), kEveryVariantAsAsked);
        if (HasFailure()) return;
      }
    }
  }
  // A few of them, with all pairs of layouts: 640 problems forward and 1040 transposed.
  void expect_right_between_all_layouts(std::string_view op, const std::vector<Side>& sides) {
    constexpr size_t kStep = 61, kPairs = 16;
    for (const Channels& channels : kChannels) {
      for (size_t i = 0; i < sides.size(); i += kStep) {
        const ConvCase c =
            case_of(sides[(i + kStep / 2) % sides.size()], sides[i], channels, op.ends_with("transposed"));
        SCOPED_TRACE(text_of(c));
        for (size_t pair = 0; pair < kPairs && !HasFailure(); ++pair)
          expect_reference(op, asked(op, c, pair), kEveryVariantAsAsked);
      }
    }
  }
};

TEST_F(EverySmallProblem, Forward) { expect_right("q8ta_conv2d", forward_sides()); }
TEST_F(EverySmallProblem, ForwardBetweenAllLayouts) {
  expect_right_between_all_layouts("q8ta_conv2d", forward_sides());
}
// Groups alone, which every kernel of a weight of int8 has its own way with.
TEST_F(EverySmallProblem, ForwardOfReals) {
  constexpr Channels kGroups[] = {{1, 1, 4}, {1, 2, 2}, {3, 2, 2}};
  expect_right("conv2d_q8csw", forward_sides(), kGroups);
}
TEST_F(EverySmallProblem, Transposed) { expect_right("q8ta_conv2d_transposed", transposed_sides()); }
TEST_F(EverySmallProblem, TransposedBetweenAllLayouts) {
  expect_right_between_all_layouts("q8ta_conv2d_transposed", transposed_sides());
}
TEST_F(EverySmallProblem, TransposedOfReals) {
  constexpr Channels kKinds[] = {{3, 5, 1}, {4, 2, 2}};
  expect_right("conv2d_transposed", transposed_sides(), kKinds);
}

// ---- random problems ------------------------------------------------------------------------------------------------

int64_t one_of(std::initializer_list<int64_t> numbers, Random& random) {
  return *(numbers.begin() + random.integer(0, std::ssize(numbers) - 1));
}

// A side with a place for its window; of a transposed convolution, one that gives pixels.
Side random_side(bool is_transposed, Random& random) {
  Side side{.pixels = random.integer(1, 9),
            .taps = random.integer(1, 4),
            .stride = random.integer(1, 3),
            .dilation = random.integer(1, 3)};
  const int64_t reach = side.dilation * (side.taps - 1) + 1;
  side.before = random.integer(0, is_transposed ? reach - 1 : reach);
  side.after = random.integer(0, is_transposed ? reach - 1 - side.before : reach);
  if (is_transposed) side.output_padding = random.integer(0, std::max(side.stride, side.dilation) - 1);
  else side.pixels = std::max(side.pixels, reach - side.before - side.after);
  return side;
}

// One group, depthwise with any multiplier, or several groups.
Channels random_channels(Random& random) {
  switch (random.integer(0, 2)) {
    case 0: return {one_of({1, 3, 4, 6, 16, 30, 32, 48}, random), one_of({1, 4, 5, 16, 20, 36}, random), 1};
    case 1: return {1, random.integer(1, 3), one_of({2, 4, 5, 8, 16}, random)};
    default: return {one_of({2, 3, 4, 8, 16}, random), one_of({1, 3, 4, 8}, random), random.integer(2, 4)};
  }
}

ConvCase random_case(bool is_transposed, Random& random) {
  const Side y = random_side(is_transposed, random), x = random_side(is_transposed, random);
  ConvCase c = case_of(y, x, random_channels(random), is_transposed);
  c.input[0] = random.integer(0, 3);
  constexpr const char* kActivations[] = {"none", "relu", "relu6", "hardswish"};
  c.activation = kActivations[random.integer(0, 3)];
  c.has_bias = random.integer(0, 3) > 0;
  return c;
}

// In int8 between any two layouts, with any zero points, and with a residual or without.
Request random_layer(std::string_view op, const ConvCase& c, Random& random) {
  Request request = op == "q8ta_conv2d" ? forward(c) : transposed(c);
  for (const char* name : {"input_zero_point", "output_zero_point"})
    request.attributes[name] = random.integer(-128, 127);
  if (random.integer(0, 2) == 0)
    testing::add_residual(request, reference::find(op)(*complete(*find_operator(op), request)).at("output").shape);
  request.representations = representations_of(static_cast<size_t>(random.integer(0, 15)));
  request.representations["residual"] = request.representations["output"];
  return request;
}

Request in_random_dtype(Request request, Random& random) {
  if (random.integer(0, 1) == 0) return request;
  for (auto& [name, tensor] : request.inputs)
    if (name == "input" || (name == "weight" && tensor.dtype == DType::f32))
      tensor = random.reals(DType::f16, Shape(tensor.shape), -3, 3);
  return request;
}

class RandomConvTest : public testing::KernelTest {
 protected:
  // Every kernel that applies to what `made` makes of so many seeds.
  template <typename Made>
  void expect_right(std::string_view op, uint32_t seeds, Made made) {
    for (uint32_t seed = 1; seed <= seeds && !HasFailure(); ++seed) {
      Random random(seed);
      const ConvCase c = random_case(op.ends_with("transposed"), random);
      SCOPED_TRACE(
          fmt::format("{}, seed {}: {}, {}{}", op, seed, text_of(c), c.activation, c.has_bias ? ", bias" : ""));
      expect_reference(op, made(c, random), kEveryVariantAsAsked);
    }
  }
};

TEST_F(RandomConvTest, InInt8) {
  for (const std::string_view op : {"q8ta_conv2d", "q8ta_conv2d_transposed"})
    expect_right(op, 60, [&](const ConvCase& c, Random& random) { return random_layer(op, c, random); });
}

TEST_F(RandomConvTest, OfReals) {
  expect_right("conv2d_q8ta_q8csw", 20, [](const ConvCase& c, Random& r) { return in_random_dtype(of_reals(c), r); });
  expect_right("conv2d_q8csw", 20, [](const ConvCase& c, Random& r) { return in_random_dtype(of_real_sums(c), r); });
  expect_right("q8ta_conv2d_dequantize", 20, [](const ConvCase& c, Random& r) {
    Request request = left_real(forward(c));
    request.attributes["output_dtype"] = std::string(r.integer(0, 1) == 0 ? "f32" : "f16");
    request.representations["input"] = {Storage::buffer, r.integer(0, 1) == 0 ? Layout::strided : Layout::packed_4c};
    return request;
  });
  expect_right("conv2d", 20,
               [](const ConvCase& c, Random& r) { return in_random_dtype(with_real_weight(forward(c)), r); });
  expect_right("conv2d_transposed", 20,
               [](const ConvCase& c, Random& r) { return in_random_dtype(with_real_weight(transposed(c)), r); });
}

// ---- slices of k ----------------------------------------------------------------------------------------------------

// Of vectors and of words, of groups, and by phases, some with fewer taps than others or none. Layouts take turns.
class Slices : public testing::KernelTest {
 protected:
  void expect_joined(std::string_view op, const std::vector<ConvCase>& cases) {
    for (size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE(text_of(cases[i]));
      expect_reference(op, asked(op, cases[i], 5 * i + 5), kEveryVariantAsAsked);
    }
  }
};

TEST_F(Slices, Forward) {
  expect_joined("q8ta_conv2d", {{{2, 128, 4, 3}, {10, 128, 3, 3}, {1}, {1}},
                                {{1, 122, 5, 4}, {6, 122, 3, 3}, {2}, {1}, {1}, 1, "relu"},
                                {{1, 512, 3, 4}, {8, 256, 2, 2}, {1}, {1}, {1}, 2},
                                {{1, 120, 3, 3}, {5, 120, 3, 3}, {1}, {1}},
                                {{1, 122, 4, 4}, {7, 122, 3, 3}, {1}, {1}, {2}}});
}

TEST_F(Slices, OfGroupsOfReals) {
  expect_joined("conv2d_q8csw", {{{1, 512, 3, 4}, {8, 256, 2, 2}, {1}, {1}, {1}, 2},
                                 {{2, 390, 4, 3}, {9, 130, 3, 3}, {2, 1}, {1}, {1, 2}, 3, "hardswish"}});
}

TEST_F(Slices, Transposed) {
  const std::vector<ConvCase> cases = {
      {{1, 256, 3, 2}, {256, 6, 4, 4}, {2}, {1}}, {{2, 256, 2, 3}, {256, 4, 3, 3}, {2}, {1}, {1}, 1, "relu", true, {1}},
      {{1, 1028, 2, 2}, {1028, 8, 1, 2}, {2}},    {{1, 512, 2, 2}, {512, 4, 3, 3}, {2}, {2}, {2}, 2},
      {{1, 130, 3, 3}, {130, 5, 3, 3}, {1}, {1}}, {{1, 512, 1, 2}, {512, 4, 3, 3}, {4, 3}, {0}, {1, 2}}};
  expect_joined("q8ta_conv2d_transposed", cases);
  expect_joined("conv2d_transposed", cases);
}

// ---- numbers --------------------------------------------------------------------------------------------------------

// Outside of the image stands the input's zero point, at both ends of its range.
TEST_F(ConvTest, TakesZeroPointsAtBothEnds) {
  for (const int64_t input : {-128, 127}) {
    for (const int64_t output : {-128, 127}) {
      Request request = forward({{1, 16, 4, 4}, {6, 16, 3, 3}, {1}, {2}});
      request.attributes["input_zero_point"] = input;
      request.attributes["output_zero_point"] = output;
      expect_reference("q8ta_conv2d", request, kEveryVariantAsAsked);
    }
  }
}

// Sums beyond an int: see docs/linear.md.
TEST_F(ConvTest, SumsExactlyUpToTheLongestK) {
  const int64_t channels = kMaxLinearDepth / 4;
  for (const int64_t zero_point : {-128, 127}) {
    Request request;
    request.inputs["input"] = tensor_of(DType::i8, {1, channels, 2, 2}, {-128});
    request.inputs["weight"] = tensor_of(DType::i8, {2, channels, 2, 2}, {-128});
    set_element(request.inputs["weight"], 3, 1);  // one sum is no power of two
    request.inputs["weight_scales"] = tensor_of(DType::f32, {2}, {1.0 / 65536});
    request.attributes["input_scale"] = 1.0 / 1024;
    request.attributes["input_zero_point"] = zero_point;
    request.attributes["output_scale"] = 0.5;
    expect_reference("q8ta_conv2d", request, kEveryVariantAsAsked);
  }
}

// ---- defects, by their numbers in the register of the system that qgen replaces -------------------------------------

// A weight too large for an image had no kernel. Here it is in a buffer, for any size.
TEST_F(ConvTest, A2_WeightsOfAnySides) {
  expect_right({{1, 8, 1, 2}, {16400, 8, 1, 1}}, kEveryVariantAsAsked);
  expect_right({{1, 4100, 2, 2}, {3, 4100, 2, 2}}, kEveryVariantAsAsked);
  expect_transposed_right({{1, 4100, 1, 1}, {4100, 3, 2, 2}}, kEveryVariantAsAsked);
}

// Sizes stayed those of the first call. Here each call says its own, and shares the weight.
TEST_F(ConvTest, A3_SidesMayChangeFromCallToCall) {
  Context on_device = context();
  Executor& executor = on_device.executor;
  Request request = forward({{1, 16, 5, 6}, {10, 16, 3, 3}, {2}, {1}});
  request.attributes["output_scale"] = 0.05;
  auto weight = Weight::create(request.inputs.at("weight"), {});
  const auto scales = executor.upload(request.inputs.at("weight_scales"), Storage::buffer);
  const auto bias = executor.upload(request.inputs.at("bias"), Storage::buffer);
  ASSERT_TRUE(weight && scales && bias);
  const Q8taConv2dAttributes attributes{.stride = Numbers{2},
                                        .padding = Numbers{1},
                                        .input_scale = 0.02,
                                        .input_zero_point = -7,
                                        .output_scale = 0.05,
                                        .output_zero_point = 5};
  for (const Shape& shape : {Shape{1, 16, 5, 6}, {3, 16, 20, 9}, {1, 16, 1, 1}, {1, 16, 6, 5}, {1, 16, 5, 6}}) {
    request.inputs["input"] = Random(static_cast<uint32_t>(element_count(shape))).integers(DType::i8, shape, -128, 127);
    const auto x = executor.upload(request.inputs.at("input"), Storage::buffer);
    ASSERT_TRUE(x);
    const auto made =
        q8ta_conv2d(on_device, {.input = *x, .weight = *weight, .weight_scales = *scales, .bias = &*bias}, attributes);
    ASSERT_TRUE(made) << to_text(made.error());
    const auto expected = reference::find("q8ta_conv2d")(*complete(*find_operator("q8ta_conv2d"), request));
    EXPECT_EQ(executor.download(*made)->data, expected.at("output").data) << to_text(shape);
  }
}

// One tap with stride 1 was a linear layer of pixels, whatever the groups.
TEST_F(ConvTest, A6_GroupsOfOneTapAreNotPointwise) {
  for (const ConvCase& c :
       {ConvCase{{1, 16, 5, 5}, {8, 8, 1, 1}, {1}, {0}, {1}, 2}, {{2, 32, 1, 1}, {32, 16, 1, 1}, {1}, {0}, {1}, 2}}) {
    expect_right(c, kEveryVariant);
    expect_right_of_reals(c, kEveryVariantAsAsked);
  }
}

// A call in which outputs are the sums themselves.
Request in_units(Request request) {
  for (const char* name : {"input_scale", "output_scale"}) request.attributes[name] = 1.0;
  for (const char* name : {"input_zero_point", "output_zero_point"}) request.attributes[name] = int64_t{0};
  HostTensor& scales = request.inputs["weight_scales"];
  scales = tensor_of(DType::f32, Shape(scales.shape), {1});
  return request;
}

// A row of the weight in the order of [KH, KW, C] was read as one of [C, KH, KW]. Here output o reads only the o-th
// element of [C, KH, KW], so that the image is copied.
TEST_F(ConvTest, A16_WeightsKeepTheirOrder) {
  for (const int64_t channels : {3, 16}) {
    const int64_t count = channels * 2 * 3;
    Request request =
        in_units(forward({{1, channels, 2, 3}, {count, channels, 2, 3}, {1}, {0}, {1}, 1, "none", false}));
    HostTensor &image = request.inputs["input"], &weight = request.inputs["weight"];
    weight = zeros(DType::i8, Shape(weight.shape));
    for (int64_t i = 0; i < count; ++i) {
      set_element(image, i, static_cast<double>(i + 1));
      set_element(weight, i * count + i, 1);
    }
    expect_by_hand("q8ta_conv2d", request, image);
  }
}

// The scales of the first group served all. Here each output is a sum of four ones, times the scale of its channel.
TEST_F(ConvTest, A17_EachGroupOfATransposedConvolutionHasItsScales) {
  Request request = in_units(transposed({{1, 8, 2, 2}, {8, 4, 2, 2}, {2}, {0}, {1}, 2, "none", false}));
  for (const char* name : {"input", "weight"})
    request.inputs[name] = tensor_of(DType::i8, Shape(request.inputs[name].shape), {1});
  request.inputs["weight_scales"] = tensor_of(DType::f32, {8}, {1, 2, 3, 4, 5, 6, 7, 8});
  HostTensor expected = zeros(DType::i8, {1, 8, 4, 4});
  for (int64_t i = 0; i < 8 * 16; ++i) set_element(expected, i, static_cast<double>(4 * (i / 16 + 1)));
  expect_by_hand("q8ta_conv2d_transposed", request, expected);
}

// Work items lay along fixed axes, and a remark promised others for other layouts. Here they are numbered, channels
// first, in every layout; any axis may be the long one.
TEST_F(ConvTest, A18_AnyAxisMayBeTheLongOneInEveryLayout) {
  for (const ConvCase& c : {ConvCase{{1, 4, 3, 301}, {5, 4, 3, 3}, {1}, {1}},
                            {{1, 4, 301, 3}, {5, 4, 3, 3}, {1}, {1}},
                            {{1, 4, 2, 3}, {301, 4, 3, 3}, {1}, {1}},
                            {{70, 4, 2, 3}, {5, 4, 1, 2}}}) {
    expect_right(c, kEveryVariant);
  }
}

// How a half was rounded was left to the device.
TEST_F(ConvTest, A22_TiesGoToEven) {
  Request request = in_units(forward({{1, 16, 1, 8}, {4, 16, 1, 1}, {1}, {0}, {1}, 1, "none", false}));
  request.attributes["output_scale"] = 2.0;
  request.inputs["input"] = tensor_of(DType::i8, {1, 16, 1, 8}, {1, 3, 5, 7, -1, -3, -5, -7});
  request.inputs["weight"] = tensor_of(DType::i8, {4, 16, 1, 1}, {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  expect_by_hand("q8ta_conv2d", request, tensor_of(DType::i8, {1, 4, 1, 8}, {0, 2, 2, 4, 0, -2, -2, -4}));
}

// ---- refusals -------------------------------------------------------------------------------------------------------

std::string refusal_of(std::string_view op, Request request) {
  const OperatorEntry* entry = find_operator(entries(), op);
  const auto complete_request = complete(*entry, std::move(request));
  if (!complete_request) return complete_request.error().message;
  InferArguments arguments(*entry);
  for (const TensorInfo& info : entry->tensors) {
    const HostTensor* input = find_input(*complete_request, info.name);
    if (input) arguments.set_tensor(info.operand, {input->dtype, input->shape});
  }
  for (size_t i = 0; i < entry->attributes.size(); ++i) {
    const auto value = complete_request->attributes.find(entry->attributes[i].name);
    if (value != complete_request->attributes.end()) arguments.attributes[i] = value->second;
  }
  const auto call = checked(arguments, entry->infer);
  return call ? "taken" : call.error().message;
}

TEST(ConvRefusals, OfAWeightOfReals) {
  const ConvCase c{{1, 4, 5, 5}, {4, 4, 3, 3}};
  Request dtypes = with_real_weight(forward(c));
  dtypes.inputs["weight"] = zeros(DType::f16, c.weight);
  EXPECT_TEXT(refusal_of("dq8ta_conv2d", with_computed_scale({{1, 8, 4, 4}, {8, 4, 3, 3}, {1}, {1}, {1}, 2}, 0, true)),
              "there are weight_zero_points and 2 groups, and no kernel has both");
  Request no_sums = with_computed_scale({{1, 8, 4, 4}, {8, 8, 3, 3}}, 0, true);
  no_sums.inputs.erase("channel_sums");
  EXPECT_TEXT(refusal_of("dq8ta_conv2d", no_sums), "weight_zero_points need channel_sums");
  EXPECT_TEXT(refusal_of("dq8ta_conv2d", with_computed_scale({{1, 33026, 1, 1}, {1, 33026, 1, 1}}, 0, false)),
              "an output adds 33026 products, and the sums are exact up to 33025");
  const ConvCase of_ranges{{1, 8, 4, 4}, {8, 8, 3, 3}};
  Request no_second = by_its_range(of_ranges, {2, 2}, false);
  no_second.inputs.erase("input_2");
  EXPECT_TEXT(refusal_of("conv2d_dq8ta_q8csw", no_second), "there is an input_3 and no input_2");
  Request few = by_its_range(of_ranges, {2, 2}, false);
  few.inputs.erase("input_3");
  EXPECT_TEXT(refusal_of("conv2d_dq8ta_q8csw", few),
              "input has 6 channels, and a weight [8, 8, 3, 3] with 1 groups reads 8");
  EXPECT_TEXT(refusal_of("conv2d_dq8ta_q8csw", by_its_range({{1, 8, 4, 4}, {8, 4, 3, 3}, {1}, {1}, {1}, 2}, {}, true)),
              "there are weight_zero_points and 2 groups, and no kernel has both");
  EXPECT_TEXT(refusal_of("conv2d", dtypes), "input is f32 and the weight is f16, and no kernel accepts both");
  Request bias = with_real_weight(transposed(c));
  bias.inputs["bias"] = zeros(DType::f32, {3});
  EXPECT_TEXT(refusal_of("conv2d_transposed", bias), "bias has 3 elements, and the output has 4 channels");
  EXPECT_TEXT(refusal_of("conv2d", with_real_weight(forward({{1, 4, 5, 5}, {5, 2, 3, 3}, {1}, {0}, {1}, 2}))),
              "5 output channels cannot be divided into 2 groups");
  EXPECT_TEXT(refusal_of("conv2d_transposed", with_real_weight(transposed({{1, 4, 1, 1}, {4, 4, 1, 1}, {1}, {1}}))),
              "the output would have -1 pixels along a dimension: 1 input pixels make 1, and padding removes 2");
}

// A zero point of the weight was loaded and never used. Here there is none to give.
TEST(ConvRefusals, A7_WeightsHaveNoZeroPoint) {
  Request request = forward({{1, 4, 5, 5}, {4, 4, 3, 3}});
  request.inputs["weight_zero_point"] = zeros(DType::i32, {4});
  EXPECT_TEXT(refusal_of("q8ta_conv2d", request), "'q8ta_conv2d' has no input 'weight_zero_point'");
}

TEST(ConvRefusals, SayWhatIsWrong) {
  const auto forward_refusal = [](const ConvCase& c) { return refusal_of("q8ta_conv2d", forward(c)); };
  const auto transposed_refusal = [](const ConvCase& c) { return refusal_of("q8ta_conv2d_transposed", transposed(c)); };
  EXPECT_TEXT(forward_refusal({{1, 4, 5, 5}, {4, 3, 3, 3}}),
              "input has 4 channels, and a weight [4, 3, 3, 3] with 1 groups reads 3");
  EXPECT_TEXT(forward_refusal({{1, 4, 5, 5}, {5, 2, 3, 3}, {1}, {0}, {1}, 2}),
              "5 output channels cannot be divided into 2 groups");
  EXPECT_TEXT(forward_refusal({{1, 4, 5}, {4, 4, 3, 3}}), "input has shape [1, 4, 5] and the weight has [4, 4, 3, 3]");
  EXPECT_TEXT(forward_refusal({{1, 4, 2, 2}, {4, 4, 3, 3}}),
              "a window that extends over 3 elements does not fit into the input's height of 2, padded to 2");
  EXPECT_TEXT(forward_refusal({{1, 4, 5, 5}, {4, 4, 3, 3}, {0}}), "stride is 0, and can be 1 to 1073741824");
  EXPECT_TEXT(forward_refusal({{1, 65536, 2, 2}, {1, 65536, 2, 2}}), "K is 262144, and sums are exact up to 131072");
  EXPECT_TEXT(refusal_of("conv2d_q8ta_q8csw", of_reals({{1, 65536, 2, 2}, {1, 65536, 2, 2}})),
              "K is 262144, and sums are exact up to 131072");
  EXPECT_TEXT(refusal_of("conv2d_q8csw", of_real_sums({{1, 4, 5, 5}, {5, 2, 3, 3}, {1}, {0}, {1}, 2})),
              "5 output channels cannot be divided into 2 groups");
  EXPECT_TEXT(transposed_refusal({{1, 4, 2, 2}, {4, 4, 3, 3}, {1}, {0}, {1}, 1, "none", true, {1}}),
              "output_padding is 1, and must be smaller than the stride or the dilation, 1 and 1");
  EXPECT_TEXT(transposed_refusal({{1, 4, 1, 1}, {4, 4, 1, 1}, {1}, {1}}),
              "the output would have -1 pixels along a dimension: 1 input pixels make 1, and padding removes 2");
}

}  // namespace
}  // namespace qgen
