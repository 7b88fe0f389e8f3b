// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/tensor/quant_params.h"

#include <gtest/gtest.h>

#include "tests/support/expected_text.h"

namespace qgen {
namespace {

std::string text_of(const Expected<Shape>& shape) { return shape ? to_text(*shape) : to_text(shape.error()); }

struct BlockCase {
  Shape data, params;
  std::string block;  // or the error with its hint
};

const BlockCase kBlocks[] = {
    {{3, 4, 10}, {}, "[3, 4, 10]"},
    {{3, 4, 10}, {1}, "[3, 4, 10]"},
    {{3, 4, 10}, {1, 1, 1}, "[3, 4, 10]"},
    {{3, 4}, {1, 1, 1, 1, 1}, "[3, 4]"},  // a singleton of any rank
    {{}, {}, "[]"},
    {{}, {1}, "[]"},
    {{1}, {1}, "[1]"},
    {{12}, {4}, "[3]"},
    {{12}, {12}, "[1]"},
    {{3, 4, 10}, {1, 4, 1}, "[3, 1, 10]"},
    {{3, 4, 10}, {3, 4, 1}, "[1, 1, 10]"},
    {{3, 4, 10}, {3, 4, 2}, "[1, 1, 5]"},
    {{3, 4, 10}, {3, 4, 10}, "[1, 1, 1]"},
    {{8, 6, 6, 6}, {4, 2, 3, 2}, "[2, 3, 2, 3]"},
    {{7, 11, 13}, {7, 1, 13}, "[1, 11, 1]"},  // primes
    {{2, 4, 2, 4, 2, 4, 2, 4}, {1, 2, 2, 1, 1, 4, 2, 2}, "[2, 2, 1, 4, 2, 1, 1, 2]"},
    {{0, 4}, {1, 4}, "[0, 1]"},  // no row: one parameter for all of them
    {{0, 4}, {0, 4}, "[1, 1]"},
    {{0, 4}, {}, "[0, 4]"},
    {{3, 4, 10},
     {4},
     "parameters of shape [4] do not fit data of shape [3, 4, 10]: their ranks are 1 and 3\n"
     "  hint: give it the data's rank: [1, 4, 1] for dimension 1"},
    // [K] against [K, K]: which axis is meant, the shape cannot say.
    {{5, 5},
     {5},
     "parameters of shape [5] do not fit data of shape [5, 5]: their ranks are 1 and 2\n"
     "  hint: give it the data's rank: [5, 1] for dimension 0 or [1, 5] for dimension 1"},
    {{3, 4, 10},
     {7},
     "parameters of shape [7] do not fit data of shape [3, 4, 10]: their ranks are 1 and 3\n"
     "  hint: a single element may have any rank; other parameters need the data's rank"},
    {{4, 10},
     {4, 1, 1},
     "parameters of shape [4, 1, 1] do not fit data of shape [4, 10]: their ranks are 3 and 2\n"
     "  hint: a single element may have any rank; other parameters need the data's rank"},
    {{8, 6},
     {3, 6},
     "parameters of shape [3, 6] do not fit data of shape [8, 6]: dimension 0 has 8 elements and 3 parameters, which "
     "does "
     "not divide it"},
    {{8, 6},
     {8, 4},
     "parameters of shape [8, 4] do not fit data of shape [8, 6]: dimension 1 has 6 elements and 4 parameters, which "
     "does "
     "not divide it"},
    {{8, 6},
     {8, 12},
     "parameters of shape [8, 12] do not fit data of shape [8, 6]: dimension 1 has 6 elements and 12 parameters, "
     "more than one per element"},
    {{8, 6},
     {8, 0},
     "parameters of shape [8, 0] do not fit data of shape [8, 6]: dimension 1 has 6 elements and 0 parameters"},
    {{0, 4},
     {2, 4},
     "parameters of shape [2, 4] do not fit data of shape [0, 4]: dimension 0 has 0 elements and 2 parameters, more "
     "than one per element"},
};

TEST(Blocks, FollowFromTheParametersShape) {
  for (const BlockCase& c : kBlocks) EXPECT_EQ(text_of(block_of(c.data, c.params)), c.block);
}

TEST(Blocks, GiveBackTheParametersShape) {
  for (const BlockCase& c : kBlocks) {
    const auto block = block_of(c.data, c.params);
    if (!block || c.params.size() != c.data.size()) continue;
    EXPECT_EQ(text_of(params_shape(c.data, *block)), to_text(c.params)) << to_text(c.data);
  }
}

const BlockCase kParams[] = {
    {{3, 3, 10, 10}, {3, 3, 10, 10}, "[1, 1, 1, 1]"},
    {{3, 3, 10, 10}, {1, 3, 10, 10}, "[3, 1, 1, 1]"},
    {{3, 3, 10, 10}, {3, 3, 10, 2}, "[1, 1, 1, 5]"},
    {{3, 3, 10, 10}, {1, 1, 1, 10}, "[3, 3, 10, 1]"},
    {{0, 4}, {0, 4}, "[1, 1]"},
    {{0, 4}, {5, 4}, "[0, 1]"},
    {{8, 6},
     {3, 6},
     "blocks of shape [3, 6] do not fit data of shape [8, 6]: dimension 0 has 8 elements in blocks of 3, "
     "which does not divide it"},
    {{8, 6},
     {16, 6},
     "blocks of shape [16, 6] do not fit data of shape [8, 6]: dimension 0 has 8 elements in blocks of 16, "
     "which is larger"},
    {{8, 6},
     {0, 6},
     "blocks of shape [0, 6] do not fit data of shape [8, 6]: dimension 0 has 8 elements in blocks of 0"},
    {{8, 6},
     {8, -2},
     "blocks of shape [8, -2] do not fit data of shape [8, 6]: dimension 1 has 6 elements in blocks of -2"},
    {{8, 6},
     {6},
     "blocks of shape [6] do not fit data of shape [8, 6]: their ranks are 1 and 2\n"
     "  hint: a block needs one size per dimension; [8, 6] is the block for a single scale"},
};

TEST(Blocks, SayTheParametersShape) {
  for (const BlockCase& c : kParams) EXPECT_EQ(text_of(params_shape(c.data, c.params)), c.block);
}

struct AxisCase {
  Shape params;
  bool is_per_tensor;
  std::optional<size_t> axis;
};

const AxisCase kAxes[] = {
    {{}, true, std::nullopt},
    {{1}, true, std::nullopt},
    {{1, 1, 1}, true, std::nullopt},
    {{3, 1, 1}, false, 0},
    {{1, 4, 1}, false, 1},
    {{1, 1, 10}, false, 2},
    {{3, 4, 1}, false, std::nullopt},
    {{3, 4, 2}, false, std::nullopt},
    {{12}, false, 0},
    {{0}, false, 0},  // a side without elements is not one of 1
};

TEST(Granularity, IsReadFromTheShape) {
  for (const AxisCase& c : kAxes) {
    EXPECT_EQ(is_per_tensor(c.params), c.is_per_tensor) << to_text(c.params);
    EXPECT_EQ(channel_axis(c.params), c.axis) << to_text(c.params);
  }
}

// ---- check ----------------------------------------------------------------------------------------------------------

struct CheckCase {
  std::string name;
  Shape data;
  QuantParams params;
  std::string error;  // empty: fits
};

QuantParams with(const Shape& scale, std::optional<Shape> zero_point = std::nullopt, DType dtype = DType::i8,
                 int64_t quant_min = -128, int64_t quant_max = 127) {
  QuantParams params{zeros(DType::f32, scale), std::nullopt, dtype, quant_min, quant_max};
  if (zero_point) params.zero_point = zeros(DType::i32, *zero_point);
  return params;
}

QuantParams damaged(QuantParams params, void (*damage)(QuantParams&)) {
  damage(params);
  return params;
}

const CheckCase kChecks[] = {
    {"per tensor", {3, 4}, with({}), ""},
    {"singletons of two ranks", {3, 4}, with({1}, Shape{1, 1, 1}), ""},
    {"per channel", {3, 4}, with({3, 1}, Shape{3, 1}), ""},
    {"one zero point for all channels", {3, 4}, with({3, 1}, Shape{}), ""},
    {"four bits", {3, 4}, with({}, {}, DType::i8, -8, 7), ""},
    {"one value only", {3, 4}, with({}, {}, DType::u8, 0, 0), ""},
    {"all of u32", {3, 4}, with({}, {}, DType::u32, 0, 4294967295), ""},
    {"zero points for one scale",
     {3, 4},
     with({}, Shape{3, 1}),
     "zero_point of shape [3, 1] does not fit scale of shape []\n"
     "  hint: a zero point has the scale's shape or is a singleton"},
    {"zero point across",
     {3, 4},
     with({3, 1}, Shape{1, 4}),
     "zero_point of shape [1, 4] does not fit scale of shape [3, 1]\n"
     "  hint: a zero point has the scale's shape or is a singleton"},
    {"zero point of lower rank",
     {3, 4},
     with({3, 1}, Shape{3}),
     "zero_point of shape [3] does not fit scale of shape [3, 1]\n"
     "  hint: a zero point has the scale's shape or is a singleton"},
    {"scale of lower rank",
     {3, 4},
     with({3}),
     "scale: parameters of shape [3] do not fit data of shape [3, 4]: their ranks are 1 and 2\n"
     "  hint: give it the data's rank: [3, 1] for dimension 0"},
    {"scale that does not divide",
     {3, 4},
     with({3, 3}),
     "scale: parameters of shape [3, 3] do not fit data of shape [3, 4]: dimension 1 has 4 elements and 3 parameters, "
     "which "
     "does not divide it"},
    {"a real type", {3, 4}, with({}, {}, DType::f16), "dtype is f16, and must be an integer type"},
    {"below the type",
     {3, 4},
     with({}, {}, DType::i8, -129, 127),
     "quant_min -129 and quant_max 127 exceed the range of i8, -128 to 127"},
    {"above the type",
     {3, 4},
     with({}, {}, DType::u8, 0, 256),
     "quant_min 0 and quant_max 256 exceed the range of u8, 0 to 255"},
    {"upside down", {3, 4}, with({}, {}, DType::i8, 1, 0), "quant_min 1 is above quant_max 0"},
    {"scale of f16",
     {3, 4},
     damaged(with({}), [](QuantParams& p) { p.scale = zeros(DType::f16, {}); }),
     "scale is f16, and must be f32"},
    {"zero point of i8",
     {3, 4},
     damaged(with({}), [](QuantParams& p) { p.zero_point = zeros(DType::i8, {}); }),
     "zero_point is i8, and must be i32"},
    {"scale that is cut short",
     {3, 4},
     damaged(with({3, 1}), [](QuantParams& p) { p.scale.data.resize(8); }),
     "scale holds 8 bytes, and its shape [3, 1] takes 12"},
    {"scale of a negative side",
     {3, 4},
     damaged(with({}), [](QuantParams& p) { p.scale.shape = {-1}; }),
     "scale: shape [-1] has a negative dimension"},
    {"data of rank 9",
     {1, 1, 1, 1, 1, 1, 1, 1, 1},
     with({}),
     "shape [1, 1, 1, 1, 1, 1, 1, 1, 1] has rank 9, and the highest possible is 8"},
};

TEST(Check, SaysWhatDoesNotFit) {
  for (const CheckCase& c : kChecks) {
    const Done done = check(c.params, c.data);
    EXPECT_TEXT(done ? "" : to_text(done.error()), c.error) << c.name;
  }
}

TEST(Check, RangesOfDtypes) {
  for (const DTypeInfo& row : kDTypes) {
    const DType dtype = row.dtype;
    const auto range = range_of(dtype);
    if (!range) continue;
    HostTensor low = zeros(dtype, {}), high = zeros(dtype, {});
    set_element(low, 0, -1e30);
    set_element(high, 0, 1e30);
    EXPECT_EQ(static_cast<double>(range->min), element(low, 0)) << name(dtype);
    EXPECT_EQ(static_cast<double>(range->max), element(high, 0)) << name(dtype);
  }
  EXPECT_FALSE(range_of(DType::f32) || range_of(DType::f16) || range_of(DType::bf16));
}

// ---- param_index ----------------------------------------------------------------------------------------------------

// By the definition: coordinates, each divided by its block's side, against the parameters' strides.
int64_t slow_param_index(const Shape& data, const Shape& params, int64_t index) {
  const Strides data_strides = row_major_strides(data), param_strides = row_major_strides(params);
  int64_t result = 0;
  for (size_t d = 0; d < data.size(); ++d) {
    const int64_t coordinate = index / data_strides[d] % data[d];
    result += coordinate / (data[d] / params[d]) * param_strides[d];
  }
  return result;
}

// All shapes of `rank` whose sides are of `sides`.
std::vector<Shape> all_shapes(size_t rank, const std::vector<int64_t>& sides) {
  std::vector<Shape> shapes{{}};
  for (size_t d = 0; d < rank; ++d) {
    std::vector<Shape> longer;
    for (const Shape& shape : shapes) {
      for (int64_t side : sides) {
        longer.push_back(shape);
        longer.back().push_back(side);
      }
    }
    shapes = std::move(longer);
  }
  return shapes;
}

TEST(ParamIndex, AgreesWithTheDefinitionForAllSmallShapes) {
  for (size_t rank = 0; rank <= 3; ++rank) {
    const auto shapes = all_shapes(rank, {1, 2, 3, 4, 6});
    for (const Shape& data : shapes) {
      for (const Shape& params : shapes) {
        const auto block = block_of(data, params);
        if (!block) continue;
        for (int64_t i = 0; i < element_count(data); ++i) {
          ASSERT_EQ(param_index(data, *block, i), slow_param_index(data, params, i))
              << to_text(data) << to_text(params);
        }
      }
    }
  }
}

TEST(ParamIndex, AgreesWithTheDefinitionAtRankEight) {
  const Shape data{2, 1, 3, 2, 4, 1, 5, 6};
  for (const Shape& params : {Shape{2, 1, 1, 2, 2, 1, 5, 3}, Shape{1, 1, 3, 1, 1, 1, 1, 6},
                              Shape{2, 1, 3, 2, 4, 1, 5, 6}, Shape{1, 1, 1, 1, 1, 1, 1, 1}}) {
    const auto block = block_of(data, params);
    ASSERT_TRUE(block);
    for (int64_t i = 0; i < element_count(data); ++i) {
      ASSERT_EQ(param_index(data, *block, i), slow_param_index(data, params, i)) << to_text(params);
    }
  }
}

}  // namespace
}  // namespace qgen
