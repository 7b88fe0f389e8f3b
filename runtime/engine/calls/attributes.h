// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Values of attributes, as a person types them and as an operator reads them.
//
//   --set quant_min=-8          integer
//   --set block_size=1,64       integers; [1, 64] is the same
//   --set output_dtype=int8     word; dtypes by NumPy's name or ours
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/calls/registry.h"

namespace qgen {

std::string_view name(AttributeInfo::Kind kind);  // "a list of integers"

// Errors: values of another kind than the attribute's.
Expected<AttributeValue> parse_attribute(const AttributeInfo& info, std::string_view text);
// A value of another kind that says the same, as JSON and YAML have it: 1 for a real, 1.0 for none.
Expected<AttributeValue> converted(const AttributeInfo& info, const AttributeValue& value);
std::string to_text(const AttributeValue& value);

std::optional<DType> dtype_named(std::string_view word);  // "int8", "i8"; nullopt: none

// For a complete request: null or nullopt means left out, without a default.
const HostTensor* find_input(const Request& request, std::string_view name);
Representation representation_of(const Request& request, std::string_view name);  // without: a plain buffer
template <typename T>
std::optional<T> find_attribute(const Request& request, std::string_view name) {
  const auto found = request.attributes.find(name);
  return found == request.attributes.end() ? std::nullopt : std::optional(std::get<T>(found->second));
}
template <typename T>
const T& attribute(const Request& request, std::string_view name) {
  return std::get<T>(request.attributes.find(name)->second);
}
// Of an attribute that is one of an enum's words: complete() has checked it.
template <typename Enum>
Enum word_attribute(const Request& request, std::string_view name, std::span<const std::string_view> words) {
  return static_cast<Enum>(std::ranges::find(words, attribute<std::string>(request, name)) - words.begin());
}
// Of an attribute that is a dtype: complete() has checked the word.
inline DType dtype_attribute(const Request& request, std::string_view name) {
  return *dtype_named(attribute<std::string>(request, name));
}

}  // namespace qgen
