// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The tables of keys.h as a JSON Schema, for editors: it offers the keys, explains them and underlines what is
// misspelt. What a schema cannot say (names that resolve, types of expressions) is the reader's to check.
#include <fmt/format.h>

#include "codegen/spec/keys.h"
#include "codegen/spec/parse_spec.h"

namespace qgen::spec {
namespace {

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

std::string joined_quoted(const std::vector<std::string>& words) {
  std::vector<std::string> quoted_words;
  for (const std::string& word : words) quoted_words.push_back(quoted(word));
  return fmt::format("{}", fmt::join(quoted_words, ", "));
}

constexpr std::string_view kName = R"("type": "string", "pattern": "^[A-Za-z](_?[A-Za-z0-9])*$")";
constexpr std::string_view kNamePattern = kName.substr(kName.find('^') - 1);
// Plain YAML scalars such as 1 or true are expressions too.
constexpr std::string_view kExpression = R"("type": ["string", "number", "boolean"])";
constexpr std::string_view kValue = R"("type": ["string", "integer", "boolean"])";

std::string object_members(KeyTable keys, const std::string& indent);

// The members of the schema of one value, without its braces.
std::string leaf_members(const Key& key, const std::string& indent) {
  switch (key.leaf) {
    case Leaf::name:
    case Leaf::reference: return std::string(kName);
    case Leaf::text: return R"("type": "string")";
    case Leaf::boolean: return R"("type": "boolean")";
    case Leaf::number:
      return R"("anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": "^2\\^-?[0-9]+$"}])";
    case Leaf::value: return std::string(kValue);
    case Leaf::axis:
      return fmt::format(R"("type": "array", "minItems": 1, "items": {{"anyOf": [{{{0}}}, )"
                         R"({{"type": "object", "minProperties": 1, "additionalProperties": {{{0}}}}}]}})",
                         kValue);
    case Leaf::word: return fmt::format(R"("enum": [{}])", joined_quoted(key.words));
    case Leaf::choice:
      return fmt::format(R"("anyOf": [{{"enum": [{}]}}, {{"type": "string", "pattern": "^\\$"}}])",
                         joined_quoted(key.words));
    case Leaf::field: {
      constexpr std::string_view kObject = R"("type": "object")";  // the rest speaks of objects alone
      return fmt::format(R"("type": ["string", "object"], "pattern": "^[uif]32(\\[[0-9]+\\])?$"{})",
                         object_members(key.object, indent).substr(kObject.size()));
    }
    case Leaf::shape:
      return fmt::format(R"("type": "array", "items": {{"anyOf": [{{{0}}}, {{"type": "array", "items": {{{0}}}}}]}})",
                         R"("type": ["string", "integer"])");
    case Leaf::range:
      return fmt::format(R"("anyOf": [{{"enum": [{}]}}, {{"type": "array", "minItems": 2, "items": {{{}}}}}])",
                         joined_quoted(key.words), R"("type": ["string", "number"])");
    case Leaf::constant:
    case Leaf::expression: return std::string(kExpression);
    case Leaf::object: return object_members(key.object, indent);
  }
  return "";
}

std::string members(const Key& key, const std::string& indent) {
  switch (key.form) {
    case Form::one: return leaf_members(key, indent);
    case Form::tuple:
    case Form::list:
      return fmt::format(R"("type": "array", "minItems": 1, "items": {{{}}})", leaf_members(key, indent));
    case Form::shared_list:
      return fmt::format(R"("type": ["string", "array"], "pattern": {}, "minItems": 1, "items": {{{}}})", kNamePattern,
                         leaf_members(key, indent));
    case Form::map:
      return fmt::format(R"("type": "object", "additionalProperties": {{{}}})", leaf_members(key, indent));
    case Form::section: {  // each keyword speaks of its own type alone, so editors underline the very word
      const std::string entries = fmt::format(R"("additionalProperties": {{{}}})", leaf_members(key, indent));
      return fmt::format(R"("type": ["object", "array"], {0}, "minItems": 1, )"
                         R"("items": {{"type": ["string", "object"], "pattern": {1}, {0}}})",
                         entries, kNamePattern);
    }
  }
  return "";
}

std::string object_members(KeyTable keys, const std::string& indent) {
  const std::string inner = indent + "    ";
  std::vector<std::string> properties;
  std::vector<std::string> required;
  for (const Key& key : keys) {
    properties.push_back(fmt::format("{}{}: {{\"description\": {}, {}}}", inner, quoted(key.name), quoted(key.help),
                                     members(key, inner)));
    if (key.is_required) required.emplace_back(key.name);
  }
  return fmt::format(
      "\"type\": \"object\", \"additionalProperties\": false, \"required\": [{}],\n{}  \"properties\": {{\n{}\n{}  }}",
      joined_quoted(required), indent, fmt::join(properties, ",\n"), indent);
}

}  // namespace

std::string json_schema() {
  return fmt::format(
      "{{\n  \"$schema\": \"http://json-schema.org/draft-07/schema#\",\n  \"title\": \"qgen spec\",\n"
      "  \"if\": {{\"type\": \"object\", \"required\": [\"fragment\"]}},\n"
      "  \"then\": {{{}}},\n  \"else\": {{{}}}\n}}\n",
      object_members(fragment_keys(), "  "), object_members(spec_keys(), "  "));
}

}  // namespace qgen::spec
