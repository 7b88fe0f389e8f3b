// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// softmax, layer_norm and its relatives on every kernel, within the bounds of docs/normalization.md.

#include "operators.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/expected_text.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

using testing::Random;
using testing::tensor_of;

const Shape kShapes[] = {
    {1},
    {7},
    {64},
    {65},
    {3, 5},
    {2, 256},
    {5, 1},
    {2, 1000},
    {3, 2048},
    {2, 3, 257},
    {1, 2, 1, 3, 1, 2, 1, 11},
    {1, 70001},
    // Rows of whole vectors: several in a subgroup, one with padding, and one that a workgroup does not hold.
    {67, 8},
    {9, 128},
    {21, 24},
    {2, 40008}};
const Shape kEmpty[] = {{0}, {0, 5}, {3, 0}};

class NormalizationTest : public testing::KernelTest {};

TEST_F(NormalizationTest, SoftmaxOfEveryShape) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const Shape& shape : kShapes) {
      SCOPED_TRACE(fmt::format("{} {}", name(dtype), to_text(shape)));
      for (const double range : {1.0, 30.0, 400.0}) {
        expect_reference("softmax", {.inputs = {{"input", Random(1).reals(dtype, shape, -range, range)}}},
                         kEverythingAsAsked);
      }
    }
    for (const Shape& shape : kEmpty)
      expect_reference("softmax", {.inputs = {{"input", zeros(dtype, shape)}}}, kEverythingAsAsked);
  }
}

// Masks of -inf, rows of equal elements, results that are subnormal, and rows without a result.
TEST_F(NormalizationTest, SoftmaxOfSpecialRows) {
  const HostTensor rows =
      tensor_of(DType::f32, {10, 4},
                {0,     -kInfinity, -kInfinity, 1,     -kInfinity, -kInfinity, -kInfinity, -kInfinity, kInfinity, 0,
                 1,     2,          kNan,       0,     1,          2,          3e38,       3e38,       3e38,      -3e38,
                 1e-40, -1e-40,     0,          -0.0,  0,          -86.9,      -87,        -87.1,      0,         -88,
                 -104,  -1000,      -3e38,      -3e38, -3e38,      -3e38,      5,          5,          5,         5});
  expect_reference("softmax", {.inputs = {{"input", rows}}}, kEverythingAsAsked);
  // Each element once, and twice: rows of eight are whole vectors of f16.
  for (const int64_t times : {1, 2}) {
    HostTensor halves = zeros(DType::f16, {10, 4 * times});
    for (int64_t i = 0; i < element_count(halves.shape); ++i) set_element(halves, i, element(rows, i / times));
    expect_reference("softmax", {.inputs = {{"input", halves}}}, kEverythingAsAsked);
  }
}

// Rows in slices of 2,048: without a result, with a slice that has none, and with slices whose greatest elements are so
// far apart that one of them counts for nothing.
TEST_F(NormalizationTest, SoftmaxOfSpecialSlices) {
  constexpr int64_t kColumns = 4104, kSlice = 2048;
  for (const DType dtype : {DType::f32, DType::f16}) {
    HostTensor rows = Random(5).reals(dtype, {8, kColumns}, -2, 2);
    const auto fill = [&](int64_t row, int64_t begin, int64_t end, double x) {
      for (int64_t i = begin; i < end; ++i) set_element(rows, row * kColumns + i, x);
    };
    const auto add = [&](int64_t row, int64_t begin, int64_t end, double x) {
      for (int64_t i = row * kColumns + begin; i < row * kColumns + end; ++i)
        set_element(rows, i, element(rows, i) + x);
    };
    fill(0, 0, kSlice, -kInfinity);
    fill(1, 2 * kSlice + 3, 2 * kSlice + 4, kNan);
    fill(2, 5, 6, kInfinity);
    fill(3, 0, kColumns, -kInfinity);
    add(4, 0, kSlice, -43);
    add(4, kSlice, kColumns, 43);
    fill(5, 100, 101, 6e4);
    fill(6, 2 * kSlice, kColumns, -kInfinity);
    expect_reference("softmax", {.inputs = {{"input", rows}}}, kEverythingAsAsked);
  }
}

TEST_F(NormalizationTest, LayerNormOfEveryShape) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const Shape& shape : kShapes) {
      SCOPED_TRACE(fmt::format("{} {}", name(dtype), to_text(shape)));
      Request request{.inputs = {{"input", Random(1).reals(dtype, shape, -3, 5)}}};
      expect_reference("layer_norm", request, kEverythingAsAsked);
      request.inputs["weight"] = Random(2).reals(dtype, {shape.back()}, -2, 2);
      expect_reference("layer_norm", request, kEverythingAsAsked);
      request.inputs["bias"] = Random(3).reals(dtype, {shape.back()}, -2, 2);
      request.attributes["epsilon"] = 0.01;
      expect_reference("layer_norm", request, kEverythingAsAsked);
      request.inputs.erase("weight");
      expect_reference("layer_norm", request, kEverythingAsAsked);
    }
    for (const Shape& shape : kEmpty)
      expect_reference("layer_norm", {.inputs = {{"input", zeros(dtype, shape)}}}, kEverythingAsAsked);
  }
}

// Rows whose variance is tiny compared with their mean, or with epsilon; and large ones.
TEST_F(NormalizationTest, LayerNormOfSpecialRows) {
  for (const auto& [least, greatest] : {std::pair{1000.0, 1000.001}, {5.0, 5.0}, {-1e-6, 1e-6}, {-1e15, 1e15}}) {
    for (const double epsilon : {1e-12, 1e-5}) {
      const Request request{.inputs = {{"input", Random(4).reals(DType::f32, {3, 300}, least, greatest)}},
                            .attributes = {{"epsilon", epsilon}}};
      expect_reference("layer_norm", request, kEverythingAsAsked);
    }
  }
}

TEST_F(NormalizationTest, RmsNormOfEveryShape) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const Shape& shape : kShapes) {
      SCOPED_TRACE(fmt::format("{} {}", name(dtype), to_text(shape)));
      Request request{.inputs = {{"input", Random(1).reals(dtype, shape, -3, 5)}}};
      expect_reference("rms_norm", request, kEverythingAsAsked);
      request.inputs["weight"] = Random(2).reals(dtype, {shape.back()}, -2, 2);
      request.attributes["epsilon"] = 0.01;
      expect_reference("rms_norm", request, kEverythingAsAsked);
    }
    for (const Shape& shape : kEmpty)
      expect_reference("rms_norm", {.inputs = {{"input", zeros(dtype, shape)}}}, kEverythingAsAsked);
  }
}

// Rows of zeros, whose result is 0; rows whose squares are tiny compared with epsilon; and large ones.
TEST_F(NormalizationTest, RmsNormOfSpecialRows) {
  for (const auto& [least, greatest] : {std::pair{0.0, 0.0}, {1000.0, 1000.001}, {-1e-6, 1e-6}, {-1e15, 1e15}}) {
    for (const double epsilon : {1e-12, 1e-5}) {
      const Request request{.inputs = {{"input", Random(4).reals(DType::f32, {3, 300}, least, greatest)}},
                            .attributes = {{"epsilon", epsilon}}};
      expect_reference("rms_norm", request, kEverythingAsAsked);
    }
  }
}

TEST_F(NormalizationTest, NormsOfSumsOfEveryShape) {
  for (const std::string_view op : {"skip_rms_norm", "skip_layer_norm"}) {
    for (const DType dtype : {DType::f32, DType::f16}) {
      for (const Shape& shape : kShapes) {
        SCOPED_TRACE(fmt::format("{} {} {}", op, name(dtype), to_text(shape)));
        Request request{.inputs = {{"input", Random(1).reals(dtype, shape, -3, 5)},
                                   {"skip", Random(2).reals(dtype, shape, -2, 1)}}};
        expect_reference(op, request, kEverythingAsAsked);
        request.inputs["weight"] = Random(3).reals(dtype, {shape.back()}, -2, 2);
        request.inputs["sum_bias"] = Random(4).reals(dtype, {shape.back()}, -2, 2);
        expect_reference(op, request, kEverythingAsAsked);
        request.inputs["bias"] = Random(5).reals(dtype, {shape.back()}, -2, 2);
        request.inputs.erase("sum_bias");
        expect_reference(op, request, kEverythingAsAsked);
      }
      for (const Shape& shape : kEmpty)
        expect_reference(op, {.inputs = {{"input", zeros(dtype, shape)}, {"skip", zeros(dtype, shape)}}},
                         kEverythingAsAsked);
    }
  }
}

// Sums that cancel: nothing is left of the elements but their roundings.
TEST_F(NormalizationTest, NormsOfSumsThatCancel) {
  for (const std::string_view op : {"skip_rms_norm", "skip_layer_norm"}) {
    Request request{.inputs = {{"input", Random(1).reals(DType::f32, {3, 300}, -3, 5)}}};
    HostTensor skip = request.inputs["input"];
    for (int64_t i = 0; i < element_count(skip.shape); ++i) set_element(skip, i, -element(skip, i));
    request.inputs["skip"] = skip;
    expect_reference(op, request, kEverythingAsAsked);
    request.inputs["sum_bias"] = Random(2).reals(DType::f32, {300}, -1e-3, 1e-3);
    expect_reference(op, request, kEverythingAsAsked);
  }
}

TEST(NormalizationCalls, SayWhatTheyCannotDo) {
  using namespace generated::operators;
  const auto said = [](const Expected<Call>& call) { return call ? "accepted" : to_text(call.error()); };
  const TensorDesc x{DType::f32, {2, 5}};
  EXPECT_TEXT(said(layer_norm_call({.input = x, .weight = TensorDesc{DType::f16, {5}}})),
              "weight is f16, and input is f32\n"
              "  hint: both must have the same dtype");
  EXPECT_TEXT(said(layer_norm_call({.input = x}, {.epsilon = 0})),
              "epsilon is 0, and can be a positive, finite and normal number");
  EXPECT_TEXT(said(rms_norm_call({.input = x, .weight = TensorDesc{DType::f16, {5}}})),
              "weight is f16, and input is f32\n"
              "  hint: both must have the same dtype");
  EXPECT_TEXT(said(skip_rms_norm_call({.input = x, .skip = TensorDesc{DType::f16, {2, 5}}})),
              "skip is f16, and input is f32\n"
              "  hint: both must have the same dtype");
  EXPECT_TEXT(said(skip_layer_norm_call({.input = x, .skip = TensorDesc{DType::f32, {1, 5}}})),
              "skip is [1, 5], and input is [2, 5]\n"
              "  hint: both must have the same shape");
}

}  // namespace
}  // namespace qgen
