// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The C++ names of a spec's words. Private to this room.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/expand/variant.h"
#include "codegen/spec/spec.h"
#include "codegen/spec/words.h"

namespace qgen::emit {

// A name as a C++ identifier. Keywords, macros of the C and C++ libraries, and names that generated code itself uses
// get a trailing `_`.
std::string identifier(std::string_view name);

using spec::pascal_case;

// "quantize_affine.f32.vec4" -> "f32_vec4"; a variant without parameters is `only`.
std::string enumerator(const spec::Spec& spec, const expand::Variant& variant);

// Where the words of an axis come from: one of qgen's own enumerations, or one that is generated from the spec.
enum class WordSet : uint8_t { dtype, storage, layout, own };
WordSet word_set(const spec::Axis& axis);

// The C++ type of a parameter: "DType", "bool", "uint32_t", or for words of the spec's own "Reduce".
std::string cpp_type(const spec::Axis& axis);
// A value as a C++ literal: "DType::f32", "true", "4", "Reduce::subgroup".
std::string cpp_value(const spec::Axis& axis, const expression::Value& value);
std::string cpp_word(const spec::Axis& axis, std::string_view word);
// The array that spells the words of an axis: "table::kDTypes", "kReduceWords".
std::string words_array(const spec::Axis& axis);

// Words that attributes and problem fields can be. Their namespace separates them from a spec's own names.
constexpr std::string_view kWordsNamespace = "words";
std::string word_enum(std::string_view word_set);    // within the namespace: "Activation"
std::string word_type(std::string_view word_set);    // "words::Activation"
std::string word_texts(std::string_view word_set);   // its spellings, within the namespace: "kActivation"
std::string words_array(std::string_view word_set);  // "words::kActivation"

// The problem fields of a fragment are a struct, and a member of the Problem of each spec that uses the fragment.
constexpr std::string_view kFieldsNamespace = "fields";
std::string fields_struct(std::string_view fragment);  // within the namespace: "ConvWalk"
std::string fields_header(std::string_view fragment);  // "conv_walk_fields.h"

// Neighbouring problem fields: all those of a fragment, or one that the spec itself declares.
struct FieldGroup {
  std::string_view fragment;  // empty: the spec itself
  std::span<const spec::ProblemField> fields;
};
std::vector<FieldGroup> field_groups(const spec::Spec& spec);
std::string member_of_problem(const spec::ProblemField& field);  // "numel", "conv_walk.tap_step"

std::string cpp_type(const spec::ProblemField& field);                         // "uint32_t", "words::Activation"
std::string cpp_declaration(const spec::ProblemField& field);                  // "Required<uint32_t> numel;"
std::string cpp_word(const spec::ProblemField& field, std::string_view word);  // "words::Activation::relu"
std::string cpp_name(Access access);                                           // "Access::read"
std::string cpp_name(spec::FieldKind kind);                                    // "FieldInfo::Kind::u32"

// A C++ string literal.
std::string quoted(std::string_view text);

const spec::ProblemField* find_field(const spec::Spec& spec, std::string_view name);
const spec::Axis* find_axis(const std::vector<spec::Axis>& axes, std::string_view name);

}  // namespace qgen::emit
