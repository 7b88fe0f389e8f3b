// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/spec/read_signature.h"

#include <fmt/format.h>

#include "codegen/spec/range.h"

namespace qgen::spec {
namespace {

using Kind = AttributeInfo::Kind;

Located<std::string> located(const YamlNode& node) { return {node.text, node.where}; }

const YamlNode* value(const YamlNode& node, std::string_view key) {
  const YamlEntry* entry = node.find(key);
  return entry ? &entry->value : nullptr;
}

std::optional<Located<std::string>> find_located(const YamlNode& node, std::string_view key) {
  const YamlNode* found = value(node, key);
  return found ? std::optional(located(*found)) : std::nullopt;
}

std::string text_or_nothing(const YamlNode& node, std::string_view key) {
  const YamlNode* found = value(node, key);
  return found ? found->text : "";
}

bool flag(const YamlNode& node, std::string_view key) { return text_or_nothing(node, key) == "true"; }

ShapePattern shape_of(const YamlNode& list) {
  ShapePattern shape;
  for (const YamlNode& side : list.items) {
    if (side.text == kLeadingSides) shape.has_leading = true;
    else shape.sides.push_back(side.text);
  }
  return shape;
}

Kind kind_of(std::string_view word) {
  if (word == "boolean") return Kind::boolean;
  if (word == "integer") return Kind::integer;
  if (word == "real") return Kind::real;
  if (word == "integers") return Kind::integers;
  return word == "dtype" ? Kind::dtype : Kind::layout;
}

Range range_of(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::scalar) return *find_range(node.text);
  const std::string &least = node.items[0].text, &greatest = node.items[1].text;
  return {*parse_bound(least), *parse_bound(greatest), fmt::format("{} to {}", least, greatest),
          fmt::format("[{}, {}]", least, greatest)};
}

Narrowing narrowing_of(const YamlEntry& entry) {
  Narrowing narrowing;
  narrowing.operand = located(entry.key);
  if (const YamlNode* dtypes = value(entry.value, "dtype")) {
    for (const YamlNode& dtype : dtypes->items) narrowing.dtypes.push_back(located(dtype));
  }
  if (entry.value.find("optional")) narrowing.is_optional = flag(entry.value, "optional");
  if (const YamlNode* help = value(entry.value, "help")) narrowing.help = help->text;
  return narrowing;
}

std::vector<Located<std::string>> names_of(const YamlNode& node, std::string_view key) {
  std::vector<Located<std::string>> names;
  const YamlNode* list = value(node, key);
  if (list == nullptr) return names;
  for (const YamlNode& name : list->items) names.push_back(located(name));
  return names;
}

}  // namespace

void read_signature_of(const YamlNode& node, Operand& operand) {
  if (const YamlNode* shape = value(node, "shape")) {
    const bool has_alternatives = !shape->items.empty() && shape->items.front().kind == YamlNode::Kind::list;
    if (!has_alternatives) operand.shapes.push_back(shape_of(*shape));
    else
      for (const YamlNode& one : shape->items) operand.shapes.push_back(shape_of(one));
  }
  operand.is_weight = flag(node, "weight");
  operand.has_view = flag(node, "view");
  operand.row_sums_of = find_located(node, "row_sums_of");
  operand.like = find_located(node, "like");
  operand.help = text_or_nothing(node, "help");
}

std::vector<Located<std::string>> read_words(const YamlNode& node) { return names_of(node, "words"); }

std::string read_word_set(const YamlEntry& entry) {
  const std::string set = text_or_nothing(entry.value, "enum");
  return set.empty() ? entry.key.text : set;
}

Attribute read_attribute(const YamlEntry& entry) {
  const YamlNode& node = entry.value;
  Attribute attribute;
  attribute.name = located(entry.key);
  const YamlNode* type = value(node, "type");
  attribute.kind = type ? kind_of(type->text) : Kind::word;
  attribute.words = read_words(node);
  if (attribute.kind == Kind::word) attribute.word_set = read_word_set(entry);
  attribute.operand = find_located(node, "of");
  if (const YamlNode* range = value(node, "range")) attribute.range = range_of(*range);
  attribute.otherwise = find_located(node, "default");
  attribute.help = text_or_nothing(node, "help");
  attribute.unit = text_or_nothing(node, "unit");
  return attribute;
}

PublicOperator read_public_operator(const YamlEntry& entry) {
  PublicOperator op;
  op.name = located(entry.key);
  op.summary = text_or_nothing(entry.value, "summary");
  if (const YamlNode* operands = value(entry.value, "operands")) {
    for (const YamlEntry& operand : operands->entries) op.operands.push_back(narrowing_of(operand));
  }
  op.without = names_of(entry.value, "without");
  op.with = names_of(entry.value, "with");
  if (const YamlNode* aliases = value(entry.value, "aliases")) {
    for (const YamlEntry& alias : aliases->entries) op.aliases.push_back({located(alias.key), alias.value.text});
  }
  return op;
}

}  // namespace qgen::spec
