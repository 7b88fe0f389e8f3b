// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Functions that print declarations from the spec, so that a template need not write them. Each is alone in its ${...}.
//
//   ${extensions()}        #extension lines for the dtypes of the operands
//   ${local_size(x, y)}    layout(local_size_x = 64, local_size_x_id = 0, local_size_y = 2) in;
//   ${declare(input, 4)}   layout(set = 0, binding = 0, std430) readonly restrict buffer InputBuffer { vec4 input_data[]; };
//   ${declare_words(x, 4)} layout(set = 0, binding = 1, std430) readonly restrict buffer XWords { uvec4 x_words[]; };
//   ${declare_bits(y)}     layout(set = 0, binding = 2, std430) writeonly restrict buffer YBits { uint16_t y_bits[]; };
//   ${declare_packed(input)}  buffers and functions that know its layout: packed_operand.h
//   ${declare_blocks(input)}  the same, for all layouts that have such blocks in any order
//   ${declare_problem()}   layout(push_constant, std430) uniform Problem { uint numel; } problem;
//
// They are no functions of the expression language, because their arguments are no values: an operand, or a
// specialization constant in place of a number.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "codegen/render/names.h"

namespace qgen::render {

struct Extensions {};
struct DeclareProblem {};
struct DeclareOperand {
  size_t operand = 0;
  std::optional<expression::Expression> elements;
  enum class As : uint8_t { elements, words, vectors, bits } as = As::elements;  // the type of the memory view
};
struct DeclarePacked {
  size_t operand = 0;
  std::optional<expression::Expression> across;
  std::string sides;  // the problem field with the operand's sides
  bool is_in_any_order = false;
};
struct LocalSize {
  struct Constant {
    size_t index;  // into Spec::specialization
  };
  std::vector<std::variant<expression::Expression, Constant>> sides;
};
using Declaration = std::variant<Extensions, DeclareProblem, DeclareOperand, DeclarePacked, LocalSize>;

// Their names, for suggestions.
std::span<const std::string_view> declaration_names();

// nullopt: `text` is no call of one of them.
std::optional<Result<Declaration>> parse_declaration(std::string_view text, const SourceLocation& start,
                                                     const spec::Spec& spec, const Names& names);

// The numbers among a declaration's arguments.
std::vector<expression::Expression> arguments_of(const Declaration& declaration);

// The other names (indices of Names) that a declaration reads: constants, and parameters through operands.
std::set<size_t> names_used(const Declaration& declaration, const spec::Spec& spec);

// Without a newline at the end; empty if there is nothing to declare. May be a failure() of glsl.h.
std::string print(const Declaration& declaration, const spec::Spec& spec,
                  std::span<const expression::Value> environment);

}  // namespace qgen::render
