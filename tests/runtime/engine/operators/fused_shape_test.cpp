// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The problem of the fused operators has as few dimensions as possible.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/engine/operators/broadcast.h"
#include "runtime/engine/operators/fused/shape.h"
#include "runtime/engine/tensor/quant_params.h"

namespace qgen {
namespace {

// side: for each operand its stride, and how many elements a parameter has and how far the next parameter is.
std::string to_text(const FusedShape& shape) {
  std::string text;
  for (const FusedDimension& dimension : shape) {
    text += fmt::format("{}:", dimension.side);
    for (const FusedSide& side : dimension.operands) {
      text += fmt::format(" {}", side.stride);
      if (side.parameter_stride != 0) text += fmt::format("({}:{})", side.block, side.parameter_stride);
    }
    text += "; ";
  }
  return text;
}

struct Row {
  const char* name;
  Shape input, input_params, other, other_params, output_params;
  std::string_view merged;
  bool is_simple;
};

const Row kRows[] = {
    {"one_parameter_each", {8, 4, 6}, {}, {8, 4, 6}, {1, 1, 1}, {}, "192: 1 1 1; ", true},
    {"nothing_but_ones", {1, 1}, {}, {}, {}, {}, "", true},
    {"of_one_side", {7}, {1}, {7}, {}, {}, "7: 1 1 1; ", true},
    {"repeated_number", {2, 3}, {}, {}, {}, {}, "6: 1 0 1; ", false},
    {"repeated_row", {2, 3}, {}, {3}, {}, {}, "3: 1 1 1; 2: 3 0 3; ", false},
    {"repeated_column", {2, 3}, {}, {2, 1}, {}, {}, "3: 1 0 1; 2: 3 1 3; ", false},
    {"both_repeated", {2, 1, 4}, {}, {3, 1}, {}, {}, "4: 1 0 1; 3: 0 1 4; 2: 4 0 12; ", false},
    {"per_channel", {8, 4, 6}, {1, 4, 1}, {8, 4, 6}, {}, {}, "24: 1(6:1) 1 1; 8: 24 24 24; ", false},
    {"per_row_of_one", {8, 6}, {8, 1}, {8, 6}, {}, {}, "48: 1(6:1) 1 1; ", false},
    {"rows_and_columns", {8, 6}, {8, 1}, {8, 6}, {1, 6}, {}, "6: 1 1(1:1) 1; 8: 6(1:1) 6 6; ", false},
    {"blocks_of_output", {4, 6}, {}, {4, 6}, {}, {2, 3}, "6: 1 1 1(2:1); 4: 6 6 6(2:3); ", false},
    {"as_the_header_says", {8, 4, 6}, {1, 4, 1}, {4, 1}, {}, {}, "6: 1 0 1; 4: 6(1:1) 1 6; 8: 24 0 24; ", false},
};

class FusedShapeTest : public ::testing::TestWithParam<Row> {};

TEST_P(FusedShapeTest, Merges) {
  const Row& row = GetParam();
  const auto shape = common_shape(row.input, row.other);
  ASSERT_TRUE(shape);
  const auto operand = [](const Shape& of, const Shape& params) { return BlockedOperand{of, *block_of(of, params)}; };
  const FusedShape made =
      merged(fused_shape({operand(row.input, row.input_params), operand(row.other, row.other_params),
                          operand(*shape, row.output_params)}));
  EXPECT_EQ(to_text(made), row.merged);
  EXPECT_EQ(is_simple(made), row.is_simple);
}

INSTANTIATE_TEST_SUITE_P(Operands, FusedShapeTest, ::testing::ValuesIn(kRows),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace qgen
