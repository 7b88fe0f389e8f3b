// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Checks the meaning of a spec whose shape is right. Private to this room; parse_spec.h has the public check_specs().
#pragma once

#include <string_view>

#include "codegen/spec/spec.h"

namespace qgen::spec {

// Who gives a symbol its value: Symbol::kind of every symbol in a spec's scope.
constexpr std::string_view kParameter = "parameter";
constexpr std::string_view kSpecialization = "specialization constant";
constexpr std::string_view kDefinition = "definition";
constexpr std::string_view kProblem = "problem field";
constexpr std::string_view kDevice = "device number";
constexpr std::string_view kPipelineConstant = "constant of pipelines";
constexpr std::string_view kFit = "fitted constant";

// "specs/quant/scale.yaml" -> "scale".
std::string stem(std::string_view file);
// A spec or a fragment is named as its file is.
Diagnostics check_file_name(const Located<std::string>& name, std::string_view file);

// Declarations: names are unique, and the operator's name is the file's. An axis has distinct values of one type that
// can be parts of an id. $parameter names a parameter whose values fit.
Diagnostics check_declarations(const Spec& spec);

// Of the words of `of`, an attribute or a problem field: none is given twice.
Diagnostics check_words_differ(const std::string& of, const std::vector<Located<std::string>>& words);

// The signatures.
Diagnostics check_signature(const Spec& spec);
// The signatures of all specs of a run: a name belongs to one operator.
Diagnostics check_signatures(const std::vector<Spec>& specs);

// The uses of declarations: each list of conditions reads only values that are known at that time, and recipes name
// only known things.
Diagnostics check_uses(const Spec& spec);

// An expression of a recipe reads problem fields and device numbers only.
Diagnostics check_recipe_expression(const expression::Expression& expression, const expression::Scope& scope);

}  // namespace qgen::spec
