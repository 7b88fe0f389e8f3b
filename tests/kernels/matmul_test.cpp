// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// matmul on every kernel, within the bound of docs/matmul.md.

#include "operators.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/expected_text.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

using namespace generated::operators;
using testing::Random;
using testing::tensor_of;

constexpr std::string_view kOperator = "matmul";

struct Product {
  Shape input, other;  // other as [..., K, N]
  std::string activation = "none";
  bool has_bias = true;
};

Shape transposed(Shape shape) {
  std::swap(shape.back(), shape[shape.size() - 2]);
  return shape;
}

Request request_of(const Product& product, bool is_transposed, DType dtype = DType::f32) {
  Random random(51);
  Request request;
  request.inputs["input"] = random.reals(dtype, product.input, -2, 3);
  request.inputs["other"] = random.reals(dtype, is_transposed ? transposed(product.other) : product.other, -1.5, 1);
  if (product.has_bias) request.inputs["bias"] = random.reals(DType::f32, {product.other.back()}, -1, 1);
  request.attributes["transpose_other"] = is_transposed;
  request.attributes["activation"] = product.activation;
  return request;
}

class MatmulTest : public testing::KernelTest {
 protected:
  void expect_both_ways(const Product& product, const measure::VerifyOptions& options) {
    for (const bool is_transposed : {false, true}) {
      SCOPED_TRACE(fmt::format("{} times {}{}, activation {}{}", to_text(product.input), to_text(product.other),
                               is_transposed ? " transposed" : "", product.activation,
                               product.has_bias ? "" : ", no bias"));
      expect_reference(kOperator, request_of(product, is_transposed), options);
    }
  }
};

TEST_F(MatmulTest, EverySpecialization) {
  expect_both_ways({{3, 96}, {96, 72}}, kEverything);
  expect_both_ways({{2, 5, 40}, {2, 40, 24}}, kEverything);
  expect_both_ways({{1, 2048}, {2048, 40}, "relu", false}, kEverything);  // split along k
}

TEST_F(MatmulTest, Shapes) {
  const Product kProducts[] = {
      // Rows and columns around the sizes of tiles and teams; K around the staged sizes, and without a whole vector.
      {{1, 64}, {64, 64}},
      {{2, 8}, {8, 8}},
      {{4, 64}, {64, 32}},
      {{3, 16}, {16, 12}},
      {{5, 120}, {120, 20}},
      {{7, 9}, {9, 5}},
      {{63, 64}, {64, 33}},
      {{64, 72}, {72, 64}},
      {{65, 24}, {24, 65}},
      {{129, 17}, {17, 130}},
      {{33, 160}, {160, 31}, "relu", false},
      {{3, 34}, {34, 8}},
      {{200, 40}, {40, 1}},
      // Sizes that are constants of the pipeline.
      {{5, 512}, {512, 256}},
      {{18, 256}, {256, 512}},
      // Slices, the last of them short or empty.
      {{2, 520}, {520, 24}},
      {{17, 2056}, {2056, 40}},
      {{3, 2049}, {2049, 9}},
      // Whole steps; sizes that are constants of a pipeline, whole and in slices.
      {{18, 128}, {128, 24}},
      {{19, 256}, {256, 256}},
      {{5, 512}, {512, 512}},
      // Sides of one and of none.
      {{1, 1}, {1, 1}},
      {{3, 1}, {1, 8}},
      {{0, 8}, {8, 8}},
      {{3, 8}, {8, 0}},
      {{3, 0}, {0, 8}},
  };
  for (const Product& product : kProducts) expect_both_ways(product, kEveryVariant);
}

// Batches of any rank, repeated on either side or on both, and merged into rows where one matrix serves all.
TEST_F(MatmulTest, Batches) {
  const Product kProducts[] = {
      {{3, 4, 16}, {3, 16, 8}},     {{3, 4, 16}, {16, 8}},
      {{3, 1, 16}, {1, 16, 8}},     {{4, 16}, {2, 3, 16, 8}},
      {{2, 1, 8, 8}, {1, 3, 8, 8}}, {{2, 3, 5, 24}, {2, 1, 24, 16}},
      {{2, 3, 1, 24}, {3, 24, 16}}, {{2, 1, 2, 1, 1, 1, 3, 8}, {2, 3, 1, 2, 8, 8}},
      {{2, 17, 520}, {2, 520, 24}}, {{0, 4, 8}, {1, 8, 8}},
      {{2, 0, 3, 8}, {8, 8}},
  };
  for (const Product& product : kProducts) expect_both_ways(product, kEveryVariant);
}

TEST_F(MatmulTest, EveryActivation) {
  for (const char* activation : {"relu", "relu6", "hardswish"}) {
    expect_both_ways({{5, 64}, {64, 24}, activation}, kEveryVariant);
  }
}

TEST_F(MatmulTest, LongRows) { expect_both_ways({{2, 131072}, {131072, 8}}, kEveryVariantAsAsked); }

// Values that are not finite spoil their own row or column and no other, wherever K, rows and columns end within a
// tile.
TEST_F(MatmulTest, ExtremeNumbers) {
  const double inf = kInfinity, nan = kNan;
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const bool is_transposed : {false, true}) {
      for (const int64_t k : {24, 520, 521}) {
        Request request = request_of({{6, k}, {k, 40}}, is_transposed, dtype);
        // With ones where it meets infinity: infinity times 0 has no defined result here.
        HostTensor& input = request.inputs["input"];
        input = tensor_of(dtype, input.shape, {1});
        HostTensor& other = request.inputs["other"];
        set_element(input, 1 * k + 9, nan);
        set_element(input, 3 * k + k - 1, inf);
        set_element(input, 4 * k, dtype == DType::f16 ? 65504 : 1e30);
        const auto place = [&](int64_t row, int64_t column) {
          return is_transposed ? column * k + row : row * 40 + column;
        };
        for (int64_t n = 0; n < 40; ++n) set_element(other, place(k - 1, n), 0.5);
        set_element(other, place(k - 1, 39), inf);
        set_element(other, place(2, 7), nan);
        set_element(other, place(0, 8), -0.0);
        expect_reference(kOperator, request, kEveryVariantAsAsked);
      }
    }
  }
}

// Halves below 2^-14, which conversions and matrices of halves may not take for zeros.
TEST_F(MatmulTest, SubnormalHalves) {
  for (const int64_t rows : {1, 33}) {
    for (const std::string_view name : {"input", "other"}) {
      Request request = request_of({{rows, 64}, {64, 24}, "none", false}, true, DType::f16);
      HostTensor& small = request.inputs[std::string(name)];
      small = Random(12).integers(DType::f16, small.shape, -1023, 1023);
      for (int64_t i = 0; i < element_count(small.shape); ++i) set_element(small, i, element(small, i) * 0x1p-24);
      expect_reference(kOperator, request, kEveryVariantAsAsked);
    }
  }
}

// A case whose results can be worked out by hand, both ways.
TEST_F(MatmulTest, GoldenCase) {
  Request request;
  request.inputs["input"] = tensor_of(DType::f32, {2, 2, 2}, {1, 2, 3, 4, -1, 0, 0.5, 1});
  request.inputs["other"] = tensor_of(DType::f32, {2, 3}, {5, 6, 7, 8, 9, 10});
  request.inputs["bias"] = tensor_of(DType::f32, {3}, {-30, 0.25, 0});
  request.attributes["activation"] = std::string("relu");
  const HostTensor expected = tensor_of(DType::f32, {2, 2, 3}, {0, 24.25, 27, 17, 54.25, 61, 0, 0, 0, 0, 12.25, 13.5});
  const auto reference = reference::find("matmul");
  EXPECT_EQ(reference(*complete(*find_operator(kOperator), request)).at("output").data, expected.data);
  expect_reference(kOperator, request, kEverything);
  request.inputs["other"] = tensor_of(DType::f32, {3, 2}, {5, 8, 6, 9, 7, 10});
  request.attributes["transpose_other"] = true;
  EXPECT_EQ(reference(*complete(*find_operator(kOperator), request)).at("output").data, expected.data);
  expect_reference(kOperator, request, kEverything);
}

TEST_F(MatmulTest, Refusals) {
  const TensorDesc a{DType::f32, {2, 3, 8}};
  const auto said = [&](const TensorDesc& other, bool is_transposed, const std::optional<TensorDesc>& bias = {}) {
    const auto call = matmul_call({.input = a, .other = other, .bias = bias}, {.transpose_other = is_transposed});
    return call ? "accepted" : to_text(call.error());
  };
  EXPECT_EQ(said({DType::f32, {8, 4}}, false), "accepted");
  EXPECT_EQ(said({DType::f32, {4, 8}}, true), "accepted");
  EXPECT_TEXT(said({DType::f32, {4, 8}}, false),
              "other has shape [4, 8]\n"
              "  hint: without transpose_other it must be [..., K, N], and K of input is 8");
  EXPECT_TEXT(said({DType::f32, {8, 4}}, true),
              "other has shape [8, 4]\n"
              "  hint: with transpose_other it must be [..., N, K], and K of input is 8");
  EXPECT_TEXT(said({DType::f32, {5, 4}}, false),
              "other has shape [5, 4]\n  hint: it is [..., K, N] or [..., N, K], and K of input is 8");
  EXPECT_TEXT(said({DType::f32, {8}}, false),
              "other has shape [8]\n  hint: it is [..., K, N] or [..., N, K], and K of input is 8");
  EXPECT_TEXT(said({DType::f32, {3, 8, 4}}, false),
              "shapes [2] and [3] cannot be broadcast: a dimension is 2 in one and 3 in the other\n"
              "  hint: the dimensions must be equal, or one of them 1");
  EXPECT_TEXT(said({DType::f16, {8, 4}}, false),
              "input is f32 and other is f16, and no kernel accepts both\n"
              "  hint: convert one of them");
  EXPECT_TEXT(said({DType::i8, {8, 4}}, false), "other is i8, and can be f32, f16");
  const auto large =
      matmul_call({.input = TensorDesc{DType::f32, {70'000, 1}}, .other = TensorDesc{DType::f32, {1, 70'000}}}, {});
  ASSERT_FALSE(large);
  EXPECT_TEXT(to_text(large.error()),
              "output of shape [70000, 70000] takes 4900000000 elements as strided, and kernels count at most "
              "4294967295\n"
              "  hint: split the tensor");
  EXPECT_TEXT(said({DType::f32, {8, 4}}, false, TensorDesc{DType::f32, {5}}),
              "bias has shape [5]\n  hint: it is [N], and N of other is 4");
}

}  // namespace
}  // namespace qgen
