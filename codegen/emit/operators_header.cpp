// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// operators.h: the functions that callers use. Each public operator's inputs, attributes and representations are
// structs with members named as in its spec. `infer` is a hand-written function on them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/emit/cpp_names.h"
#include "codegen/emit/products.h"
#include "codegen/emit/public_operators.h"
#include "codegen/spec/signature.h"

namespace qgen::emit {
namespace {

using spec::Attribute;
using spec::SignatureTensor;
using Kind = AttributeInfo::Kind;
using Role = TensorInfo::Role;

// ---- members --------------------------------------------------------------------------------------------------------

std::string default_value(const Attribute& attribute) {
  const std::string& text = attribute.otherwise->value;
  const bool is_enumerator =
      attribute.kind == Kind::word || attribute.kind == Kind::dtype || attribute.kind == Kind::layout;
  return is_enumerator ? fmt::format("{}::{}", value_type(attribute), identifier(text)) : text;
}

std::string member(const Attribute& attribute) {
  const std::string name = identifier(attribute.name.value);
  if (has_value(attribute)) return fmt::format("{} {} = {};", value_type(attribute), name, default_value(attribute));
  if (attribute.otherwise) return fmt::format("{} {} = std::nullopt;", given_type(attribute), name);
  return fmt::format("Required<{}> {};", value_type(attribute), name);
}

std::string_view input_type(const SignatureTensor& tensor) {
  if (tensor.is_optional) return "Optional";
  if (tensor.role == Role::weight) return "Weight";
  return tensor.operand->has_view ? "View" : "Tensor";
}

// ---- comments -------------------------------------------------------------------------------------------------------

std::string joined(const std::vector<std::string>& parts) {
  std::vector<std::string> said;
  for (const std::string& part : parts) {
    if (!part.empty()) said.push_back(part);
  }
  return fmt::format("{}", fmt::join(said, "; "));
}

std::string comment_of(const SignatureTensor& tensor) {
  std::vector<std::string> shapes;
  for (const spec::ShapePattern& shape : tensor.operand->shapes) shapes.push_back(to_text(shape));
  return joined({fmt::format("{} {}", fmt::join(tensor.dtypes, ", "), fmt::join(shapes, " or ")), tensor.help});
}

std::string comment_of(const Attribute& attribute) {
  const bool is_text = attribute.otherwise && !has_value(attribute);
  std::string otherwise = is_text ? attribute.otherwise->value : "";
  if (is_text) otherwise = "without: " + otherwise.substr(1, otherwise.size() - 2);
  return joined({attribute.help, attribute.unit, attribute.range ? attribute.range->text : "", otherwise});
}

void print_member(TextWriter& out, const std::string& declaration, const std::string& comment) {
  constexpr size_t kWidth = 116;  // of a line that begins two columns in
  if (comment.empty()) return out.text(declaration);
  const std::string line = fmt::format("{}  // {}", declaration, comment);
  if (line.size() <= kWidth) return out.text(line);
  out.line("// {}", comment);
  out.text(declaration);
}

// ---- the structs of one operator ------------------------------------------------------------------------------------

struct Member {
  std::string declaration, comment;
};

void print_struct(TextWriter& out, const std::string& name, const std::vector<Member>& members) {
  if (members.empty()) return out.line("struct {} {{}};", name);
  out.line("struct {} {{", name);
  {
    const auto indented = out.indent();
    for (const Member& member : members) print_member(out, member.declaration, member.comment);
  }
  out.text("};");
}

void print_inputs(TextWriter& out, const Public& op) {
  std::vector<Member> members;
  for (const SignatureTensor& tensor : op.signature.tensors) {
    if (!is_given(tensor)) continue;
    members.push_back({fmt::format("typename As::{} {}{};", input_type(tensor), identifier(tensor.operand->name.value),
                                   tensor.is_optional ? " = {}" : ""),
                       comment_of(tensor)});
  }
  for (const SignatureTensor* tensor : outputs_of(op)) {
    members.push_back({fmt::format("typename As::Output {} = {{}};", identifier(tensor->operand->name.value)),
                       "written to; without: the call makes it"});
  }
  out.text("template <typename As>");
  print_struct(out, op.type() + "Inputs", members);
}

void print_attributes(TextWriter& out, const Public& op) {
  if (!has_attributes(op)) return;
  std::vector<Member> members;
  for (const Attribute* attribute : op.signature.attributes)
    members.push_back({member(*attribute), comment_of(*attribute)});
  print_struct(out, op.type() + "Attributes", members);
}

void print_representations(TextWriter& out, const Public& op) {
  std::vector<Member> members;
  for (const SignatureTensor* tensor : placed(op)) {
    const auto& like = tensor->operand->like;
    members.push_back(
        {fmt::format("std::optional<Representation> {} = std::nullopt;", identifier(tensor->operand->name.value)),
         like ? fmt::format("without: that of {}", like->value) : "without: a plain buffer"});
  }
  if (!members.empty()) print_struct(out, op.type() + "Representations", members);
}

void print_outputs(TextWriter& out, const Public& op) {
  const auto outputs = outputs_of(op);
  if (outputs.size() == 1) return;
  std::vector<Member> members;
  for (const SignatureTensor* tensor : outputs) {
    members.push_back({fmt::format("DeviceTensor {};", identifier(tensor->operand->name.value)), comment_of(*tensor)});
  }
  print_struct(out, op.type() + "Outputs", members);
}

void print_operator(TextWriter& out, const Public& op) {
  const std::string name = identifier(op.signature.name);
  out.line("// {}: {}", op.signature.name, op.signature.summary);
  print_inputs(out, op);
  print_attributes(out, op);
  print_representations(out, op);
  print_outputs(out, op);
  print_function_head(out, "Expected<Call> infer(", parameters_of(op, "Described", Defaults::left_out), ");");
  print_function_head(out, fmt::format("Expected<Call> {}_call(", name),
                      parameters_of(op, "Described", Defaults::written), ");");
  auto on_device = parameters_of(op, "OnDevice", Defaults::written);
  on_device.insert(on_device.begin(), "Context& context");
  print_function_head(out, fmt::format("Expected<{}> {}(", result_type(op), name), on_device, ");");
  out.blank();
}

}  // namespace

std::string operators_header(std::span<const Family> families, const Options& options) {
  const auto operators = public_operators(families);
  TextWriter out;
  out.line("// {}. Do not edit.", kGeneratedMark);
  out.text("//");
  if (operators.empty()) {
    out.text("// No operand of this run's specs has a `shape`, so there are no operators for callers to see.");
    out.text("#pragma once");
    return std::move(out).take();
  }
  out.text("// Each operator as its callers see it:");
  out.text("//");
  out.text("//   x(context, {.input = ...}, {.scale = ...})  runs it, and gives what it made");
  out.text("//   x_call({.input = ...}, {.scale = ...})      the same checks, and no device");
  out.text("//   infer(inputs, attributes)                   after those checks; written by hand for each operator");
  out.text("#pragma once");
  out.blank();
  out.text("#include \"qgen/infer.h\"");
  out.text("#include \"words.h\"");
  out.blank();
  out.text(open_namespace(options, "operators"));
  out.blank();
  out.text("using namespace words;");
  out.blank();
  for (const auto& [name, op] : operators) print_operator(out, op);
  out.text("std::span<const OperatorEntry> entries();  // all of them, sorted by name");
  out.blank();
  out.text(close_namespace(options, "operators"));
  return std::move(out).take();
}

}  // namespace qgen::emit
