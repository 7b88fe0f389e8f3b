// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The entries of each row of the tables, and of a value without a row.
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "vocabulary/dtypes.h"
#include "vocabulary/features.h"
#include "vocabulary/weight_forms.h"

namespace qgen {
namespace {

constexpr uint8_t kNoRow = 200;

TEST(DTypes, AWordIsFoundByItsName) {
  std::set<std::string_view> seen;
  for (const DTypeInfo& row : kDTypes) {
    EXPECT_EQ(&info(row.dtype), &row) << row.name;
    EXPECT_EQ(find_dtype(row.name), row.dtype) << row.name;
    EXPECT_TRUE(seen.insert(row.name).second) << row.name;
    EXPECT_TRUE(seen.insert(row.long_name).second) << row.long_name;
  }
  EXPECT_EQ(find_dtype("f64"), std::nullopt);
  EXPECT_EQ(find_dtype(""), std::nullopt);
}

template <typename Integer>
void expect_range(DType dtype) {
  const auto range = range_of(dtype);
  ASSERT_TRUE(range) << name(dtype);
  EXPECT_EQ(range->min, int64_t{std::numeric_limits<Integer>::min()}) << name(dtype);
  EXPECT_EQ(range->max, int64_t{std::numeric_limits<Integer>::max()}) << name(dtype);
  EXPECT_EQ(bytes(dtype), int64_t{sizeof(Integer)}) << name(dtype);
}

TEST(DTypes, RangesAreThoseOfTheIntegersOfCpp) {
  expect_range<int8_t>(DType::i8);
  expect_range<uint8_t>(DType::u8);
  expect_range<int16_t>(DType::i16);
  expect_range<uint16_t>(DType::u16);
  expect_range<int32_t>(DType::i32);
  expect_range<uint32_t>(DType::u32);
  for (const DType real : {DType::f32, DType::f16, DType::bf16}) {
    EXPECT_TRUE(is_real(real)) << name(real);
    EXPECT_FALSE(range_of(real)) << name(real);
  }
}

TEST(Layouts, AWordIsFoundByItsName) {
  for (const LayoutInfo& row : kLayouts) {
    EXPECT_EQ(&info(row.layout), &row) << row.name;
    EXPECT_EQ(find_layout(row.name), row.layout) << row.name;
    EXPECT_EQ(first_layout(bit(row.layout)), row.layout) << row.name;
    EXPECT_EQ(holds_tensors(row.layout), find_weight_form(row.layout) == nullptr) << row.name;
  }
  EXPECT_EQ(first_layout(bit(Layout::packed_4c) | bit(Layout::packed_4w)), Layout::packed_4w);
  EXPECT_EQ(first_layout(0), std::nullopt);
}

TEST(Tables, AValueThatNoRowHasIsNoIndex) {
  EXPECT_EQ(name(DType{kNoRow}), "?");
  EXPECT_EQ(bytes(DType{kNoRow}), 0);
  EXPECT_FALSE(range_of(DType{kNoRow}));
  EXPECT_EQ(bit(DType{kNoRow}), 0u);
  EXPECT_EQ(name(Storage{kNoRow}), "?");
  EXPECT_EQ(name(Layout{kNoRow}), "?");
  EXPECT_EQ(bit(Layout{kNoRow}), 0u);
  EXPECT_FALSE(holds_tensors(Layout{kNoRow}));
  EXPECT_EQ(find_weight_form(Layout{kNoRow}), nullptr);
  EXPECT_EQ(name(Feature{kNoRow}), "?");
  EXPECT_EQ(bit(Feature{kNoRow}), 0u);
}

}  // namespace
}  // namespace qgen
