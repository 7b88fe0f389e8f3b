// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The problem of tensors with blocks has as few dimensions as possible.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/engine/operators/affine/shape.h"
#include "runtime/engine/operators/divider.h"
#include "runtime/engine/tensor/quant_params.h"

namespace qgen {
namespace {

std::string to_text(const BlockedShape& shape) {
  std::string text;
  for (const auto& [side, block, parameter_stride, stride] : shape) {
    text += fmt::format("{}/{} parameters by {} memory by {}; ", side, block, parameter_stride, stride);
  }
  return text;
}

struct MergeCase {
  const char* name;
  View view;
  Shape block;
  std::string_view merged;
  int64_t run;
  bool is_periodic;
};

View dense(const Shape& shape) { return {shape, row_major_strides(shape), 0}; }

const MergeCase kMerges[] = {
    {"per_tensor", dense({8, 4, 6, 6}), {8, 4, 6, 6}, "1152/1152 parameters by 1 memory by 1; ", 1152, true},
    {"per_channel_1",
     dense({8, 4, 6, 6}),
     {8, 1, 6, 6},
     "144/36 parameters by 1 memory by 1; 8/8 parameters by 4 memory by 144; ",
     36,
     true},
    {"per_channel_0", dense({8, 4, 6, 6}), {1, 4, 6, 6}, "1152/144 parameters by 1 memory by 1; ", 144, true},
    {"per_last_dimension",
     dense({5, 7}),
     {5, 1},
     "7/1 parameters by 1 memory by 1; 5/5 parameters by 7 memory by 7; ",
     1,
     true},
    {"per_token", dense({3, 4, 10}), {1, 1, 10}, "120/10 parameters by 1 memory by 1; ", 10, true},
    {"per_group", dense({3, 4, 10}), {1, 1, 5}, "120/5 parameters by 1 memory by 1; ", 5, true},
    {"per_element", dense({3, 4}), {1, 1}, "12/1 parameters by 1 memory by 1; ", 1, true},
    {"tiles", dense({6, 8}), {2, 4}, "8/4 parameters by 1 memory by 1; 6/2 parameters by 2 memory by 8; ", 4, false},
    {"tiles_of_rows",
     dense({2, 6, 8}),
     {1, 2, 4},
     "8/4 parameters by 1 memory by 1; 12/2 parameters by 2 memory by 8; ",
     4,
     false},
    {"sides_of_one", dense({1, 5, 1, 7}), {1, 1, 1, 7}, "35/7 parameters by 1 memory by 1; ", 7, true},
    {"one_element", dense({1, 1}), {1, 1}, "", 1, true},
    {"scalar", dense({}), {}, "", 1, true},
    {"empty", dense({3, 0}), {3, 1}, "", 1, true},
    // Memory keeps dimensions apart that parameters would not.
    {"transposed_per_tensor",
     {{4, 6}, {1, 4}, 0},
     {4, 6},
     "6/6 parameters by 1 memory by 4; 4/4 parameters by 1 memory by 1; ",
     24,
     true},
    {"rows_with_gaps",
     {{4, 6}, {10, 1}, 0},
     {1, 6},
     "6/6 parameters by 1 memory by 1; 4/1 parameters by 1 memory by 10; ",
     6,
     true},
    {"rows_backwards",
     {{4, 6}, {-6, 1}, 18},
     {4, 6},
     "6/6 parameters by 1 memory by 1; 4/4 parameters by 1 memory by -6; ",
     24,
     true},
};

class MergeTest : public testing::TestWithParam<MergeCase> {};

TEST_P(MergeTest, AsFewDimensionsAsSayTheSame) {
  const auto& [name, view, block, expected, run, is_periodic] = GetParam();
  const BlockedShape shape = blocked_shape(view, block);
  EXPECT_EQ(to_text(merged(shape)), expected);
  const ParameterPattern pattern = parameter_pattern(shape);
  EXPECT_EQ(pattern.run, run);
  EXPECT_EQ(pattern.is_periodic, is_periodic);
}

INSTANTIATE_TEST_SUITE_P(Shapes, MergeTest, testing::ValuesIn(kMerges), [](const auto& row) { return row.param.name; });

struct DistanceCase {
  const char* name;
  Shape shape, block;
  int64_t distance;
};

const DistanceCase kDistances[] = {
    {"per_tensor", {3, 5}, {3, 5}, 256},
    {"groups_of_128", {4, 256}, {1, 128}, 8},
    {"groups_of_32", {4, 256}, {1, 32}, 2},
    // loaded by one invocation, neighbours would not be adjacent: a period on
    {"groups_of_16", {4, 256}, {1, 16}, 256},
    {"rows", {4, 8192}, {1, 8192}, 256},
    {"images", {2, 8, 28, 28}, {1, 1, 28, 28}, 49},
    {"large_images", {2, 8, 56, 56}, {2, 1, 56, 56}, 196},
    {"columns", {5, 12}, {5, 1}, 3},
    {"columns_that_words_straddle", {5, 7}, {5, 1}, 0},
    {"columns_of_runs", {4, 4, 7}, {4, 1, 7}, 7},
    {"tiles", {64, 64}, {32, 32}, 2},
    {"small_tiles", {64, 64}, {8, 8}, 0},
};

// At every word whose row of kMostItems is whole, the others have its parameters.
TEST(ItemDistance, WordsThatFarApartHaveTheSameParameters) {
  for (const DistanceCase& row : kDistances) {
    SCOPED_TRACE(row.name);
    const int64_t parameters = element_count(*params_shape(row.shape, row.block));
    const int64_t distance = item_distance(parameter_pattern(blocked_shape(dense(row.shape), row.block)), parameters);
    EXPECT_EQ(distance, row.distance);
    const int64_t words = element_count(row.shape) / 4;
    for (int64_t word = 0; word < words && distance > 0; ++word) {
      if (word / distance % kMostItems != 0) continue;
      for (int64_t item = 1; item < kMostItems && word + item * distance < words; ++item) {
        for (int64_t lane = 0; lane < 4; ++lane) {
          ASSERT_EQ(param_index(row.shape, row.block, 4 * (word + item * distance) + lane),
                    param_index(row.shape, row.block, 4 * word + lane));
        }
      }
    }
  }
}

// The memory place and the parameter of an element, as kernels compute them.
struct Found {
  int64_t place, parameter;
  friend bool operator==(const Found&, const Found&) = default;
};
Found find(const BlockedShape& shape, int64_t element) {
  Found found{0, 0};
  for (const BlockedDimension& dimension : shape) {
    const int64_t coordinate = element % dimension.side;
    element /= dimension.side;
    found.place += coordinate * dimension.stride;
    found.parameter += coordinate / dimension.block * dimension.parameter_stride;
  }
  return found;
}

// Every shape of three sides up to 4 in every block, row-major and with two dimensions swapped: merging moves no
// element.
TEST(MergeTest, EverySmallShape) {
  for (int64_t n = 0; n < 64 * 64; ++n) {
    const Shape sides = {n % 4 + 1, n / 4 % 4 + 1, n / 16 % 4 + 1};
    const Shape block = {n / 64 % 4 + 1, n / 256 % 4 + 1, n / 1024 % 4 + 1};
    if (!params_shape(sides, block)) continue;
    View swapped = dense({sides[1], sides[0], sides[2]});
    swapped.shape = sides;
    std::swap(swapped.strides[0], swapped.strides[1]);
    for (const View& view : {dense(sides), swapped}) {
      const BlockedShape shape = blocked_shape(view, block);
      const ParameterPattern pattern = parameter_pattern(shape);
      const int64_t parameters = element_count(*params_shape(sides, block));
      for (int64_t i = 0; i < element_count(sides); ++i) {
        const Found found = find(shape, i);
        EXPECT_EQ(find(merged(shape), i), found);
        EXPECT_EQ(found.parameter, param_index(sides, block, i));
        EXPECT_EQ(find(shape, i / pattern.run * pattern.run).parameter, found.parameter);
        if (pattern.is_periodic) {
          EXPECT_EQ(i / pattern.run % parameters, found.parameter);
        }
      }
    }
  }
}

uint32_t quotient(uint32_t n, Divider divider) {
  const uint64_t high = uint64_t{n << 1} * divider.multiplier >> 32;
  return static_cast<uint32_t>(high) >> divider.shift;
}

// At the multiples of each divisor and next to them, up to the largest possible number.
TEST(Divider, EveryQuotientThatCouldBeOff) {
  constexpr uint32_t kLargest = 0x7fffffff;
  for (uint32_t i = 0; i < 400; ++i) {
    for (const uint32_t divisor :
         {i + 1, (1u << (i % 31)) + 1, (1u << (i % 32)), kLargest - i, 12'345'679u * (i % 150 + 1)}) {
      const Divider divider = divider_of(divisor);
      for (uint32_t multiple = 0; multiple < 40; ++multiple) {
        const uint64_t near = uint64_t{divisor} * (multiple < 20 ? multiple : kLargest / divisor - (multiple - 20));
        for (const uint64_t n : {near - 1, near, near + 1, uint64_t{kLargest}}) {
          if (n > kLargest) continue;
          ASSERT_EQ(quotient(static_cast<uint32_t>(n), divider), n / divisor) << n << " / " << divisor;
        }
      }
    }
  }
}

}  // namespace
}  // namespace qgen
