// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The names that the tests of this room use.
#pragma once

#include "codegen/expression/expression.h"

namespace qgen::expression {

inline Scope scope_for_tests() {
  const SourceLocation declared{"op.yaml", 7, 3, 0};
  const std::vector<std::string> dtypes = {"f32", "f16"};
  Scope scope;
  scope.add(Symbol{"input_dtype", Type::word, dtypes, declared, "parameter"});
  scope.add(Symbol{"output_dtype", Type::word, {"f16", "i8"}, declared, "parameter"});
  scope.add(Symbol{"storage", Type::word, {"buffer", "texture3d"}, declared, "parameter"});
  scope.add(Symbol{"vec", Type::integer, {}, declared, "parameter"});
  scope.add(Symbol{"transposed", Type::boolean, {}, declared, "parameter"});
  scope.add(Symbol{"workgroup", Type::integer, {}, declared, "specialization constant"});
  scope.add(Symbol{"numel", Type::integer, {}, declared, "problem field"});
  scope.add(Symbol{"width", Type::integer, {}, declared, "problem field"});
  scope.add(Symbol{"eps", Type::real, {}, declared, "problem field"});
  scope.add(Symbol{"device.subgroup_size", Type::integer, {}, {}, "device number"});
  scope.add(Symbol{"device.compute_units", Type::integer, {}, {}, "device number"});
  scope.add(Symbol{"device.bytes_per_us", Type::real, {}, {}, "device number"});
  scope.add(
      Function{"glsl_type", {Type::word, Type::integer}, 1, Type::text, [](std::span<const Value> arguments) -> Value {
                 std::string text;
                 for (const Value& argument : arguments) text += to_text(argument) + ";";
                 return text;
               }});
  scope.add(Function{"half", {Type::real}, 0, Type::real, [](std::span<const Value> arguments) -> Value {
                       return std::get<Real>(arguments[0]) / Real(2);
                     }});
  return scope;
}

// In the order of the scope.
inline std::vector<Value> environment_for_tests() {
  return {Word{"f16"},   Word{"f16"}, Word{"buffer"}, Integer(4),  true,       Integer(128),
          Integer(1000), Integer(12), Real(0.5),      Integer(32), Integer(8), Real(100.0)};
}

}  // namespace qgen::expression
