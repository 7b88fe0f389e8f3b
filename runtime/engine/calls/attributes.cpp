// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/calls/attributes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "common/nearest.h"
#include "common/number.h"
#include "vocabulary/layouts.h"

namespace qgen {
namespace {

using Kind = AttributeInfo::Kind;

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' '; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// "1,64" or "[1, 64]"; "[]" is the empty list.
std::optional<std::vector<int64_t>> integers_of(std::string_view text) {
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  std::vector<int64_t> values;
  if (trimmed(text).empty()) return values;
  while (true) {
    const size_t comma = text.find(',');
    const auto value = read_number<int64_t>(trimmed(text.substr(0, comma)));
    if (!value) return std::nullopt;
    values.push_back(*value);
    if (comma == std::string_view::npos) return values;
    text.remove_prefix(comma + 1);
  }
}

std::optional<bool> boolean_of(std::string_view text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  return std::nullopt;
}

template <typename T>
Expected<AttributeValue> value_or_refusal(const AttributeInfo& info, std::string_view text, std::optional<T> value) {
  if (value) return AttributeValue(*std::move(value));
  return Error{Error::Kind::invalid_argument,
               fmt::format("{} is '{}', and must be {}", info.name, text, name(info.kind)), ""};
}

Expected<AttributeValue> parse_real(const AttributeInfo& info, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = end == text.data() + text.size();
  if (error == std::errc() && is_whole) return AttributeValue(value);
  // Past a double's range from_chars() says only that; which end it is does not matter to f32.
  if (error == std::errc::result_out_of_range && is_whole) {
    return Error{Error::Kind::invalid_argument,
                 fmt::format("{} is '{}', which is past the range of f32", info.name, text), ""};
  }
  return value_or_refusal(info, text, std::optional<double>());
}

// Dtypes go by NumPy's name or ours, and become ours.
Expected<AttributeValue> checked_word(const AttributeInfo& info, const std::string& given) {
  const auto dtype = info.kind == Kind::dtype ? dtype_named(given) : std::nullopt;
  const std::string word = dtype ? std::string(name(*dtype)) : given;
  if (std::ranges::find(info.words, word) != info.words.end()) return AttributeValue(word);
  const bool is_misspelt = !dtype_named(given) && !find_layout(given);  // else it is meant, and not possible
  const std::string_view meant = is_misspelt ? nearest(given, info.words) : "";
  return Error{Error::Kind::invalid_argument,
               fmt::format("{} is '{}', and must be one of {}", info.name, given, fmt::join(info.words, ", ")),
               meant.empty() ? "" : fmt::format("did you mean '{}'?", meant)};
}

bool is_spelled(Kind kind) { return kind == Kind::word || kind == Kind::dtype || kind == Kind::layout; }

// Which alternative of AttributeValue holds it.
size_t alternative_of(Kind kind) {
  switch (kind) {
    case Kind::boolean: return 0;
    case Kind::integer: return 1;
    case Kind::real: return 2;
    case Kind::word:
    case Kind::dtype:
    case Kind::layout: return 3;
    case Kind::integers: return 4;
  }
  return std::variant_npos;
}

}  // namespace

std::string_view name(AttributeInfo::Kind kind) {
  switch (kind) {
    case Kind::boolean: return "true or false";
    case Kind::integer: return "an integer";
    case Kind::real: return "a number";
    case Kind::word: return "a word";
    case Kind::integers: return "a list of integers";
    case Kind::dtype: return "a dtype";
    case Kind::layout: return "a layout";
  }
  return "?";
}

Expected<AttributeValue> parse_attribute(const AttributeInfo& info, std::string_view text) {
  switch (info.kind) {
    case Kind::boolean: return value_or_refusal(info, text, boolean_of(text));
    case Kind::integer: return value_or_refusal(info, text, read_number<int64_t>(text));
    case Kind::real: return parse_real(info, text);
    case Kind::word:
    case Kind::dtype:
    case Kind::layout: return checked_word(info, std::string(text));
    case Kind::integers: return value_or_refusal(info, text, integers_of(text));
  }
  return Error{};
}

Expected<AttributeValue> converted(const AttributeInfo& info, const AttributeValue& value) {
  if (is_spelled(info.kind) && std::holds_alternative<std::string>(value)) {
    return checked_word(info, std::get<std::string>(value));
  }
  if (value.index() == alternative_of(info.kind)) return value;
  const auto* integer = std::get_if<int64_t>(&value);
  if (integer && info.kind == Kind::real) return AttributeValue(static_cast<double>(*integer));
  return Error{Error::Kind::invalid_argument,
               fmt::format("{} is {}, and must be {}", info.name, to_text(value), name(info.kind)), ""};
}

std::string to_text(const AttributeValue& value) {
  struct Printer {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(double v) const { return fmt::format("{}", v); }
    std::string operator()(const std::string& v) const { return v; }
    std::string operator()(const std::vector<int64_t>& v) const { return fmt::format("[{}]", fmt::join(v, ", ")); }
  };
  return std::visit(Printer{}, value);
}

std::optional<DType> dtype_named(std::string_view word) {
  const DTypeInfo* row = find_row(kDTypes, &DTypeInfo::long_name, word);
  return row ? row->dtype : find_dtype(word);
}

const HostTensor* find_input(const Request& request, std::string_view name) {
  const auto found = request.inputs.find(name);
  return found == request.inputs.end() ? nullptr : &found->second;
}

Representation representation_of(const Request& request, std::string_view name) {
  const auto found = request.representations.find(name);
  return found == request.representations.end() ? Representation{} : found->second;
}

}  // namespace qgen
