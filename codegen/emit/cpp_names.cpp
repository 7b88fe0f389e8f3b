// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/emit/cpp_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "codegen/spec/words.h"
#include "vocabulary/dtypes.h"
#include "vocabulary/layouts.h"

namespace qgen::emit {
namespace {

// clang-format off
constexpr auto kReserved = std::to_array<std::string_view>({
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
    "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return", "co_yield", "compl", "concept", "const",
    "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype", "default", "delete", "do", "double",
    "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
    "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or",
    "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires", "return", "short", "signed",
    "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local", "throw",
    "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile",
    "wchar_t", "while", "xor", "xor_eq",
});
// clang-format on

template <size_t N>
bool is_in(const std::array<std::string_view, N>& sorted, std::string_view word) {
  return std::binary_search(sorted.begin(), sorted.end(), word);
}

template <size_t N>
bool are_all_of(const spec::Axis& axis, const std::array<std::string_view, N>& words) {
  return std::ranges::all_of(axis.values, [&](const auto& value) {
    return std::ranges::count(words, std::get<expression::Word>(value.value).text) > 0;
  });
}

bool has_negative_value(const spec::Axis& axis) {
  return std::any_of(axis.values.begin(), axis.values.end(),
                     [](const auto& value) { return std::get<Integer>(value.value) < Integer(0); });
}

}  // namespace

std::string identifier(std::string_view name) {
  std::string text;
  for (const char c : name) text += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front()))) return fmt::format("n{}", text);
  return is_in(kReserved, text) || spec::is_macro(text) ? text + "_" : text;
}

std::string enumerator(const spec::Spec& spec, const expand::Variant& variant) {
  const std::string_view id = variant.id;
  const size_t prefix = spec.name.value.size() + 1;
  return id.size() <= prefix ? "only" : identifier(id.substr(prefix));
}

WordSet word_set(const spec::Axis& axis) {
  if (are_all_of(axis, names_of(kDTypes))) return WordSet::dtype;
  if (are_all_of(axis, names_of(kStorages))) return WordSet::storage;
  return are_all_of(axis, names_of(kLayouts)) ? WordSet::layout : WordSet::own;
}

std::string cpp_type(const spec::Axis& axis) {
  if (axis.type == expression::Type::boolean) return "bool";
  if (axis.type == expression::Type::integer) return has_negative_value(axis) ? "int32_t" : "uint32_t";
  switch (word_set(axis)) {
    case WordSet::dtype: return "DType";
    case WordSet::storage: return "Storage";
    case WordSet::layout: return "Layout";
    case WordSet::own: break;
  }
  const std::string type = pascal_case(axis.name.value);
  return spec::is_generated_type(type) || spec::is_macro(type) ? type + "_" : type;
}

std::string cpp_value(const spec::Axis& axis, const expression::Value& value) {
  if (const auto* word = std::get_if<expression::Word>(&value)) return cpp_word(axis, word->text);
  return expression::to_text(value);
}

std::string cpp_word(const spec::Axis& axis, std::string_view word) {
  return fmt::format("{}::{}", cpp_type(axis), identifier(word));
}

std::string words_array(const spec::Axis& axis) {
  switch (word_set(axis)) {
    case WordSet::dtype: return "table::kDTypes";
    case WordSet::storage: return "table::kStorages";
    case WordSet::layout: return "table::kLayouts";
    case WordSet::own: break;
  }
  return fmt::format("k{}Words", cpp_type(axis));
}

std::string word_enum(std::string_view word_set) { return identifier(pascal_case(word_set)); }
std::string word_type(std::string_view word_set) { return fmt::format("{}::{}", kWordsNamespace, word_enum(word_set)); }
std::string word_texts(std::string_view word_set) { return "k" + pascal_case(word_set); }
std::string words_array(std::string_view word_set) {
  return fmt::format("{}::{}", kWordsNamespace, word_texts(word_set));
}

std::string fields_struct(std::string_view fragment) { return identifier(pascal_case(fragment)); }
std::string fields_header(std::string_view fragment) { return fmt::format("{}_fields.h", fragment); }

std::vector<FieldGroup> field_groups(const spec::Spec& spec) {
  std::vector<FieldGroup> groups;
  for (const spec::ProblemField& field : spec.problem) {
    const bool is_next = !groups.empty() && !field.fragment.empty() && groups.back().fragment == field.fragment;
    if (is_next) groups.back().fields = {groups.back().fields.data(), &field + 1};
    else groups.push_back({field.fragment, {&field, 1}});
  }
  return groups;
}

std::string member_of_problem(const spec::ProblemField& field) {
  const std::string name = identifier(field.name.value);
  return field.fragment.empty() ? name : fmt::format("{}.{}", identifier(field.fragment), name);
}

std::string cpp_type(const spec::ProblemField& field) {
  if (field.is_word()) return word_type(field.word_set);
  switch (field.kind) {
    case spec::FieldKind::u32: return "uint32_t";
    case spec::FieldKind::i32: return "int32_t";
    case spec::FieldKind::f32: return "float";
  }
  return "";
}

std::string cpp_declaration(const spec::ProblemField& field) {
  const std::string type = cpp_type(field);
  const std::string all = field.count == 1 ? type : fmt::format("std::array<{}, {}>", type, field.count);
  return fmt::format("Required<{}> {};", all, identifier(field.name.value));
}

std::string cpp_word(const spec::ProblemField& field, std::string_view word) {
  return fmt::format("{}::{}", cpp_type(field), identifier(word));
}

std::string cpp_name(spec::FieldKind kind) {
  switch (kind) {
    case spec::FieldKind::u32: return "FieldInfo::Kind::u32";
    case spec::FieldKind::i32: return "FieldInfo::Kind::i32";
    case spec::FieldKind::f32: return "FieldInfo::Kind::f32";
  }
  return "";
}

std::string cpp_name(Access access) {
  switch (access) {
    case Access::read: return "Access::read";
    case Access::write: return "Access::write";
    case Access::read_write: return "Access::read_write";
  }
  return "";
}

std::string quoted(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return fmt::format("\"{}\"", escaped);
}

const spec::ProblemField* find_field(const spec::Spec& spec, std::string_view name) {
  const auto field = std::find_if(spec.problem.begin(), spec.problem.end(),
                                  [&](const spec::ProblemField& f) { return f.name.value == name; });
  return field == spec.problem.end() ? nullptr : &*field;
}

const spec::Axis* find_axis(const std::vector<spec::Axis>& axes, std::string_view name) {
  const auto axis = std::find_if(axes.begin(), axes.end(), [&](const spec::Axis& a) { return a.name.value == name; });
  return axis == axes.end() ? nullptr : &*axis;
}

}  // namespace qgen::emit
