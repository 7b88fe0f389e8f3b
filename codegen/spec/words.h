// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The words with a meaning in the spec language: dtypes, storages, layouts, architectures; and which names may be
// declared.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vocabulary/target.h"

namespace qgen::spec {

std::vector<std::string> dtype_words();
std::vector<std::string> storage_words();
std::vector<std::string> layout_words();
// Of devices, each once, sorted: "ada", "hopper".
std::vector<std::string> architecture_and_feature_words();

// "vulkan1.1", by compile::Target, in order.
std::vector<std::string> target_words();
std::optional<compile::Target> find_target(std::string_view word);
std::string word_of(compile::Target target);

// Longer names are refused: they become parts of file names and ids.
constexpr size_t kMostNameBytes = 100;

// The word for no operand in steps; no operand or scratch has this name.
constexpr std::string_view kNoOperand = "none";

// Why a name cannot be declared, or nothing. Declared names are names in C++ too.
std::optional<std::string> fault_of_name(std::string_view name);
// Problem fields and specialization constants are names in GLSL, which reserves more.
std::optional<std::string> fault_of_glsl_name(std::string_view name);
// Beyond fault_of_name(): an operand x is x_data in GLSL, and kNoOperand is not a name.
std::optional<std::string> fault_of_operand_name(std::string_view name);
// An operator's name is also the name of a namespace and of a header.
std::optional<std::string> fault_of_operator_name(std::string_view name);
// Why generated code cannot be in this namespace, `a::b`, or nothing.
std::optional<std::string> fault_of_namespace(std::string_view name_space);

// A name as the types that are called after it begin: "reduce_mode" -> "ReduceMode", "types.input" -> "TypesInput".
std::string pascal_case(std::string_view name);

// Whether generated code has a type of this name that does not come from a spec's names.
bool is_generated_type(std::string_view name);

// Why operators cannot have another name like this, or nothing. Macros of other projects may begin with a '_'.
std::optional<std::string> fault_of_alias(std::string_view name);

// Whether a C or C++ library may define this name as a macro, so that no declaration can bear it. Macros begin with two
// characters that are no small letters (EOF, INT_MAX, M_PIl, SYS_open). No other printed name does. Macros in small
// letters are listed.
bool is_macro(std::string_view name);

}  // namespace qgen::spec
