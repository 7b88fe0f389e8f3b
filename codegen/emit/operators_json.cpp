// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// OPERATORS.json: the signatures of all public operators, for bindings in other languages and for reviewers. A line is
// a tensor or an attribute.
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "codegen/emit/products.h"
#include "codegen/spec/signature.h"
#include "common/json/write.h"

namespace qgen::emit {
namespace {

using Json = nlohmann::ordered_json;
using Role = TensorInfo::Role;
using Kind = AttributeInfo::Kind;

Json sides_of(const spec::ShapePattern& shape) {
  Json sides = Json::array();
  if (shape.has_leading) sides.push_back(spec::kLeadingSides);
  for (const std::string& side : shape.sides) sides.push_back(side);
  return sides;
}

Json json_of(const spec::SignatureTensor& tensor) {
  const spec::Operand& operand = *tensor.operand;
  Json json = {{"name", operand.name.value}, {"dtypes", tensor.dtypes}};
  if (!tensor.layouts.empty()) json["layouts"] = tensor.layouts;
  for (const spec::ShapePattern& shape : operand.shapes) json["shapes"].push_back(sides_of(shape));
  if (tensor.is_optional) json["is_optional"] = true;
  if (tensor.role == Role::weight) json["is_weight"] = true;
  if (operand.has_view) json["has_view"] = true;
  if (operand.like) json["like"] = operand.like->value;
  if (!tensor.help.empty()) json["help"] = tensor.help;
  return json;
}

// check_signature() has found that it is one.
template <typename T>
T number_of(const std::string& text) {
  T number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// A default as its JSON type.
Json value_of(const spec::Attribute& attribute) {
  const std::string& text = attribute.otherwise->value;
  switch (attribute.kind) {
    case Kind::boolean: return text == "true";
    case Kind::integer: return number_of<int64_t>(text);
    case Kind::real: return number_of<double>(text);
    case Kind::integers:
    case Kind::word:
    case Kind::dtype:
    case Kind::layout: break;
  }
  return text;
}

Json json_of(const spec::Spec& spec, const spec::Signature& signature, const spec::Attribute& attribute) {
  Json json = {{"name", attribute.name.value}, {"type", spec::to_word(attribute.kind)}};
  const auto words = words_of(spec, signature, attribute);
  if (!words.empty()) json["words"] = words;
  if (attribute.range) json["range"] = {attribute.range->least, attribute.range->greatest};
  if (attribute.otherwise) {
    const bool is_text = attribute.otherwise->value.starts_with('(');
    json[is_text ? "otherwise" : "default"] = is_text ? Json(attribute.otherwise->value) : value_of(attribute);
  }
  if (!attribute.unit.empty()) json["unit"] = attribute.unit;
  if (!attribute.help.empty()) json["help"] = attribute.help;
  return json;
}

Json json_of(const spec::Spec& spec, const spec::Signature& signature) {
  Json inputs = Json::array(), outputs = Json::array(), attributes = Json::array(), aliases = Json::array();
  for (const spec::SignatureTensor& tensor : signature.tensors) {
    if (tensor.role == Role::output) outputs.push_back(json_of(tensor));
    else if (tensor.role != Role::derived) inputs.push_back(json_of(tensor));
  }
  for (const spec::Attribute* attribute : signature.attributes)
    attributes.push_back(json_of(spec, signature, *attribute));
  for (const spec::Alias& alias : signature.aliases)
    aliases.push_back({{"name", alias.name.value}, {"part", alias.part}});
  return {{"name", signature.name},       {"summary", signature.summary},  {"kernels", spec.name.value},
          {"inputs", std::move(inputs)},  {"outputs", std::move(outputs)}, {"attributes", std::move(attributes)},
          {"aliases", std::move(aliases)}};
}

}  // namespace

std::string operators_json(std::span<const Family> families) {
  std::map<std::string, Json> by_name;
  for (const Family& family : families) {
    for (const spec::Signature& signature : spec::signatures_of(*family.spec)) {
      by_name.emplace(signature.name, json_of(*family.spec, signature));
    }
  }
  if (by_name.empty()) return "";
  Json document = {{"operators", Json::array()}};
  for (auto& [name, described] : by_name) document["operators"].push_back(std::move(described));
  return json::to_text(document) + "\n";
}

}  // namespace qgen::emit
