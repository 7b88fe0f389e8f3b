// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// resize2d and q8ta_resize2d on every kernel, bit-exact.

#include "operators.h"
#include "q8ta_resize2d.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/expected_text.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

using List = std::vector<int64_t>;
using testing::Random;
using testing::tensor_of;

constexpr std::string_view kCoordinateModes[] = {"half_pixel", "align_corners", "asymmetric"};
constexpr std::string_view kNearestModes[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};

struct ResizeCase {
  Shape shape;
  List sizes;
};
const ResizeCase kResizes[] = {
    {{2, 5, 3, 4}, {6, 8}},  {{1, 3, 8, 10}, {4, 5}}, {{1, 6, 7, 5}, {5, 13}}, {{1, 4, 1, 9}, {3, 1}},
    {{2, 9, 4, 6}, {1, 27}}, {{1, 1, 1, 1}, {4, 4}},  {{0, 3, 4, 5}, {8, 8}},
};

Request request_of(const HostTensor& input, const List& sizes, std::string_view coordinates, std::string_view nearest) {
  return {.inputs = {{"input", input}},
          .attributes = {
              {"sizes", sizes}, {"coordinate_mode", std::string(coordinates)}, {"nearest_mode", std::string(nearest)}}};
}

class ResizeTest : public testing::KernelTest {};

TEST_F(ResizeTest, OfEveryMode) {
  for (const ResizeCase& c : kResizes) {
    for (const std::string_view coordinates : kCoordinateModes) {
      SCOPED_TRACE(fmt::format("{} {}", to_text(c.shape), coordinates));
      for (const DType dtype : {DType::f32, DType::f16}) {
        const HostTensor reals = Random(1).reals(dtype, c.shape, -9, 9);
        for (const std::string_view nearest : kNearestModes)
          expect_reference("resize2d", request_of(reals, c.sizes, coordinates, nearest), kEverythingAsAsked);
        Request linear = request_of(reals, c.sizes, coordinates, "floor");
        linear.attributes["mode"] = std::string("linear");
        expect_reference("resize2d", linear, kEverythingAsAsked);
      }
      const HostTensor bytes = Random(2).integers(DType::i8, c.shape, -128, 127);
      for (const Representation& place : measure::representations_of(generated::q8ta_resize2d::op, 0)) {
        for (const std::string_view nearest : kNearestModes) {
          Request request = request_of(bytes, c.sizes, coordinates, nearest);
          request.representations = {{"input", place}, {"output", place}};
          expect_reference("q8ta_resize2d", request, kEverythingAsAsked);
        }
      }
    }
  }
}

TEST_F(ResizeTest, OfSpecialPixels) {
  const HostTensor input = tensor_of(
      DType::f32, {1, 1, 3, 4}, {kInfinity, 1, -kInfinity, 1e-40, kNan, 3e38, -3e38, 0, 1.2e-38, -1.3e-38, -0.0, 0.0});
  for (const std::string mode : {"nearest", "linear"}) {
    Request request = request_of(input, {7, 9}, "half_pixel", "floor");
    request.attributes["mode"] = mode;
    expect_reference("resize2d", request, kEverythingAsAsked);
  }
}

// By hand, from ONNX's definition.
TEST_F(ResizeTest, GivesThePixelsOfOnnx) {
  const HostTensor row = tensor_of(DType::f32, {1, 1, 1, 4}, {0, 1, 2, 3});
  const auto resized = [&](int64_t width, std::string_view coordinates, std::string_view nearest,
                           const std::string& mode) {
    Request request = request_of(row, {1, width}, coordinates, nearest);
    request.attributes["mode"] = mode;
    const Tensors made = reference::find("resize2d")(*complete(*find_operator("resize2d"), request));
    const auto reals = made.at("output").as<float>();
    return std::vector<float>(reals.begin(), reals.end());
  };
  using Reals = std::vector<float>;
  EXPECT_EQ(resized(8, "asymmetric", "floor", "nearest"), (Reals{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(resized(8, "half_pixel", "round_prefer_floor", "nearest"), (Reals{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(resized(2, "half_pixel", "round_prefer_floor", "nearest"), (Reals{0, 2}));
  EXPECT_EQ(resized(2, "half_pixel", "round_prefer_ceil", "nearest"), (Reals{1, 3}));
  EXPECT_EQ(resized(8, "half_pixel", "floor", "linear"), (Reals{0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3}));
  EXPECT_EQ(resized(7, "align_corners", "floor", "linear"), (Reals{0, 0.5, 1, 1.5, 2, 2.5, 3}));
  EXPECT_EQ(resized(8, "asymmetric", "floor", "linear"), (Reals{0, 0.5, 1, 1.5, 2, 2.5, 3, 3}));
}

TEST(ResizeCalls, SayWhatTheyCannotDo) {
  using namespace generated::operators;
  const auto said = [](const Expected<Call>& call) { return call ? "accepted" : to_text(call.error()); };
  const TensorDesc x{DType::f32, {1, 2, 3, 4}};
  EXPECT_TEXT(said(resize2d_call({.input = x}, {.sizes = List{2}})),
              "sizes has 1 numbers, and needs two: [height, "
              "width]");
  EXPECT_TEXT(said(resize2d_call({.input = x}, {.sizes = List{0, 4}})),
              "a height changes from 3 to 0: both must be at least 1, and their product at most 536870912");
}

}  // namespace
}  // namespace qgen
