// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/spec/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace qgen::spec {
namespace {

constexpr std::array kDTypes = {DType::f32, DType::f16, DType::bf16, DType::i8, DType::u8,
                                DType::i16, DType::u16, DType::i32,  DType::u32};
constexpr std::array kStorages = {Storage::buffer, Storage::texture3d};

template <typename Words>
std::vector<std::string> names_of(const Words& words) {
  std::vector<std::string> names;
  for (auto word : words) names.emplace_back(name(word));
  return names;
}

// Words of the expression language, the two scopes with names of their own, and what YAML reads as nothing.
constexpr std::string_view kOurs[] = {"and", "in", "not", "or", "device", "problem", "null", "Null", "NULL"};
constexpr std::string_view kCpp[] = {
    "alignas",   "alignof",   "asm",      "auto",     "bitand",       "bitor",     "bool",      "break",
    "case",      "catch",     "char",     "class",    "compl",        "concept",   "const",     "consteval",
    "constexpr", "constinit", "continue", "decltype", "default",      "delete",    "do",        "double",
    "else",      "enum",      "explicit", "export",   "extern",       "false",     "float",     "for",
    "friend",    "goto",      "if",       "inline",   "int",          "long",      "mutable",   "namespace",
    "new",       "noexcept",  "nullptr",  "operator", "private",      "protected", "public",    "register",
    "requires",  "return",    "short",    "signed",   "sizeof",       "static",    "struct",    "switch",
    "template",  "this",      "throw",    "true",     "try",          "typedef",   "typeid",    "typename",
    "union",     "unsigned",  "using",    "virtual",  "void",         "volatile",  "while",     "xor",
    "and_eq",    "char8_t",   "char16_t", "char32_t", "const_cast",   "co_await",  "co_return", "co_yield",
    "not_eq",    "or_eq",     "wchar_t",  "xor_eq",   "static_assert"};

// What GLSL 4.60 reserves beside its numbered types (vec4, image3D: see is_glsl_type) and what C++ reserves too.
constexpr std::string_view kGlsl[] = {
    "input",      "output",   "inout",   "out",      "buffer",        "shared",   "uniform",  "varying",   "attribute",
    "layout",     "centroid", "flat",    "smooth",   "noperspective", "patch",    "sample",   "invariant", "precise",
    "precision",  "highp",    "mediump", "lowp",     "coherent",      "restrict", "readonly", "writeonly", "discard",
    "subroutine", "uint",     "half",    "fixed",    "filter",        "cast",     "common",   "partition", "active",
    "superp",     "resource", "hvec2",   "external", "interface",     "noinline"};

// vec4, ivec2, mat3, f16vec4, image3D, sampler2D: a family's word, then a number.
bool is_glsl_type(std::string_view name) {
  const size_t number = name.find_last_not_of("0123456789D") + 1;
  if (number == 0 || number == name.size()) return false;
  const std::string_view family = name.substr(0, number);
  return family.ends_with("vec") || family.ends_with("mat") || family.ends_with("image") || family.ends_with("sampler");
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

template <typename Words>
bool holds(const Words& words, std::string_view word) {
  return std::ranges::find(words, word) != std::end(words);
}

}  // namespace

std::vector<std::string> dtype_words() { return names_of(kDTypes); }
std::vector<std::string> storage_words() { return names_of(kStorages); }
std::vector<std::string> layout_words() {
  std::vector<std::string> names;
  for (const LayoutInfo& row : kLayouts) names.emplace_back(row.name);
  return names;
}

std::optional<std::string> fault_of_name(std::string_view name) {
  const bool is_spelled =
      !name.empty() && is_letter(name[0]) && name.back() != '_' && name.find("__") == std::string_view::npos &&
      std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
  if (!is_spelled)
    return fmt::format("'{}' is not a name: letters, digits and single '_', beginning with a letter", name);
  if (holds(kOurs, name)) return fmt::format("'{}' has a meaning of its own in qgen", name);
  if (holds(kCpp, name)) return fmt::format("'{}' is a keyword of C++, and names are printed as C++", name);
  return std::nullopt;
}

std::optional<std::string> fault_of_glsl_name(std::string_view name) {
  if (!holds(kGlsl, name) && !is_glsl_type(name)) return std::nullopt;
  return fmt::format("'{}' is a word of GLSL, which reads this name", name);
}

}  // namespace qgen::spec
