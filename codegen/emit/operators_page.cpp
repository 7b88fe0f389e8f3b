// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Prints OPERATORS.md: the signature of each operator, as tables for people.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "codegen/emit/products.h"
#include "codegen/spec/signature.h"
#include "codegen/support/text_writer.h"

namespace qgen::emit {
namespace {

using Role = TensorInfo::Role;

// `|` would end a cell.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string shapes_of(const spec::SignatureTensor& tensor) {
  std::vector<std::string> shapes;
  for (const spec::ShapePattern& shape : tensor.operand->shapes) shapes.push_back(to_text(shape));
  return fmt::format("{}", fmt::join(shapes, " or "));
}

std::string notes_of(const spec::SignatureTensor& tensor) {
  std::vector<std::string> notes;
  if (tensor.role == Role::output) notes.emplace_back("output");
  if (tensor.is_optional) notes.emplace_back("optional");
  if (tensor.role == Role::weight) notes.emplace_back("a weight");
  if (tensor.operand->has_view) notes.emplace_back("may be a view");
  if (!tensor.help.empty()) notes.push_back(tensor.help);
  return cell(fmt::format("{}", fmt::join(notes, "; ")));
}

std::string values_of(const spec::Spec& spec, const spec::Signature& signature, const spec::Attribute& attribute) {
  const auto words = words_of(spec, signature, attribute);
  if (!words.empty()) return fmt::format("{}", fmt::join(words, ", "));
  const std::string_view kind = spec::to_word(attribute.kind);
  return attribute.range ? fmt::format("{}, {}", kind, attribute.range->text) : std::string(kind);
}

std::string default_of(const spec::Attribute& attribute) {
  if (!attribute.otherwise) return "needed";
  const std::string& text = attribute.otherwise->value;
  return cell(text.starts_with('(') ? text.substr(1, text.size() - 2) : fmt::format("`{}`", text));
}

std::string notes_of(const spec::Attribute& attribute) {
  if (attribute.unit.empty()) return cell(attribute.help);
  return cell(fmt::format("{}{}in {}", attribute.help, attribute.help.empty() ? "" : "; ", attribute.unit));
}

void print(TextWriter& out, const spec::Spec& spec, const spec::Signature& signature) {
  out.line("## {}", signature.name);
  out.blank();
  out.line("{}", signature.summary);
  for (const spec::Alias& alias : signature.aliases) out.line("Also called {}, {}.", alias.name.value, alias.part);
  out.blank();
  out.text("| tensor | dtypes | shape | notes |");
  out.text("|---|---|---|---|");
  for (const spec::SignatureTensor& tensor : signature.tensors) {
    if (tensor.role == Role::derived) continue;
    out.line("| `{}` | {} | {} | {} |", tensor.operand->name.value, fmt::join(tensor.dtypes, ", "),
             cell(shapes_of(tensor)), notes_of(tensor));
  }
  out.blank();
  if (signature.attributes.empty()) return;
  out.text("| attribute | values | default | notes |");
  out.text("|---|---|---|---|");
  for (const spec::Attribute* attribute : signature.attributes) {
    out.line("| `{}` | {} | {} | {} |", attribute->name.value, cell(values_of(spec, signature, *attribute)),
             default_of(*attribute), notes_of(*attribute));
  }
  out.blank();
}

}  // namespace

std::string operators_page(std::span<const Family> families) {
  std::map<std::string, std::string> operators;  // by name
  for (const Family& family : families) {
    for (const spec::Signature& signature : spec::signatures_of(*family.spec)) {
      TextWriter out;
      print(out, *family.spec, signature);
      operators[signature.name] = std::move(out).take();
    }
  }
  if (operators.empty()) return "";
  std::string text = fmt::format("<!-- {}. Do not edit. -->\n# Operators\n\n", kGeneratedMark);
  text +=
      "For people who call an operator. A section lists the tensors and attributes of one operator, as its spec "
      "describes\n"
      "them. `OPERATORS.json` has the same for programs.\n"
      "\n"
      "* `[...]` is any shape. Dimensions with the same letter are equal in all tensors of a call.\n"
      "* A *view* is a tensor with strides. A *weight* is packed once, into the form that the kernel reads.\n"
      "* An attribute is *needed* if it has no default.\n"
      "\n";
  for (const auto& [name, section] : operators) text += section;
  text.pop_back();  // the last section's empty line
  return text;
}

}  // namespace qgen::emit
