// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Prints an operator's signature as tables of runtime/engine/library/signature_info.h. Public operators of one spec
// share the tables in which they do not differ.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "codegen/emit/cpp_names.h"
#include "codegen/emit/products.h"
#include "codegen/spec/signature.h"

namespace qgen::emit {
namespace {

using spec::Attribute;
using spec::Signature;
using spec::SignatureTensor;
using spec::Spec;

using Row = std::vector<std::string>;  // of a table: ".name = value"

std::string_view name(TensorInfo::Role role) {
  switch (role) {
    case TensorInfo::Role::input: return "input";
    case TensorInfo::Role::weight: return "weight";
    case TensorInfo::Role::derived: return "derived";
    case TensorInfo::Role::output: return "output";
  }
  return "?";
}

std::string bits(std::string_view enumeration, const std::vector<std::string>& words) {
  std::vector<std::string> bits;
  for (const std::string& word : words) bits.push_back(fmt::format("bit({}::{})", enumeration, word));
  return fmt::format("{}", fmt::join(bits, " | "));
}

// Every double as C++ spells it, and back to the same.
std::string exact(double value) { return fmt::format("{:a}", value); }

// The tables of one spec. A part that was printed before is named again.
class Tables {
 public:
  Tables(TextWriter& out, const Spec& spec) : out_(out), spec_(spec) {}

  void print(const Signature& signature) {
    const std::string op = pascal_case(signature.name);
    std::vector<Row> tensors, attributes, aliases;
    for (const SignatureTensor& tensor : signature.tensors) tensors.push_back(row_of(tensor));
    for (const Attribute* attribute : signature.attributes) attributes.push_back(row_of(signature, *attribute));
    for (const spec::Alias& alias : signature.aliases) {
      aliases.push_back({".name = " + quoted(alias.name.value), ".part = " + quoted(alias.part)});
    }
    Row row = {".name = " + quoted(signature.name), ".summary = " + quoted(signature.summary), ".op = &op",
               ".tensors = " + add("TensorInfo", "Tensors", op, tensors)};
    if (!attributes.empty()) row.push_back(".attributes = " + add("AttributeInfo", "Attributes", op, attributes));
    if (!aliases.empty()) row.push_back(".aliases = " + add("AliasInfo", "Aliases", op, aliases));
    signatures_.push_back(row);
  }

  const std::vector<Row>& signatures() const { return signatures_; }

 private:
  Row row_of(const SignatureTensor& tensor) {
    const spec::Operand& operand = *tensor.operand;
    Row row = {".name = " + quoted(operand.name.value), fmt::format(".operand = {}", tensor.index),
               fmt::format(".role = TensorInfo::Role::{}", name(tensor.role))};
    if (tensor.is_optional) row.emplace_back(".is_optional = true");
    if (operand.has_view) row.emplace_back(".has_view = true");
    if (tensor.has_representation) row.emplace_back(".has_representation = true");
    row.push_back(".dtypes = " + bits("DType", tensor.dtypes));
    if (tensor.storages != std::vector<std::string>{"buffer"})
      row.push_back(".storages = " + bits("Storage", tensor.storages));
    if (!tensor.layouts.empty()) row.push_back(".layouts = " + bits("Layout", tensor.layouts));
    if (!operand.shapes.empty()) row.push_back(".shapes = " + shapes(operand));
    if (!tensor.help.empty()) row.push_back(".help = " + quoted(tensor.help));
    const auto& source = operand.row_sums_of ? operand.row_sums_of : operand.like;
    if (source) row.push_back(fmt::format(".source = {}", operand_index(source->value)));
    return row;
  }

  size_t operand_index(std::string_view name) const {
    size_t index = 0;
    while (spec_.operands[index].name.value != name) ++index;
    return index;
  }

  std::string shapes(const spec::Operand& operand) {
    std::vector<Row> rows;
    for (const spec::ShapePattern& shape : operand.shapes) {
      std::vector<std::string> sides;
      for (const std::string& side : shape.sides) sides.push_back(quoted(side));
      rows.push_back({fmt::format(".has_leading = {}", shape.has_leading), fmt::format(".rank = {}", sides.size()),
                      fmt::format(".sides = {{{}}}", fmt::join(sides, ", "))});
    }
    return add("ShapeInfo", "Shapes", pascal_case(operand.name.value), rows);
  }

  Row row_of(const Signature& signature, const Attribute& attribute) {
    Row row = {".name = " + quoted(attribute.name.value),
               fmt::format(".kind = AttributeInfo::Kind::{}", spec::to_word(attribute.kind))};
    row.push_back(".otherwise = " + quoted(attribute.otherwise ? attribute.otherwise->value : ""));
    row.push_back(".help = " + quoted(attribute.help));
    if (!attribute.unit.empty()) row.push_back(".unit = " + quoted(attribute.unit));
    const auto words = words_of(spec_, signature, attribute);
    if (attribute.is_word()) row.push_back(".words = " + words_array(attribute.word_set));
    else if (!words.empty()) row.push_back(".words = " + add_words(attribute, words));
    if (!attribute.range) return row;
    row.push_back(".least = " + exact(attribute.range->least));
    row.push_back(".greatest = " + exact(attribute.range->greatest));
    row.push_back(".range = " + quoted(attribute.range->text));
    return row;
  }

  // ---- printing, once

  std::string add_words(const Attribute& attribute, const std::vector<std::string>& words) {
    std::vector<std::string> items;
    for (const std::string& word : words) items.push_back(quoted(word));
    return once("std::string_view", "Choices", pascal_case(attribute.name.value),
                fmt::format("{}", fmt::join(items, ",")),
                [&](std::string_view head) { out_.filled(head, items, "};"); });
  }

  std::string add(std::string_view type, std::string_view suffix, const std::string& of, const std::vector<Row>& rows) {
    std::string content;
    for (const Row& row : rows) content += fmt::format("{}\n", fmt::join(row, ","));
    return once(type, suffix, of, content, [&](std::string_view head) {
      out_.text(head);
      {
        const auto indented = out_.indent();
        for (const Row& row : rows) out_.filled("{", row, "},");
      }
      out_.text("};");
    });
  }

  // The name of the array of this content: the one that has it, or a new one, which `print` prints.
  template <typename Print>
  std::string once(std::string_view type, std::string_view suffix, const std::string& of, const std::string& content,
                   const Print& print) {
    const auto [known, is_new] = by_content_.try_emplace(fmt::format("{} {}", type, content));
    if (!is_new) return known->second;
    std::string& array = known->second = fmt::format("k{}{}", of, suffix);
    while (!taken_.insert(array).second) array += '_';  // of another public operator, which is reported otherwise
    print(fmt::format("constexpr {} {}[] = {{", type, array));
    out_.blank();
    return array;
  }

  TextWriter& out_;
  const Spec& spec_;
  std::map<std::string, std::string> by_content_;
  std::set<std::string> taken_;
  std::vector<Row> signatures_;
};

}  // namespace

void print_signatures(TextWriter& out, const Spec& spec) {
  const auto all = spec::signatures_of(spec);
  if (all.empty()) return;
  out.text("namespace {");
  out.blank();
  Tables tables(out, spec);
  for (const Signature& signature : all) tables.print(signature);
  out.text("}  // namespace");
  out.blank();
  out.line("constinit const SignatureInfo signatures[{}] = {{", all.size());
  {
    const auto indented = out.indent();
    for (const Row& row : tables.signatures()) out.filled("{", row, "},");
  }
  out.text("};");
  out.blank();
}

}  // namespace qgen::emit
