// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The tables of keys.h as a JSON Schema, for editors: it offers keys, explains them and underlines misspelt ones. A
// schema cannot express some rules (names that resolve, types of expressions); the reader checks these.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "codegen/spec/keys.h"
#include "codegen/spec/parse_spec.h"
#include "common/json/write.h"

namespace qgen::spec {
namespace {

using Json = nlohmann::ordered_json;

// ---- the schema -----------------------------------------------------------------------------------------------------

constexpr const char* kNamePattern = "^[A-Za-z](_?[A-Za-z0-9])*$";
constexpr const char* kTakenPattern = "^\\$?[A-Za-z](_?[A-Za-z0-9])*$";
constexpr const char* kListPattern = "^[A-Za-z0-9_]+\\.[A-Za-z0-9_]+$";
constexpr const char* kProperties = "properties";

Json of_types(std::initializer_list<const char*> types) { return {{"type", types}}; }
// Of several schemas; an initializer list alone would be an object where it holds pairs.
Json any_of(std::initializer_list<Json> schemas) { return {{"anyOf", Json::array_t(schemas)}}; }

Json schema_of_axis(const Key& key) {
  const Json value = of_types({"string", "integer", "boolean"});
  const Json record = {{"type", "object"}, {"minProperties", 1}, {"additionalProperties", value}};
  Json list = {{"type", "array"}, {"minItems", 1}, {"items", any_of({value, record})}};
  if (key.form != Form::section) return list;
  list["type"] = {"array", "string"};  // each keyword applies only to its own type
  list["pattern"] = kListPattern;
  return list;
}

Json schema_of_shape() {
  const Json side = of_types({"string", "integer"});
  return {{"type", "array"}, {"items", any_of({side, {{"type", "array"}, {"items", side}}})}};
}

Json schema_of_range(const Key& key) {
  const Json ends = {{"type", "array"}, {"minItems", 2}, {"items", of_types({"string", "number"})}};
  return any_of({{{"enum", key.words}}, ends});
}

Json schema_of(KeyTable keys);

// Of each name that a fragment takes, an expression.
Json schema_of_use() {
  const Json handed = {{"type", "object"}, {"additionalProperties", of_types({"string", "number", "boolean"})}};
  return {{"type", {"string", "object"}}, {"pattern", kNamePattern}, {"additionalProperties", handed}};
}

// The rules of its object apply to objects only.
Json schema_of_field(const Key& key) {
  Json schema = {{"type", {"string", "object"}}, {"pattern", "^[uif]32(\\[[0-9]+\\])?$"}};
  Json object = schema_of(key.object);
  object.erase("type");
  schema.update(object);
  return schema;
}

Json schema_of_leaf(const Key& key) {
  switch (key.leaf) {
    case Leaf::name:
    case Leaf::reference: return {{"type", "string"}, {"pattern", kNamePattern}};
    case Leaf::taken: return {{"type", "string"}, {"pattern", kTakenPattern}};
    case Leaf::text: return {{"type", "string"}};
    case Leaf::boolean: return {{"type", "boolean"}};
    case Leaf::number:
      return any_of({{{"type", "number"}, {"minimum", 0}}, {{"type", "string"}, {"pattern", "^2\\^-?[0-9]+$"}}});
    case Leaf::fitted: return any_of({{{"type", "number"}, {"minimum", 0}}, schema_of(key.object)});
    case Leaf::value: return of_types({"string", "integer", "boolean"});
    case Leaf::axis: return schema_of_axis(key);
    case Leaf::word: return {{"enum", key.words}};
    case Leaf::choice: return any_of({{{"enum", key.words}}, {{"type", "string"}, {"pattern", "^\\$"}}});
    case Leaf::field: return schema_of_field(key);
    case Leaf::shape: return schema_of_shape();
    case Leaf::range: return schema_of_range(key);
    case Leaf::constant:
    case Leaf::expression: return of_types({"string", "number", "boolean"});  // plain YAML scalars are expressions too
    case Leaf::use: return schema_of_use();
    case Leaf::take: return any_of({of_types({"string"}), schema_of(key.object)});
    case Leaf::object: return schema_of(key.object);
  }
  return {};
}

Json schema_of(const Key& key) {
  const Json leaf = schema_of_leaf(key);
  switch (key.form) {
    case Form::one: return leaf;
    case Form::tuple:
    case Form::list: return {{"type", "array"}, {"minItems", 1}, {"items", leaf}};
    case Form::shared_list:
      return {{"type", {"string", "array"}}, {"pattern", kListPattern}, {"minItems", 1}, {"items", leaf}};
    case Form::map: return {{"type", "object"}, {"additionalProperties", leaf}};
    case Form::section: {  // each keyword applies only to its own type, so editors underline the exact word
      const Json items = {{"type", {"string", "object"}}, {"pattern", kNamePattern}, {"additionalProperties", leaf}};
      return {{"type", {"object", "array"}}, {"additionalProperties", leaf}, {"minItems", 1}, {"items", items}};
    }
  }
  return {};
}

Json schema_of(KeyTable keys) {
  Json properties = Json::object(), required = Json::array();
  for (const Key& key : keys) {
    Json& property = properties[std::string(key.name)];
    property["description"] = key.help;
    property.update(schema_of(key));
    if (key.is_required) required.push_back(key.name);
  }
  return {{"type", "object"}, {"additionalProperties", false}, {"required", required}, {kProperties, properties}};
}

// ---- its layout: a line for each property ---------------------------------------------------------------------------

std::string laid_out(const Json& value, const std::string& indent);

std::string members_in_lines(const Json& object, const std::string& indent) {
  std::vector<std::string> lines;
  for (const auto& [name, part] : object.items()) {
    lines.push_back(fmt::format("{}  {}: {}", indent, json::to_line(name), laid_out(part, indent + "  ")));
  }
  return fmt::format("{{\n{}\n{}}}", fmt::join(lines, ",\n"), indent);
}

std::string laid_out(const Json& value, const std::string& indent) {
  if (!value.is_object()) return json::to_line(value);
  std::string text;
  for (const auto& [keyword, part] : value.items()) {
    const bool is_list = keyword == kProperties;
    if (!text.empty()) text += is_list ? ",\n" + indent + "  " : ", ";
    text += fmt::format("{}: {}", json::to_line(keyword),
                        is_list ? members_in_lines(part, indent + "  ") : laid_out(part, indent));
  }
  return fmt::format("{{{}}}", text);
}

}  // namespace

std::string json_schema() {
  const Json document = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                         {"title", "qgen spec"},
                         {"if", {{"type", "object"}, {"required", Json::array({"fragment"})}}},
                         {"then", schema_of(fragment_keys())},
                         {"else",
                          {{"if", {{"type", "object"}, {"required", Json::array({kCostOf})}}},
                           {"then", schema_of(cost_keys())},
                           {"else", schema_of(spec_keys())}}}};
  return members_in_lines(document, "") + '\n';
}

}  // namespace qgen::spec
