// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// q8ta_concat and concat on every kernel, along every axis: the one in every layout, the other of every dtype.
#include "concat.h"

#include "operators.h"
#include "q8ta_concat.h"
#include "tests/kernels/kernel_test.h"
#include "tests/kernels/packed_bytes.h"
#include "tests/support/expected_text.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

using namespace generated::operators;
using testing::Random;

// Inputs of these shapes, with parameters that differ, all in one layout.
Request concat_request(const std::vector<Shape>& shapes, int64_t axis, Layout layout) {
  constexpr double kScales[] = {0.04, 0.03, 0.011, 0.2};
  constexpr int64_t kZeroPoints[] = {-3, 5, -128, 127};
  const Representation representation{Storage::buffer, layout};
  Request request{.attributes = {{"axis", axis}, {"output_scale", 0.03}, {"output_zero_point", int64_t{5}}},
                  .representations = {{"output", representation}}};
  for (size_t i = 0; i < shapes.size(); ++i) {
    const std::string name = fmt::format("input_{}", i + 1);
    request.inputs[name] = Random(static_cast<uint32_t>(i + 1)).integers(DType::i8, shapes[i], -128, 127);
    request.attributes[name + "_scale"] = kScales[i];
    request.attributes[name + "_zero_point"] = kZeroPoints[i];
    request.representations[name] = representation;
  }
  return request;
}

struct Sides {
  Shape shape;  // along every axis, that side becomes each of:
  std::vector<int64_t> sides;
};

const Sides kCases[] = {
    {{2, 8, 5, 7}, {8, 16}},
    {{2, 5, 3, 6}, {3, 5, 1, 2}},
    {{1, 4, 4, 4}, {4, 8, 3, 5}},
    {{3, 2, 6, 5}, {1, 1, 1}},
    {{7}, {1, 4}},
    {{3, 5}, {5, 4, 7}},
    {{2, 3, 4}, {2, 9}},
    {{2, 3, 2, 6, 5}, {2, 3}},
    {{2, 1, 2, 3, 2, 4, 2, 3}, {1, 3, 2}},
    {{1, 33, 5, 4}, {33, 0, 2}},
    {{0, 4, 3, 2}, {4, 4}},
};

std::vector<Shape> shapes_along(const Sides& c, size_t axis) {
  std::vector<Shape> shapes(c.sides.size(), c.shape);
  for (size_t i = 0; i < shapes.size(); ++i) shapes[i][axis] = c.sides[i];
  return shapes;
}

class ConcatTest : public testing::KernelTest {};

TEST_F(ConcatTest, AlongEveryAxisInEveryLayout) {
  for (const Sides& c : kCases) {
    for (size_t axis = 0; axis < c.shape.size(); ++axis) {
      const std::vector<Shape> shapes = shapes_along(c, axis);
      for (const Representation& representation : measure::representations_of(generated::q8ta_concat::op, 0)) {
        SCOPED_TRACE(fmt::format("{} along {} in {}", to_text(c.shape), axis, name(representation.layout)));
        const auto from_the_end = static_cast<int64_t>(axis) - static_cast<int64_t>(c.shape.size());
        expect_reference("q8ta_concat", concat_request(shapes, from_the_end, representation.layout),
                         kEverythingAsAsked);
      }
    }
  }
}

// Every byte, with scales and zero points at their ends; an input with the output's parameters does not change.
TEST_F(ConcatTest, OfEveryInteger) {
  std::vector<double> all(256);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<double>(i) - 128;
  const HostTensor bytes = testing::tensor_of(DType::i8, {256}, all);
  struct Params {
    double scale;
    int64_t zero_point;
  };
  for (const Params& p : {Params{0.04, 5}, {1, -128}, {0x1p-125, 127}, {0x1p119, 0}, {1.0 / 3, -1}}) {
    Request request = concat_request({{256}, {256}}, 0, Layout::strided);
    request.inputs["input_1"] = request.inputs["input_2"] = bytes;
    for (const std::string operand : {"input_1", "output"}) {
      request.attributes[operand + "_scale"] = p.scale;
      request.attributes[operand + "_zero_point"] = p.zero_point;
    }
    expect_reference("q8ta_concat", request, kEverythingAsAsked);
    const HostTensor made =
        reference::find("q8ta_concat")(*complete(*find_operator("q8ta_concat"), request)).at("output");
    EXPECT_TRUE(std::ranges::equal(std::span(made.data).first(256), bytes.data));
  }
}

// Padding holds the output's zero point, whatever the inputs' held.
TEST_F(ConcatTest, WritesEveryByteOfItsLayout) {
  Context on_device = context();
  for (const int64_t channels : {1, 4}) {
    const Request request = concat_request({{2, channels, 5, 7}, {2, 2, 5, 7}}, 1, Layout::strided);
    const HostTensor &a = request.inputs.at("input_1"), &b = request.inputs.at("input_2");
    const HostTensor expected =
        reference::find("q8ta_concat")(*complete(*find_operator("q8ta_concat"), request)).at("output");
    for (const LayoutInfo& layout : testing::packed_layouts_of(generated::q8ta_concat::op, 0)) {
      auto first = on_device.executor.allocate(DType::i8, a.shape, Storage::buffer, layout.layout);
      auto second = on_device.executor.allocate(DType::i8, b.shape, Storage::buffer, layout.layout);
      ASSERT_TRUE(first && second);
      ASSERT_TRUE(on_device.executor.write_stored(*first, testing::packed_with(a, layout.dims, std::byte{0xee})));
      ASSERT_TRUE(on_device.executor.write_stored(*second, testing::packed_with(b, layout.dims, std::byte{0xdd})));
      const auto made = q8ta_concat(on_device, {.input_1 = *first, .input_2 = *second},
                                    {.input_1_scale = 0.04,
                                     .input_1_zero_point = -3,
                                     .input_2_scale = 0.03,
                                     .input_2_zero_point = 5,
                                     .output_scale = 0.03,
                                     .output_zero_point = 5});
      ASSERT_TRUE(made) << to_text(made.error());
      EXPECT_EQ(*on_device.executor.download_stored(*made), testing::packed_with(expected, layout.dims, std::byte{5}))
          << layout.name;
    }
  }
}

// ---- elements as they are -------------------------------------------------------------------------------------------

TEST_F(ConcatTest, OfEveryDtypeAlongEveryAxis) {
  for (const Sides& c : kCases) {
    for (size_t axis = 0; axis < c.shape.size(); ++axis) {
      const std::vector<Shape> shapes = shapes_along(c, axis);
      for (const DType dtype : {DType::f32, DType::f16, DType::i8, DType::u8, DType::i32}) {
        SCOPED_TRACE(fmt::format("{} of {} along {}", to_text(c.shape), name(dtype), axis));
        Request request{.attributes = {{"axis", static_cast<int64_t>(axis)}}};
        for (size_t i = 0; i < shapes.size(); ++i) {
          Random random(static_cast<uint32_t>(i + 1));
          request.inputs[fmt::format("input_{}", i + 1)] =
              is_real(dtype) ? random.reals(dtype, shapes[i], -9, 9) : random.integers(dtype, shapes[i], 0, 127);
        }
        expect_reference("concat", request, dtype == DType::i8 ? kEverythingAsAsked : kEveryVariantAsAsked);
      }
    }
  }
}

// Bits are moved, by words and one by one: of NaN with a payload, of subnormals, of zeros with a sign.
TEST_F(ConcatTest, OfBits) {
  Context on_device = context();
  constexpr uint32_t kBits[] = {0x7fc12345, 0xff812345, 0x00000001, 0x80000001, 0x80000000, 0x7f800000, 1, 0x80000000};
  for (const size_t side : {4u, 5u}) {
    const auto first = on_device.executor.upload(
        make_tensor<uint32_t>(DType::f32, {static_cast<int64_t>(side)}, std::span(kBits).first(side)), Storage::buffer);
    const auto second =
        on_device.executor.upload(make_tensor<uint32_t>(DType::f32, {8}, std::span(kBits)), Storage::buffer);
    ASSERT_TRUE(first && second);
    const auto made = concat(on_device, {.input_1 = *first, .input_2 = *second}, {.axis = 0});
    ASSERT_TRUE(made) << to_text(made.error());
    std::vector<uint32_t> expected(kBits, kBits + side);
    expected.insert(expected.end(), std::begin(kBits), std::end(kBits));
    const HostTensor got = *on_device.executor.download(*made);
    EXPECT_TRUE(std::ranges::equal(got.as<uint32_t>(), expected));
  }
}

TEST_F(ConcatTest, RefusalsOfElements) {
  const TensorDesc a{DType::f16, {2, 3, 4}}, b{DType::f16, {2, 5, 4}};
  const auto said = [](const ConcatInputs<Described>& inputs, const ConcatAttributes& attributes) {
    const auto call = concat_call(inputs, attributes);
    return call ? "accepted" : to_text(call.error());
  };
  EXPECT_EQ(said({.input_1 = a, .input_2 = b}, {}), "accepted");
  EXPECT_TEXT(said({.input_1 = a, .input_2 = b}, {.axis = -1}),
              "input_2 has shape [2, 5, 4], and input_1 has [2, 3, 4]: they may differ only along axis 2");
  EXPECT_TEXT(said({.input_1 = a, .input_2 = b}, {.axis = -4}),
              "axis is -4, and input_1 of shape [2, 3, 4] has 3 dimensions");
  EXPECT_TEXT(said({.input_1 = a, .input_2 = b, .input_4 = b}, {}), "input_4 is given, but input_3 is not");
  const TensorDesc of_bytes{DType::i8, {2, 5, 4}};
  EXPECT_TEXT(said({.input_1 = a, .input_2 = of_bytes}, {}),
              "input_2 is i8, and input_1 is f16: all inputs must "
              "have the same dtype");
}

// ---- bytes ----------------------------------------------------------------------------------------------------------

TEST_F(ConcatTest, Refusals) {
  const TensorDesc a{DType::i8, {2, 3, 4}}, b{DType::i8, {2, 5, 4}};
  const auto said = [](const Q8taConcatInputs<Described>& inputs, const Q8taConcatAttributes& attributes) {
    const auto call = q8ta_concat_call(inputs, attributes);
    return call ? "accepted" : to_text(call.error());
  };
  const Q8taConcatAttributes ones{.input_1_scale = 1, .input_2_scale = 1, .output_scale = 1};
  EXPECT_EQ(said({.input_1 = a, .input_2 = b}, ones), "accepted");
  Q8taConcatAttributes other = ones;
  other.axis = 2;
  EXPECT_TEXT(said({.input_1 = a, .input_2 = b}, other),
              "input_2 has shape [2, 5, 4], and input_1 has [2, 3, 4]: they may differ only along axis 2");
  other.axis = 3;
  EXPECT_TEXT(said({.input_1 = a, .input_2 = b}, other), "axis is 3, and input_1 of shape [2, 3, 4] has 3 dimensions");
  EXPECT_TEXT(said({.input_1 = a, .input_2 = b, .input_3 = b}, ones), "input_3 is given, but input_3_scale is not");
  other = ones;
  other.input_4_scale = 1;
  EXPECT_TEXT(said({.input_1 = a, .input_2 = b, .input_4 = b}, other), "input_4 is given, but input_3 is not");
  const TensorDesc packed{DType::i8, {2, 5, 4}, Storage::buffer, Layout::packed_4c};
  EXPECT_TEXT(said({.input_1 = a, .input_2 = packed}, ones),
              "input_2 is packed_4c and output is strided: they must have the same layout\n"
              "  hint: q8ta_clone converts a tensor to another layout");
}

}  // namespace
}  // namespace qgen
