// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/render/names.h"

#include <algorithm>
#include <cassert>

#include "codegen/render/glsl.h"
#include "codegen/render/packed_operand.h"
#include "codegen/spec/axes.h"
#include "codegen/spec/field_type.h"

namespace qgen::render {
namespace {

using expression::Symbol;
using expression::Type;

void add(Names& names, Symbol symbol, Role role, size_t index) {
  names.in_directive.add(symbol);
  if (role == Role::specialization) symbol.type = Type::text;
  names.in_text.add(std::move(symbol));
  names.roles.push_back(role);
  names.role_index.push_back(index);
}

Symbol symbol_of(const spec::Axis& axis, std::string kind) {
  return {axis.name.value, axis.type, spec::words_of(axis), axis.name.where, std::move(kind)};
}

}  // namespace

Names names_of(const spec::Spec& spec) {
  Names names;
  size_t index = 0;
  for (const spec::Axis& axis : spec.parameters) add(names, symbol_of(axis, "parameter"), Role::parameter, index++);
  index = 0;
  for (const spec::Axis& axis : spec.specialization) {
    add(names, symbol_of(axis, "specialization constant"), Role::specialization, index++);
  }
  for (const spec::PipelineConstant& constant : spec.constants) {
    add(names, {constant.name.value, constant.value->type(), {}, constant.name.where, "specialization constant"},
        Role::specialization, index++);
  }
  index = 0;
  for (const spec::ProblemField& field : spec.problem) {
    add(names, {field.name.value, spec::type_of(field), spec::texts_of(field.words), field.name.where, "problem field"},
        Role::problem_field, index++);
  }
  for (const Symbol& symbol : spec.scope.symbols()) {
    if (symbol.name.starts_with("device.")) add(names, symbol, Role::device_number, 0);
  }
  index = 0;
  for (const spec::Operand& operand : spec.operands) {
    add(names, {operand.name.value, Type::text, {}, operand.name.where, "operand"}, Role::operand, index++);
  }
  for (const auto& functions : {glsl_functions(), layout_functions()}) {
    for (const expression::Function& function : functions) {
      names.in_text.add(function);
      names.in_directive.add(function);
    }
  }
  return names;
}

size_t place_of_parameter(const spec::Spec& spec, std::string_view name) {
  const auto found = std::find_if(spec.parameters.begin(), spec.parameters.end(),
                                  [&](const spec::Axis& axis) { return axis.name.value == name; });
  assert(found != spec.parameters.end() && "check_declarations() knows the parameter of every $name");
  return static_cast<size_t>(found - spec.parameters.begin());
}

size_t place_of_constant(const spec::Spec& spec, size_t index) { return spec.parameters.size() + index; }

DeclaredConstant declared_constant(const spec::Spec& spec, size_t id) {
  const size_t chosen = spec.specialization.size();
  if (id < chosen) {
    const spec::Axis& axis = spec.specialization[id];
    return {{spec::glsl_name(axis), axis.name.where}, "uint", expression::to_text(axis.values.front().value) + "u"};
  }
  const spec::PipelineConstant& constant = spec.constants[id - chosen];
  if (constant.value->type() == expression::Type::boolean) return {constant.name, "bool", "false"};
  return {constant.name, "uint", "0u"};
}

Names with_loop_variable(const Names& names, Symbol variable) {
  Names inner = names;
  add(inner, std::move(variable), Role::loop_variable, 0);
  return inner;
}

std::vector<expression::Value> environment_of(const Names& names, const spec::Spec& spec,
                                              const expand::Variant& variant) {
  std::vector<expression::Value> values(names.roles.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t index = names.role_index[i];
    switch (names.roles[i]) {
      case Role::parameter: values[i] = variant.values[index]; break;
      case Role::specialization: values[i] = declared_constant(spec, index).name.value; break;
      case Role::operand: values[i] = spec.operands[index].name.value; break;
      case Role::problem_field:
      case Role::device_number:
      case Role::loop_variable: break;
    }
  }
  return values;
}

}  // namespace qgen::render
