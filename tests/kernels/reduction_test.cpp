// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Reductions on every kernel, within the bounds of docs/reduction.md.
#include <cmath>

#include "operators.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/expected_text.h"
#include "tests/support/tensors.h"
#include "words.h"

namespace qgen {
namespace {

using testing::Random;
using testing::tensor_of;
using List = std::vector<int64_t>;

class ReductionTest : public testing::KernelTest {
 protected:
  void expect_all(const HostTensor& input, const List& axes) {
    for (const std::string_view operation : generated::words::kReduction) {
      SCOPED_TRACE(fmt::format("{} {} of {}", name(input.dtype), operation, to_text(input.shape)));
      const bool needs_reals =
          operation == "mean" || operation == "l2" || operation == "log_sum" || operation == "log_sum_exp";
      if (input.dtype == DType::i32 && needs_reals) continue;
      const Request request{.inputs = {{"input", input}},
                            .attributes = {{"operation", std::string(operation)}, {"axes", axes}}};
      expect_reference("reduce", request, kEverythingAsAsked);
    }
  }
};

TEST_F(ReductionTest, OfEveryAxis) {
  const List axes[] = {{}, {0}, {1}, {2}, {-1}, {0, 1}, {0, 2}, {1, 2}, {2, 0, 1}};
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const List& some : axes) expect_all(Random(1).reals(dtype, {3, 5, 7}, 0.1, 1.5), some);
  }
  HostTensor integers = zeros(DType::i32, {3, 5, 7});
  for (int64_t i = 0; i < 105; ++i) set_element(integers, i, static_cast<double>(i * 37 % 41 - 20));
  for (const List& some : axes) expect_all(integers, some);
}

TEST_F(ReductionTest, OfManyTerms) {
  for (const Shape& shape : {Shape{1, 1}, {2, 63}, {2, 65}, {3, 1000}, {1, 70001}, {257, 3}}) {
    expect_all(Random(2).reals(DType::f32, shape, -1, 1), {1});
    expect_all(Random(3).reals(DType::f32, shape, -1, 1), {0});
  }
}

TEST_F(ReductionTest, OfSpecialValues) {
  expect_all(tensor_of(DType::f32, {6, 3},
                       {0, -0.0, 0, kInfinity, 1, 2, -kInfinity, 1, 2, kNan, 1, 2, 1, kNan, 2, -kInfinity, -kInfinity,
                        -kInfinity}),
             {1});
}

TEST_F(ReductionTest, TheFirstOrTheLastOfEqualElements) {
  const HostTensor input = tensor_of(DType::f32, {2, 5}, {1, 3, 3, 0, 0, 2, 2, 2, 2, 2});
  for (const bool takes_last : {false, true}) {
    for (const char* operation : {"arg_max", "arg_min"})
      expect_reference(
          "reduce",
          {.inputs = {{"input", input}},
           .attributes = {{"operation", std::string(operation)}, {"axes", List{1}}, {"takes_last", takes_last}}},
          kEverythingAsAsked);
  }
}

// ---- sample ---------------------------------------------------------------------------------------------------------

Request sample_request(const HostTensor& logits, int32_t top_k, double temperature, uint64_t seed = 7) {
  const int64_t rows = logits.shape[0];
  HostTensor draws = zeros(DType::i32, {rows, 2});
  for (int64_t row = 0; row < rows; ++row) {
    set_element(draws, 2 * row, static_cast<double>(row % 3));
    set_element(draws, 2 * row + 1, static_cast<double>(row));
  }
  const std::vector<int32_t> key{static_cast<int32_t>(seed), static_cast<int32_t>(seed >> 32)};
  return {.inputs = {{"logits", logits},
                     {"top_k", make_tensor<int32_t>(DType::i32, {1}, std::vector{top_k})},
                     {"temperature", tensor_of(DType::f32, {1}, {temperature})},
                     {"seed", make_tensor<int32_t>(DType::i32, {2}, key)},
                     {"draws", draws}}};
}

TEST_F(ReductionTest, Sample) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const Shape& shape : {Shape{1, 1}, Shape{5, 7}, Shape{3, 1000}, Shape{2, 5003}, Shape{0, 4}}) {
      for (const int32_t top_k : {0, 1, 3, 40, 5000, 6000}) {
        SCOPED_TRACE(fmt::format("{} {}, {} largest", name(dtype), to_text(shape), top_k));
        const HostTensor logits = Random(static_cast<uint64_t>(top_k)).reals(dtype, shape, -8, 8);
        expect_reference("sample", sample_request(logits, top_k, 0.7, 0x123456789abcdef0), kEverythingAsAsked);
      }
    }
  }
}

TEST_F(ReductionTest, SampleOfSpecialValues) {
  const HostTensor logits = tensor_of(
      DType::f32, {6, 4},
      {kNan, 1,         kNan,      -kInfinity, kNan, kNan, kNan, kNan, -kInfinity, -kInfinity, -kInfinity, -kInfinity,
       1,    kInfinity, kInfinity, 2,          0,    -0.0, 0,    -0.0, -1e-40,     3e38,       -3e38,      1e-40});
  for (const int32_t top_k : {-1, 0, 1, 2, 4})
    expect_reference("sample", sample_request(logits, top_k, 1.5), kEverythingAsAsked);
}

// Each element is drawn as often as its softmax says, within five standard deviations.
TEST_F(ReductionTest, SampleDrawsByTheSoftmax) {
  constexpr int64_t kRows = 4000;
  const std::vector<double> row{0.5, -1, 2, 1, -3, 1.5};
  std::vector<double> all;
  for (int64_t i = 0; i < kRows; ++i) all.insert(all.end(), row.begin(), row.end());
  const HostTensor logits = tensor_of(DType::f32, {kRows, std::ssize(row)}, all);
  for (const int32_t top_k : {0, 3}) {
    const HostTensor drawn = reference::find("sample")(sample_request(logits, top_k, 2)).at("output");
    std::vector<double> counts(row.size());
    for (int64_t i = 0; i < kRows; ++i) ++counts[static_cast<size_t>(element(drawn, i))];
    double sum = 0;
    for (const double x : row) sum += top_k == 3 && x < 1 ? 0 : std::exp(x / 2);
    for (size_t i = 0; i < row.size(); ++i) {
      const double share = top_k == 3 && row[i] < 1 ? 0 : std::exp(row[i] / 2) / sum;
      EXPECT_NEAR(counts[i] / kRows, share, 5 * std::sqrt(share * (1 - share) / kRows)) << row[i];
    }
  }
}

TEST(ReductionCalls, SayWhatTheyCannotDo) {
  using namespace generated::operators;
  const auto said = [](const TensorDesc& input, generated::words::Reduction operation, List axes) {
    const auto call = reduce_call({.input = input}, {.operation = operation, .axes = std::move(axes)});
    return call ? "accepted" : to_text(call.error());
  };
  using enum generated::words::Reduction;
  EXPECT_TEXT(said({DType::i32, {2, 5}}, mean, {0}),
              "operation is mean, and input is i32\n"
              "  hint: mean, l2, log_sum and log_sum_exp need floating-point elements");
  EXPECT_TEXT(said({DType::f32, {2, 5}}, sum, {2}), "axes has 2, and input of shape [2, 5] has 2 dimensions");
  EXPECT_TEXT(said({DType::f32, {2, 5}}, sum, {1, -1}), "axes names dimension 1 twice");
  EXPECT_TEXT(said({DType::f32, {2, 0}}, sum, {1}), "input of shape [2, 0] has no elements along the axes");
}

}  // namespace
}  // namespace qgen
