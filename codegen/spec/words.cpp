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
constexpr std::array kLayouts = {Layout::strided, Layout::width_packed, Layout::height_packed, Layout::channels_packed};

template <typename Words>
std::vector<std::string> names_of(const Words& words) {
  std::vector<std::string> names;
  for (auto word : words) names.emplace_back(name(word));
  return names;
}

constexpr std::array<std::string_view, 6> kOurs = {"and", "in", "not", "or", "device", "problem"};
// Keywords of C++20 that are all lower case letters, and types of <cstdint> do not matter: they are no keywords.
constexpr std::array<std::string_view, 85> kCpp = {
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

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

template <typename Words>
bool holds(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

std::vector<std::string> dtype_words() { return names_of(kDTypes); }
std::vector<std::string> storage_words() { return names_of(kStorages); }
std::vector<std::string> layout_words() { return names_of(kLayouts); }

std::optional<Layout> find_layout(std::string_view word) {
  for (Layout layout : kLayouts) {
    if (name(layout) == word) return layout;
  }
  return std::nullopt;
}

Storage storage_of(Layout layout) { return layout == Layout::strided ? Storage::buffer : Storage::texture3d; }

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

}  // namespace qgen::spec
