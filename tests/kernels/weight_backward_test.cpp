// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// linear_q4gsw_backward on every kernel, within the bounds of docs/linear_weights.md.

#include "operators.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/expected_text.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

using namespace generated::operators;
using testing::Random;
using testing::tensor_of;

constexpr std::string_view kOperator = "linear_q4gsw_backward";

Request request_of(const Shape& rows, int64_t n, int64_t k, int64_t group_size) {
  Random random(31);
  Shape d_output = rows;
  d_output.push_back(n);
  Request request;
  request.inputs["d_output"] = random.reals(DType::f32, d_output, -2, 3);
  request.inputs["weight"] = random.integers(DType::i8, {n, k}, -8, 7);
  request.inputs["weight_scales"] =
      random.reals(DType::f32, group_size == 0 ? Shape{n} : Shape{n, k / group_size}, 0.005, 0.015);
  if (group_size != 0) request.attributes["group_size"] = group_size;
  return request;
}

class WeightBackwardTest : public testing::KernelTest {};

TEST_F(WeightBackwardTest, EverySpecialization) {
  expect_reference(kOperator, request_of({3}, 96, 70, 10), kEverything);
  expect_reference(kOperator, request_of({2}, 2100, 40, 8), kEverything);  // split along n too
}

TEST_F(WeightBackwardTest, Shapes) {
  struct Row {
    Shape rows;
    int64_t n, k, group_size;  // 0: a scale a row
  };
  const Row kRows[] = {
      // Rows, columns and terms around the sizes of tiles and their stages.
      {{1}, 16, 64, 32},
      {{4}, 17, 64, 64},
      {{63}, 15, 128, 32},
      {{64}, 64, 136, 8},
      {{65}, 33, 65, 0},
      {{129}, 5, 129, 0},
      // K of a word, and of no whole word; groups that words straddle.
      {{2}, 9, 8, 8},
      {{2}, 9, 13, 0},
      {{3}, 10, 1, 1},
      {{5}, 3, 34, 17},
      {{3}, 18, 96, 12},
      // Slices, the last of them short or empty.
      {{2}, 512, 24, 8},
      {{1}, 521, 16, 16},
      {{3}, 2053, 9, 0},
      // Vectors, batches, sides of one and of none.
      {{}, 7, 32, 16},
      {{2, 1, 3, 2}, 5, 32, 8},
      {{1, 1}, 1, 1, 0},
      {{0}, 4, 8, 0},
      {{3}, 0, 8, 0},
      {{2, 0}, 4, 8, 0},
      {{3}, 4, 0, 0},
  };
  for (const Row& row : kRows) {
    SCOPED_TRACE(fmt::format("{} rows, N {}, K {}, groups of {}", to_text(row.rows), row.n, row.k, row.group_size));
    expect_reference(kOperator, request_of(row.rows, row.n, row.k, row.group_size), kEveryVariant);
  }
}

// NaN and infinity spoil their own row and no other, and as a scale their own group. If sums end within a stage,
// neither reaches past them.
TEST_F(WeightBackwardTest, ExtremeReals) {
  const double inf = kInfinity, nan = kNan;
  Request request = request_of({5}, 21, 48, 8);
  // infinity times 0 has no defined result here
  request.inputs["weight"] = Random(32).integers(DType::i8, {21, 48}, 1, 7);
  set_element(request.inputs["d_output"], 20, nan);
  set_element(request.inputs["d_output"], 21 + 3, inf);
  set_element(request.inputs["d_output"], 2 * 21 + 3, 60000.0);
  set_element(request.inputs["d_output"], 3 * 21 + 3, 6e-8);
  expect_reference(kOperator, request, kEveryVariant);
  set_element(request.inputs["weight_scales"], 20 * 6 + 5, inf);
  set_element(request.inputs["weight_scales"], 7 * 6, 1e-40);
  expect_reference(kOperator, request, kEveryVariant);
}

// A layer and its way back read one copy of the weight.
TEST_F(WeightBackwardTest, SharesTheWeightOfItsLayer) {
  Context on_device = context();
  Executor& executor = on_device.executor;
  const Request request = request_of({3}, 8, 64, 32);
  auto weight = Weight::create(request.inputs.at("weight"), {});
  ASSERT_TRUE(weight);
  const DeviceTensor x = *executor.upload(zeros(DType::f32, {3, 64}), Storage::buffer);
  const DeviceTensor d_output = *executor.upload(request.inputs.at("d_output"), Storage::buffer);
  const DeviceTensor scales = *executor.upload(request.inputs.at("weight_scales"), Storage::buffer);
  ASSERT_TRUE(linear_q4gsw(on_device, {.input = x, .weight = *weight, .weight_scales = scales}));
  const uint64_t bytes = weight->form_bytes();
  const auto d_input =
      linear_q4gsw_backward(on_device, {.d_output = d_output, .weight = *weight, .weight_scales = scales});
  ASSERT_TRUE(d_input) << to_text(d_input.error());
  EXPECT_EQ(weight->form_bytes(), bytes);
  const OperatorEntry& entry = *find_operator(kOperator);
  const auto expected = measure::expectation_by_reference(entry, *complete(entry, request));
  EXPECT_EQ(measure::compare(*executor.download(*d_input), *expected, "d_input").fault, "");
}

TEST_F(WeightBackwardTest, Refusals) {
  const TensorDesc scales{DType::f32, {8, 2}};
  const TensorDesc weight{DType::i8, {8, 64}, Storage::buffer, Layout::weight_q4_rows};
  const auto said = [&](const TensorDesc& d_output, const TensorDesc& w, const TensorDesc& s) {
    const auto call = linear_q4gsw_backward_call({.d_output = d_output, .weight = w, .weight_scales = s});
    return call ? "accepted" : to_text(call.error());
  };
  EXPECT_EQ(said({DType::f16, {3, 8}}, weight, scales), "accepted");
  EXPECT_TEXT(said({DType::i8, {3, 8}}, weight, scales), "d_output is i8, and can be f32, f16");
  EXPECT_TEXT(said({DType::f32, {3, 64}}, weight, scales),
              "weight has shape [8, 64]\n  hint: it is [N, K], and N of d_output is 64");
  EXPECT_TEXT(said({DType::f32, {3, 8}}, {DType::i8, {8, 64}, Storage::buffer, Layout::weight_q8_rows}, scales),
              "the weight [8, 64] cannot be packed as weight_q4_rows\n"
              "  hint: its integers must be from -8 to 7, and the form fit max_form_bytes");
  EXPECT_TEXT(said({DType::f32, {3, 8}}, weight, {DType::f32, {8, 3}}),
              "weight_scales has shape [8, 3], and the weight has [8, 64]\n"
              "  hint: scales must be [8], or [8, G] with a G that divides 64");
  EXPECT_TEXT(said({DType::f32, {100000000, 8}}, weight, scales),
              "d_input of shape [100000000, 64] takes 6400000000 elements as strided, and kernels count at most "
              "4294967295\n"
              "  hint: split the tensor");
}

}  // namespace
}  // namespace qgen
