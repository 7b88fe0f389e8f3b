// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// q8ta_clone, q8ta_quantize, q8ta_quantize_linear and q8ta_dequantize on every kernel: all pairs of layouts, at the
// shapes where tiles end.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "operators.h"
#include "q8ta_clone.h"
#include "q8ta_quantize.h"
#include "tests/kernels/kernel_test.h"
#include "tests/kernels/packed_bytes.h"
#include "tests/support/expected_text.h"
#include "tests/support/quotients.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

using namespace generated::operators;
using testing::packed_layouts_of;
using testing::packed_with;
using testing::Random;

HostTensor bytes_of(DType dtype, const Shape& shape, uint32_t seed) {
  return Random(seed).integers(dtype, shape, dtype == DType::i8 ? -128 : 0, dtype == DType::i8 ? 127 : 255);
}

// The shapes of ExecuTorch's tests, then missing cases: no dimension of 1, sizes about a tile and a box, primes.
// clang-format off
const Shape kShapes[] = {
    {144}, {90}, {1, 144}, {1, 90}, {1, 4}, {3, 32}, {1, 16, 32}, {1, 3, 64}, {1, 3, 16, 16}, {1, 8, 32, 32},
    {1, 16, 24, 24}, {1, 32, 12, 12}, {1, 4, 16, 16}, {1, 8, 20, 20}, {1, 16, 14, 14}, {1, 3, 15, 15}, {1, 13, 31, 31},
    {1, 17, 23, 23},
    {}, {1}, {2, 5, 3, 7}, {3, 4, 4, 4}, {2, 33, 5, 31}, {2, 32, 4, 33}, {1, 1, 1, 257}, {1, 257, 1, 1}, {1, 1, 257, 1},
    {5, 1, 1, 1}, {2, 3, 5, 2, 9}, {2, 1, 3, 2, 6, 5}, {2, 1, 2, 1, 3, 2, 5}, {1, 2, 1, 2, 1, 3, 2, 5},
};
// clang-format on

// The part of kShapes that matters for quantizing, since cloning has tested all.
// clang-format off
const Shape kFewShapes[] = {
    {}, {1}, {90}, {3, 32}, {1, 3, 64}, {1, 13, 31, 31}, {2, 5, 3, 7}, {2, 33, 5, 31}, {1, 1, 1, 257}, {1, 257, 1, 1},
    {1, 1, 257, 1}, {2, 1, 3, 2, 6, 5}, {1, 2, 1, 2, 1, 3, 2, 5},
};
// clang-format on

Representation in(Layout layout) { return {Storage::buffer, layout}; }

class PackedTest : public testing::KernelTest {
 protected:
  // By the reciprocal of the scale, and by the scale.
  void expect_quantized(const Request& request) {
    for (const char* op : {"q8ta_quantize", "q8ta_quantize_linear"}) expect_reference(op, request, kEveryVariant);
  }

  void expect_clone(DType dtype, const Shape& shape, const measure::VerifyOptions& options) {
    SCOPED_TRACE(to_text(shape));
    expect_reference("q8ta_clone", {.inputs = {{"input", bytes_of(dtype, shape, 1)}}}, options);
  }
};

TEST_F(PackedTest, CloneBetweenAllLayouts) {
  for (const Shape& shape : kShapes) expect_clone(DType::i8, shape, kEveryVariant);
  for (const Shape& shape : {Shape{2, 5, 3, 7}, Shape{1, 8, 20, 20}}) expect_clone(DType::u8, shape, kEverything);
}

TEST_F(PackedTest, CloneOfEverySmallShape) {
  constexpr int64_t kSides[] = {1, 3, 4, 5};
  for (const int64_t c : kSides) {
    for (const int64_t h : kSides) {
      for (const int64_t w : kSides) expect_clone(DType::i8, {2, c, h, w}, kEveryVariant);
    }
  }
}

TEST_F(PackedTest, CloneOfEmptyTensors) {
  for (const Shape& shape : {Shape{0}, {0, 5, 3, 7}, {2, 0, 3, 7}, {2, 5, 0, 7}, {2, 5, 3, 0}, {2, 0, 5, 3, 7}}) {
    expect_clone(DType::i8, shape, kEveryVariant);
  }
}

// A kernel writes exactly the host's packed bytes, padding included, even from padding that is not zero.
TEST_F(PackedTest, CloneWritesEveryByteOfItsLayout) {
  Context on_device = context();
  for (const Shape& shape : {Shape{2, 5, 3, 7}, Shape{1, 6, 3, 5}, Shape{8, 8, 8}}) {
    const HostTensor host = bytes_of(DType::i8, shape, 2);
    for (const LayoutInfo& read : packed_layouts_of(generated::q8ta_clone::op, 0)) {
      for (const LayoutInfo& written : packed_layouts_of(generated::q8ta_clone::op, 1)) {
        auto input = on_device.executor.allocate(DType::i8, shape, Storage::buffer, read.layout);
        ASSERT_TRUE(input && on_device.executor.write_stored(*input, packed_with(host, read.dims, std::byte{0xee})));
        const auto made = q8ta_clone(on_device, {.input = *input}, {.output = in(written.layout)});
        ASSERT_TRUE(made) << to_text(made.error());
        EXPECT_EQ(*on_device.executor.download_stored(*made), packed_with(host, written.dims, std::byte{0}))
            << to_text(shape) << " from " << read.name << " to " << written.name;
      }
    }
  }
}

// ---- reals ----------------------------------------------------------------------------------------------------------

Request quantize_request(HostTensor input, double scale, int64_t zero_point) {
  return {.inputs = {{"input", std::move(input)}},
          .attributes = {{"output_scale", scale}, {"output_zero_point", zero_point}}};
}

Request dequantize_request(HostTensor input, double scale, int64_t zero_point) {
  return {.inputs = {{"input", std::move(input)}},
          .attributes = {{"input_scale", scale}, {"input_zero_point", zero_point}}};
}

TEST_F(PackedTest, QuantizeAndDequantizeBetweenAllLayouts) {
  for (const Shape& shape : kFewShapes) {
    SCOPED_TRACE(to_text(shape));
    expect_quantized(quantize_request(Random(3).reals(DType::f32, shape, -9, 9), 0.05, -7));
    expect_reference("q8ta_dequantize", dequantize_request(bytes_of(DType::i8, shape, 4), 0.05, -7), kEveryVariant);
  }
}

TEST_F(PackedTest, QuantizeAndDequantizeOfEverySmallShape) {
  constexpr int64_t kSides[] = {1, 4, 5};
  for (const int64_t c : kSides) {
    for (const int64_t h : kSides) {
      for (const int64_t w : kSides) {
        const Shape shape = {2, c, h, w};
        SCOPED_TRACE(to_text(shape));
        expect_quantized(quantize_request(Random(3).reals(DType::f32, shape, -9, 9), 0.05, 3));
        expect_reference("q8ta_dequantize", dequantize_request(bytes_of(DType::i8, shape, 4), 0.05, 3), kEveryVariant);
      }
    }
  }
}

TEST_F(PackedTest, QuantizeOfEmptyTensors) {
  for (const Shape& shape : {Shape{0}, {2, 0, 3, 7}, {2, 5, 3, 0}}) {
    expect_quantized(quantize_request(zeros(DType::f32, shape), 0.05, 3));
    expect_reference("q8ta_dequantize", dequantize_request(zeros(DType::i8, shape), 0.05, 3), kEveryVariant);
  }
}

// Ties, both infinities, NaN, subnormals, both zeros, halves that round; at each end of scales and zero points.
TEST_F(PackedTest, QuantizeOfSpecialValues) {
  const HostTensor input = testing::tensor_of(
      DType::f32, {4, 3, 9}, {0.5,   1.5,       2.5,        -0.5,         -1.5,       -2.5,   127.5,    -128.5, 0,
                              -0.0,  kInfinity, -kInfinity, std::nan(""), 1e-40,      -1e-40, 0x1p-126, 3.4e38, -3.4e38,
                              1e-30, 65504,     0x1p-24,    126.49999,    0.49999997, 1e20,   300,      -300,   7});
  for (const double scale : {1.0, 0.5, 1.0 / 3, 0x1p-125, 0x1p119, 1e-30}) {
    for (const int64_t zero_point : {-128, -1, 0, 127}) {
      expect_quantized(quantize_request(input, scale, zero_point));
    }
  }
}

// Four neighbours, of which none, one or all are next to a half.
TEST_F(PackedTest, QuotientsAreNoProducts) {
  for (const float scale : {5.0f / 255, 0.037f, 1.7f}) {
    std::vector<double> reals = testing::quotients_apart(scale);
    ASSERT_FALSE(reals.empty()) << scale;
    for (size_t i = 0; i < 40; i += 3) reals.insert(reals.begin() + static_cast<std::ptrdiff_t>(i % reals.size()), 1.0);
    expect_quantized(quantize_request(testing::tensor_of(DType::f32, {std::ssize(reals)}, reals), scale, 5));
  }
}

TEST_F(PackedTest, DequantizeOfEveryInteger) {
  std::vector<double> all(256);
  std::iota(all.begin(), all.end(), -128.0);
  const HostTensor input = testing::tensor_of(DType::i8, {4, 8, 8}, all);
  for (const double scale : {1.0, 1.0 / 3, 0x1p-125, 0x1p119, 300.0}) {
    for (const int64_t zero_point : {-128, -1, 0, 127}) {
      expect_reference("q8ta_dequantize", dequantize_request(input, scale, zero_point), kEveryVariant);
    }
  }
}

// Padding holds the zero point.
TEST_F(PackedTest, QuantizeWritesEveryByteOfItsLayout) {
  Context on_device = context();
  constexpr double kScale = 0.05;
  constexpr int64_t kZeroPoint = -7;
  for (const Shape& shape : {Shape{2, 5, 3, 7}, Shape{1, 6, 3, 5}, Shape{9}}) {
    const HostTensor reals = Random(5).reals(DType::f32, shape, -9, 9);
    const auto input = on_device.executor.upload(reals, Storage::buffer);
    const HostTensor expected = reference::find("q8ta_quantize")(
        *complete(*find_operator("q8ta_quantize"), quantize_request(reals, kScale, kZeroPoint)))["output"];
    for (const LayoutInfo& written : packed_layouts_of(generated::q8ta_quantize::op, 1)) {
      const auto made =
          q8ta_quantize(on_device, {.input = *input}, {.output_scale = kScale, .output_zero_point = kZeroPoint},
                        {.output = in(written.layout)});
      ASSERT_TRUE(made) << to_text(made.error());
      EXPECT_EQ(*on_device.executor.download_stored(*made),
                packed_with(expected, written.dims, static_cast<std::byte>(kZeroPoint)))
          << to_text(shape) << " in " << written.name;
    }
  }
}

// ---- views ----------------------------------------------------------------------------------------------------------

struct ViewCase {
  std::string_view name;
  Shape tensor;
  View view;
};

const ViewCase kViews[] = {
    {"transposed", {5, 7}, {{7, 5}, {1, 7}, 0}},
    {"rows of a wider tensor", {6, 12}, {{6, 7}, {12, 1}, 4}},
    {"rows that begin anywhere", {6, 13}, {{6, 7}, {13, 1}, 3}},
    {"backwards", {40}, {{5, 8}, {-8, -1}, 39}},
    {"repeated", {5}, {{3, 4, 5}, {0, 0, 1}, 0}},
    {"channels last", {2, 4, 5, 6}, {{2, 6, 4, 5}, {120, 1, 30, 6}, 0}},
    {"batches of batches", {2, 3, 2, 3, 8}, {{2, 3, 2, 3, 4}, {144, 48, 24, 8, 1}, 4}},
};

HostTensor gathered(const HostTensor& tensor, const View& view) {
  HostTensor result = zeros(tensor.dtype, view.shape);
  for (int64_t i = 0; i < element_count(view.shape); ++i) {
    int64_t rest = i, place = view.offset;
    for (size_t d = view.shape.size(); d-- > 0; rest /= view.shape[d]) place += rest % view.shape[d] * view.strides[d];
    set_element(result, i, element(tensor, place));
  }
  return result;
}

TEST_F(PackedTest, QuantizeReadsViews) {
  Context on_device = context();
  for (const ViewCase& c : kViews) {
    const HostTensor reals = Random(6).reals(DType::f32, c.tensor, -9, 9);
    const auto input = on_device.executor.upload(reals, Storage::buffer);
    const Request request = quantize_request(gathered(reals, c.view), 0.05, -7);
    const Tensors expected = reference::find("q8ta_quantize")(*complete(*find_operator("q8ta_quantize"), request));
    for (const Representation& place : measure::representations_of(generated::q8ta_quantize::op, 1)) {
      SCOPED_TRACE(std::string(c.name) + " into " + std::string(name(place.layout)));
      const auto call = q8ta_quantize_call({.input = ViewedDesc(desc_of(*input), c.view)},
                                           {.output_scale = 0.05, .output_zero_point = -7}, {.output = place});
      ASSERT_TRUE(call) << to_text(call.error());
      const generated::q8ta_quantize::Operands<Argument> arguments{.input = &*input, .output = Argument()};
      expect_outputs({.call = *call, .arguments = arguments}, expected);
    }
  }
}

// ---- defects, by their numbers in the register of the system that qgen replaces -------------------------------------

// A conversion kept the shape that it was made for. Here each call says its own, larger or smaller.
TEST_F(PackedTest, A3_ShapesMayChangeFromCallToCall) {
  Context on_device = context();
  for (const Shape& shape : {Shape{1, 8, 5, 6}, {2, 3, 9, 7}, {3}, {1, 8, 5, 6}}) {
    const HostTensor bytes = bytes_of(DType::i8, shape, 7);
    const auto input = on_device.executor.upload(bytes, Storage::buffer);
    ASSERT_TRUE(input);
    const auto made = q8ta_clone(on_device, {.input = *input}, {.output = in(Layout::packed_4w4c)});
    ASSERT_TRUE(made) << to_text(made.error());
    EXPECT_EQ(on_device.executor.download(*made)->data, bytes.data) << to_text(shape);
  }
}

// ---- refusals -------------------------------------------------------------------------------------------------------

TEST(PackedCalls, SayWhatTheyCannotDo) {
  const auto refusal = [](const Expected<Call>& call) { return call ? "accepted" : to_text(call.error()); };
  const TensorDesc bytes{DType::i8, {2, 3, 4, 5}};
  const TensorDesc reals{DType::f32, {2, 3, 4, 5}};
  const auto cloned = [&](const TensorDesc& input, const Representation& output) {
    return refusal(q8ta_clone_call({.input = input}, {.output = output}));
  };
  EXPECT_TEXT(cloned(reals, in(Layout::packed_4c)), "input is f32, and can be i8, u8");
  EXPECT_TEXT(cloned(bytes, in(Layout::width_packed)),
              "output is width_packed in a buffer, and can be strided, packed_4w, packed_4c, packed_4w4c, packed_4h4w, "
              "packed_4c1w");
  EXPECT_TEXT(
      cloned(bytes, in(Layout::weight_q8_rows)),
      "output is weight_q8_rows in a buffer, and can be strided, packed_4w, packed_4c, packed_4w4c, packed_4h4w, "
      "packed_4c1w");
  EXPECT_TEXT(cloned({DType::i8, {int64_t{1} << 31}}, in(Layout::packed_4c)),
              "output of shape [2147483648] takes 8589934592 elements as packed_4c, and kernels count at most "
              "4294967295\n"
              "  hint: split the tensor");
  const auto quantized = [&](const ViewedDesc& input, const Q8taQuantizeAttributes& attributes) {
    return refusal(q8ta_quantize_call({.input = input}, attributes, {.output = in(Layout::packed_4c)}));
  };
  EXPECT_TEXT(quantized(bytes, {.output_scale = 1}), "input is i8, and can be f32, f16");
  EXPECT_TEXT(quantized(reals, {.output_scale = 0}), "output_scale is 0, and can be 2^-125 to 2^119");
  EXPECT_TEXT(quantized(reals, {.output_scale = std::nan("")}), "output_scale is nan, and must be a finite number");
  EXPECT_TEXT(quantized(reals, {.output_scale = 1, .output_zero_point = 128}),
              "output_zero_point is 128, and can be -128 to 127");
  EXPECT_TEXT(quantized({{DType::f32, {2, 3, 1, 1, 8}}, {{2, 3, 1, 1, 4}, {24, 4, 4, 4, 1}, 0}}, {.output_scale = 1}),
              "the view of input needs a common stride for the dimensions before its last three: one is 24, and "
              "should be 12\n"
              "  hint: copy the view into a dense tensor");
  EXPECT_TEXT(refusal(q8ta_dequantize_call({.input = bytes}, {.input_scale = 1, .output_dtype = DType::i32})),
              "output_dtype is 'i32', and must be one of f32, f16");
  EXPECT_TEXT(refusal(q8ta_dequantize_call({.input = TensorDesc{DType::i8, {1, 2, 3, 4, 5}}}, {.input_scale = 1},
                                           {.output = Representation{Storage::texture3d, Layout::channels_packed}})),
              "output of shape [1, 2, 3, 4, 5] has rank 5, and a texture holds rank 4\n  hint: put it into a buffer");
}

}  // namespace
}  // namespace qgen
