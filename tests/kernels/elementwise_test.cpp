// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Operators on the elements of i8 tensors, on every kernel, against docs/q8ta.md's reference.
#include <cmath>
#include <numeric>

#include "operators.h"
#include "q8ta_binary.h"
#include "q8ta_unary.h"
#include "runtime/engine/library/signature_info.h"
#include "tests/kernels/kernel_test.h"
#include "tests/kernels/packed_bytes.h"
#include "tests/support/expected_text.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

using namespace generated::operators;
using testing::packed_layouts_of;
using testing::packed_with;
using testing::Random;

constexpr std::string_view kBinary[] = {"q8ta_add", "q8ta_sub", "q8ta_mul"};

const Shape kShapes[] = {
    {90},
    {1, 144},
    {3, 32},
    {1, 3, 64},
    {1, 8, 32, 32},
    {1, 4, 16, 16},
    {1, 16, 14, 14},
    {1, 3, 15, 15},
    {1, 13, 31, 31},
    {},
    {1},
    {2, 5, 3, 7},
    {3, 4, 4, 4},
    {1, 1, 257, 1},
    {1, 257, 1, 1},
    {2, 3, 5, 2, 9},
    {2, 1, 3, 2, 6, 5},
    {2, 1, 2, 1, 3, 2, 5},
    {1, 2, 1, 2, 1, 3, 2, 5},
};

HostTensor bytes_of(const Shape& shape, uint32_t seed) { return Random(seed).integers(DType::i8, shape, -128, 127); }

struct Params {
  double scale = 0.05;
  int64_t zero_point = 0;
};

void set(Request& request, const std::string& operand, const Params& params) {
  request.attributes[operand + "_scale"] = params.scale;
  request.attributes[operand + "_zero_point"] = params.zero_point;
}

Request unary_request(HostTensor input, const Params& from = {0.04, -3}, const Params& to = {0.03, 5}) {
  Request request{.inputs = {{"input", std::move(input)}}};
  set(request, "input", from);
  set(request, "output", to);
  return request;
}

Request binary_request(HostTensor input, HostTensor other, const Params& a = {0.02, 5}, const Params& b = {0.013, -28},
                       const Params& to = {0.03, -50}) {
  Request request{.inputs = {{"input", std::move(input)}, {"other", std::move(other)}}};
  set(request, "input", a);
  set(request, "other", b);
  set(request, "output", to);
  return request;
}

Representation in(Layout layout) { return {Storage::buffer, layout}; }

class ElementwiseTest : public testing::KernelTest {};

// ---- of one element -------------------------------------------------------------------------------------------------

TEST_F(ElementwiseTest, UnaryBetweenAllLayouts) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(to_text(shape));
    expect_reference("q8ta_hardswish", unary_request(bytes_of(shape, 1)), kEveryVariant);
  }
}

// Each function, at all 256 arguments, with scales and zero points at their ends.
TEST_F(ElementwiseTest, UnaryOfEveryInteger) {
  std::vector<double> all(256);
  std::iota(all.begin(), all.end(), -128.0);
  const HostTensor input = testing::tensor_of(DType::i8, {256}, all);
  const Params kParams[] = {{0.04, 5}, {1, -128}, {0x1p-125, 127}, {0x1p119, 0}, {1.0 / 3, -1}};
  for (const SignatureInfo& op : generated::q8ta_unary::signatures) {
    if (op.name == "q8ta_table") continue;
    for (const Params& from : kParams) {
      for (const Params& to : kParams) expect_reference(op.name, unary_request(input, from, to), kEveryVariantAsAsked);
    }
  }
}

// Answers that are no function's: each differs from its neighbours.
TEST_F(ElementwiseTest, TablesOfEveryInteger) {
  std::vector<double> all(256);
  std::iota(all.begin(), all.end(), -128.0);
  std::vector<int64_t> table;
  for (int64_t i = 0; i < 256; ++i) table.push_back(i * 91 % 256 - 128);
  Request request{.inputs = {{"input", testing::tensor_of(DType::i8, {256}, all)}}, .attributes = {{"table", table}}};
  expect_reference("q8ta_table", request, kEveryVariantAsAsked);
  request.inputs["input"] = bytes_of({2, 5, 3, 7}, 1);
  expect_reference("q8ta_table", request, kEveryVariant);
}

TEST_F(ElementwiseTest, TablesThatAreNone) {
  const TensorDesc input{DType::i8, {4}};
  const auto said = [&](std::vector<int64_t> table) {
    return to_text(q8ta_table_call({.input = input}, {.table = std::move(table)}).error());
  };
  EXPECT_EQ(said({1, 2}), "table has 2 answers, and there are 256 bytes");
  EXPECT_EQ(said(std::vector<int64_t>(256, 128)), "table has 128, and answers are -128 to 127");
}

TEST_F(ElementwiseTest, UnaryOfEmptyTensors) {
  for (const Shape& shape : {Shape{0}, {2, 0, 3, 7}}) {
    expect_reference("q8ta_relu", unary_request(zeros(DType::i8, shape)), kEveryVariant);
  }
}

// ---- of two ---------------------------------------------------------------------------------------------------------

TEST_F(ElementwiseTest, BinaryOfEveryShape) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(to_text(shape));
    expect_reference("q8ta_add", binary_request(bytes_of(shape, 2), bytes_of(shape, 3)), kEveryVariant);
  }
}

// All triples of layouts that pack one dimension, each operand in its own.
TEST_F(ElementwiseTest, BinaryBetweenAllLayoutsOfOnePackedDimension) {
  const Shape shape = {2, 6, 5, 7};
  size_t triples = 0;
  for (const Representation& a : measure::representations_of(generated::q8ta_binary::op, 0)) {
    for (const Representation& b : measure::representations_of(generated::q8ta_binary::op, 1)) {
      for (const Representation& to : measure::representations_of(generated::q8ta_binary::op, 2)) {
        if (packed(a.layout) != packed(to.layout) || packed(b.layout) != packed(to.layout)) continue;
        SCOPED_TRACE(fmt::format("{}, {} -> {}", name(a.layout), name(b.layout), name(to.layout)));
        Request request = binary_request(bytes_of(shape, 2), bytes_of({6, 1, 7}, 3));
        request.representations = {{"input", a}, {"other", b}, {"output", to}};
        expect_reference("q8ta_mul", request, kEverythingAsAsked);
        ++triples;
      }
    }
  }
  EXPECT_EQ(triples, 2u * 27);
}

struct BroadcastCase {
  Shape a, b;
};

// clang-format off
const BroadcastCase kBroadcasts[] = {
    {{5, 7}, {7}},
    {{5, 7}, {5, 1}},
    {{5, 7}, {1}},
    {{5, 7}, {}},
    {{}, {5, 7}},
    {{5, 1}, {1, 7}},
    {{2, 6, 5, 7}, {6, 1, 1}},
    {{2, 6, 5, 7}, {1, 6, 5, 1}},
    {{1, 1, 5, 7}, {2, 6, 1, 1}},
    {{2, 1, 5, 7}, {1, 6, 5, 7}},
    {{2, 3, 6, 5, 7}, {3, 6, 5, 7}},           // the batch is two parts
    {{2, 3, 6, 5, 7}, {2, 1, 6, 5, 7}},
    {{2, 1, 4, 1, 6, 5, 7}, {3, 1, 5, 6, 5, 7}},
    {{2, 1, 2, 1, 2, 1, 1, 5}, {1, 3, 1, 2, 1, 6, 1, 5}},  // rank 8, each operand repeated in turn
    {{0, 7}, {1, 7}},
    {{1, 7}, {0, 1}},
};
// clang-format on

TEST_F(ElementwiseTest, BinaryBroadcasts) {
  constexpr Layout kLayouts[] = {Layout::strided,   Layout::packed_4w,   Layout::packed_4h4w,
                                 Layout::packed_4c, Layout::packed_4w4c, Layout::packed_4c1w};
  for (const BroadcastCase& c : kBroadcasts) {
    for (const Layout layout : kLayouts) {
      SCOPED_TRACE(fmt::format("{} and {} in {}", to_text(c.a), to_text(c.b), name(layout)));
      Request request = binary_request(bytes_of(c.a, 4), bytes_of(c.b, 5));
      request.representations = {{"input", in(layout)}, {"other", in(layout)}, {"output", in(layout)}};
      expect_reference("q8ta_add", request, kEveryVariantAsAsked);
    }
  }
}

// All pairs of 256 x 256 integers, in the one layout and shape that go the short way, and with scales at their ends.
TEST_F(ElementwiseTest, BinaryOfEveryPairOfIntegers) {
  std::vector<double> all(256);
  std::iota(all.begin(), all.end(), -128.0);
  HostTensor a = zeros(DType::i8, {256, 256}), b = a;
  for (int64_t i = 0; i < 256 * 256; ++i) {
    set_element(a, i, all[static_cast<size_t>(i / 256)]);
    set_element(b, i, all[static_cast<size_t>(i % 256)]);
  }
  for (const std::string_view op : kBinary) {
    for (const Params& to : {Params{0.03, -50}, {1.0 / 3, 127}, {0x1p-125, -128}, {0x1p119, 0}}) {
      expect_reference(op, binary_request(a, b, {0.02, -128}, {1.0 / 7, 127}, to), kEveryVariantAsAsked);
      expect_reference(op, binary_request(a, b, {0x1p-125, 3}, {0x1p-125, -3}, to), kEveryVariantAsAsked);
      expect_reference(op, binary_request(a, b, {0x1p110, 3}, {0.75, -3}, to), kEveryVariantAsAsked);
    }
  }
}

TEST_F(ElementwiseTest, BinaryActivates) {
  for (const std::string_view op : kBinary) {
    for (const std::string activation : {"none", "relu", "relu6", "hardswish"}) {
      for (const Params& to : {Params{0.05, -50}, {0.03, 127}, {0.2, -128}}) {
        Request request = binary_request(bytes_of({3, 5, 64}, 6), bytes_of({3, 5, 64}, 7), {0.06, 5}, {0.04, -8}, to);
        request.attributes["activation"] = activation;
        SCOPED_TRACE(fmt::format("{} {} {}", op, activation, to.zero_point));
        expect_reference(op, request, kEveryVariantAsAsked);
      }
    }
  }
}

// ---- defects, by their numbers in the register of the system that qgen replaces -------------------------------------

TEST_F(ElementwiseTest, A1_AlphaIsHonoured) {
  const HostTensor ones = testing::tensor_of(DType::i8, {4}, {1, 2, 3, 4});
  for (const double alpha : {0.0, 1.0, -1.0, 2.0, 0.3, 1e-30, -1e30}) {
    for (const std::string_view op : {"q8ta_add", "q8ta_sub"}) {
      Request request = binary_request(ones, ones, {1, 0}, {1, 0}, {1, 0});
      request.attributes["alpha"] = alpha;
      expect_reference(op, request, kEveryVariantAsAsked);
    }
  }
  Context on_device = context();
  const auto a = on_device.executor.upload(ones, Storage::buffer);
  const auto sum = q8ta_add(on_device, {.input = *a, .other = *a},
                            {.input_scale = 1, .other_scale = 1, .output_scale = 1, .alpha = 3});
  ASSERT_TRUE(sum) << to_text(sum.error());
  EXPECT_EQ(on_device.executor.download(*sum)->data, testing::tensor_of(DType::i8, {4}, {4, 8, 12, 16}).data);
}

// With a zero point above -128 the least byte is a negative real, which relu forbids.
TEST_F(ElementwiseTest, A1_ReluIsAppliedWhateverTheZeroPoint) {
  const HostTensor negative = testing::tensor_of(DType::i8, {4}, {-100, -1, 0, 100});
  Context on_device = context();
  const auto a = on_device.executor.upload(negative, Storage::buffer);
  const auto sum = q8ta_add(
      on_device, {.input = *a, .other = *a},
      {.input_scale = 1, .other_scale = 1, .output_scale = 2, .output_zero_point = 20, .activation = Activation::relu});
  ASSERT_TRUE(sum) << to_text(sum.error());
  EXPECT_EQ(on_device.executor.download(*sum)->data, testing::tensor_of(DType::i8, {4}, {20, 20, 20, 120}).data);
}

// The same Call serves no other shape: there is nothing to resize, a Call is made for each.
TEST_F(ElementwiseTest, A3_ShapesMayChangeFromCallToCall) {
  for (const Shape& shape : {Shape{2, 8, 9, 9}, {1, 3, 2, 2}, {4, 8, 16, 16}}) {
    expect_reference("q8ta_add", binary_request(bytes_of(shape, 8), bytes_of(shape, 9)), kEveryVariantAsAsked);
  }
}

// A tie is rounded to even, whatever the sign: not away from zero, not as the device likes.
TEST_F(ElementwiseTest, A22_TiesGoToEven) {
  const HostTensor odd = testing::tensor_of(DType::i8, {8}, {1, 3, 5, 7, -1, -3, -5, -7});
  Context on_device = context();
  const auto a = on_device.executor.upload(odd, Storage::buffer);
  const auto zero = on_device.executor.upload(zeros(DType::i8, {8}), Storage::buffer);
  const auto half = q8ta_add(on_device, {.input = *a, .other = *zero},
                             {.input_scale = 1, .other_scale = 1, .output_scale = 2, .output_zero_point = 1});
  ASSERT_TRUE(half) << to_text(half.error());
  EXPECT_EQ(on_device.executor.download(*half)->data,
            testing::tensor_of(DType::i8, {8}, {1, 3, 3, 5, 1, -1, -1, -3}).data);
}

// ---- pixel shuffle --------------------------------------------------------------------------------------------------

struct ShuffleCase {
  Shape shape;
  int64_t r;
};

// clang-format off
const ShuffleCase kShuffles[] = {
    {{1, 16, 4, 4}, 2}, {{1, 24, 8, 4}, 2}, {{1, 32, 12, 8}, 2}, {{1, 96, 16, 9}, 2},
    {{3, 5, 7}, 1}, {{2, 9, 3, 5}, 3}, {{2, 45, 3, 2}, 3}, {{2, 3, 16, 5, 3}, 4}, {{1, 50, 1, 1}, 5}, {{12, 3, 7}, 2},
    {{1, 49, 2, 3}, 7}, {{0, 4, 2, 2}, 2}, {{1, 4, 0, 2}, 2},
};
// clang-format on

TEST_F(ElementwiseTest, PixelShuffleBetweenAllLayouts) {
  for (const ShuffleCase& c : kShuffles) {
    SCOPED_TRACE(fmt::format("{} by {}", to_text(c.shape), c.r));
    Request request = unary_request(bytes_of(c.shape, 10), {0.02, 4}, {0.025, -3});
    request.attributes["upscale_factor"] = c.r;
    expect_reference("q8ta_pixel_shuffle", request, kEveryVariant);
  }
}

// ---- padding --------------------------------------------------------------------------------------------------------

// Operands' padding may be anything and reaches no element; the output's is its zero point.
TEST_F(ElementwiseTest, WritesEveryByteOfItsLayout) {
  Context on_device = context();
  constexpr Params kFrom{0.04, -3}, kTo{0.03, 5};
  const HostTensor a = bytes_of({2, 20, 3, 7}, 11), b = bytes_of({20, 3, 7}, 12);
  const auto on_device_as = [&](const HostTensor& host, const LayoutInfo& layout) {
    auto tensor = on_device.executor.allocate(DType::i8, host.shape, Storage::buffer, layout.layout);
    EXPECT_TRUE(tensor && on_device.executor.write_stored(*tensor, packed_with(host, layout.dims, std::byte{0xee})));
    return *std::move(tensor);
  };
  const auto expect_bytes = [&](std::string_view op, const Request& request, const Expected<DeviceTensor>& made,
                                const LayoutInfo& layout) {
    ASSERT_TRUE(made) << to_text(made.error());
    const HostTensor expected = reference::find(op)(*complete(*find_operator(op), request))["output"];
    EXPECT_EQ(*on_device.executor.download_stored(*made),
              packed_with(expected, layout.dims, static_cast<std::byte>(kTo.zero_point)))
        << op << " in " << layout.name;
  };
  for (const LayoutInfo& layout : packed_layouts_of(generated::q8ta_binary::op, 2)) {
    const DeviceTensor first = on_device_as(a, layout), second = on_device_as(b, layout);
    expect_bytes("q8ta_add", binary_request(a, b, kFrom, kFrom, kTo),
                 q8ta_add(on_device, {.input = first, .other = second},
                          {.input_scale = kFrom.scale,
                           .input_zero_point = kFrom.zero_point,
                           .other_scale = kFrom.scale,
                           .other_zero_point = kFrom.zero_point,
                           .output_scale = kTo.scale,
                           .output_zero_point = kTo.zero_point},
                          {.output = in(layout.layout)}),
                 layout);
    const Request one = unary_request(a, kFrom, kTo);
    expect_bytes("q8ta_hardswish", one,
                 q8ta_hardswish(on_device, {.input = first},
                                {.input_scale = kFrom.scale,
                                 .input_zero_point = kFrom.zero_point,
                                 .output_scale = kTo.scale,
                                 .output_zero_point = kTo.zero_point},
                                {.output = in(layout.layout)}),
                 layout);
    expect_bytes("q8ta_pixel_shuffle", one,
                 q8ta_pixel_shuffle(on_device, {.input = first},
                                    {.input_scale = kFrom.scale,
                                     .input_zero_point = kFrom.zero_point,
                                     .output_scale = kTo.scale,
                                     .output_zero_point = kTo.zero_point},
                                    {.output = in(layout.layout)}),
                 layout);
  }
}

// ---- refusals -------------------------------------------------------------------------------------------------------

TEST(ElementwiseCalls, SayWhatTheyCannotDo) {
  const auto refusal = [](const Expected<Call>& call) { return call ? "accepted" : to_text(call.error()); };
  const TensorDesc four{DType::i8, {2, 3, 4, 5}};
  EXPECT_TEXT(refusal(q8ta_relu_call({.input = TensorDesc{DType::u8, {4}}}, {.input_scale = 1, .output_scale = 1})),
              "input is u8, and can be i8");
  EXPECT_TEXT(refusal(q8ta_relu_call({.input = four}, {.input_scale = 1, .output_scale = -1})),
              "output_scale is -1, and can be 2^-125 to 2^119");
  const auto sum = [&](const TensorDesc& input, const TensorDesc& other,
                       const Q8taAddRepresentations& representations = {}) {
    return refusal(q8ta_add_call({.input = input, .other = other},
                                 {.input_scale = 1, .other_scale = 1, .output_scale = 1}, representations));
  };
  EXPECT_TEXT(sum(four, {DType::i8, {4, 4, 5}}),
              "shapes [2, 3, 4, 5] and [4, 4, 5] cannot be broadcast: a dimension is 3 in one and 4 in the other\n"
              "  hint: the dimensions must be equal, or one of them 1");
  EXPECT_TEXT(sum(four, {DType::i8, {4, 5}, Storage::buffer, Layout::packed_4c}, {.output = in(Layout::packed_4w)}),
              "input is strided, other is packed_4c and output is packed_4w: all must pack the same dimension\n"
              "  hint: q8ta_clone converts a tensor to another layout");
  const auto scaled = [&](double alpha) {
    return refusal(q8ta_add_call({.input = four, .other = four},
                                 {.input_scale = 1, .other_scale = 1, .output_scale = 1, .alpha = alpha}));
  };
  EXPECT_TEXT(scaled(INFINITY), "alpha is inf, and must be a finite number");
  EXPECT_TEXT(scaled(0x1p120),
              "alpha is 1.329227995784916e+36, and alpha * other_scale is 1.329228e+36\n"
              "  hint: its magnitude can be up to 2^119");
  EXPECT_TEXT(refusal(q8ta_mul_call({.input = four, .other = four},
                                    {.input_scale = 0x1p60, .other_scale = 0x1p60, .output_scale = 1})),
              "input_scale * other_scale is 1.329228e+36, and can be up to 2^111");
  const auto shuffled = [&](const TensorDesc& input, int64_t factor = 2) {
    return refusal(
        q8ta_pixel_shuffle_call({.input = input}, {.input_scale = 1, .output_scale = 1, .upscale_factor = factor}));
  };
  EXPECT_TEXT(shuffled(four),
              "input of shape [2, 3, 4, 5] has 3 channels, and an upscale_factor of 2 needs a multiple of 4");
  EXPECT_TEXT(shuffled({DType::i8, {4, 4}}), "input has shape [4, 4]\n  hint: it is [..., C, H, W]");
  EXPECT_TEXT(shuffled(four, 0), "upscale_factor is 0, and can be 1 to 32768");
}

}  // namespace
}  // namespace qgen
