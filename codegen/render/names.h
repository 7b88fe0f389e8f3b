// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The names that a template's expressions may use, and when each name has a value.
//
//   parameter                 when a variant is rendered: its value
//   operand                   then too: its own name, to hand to declare()
//   specialization constant   in ${...} its GLSL name; its value only when the pipeline is made. Those that are chosen
//                             come first, those that the problem decides (Spec::constants) behind them
//   problem field, device.*   when the kernel is chosen or runs: never here, and known only to say so
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/expand/variant.h"
#include "codegen/spec/spec.h"

namespace qgen::render {

enum class Role : uint8_t { parameter, specialization, problem_field, device_number, operand, loop_variable };

// One name's place is the same in both scopes, and is its index into the environment: parameters, then specialization
// constants, then the rest.
struct Names {
  expression::Scope in_text;       // of ${...}: a specialization constant is a text
  expression::Scope in_directive;  // of $if, $for, $require: a specialization constant has its own type
  std::vector<Role> roles;
  std::vector<size_t> role_index;  // which of the spec's parameters, constants or operands it is
};
Names names_of(const spec::Spec& spec);
size_t place_of_parameter(const spec::Spec& spec, std::string_view name);
size_t place_of_constant(const spec::Spec& spec, size_t index);  // by its id

// A specialization constant as GLSL declares it: "layout(constant_id = 0) const uint workgroup = 64u;".
struct DeclaredConstant {
  spec::Located<std::string> name;  // in GLSL; where the spec names it
  std::string_view type;
  std::string initial;  // the value of a pipeline that is given none
};
DeclaredConstant declared_constant(const spec::Spec& spec, size_t id);

// The same with a loop's variable.
Names with_loop_variable(const Names& names, expression::Symbol variable);

// Every name's value for one variant; loop variables follow, as long as their loops run.
std::vector<expression::Value> environment_of(const Names& names, const spec::Spec& spec,
                                              const expand::Variant& variant);

}  // namespace qgen::render
