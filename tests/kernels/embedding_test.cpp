// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// embedding_q4gsw on every kernel, bit-exact.
#include <limits>

#include "operators.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/expected_text.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

using namespace generated::operators;
using testing::Random;
using testing::tensor_of;

constexpr std::string_view kOperator = "embedding_q4gsw";

Request request_of(const Shape& indices, int64_t rows, int64_t k, int64_t group_size, DType output_dtype) {
  Random random(21);
  Request request;
  request.inputs["indices"] = random.integers(DType::i32, indices, 0, rows - 1);
  request.inputs["weight"] = random.integers(DType::i8, {rows, k}, -8, 7);
  request.inputs["weight_scales"] = random.reals(DType::f32, {rows, k / group_size}, 0.005, 0.015);
  request.attributes["output_dtype"] = std::string(name(output_dtype));
  return request;
}

class EmbeddingTest : public testing::KernelTest {};

TEST_F(EmbeddingTest, Shapes) {
  struct Row {
    Shape indices;
    int64_t rows, k, group_size;
  };
  const Row kRows[] = {{{5}, 7, 64, 32}, {{2, 3}, 300, 96, 16},  {{}, 3, 32, 8},
                       {{1}, 1, 1, 1},   {{4}, 9, 34, 17},       {{3, 1, 2}, 5, 13, 1},
                       {{0}, 4, 32, 32}, {{2, 0, 2}, 4, 32, 32}, {{1, 2047}, 40, 128, 32}};
  for (const Row& row : kRows) {
    for (const DType dtype : {DType::f32, DType::f16}) {
      SCOPED_TRACE(
          fmt::format("{} of [{}, {}] in groups of {}", to_text(row.indices), row.rows, row.k, row.group_size));
      expect_reference(kOperator, request_of(row.indices, row.rows, row.k, row.group_size, dtype), kEverything);
    }
  }
}

// An index without a row gives NaN, and nothing outside the weight is read.
TEST_F(EmbeddingTest, IndicesOutOfRange) {
  constexpr double kLeast = std::numeric_limits<int32_t>::min(), kGreatest = std::numeric_limits<int32_t>::max();
  for (const DType dtype : {DType::f32, DType::f16}) {
    Request request = request_of({6}, 4, 64, 32, dtype);
    request.inputs["indices"] = tensor_of(DType::i32, {6}, {3, 4, -1, kLeast, kGreatest, 0});
    expect_reference(kOperator, request, kEverything);
  }
}

// Scales below the smallest normal count as zero, and products past an f16 become infinite.
TEST_F(EmbeddingTest, ExtremeScales) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    Request request = request_of({4}, 4, 32, 8, dtype);
    request.inputs["weight_scales"] = tensor_of(DType::f32, {4, 4}, {1e-40, 9000.0, 6e-8, -1.0});
    expect_reference(kOperator, request, kEverything);
  }
}

// An embedding and the head that is tied to it read one copy of the weight.
TEST_F(EmbeddingTest, SharesTheWeightOfALinearLayer) {
  Context on_device = context();
  Executor& executor = on_device.executor;
  const Request request = request_of({3}, 8, 64, 32, DType::f32);
  auto weight = Weight::create(request.inputs.at("weight"), {});
  ASSERT_TRUE(weight);
  const DeviceTensor indices = *executor.upload(request.inputs.at("indices"), Storage::buffer);
  const DeviceTensor scales = *executor.upload(request.inputs.at("weight_scales"), Storage::buffer);
  const auto hidden = embedding_q4gsw(on_device, {.indices = indices, .weight = *weight, .weight_scales = scales});
  ASSERT_TRUE(hidden) << to_text(hidden.error());
  const uint64_t bytes = weight->form_bytes();
  const auto logits = linear_q4gsw(on_device, {.input = *hidden, .weight = *weight, .weight_scales = scales});
  ASSERT_TRUE(logits) << to_text(logits.error());
  EXPECT_EQ(logits->shape(), (Shape{3, 8}));
  EXPECT_EQ(weight->form_bytes(), bytes);
}

TEST_F(EmbeddingTest, Refusals) {
  const TensorDesc indices{DType::i32, {3}}, scales{DType::f32, {8, 2}};
  const TensorDesc weight{DType::i8, {8, 64}, Storage::buffer, Layout::weight_q4_rows};
  const auto said = [&](const TensorDesc& i, const TensorDesc& w, const TensorDesc& s,
                        DType output_dtype = DType::f32) {
    const auto call =
        embedding_q4gsw_call({.indices = i, .weight = w, .weight_scales = s}, {.output_dtype = output_dtype});
    return call ? "accepted" : to_text(call.error());
  };
  EXPECT_EQ(said(indices, weight, scales), "accepted");
  EXPECT_TEXT(said({DType::f32, {3}}, weight, scales), "indices is f32, and can be i32");
  EXPECT_TEXT(said(indices, weight, scales, DType::i8), "output_dtype is 'i8', and must be one of f32, f16");
  EXPECT_TEXT(said(indices, {DType::i8, {8, 64}, Storage::buffer, Layout::weight_q8_rows}, scales),
              "the weight [8, 64] cannot be packed as weight_q4_rows\n"
              "  hint: its integers must be from -8 to 7, and the form fit max_form_bytes");
  EXPECT_TEXT(said({DType::i32, {1, 1, 1, 1, 1, 1, 1, 1}}, weight, scales),
              "output: shape [1, 1, 1, 1, 1, 1, 1, 1, 64] has rank 9, and the highest possible is 8");
}

}  // namespace
}  // namespace qgen
