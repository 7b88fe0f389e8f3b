// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// OPERATORS.json: what callers see of every public operator, for bindings in other languages and for reviewers. A line
// is a tensor or an attribute.
#include <fmt/format.h>

#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "codegen/emit/products.h"
#include "codegen/spec/signature.h"

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

// `"name": [`, an item a line, `]`
void print_list(TextWriter& out, std::string_view name, const std::vector<Json>& items, std::string_view end) {
  if (items.empty()) return out.line("\"{}\": []{}", name, end);
  out.line("\"{}\": [", name);
  {
    const auto indented = out.indent();
    for (const Json& item : items) out.line("{}{}", item.dump(), &item == &items.back() ? "" : ",");
  }
  out.line("]{}", end);
}

void print(TextWriter& out, const spec::Spec& spec, const spec::Signature& signature) {
  std::vector<Json> inputs, outputs, attributes, aliases;
  for (const spec::SignatureTensor& tensor : signature.tensors) {
    if (tensor.role == Role::output) outputs.push_back(json_of(tensor));
    else if (tensor.role != Role::derived) inputs.push_back(json_of(tensor));
  }
  for (const spec::Attribute* attribute : signature.attributes)
    attributes.push_back(json_of(spec, signature, *attribute));
  for (const spec::Alias& alias : signature.aliases)
    aliases.push_back({{"name", alias.name.value}, {"part", alias.part}});
  out.line("\"name\": {},", Json(signature.name).dump());
  out.line("\"summary\": {},", Json(signature.summary).dump());
  out.line("\"kernels\": {},", Json(spec.name.value).dump());
  print_list(out, "inputs", inputs, ",");
  print_list(out, "outputs", outputs, ",");
  print_list(out, "attributes", attributes, ",");
  print_list(out, "aliases", aliases, "");
}

}  // namespace

std::string operators_json(std::span<const Family> families) {
  std::map<std::string, std::string> operators;  // by name
  for (const Family& family : families) {
    for (const spec::Signature& signature : spec::signatures_of(*family.spec)) {
      TextWriter out;
      const auto in_list = out.indent(), in_operator = out.indent(), in_members = out.indent();
      print(out, *family.spec, signature);
      operators[signature.name] = std::move(out).take();
    }
  }
  if (operators.empty()) return "";
  std::string text = "{\n  \"operators\": [";
  std::string_view separator = "\n";
  for (const auto& [name, members] : operators) {
    text += fmt::format("{}    {{\n{}    }}", separator, members);
    separator = ",\n";
  }
  return text + "\n  ]\n}\n";
}

}  // namespace qgen::emit
