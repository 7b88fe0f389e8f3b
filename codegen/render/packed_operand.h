// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Makes the GLSL that reads and writes an int8 operand in its layout, from the layout's row of vocabulary/layouts.h. So
// templates know no layout, and a new layout needs no GLSL.
//
//   ${declare_packed(input)}           input_data[], input_word(at), input_load(at), input_element(at)
//   ${declare_packed(input, across)}   and input_rows(at): the four words side by side along dimension `across`
//   ${declare_blocks(input, across)}   the same, but that the strides alone say in which order blocks lie: layouts that
//                                      differ in nothing else have one text
//
// A coordinate is a uvec4 of (width, height, channels, batch). A word is four elements along the packed dimension, the
// first in the lowest bits. In `strided`, a word may begin at any byte. The problem field `<operand>_strides` has the
// strides between blocks. The field `<operand>_sides` has the dimensions, or `sides` if the dimensions of all operands
// are equal. Each is a u32[4].
//
// templates/README.md describes stores at the ends of rows, and the kernel's duties.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/expression/expression.h"
#include "runtime/engine/library/kernel_info.h"

namespace qgen::render {

struct PackedOperand {
  std::string_view name;
  size_t binding = 0;
  Access access = Access::read;
  DType dtype = DType::i8;
  Layout layout = Layout::strided;
  std::string_view sides;        // the problem's field
  std::optional<Dim> across;     // without: no rows
  bool shares_bytes = false;     // with another operand, perhaps
  bool is_in_any_order = false;  // where another layout has such blocks too: its strides say the order
};

std::string print(const PackedOperand& operand);

// outer(layout), across(layout, layout), third(layout, layout): dimensions as numbers, 3 where there is none.
std::vector<expression::Function> layout_functions();

}  // namespace qgen::render
