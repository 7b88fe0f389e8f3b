// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// operators.h: what callers type. Each public operator's inputs, attributes and places are structs whose members are
// named as in its spec, and `infer` is a function on them that is written by hand; entries() leads from names to it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "codegen/emit/cpp_names.h"
#include "codegen/emit/products.h"
#include "codegen/spec/signature.h"

namespace qgen::emit {
namespace {

using spec::Attribute;
using spec::Signature;
using spec::SignatureTensor;
using Kind = AttributeInfo::Kind;
using Role = TensorInfo::Role;

// A signature, and where the tables have it.
struct Public {
  const spec::Spec* spec = nullptr;
  Signature signature;
  size_t index = 0;  // among those of its spec

  std::string type() const { return pascal_case(signature.name); }
};

std::map<std::string, Public> public_operators(std::span<const Family> families) {
  std::map<std::string, Public> all;  // by name
  for (const Family& family : families) {
    const auto signatures = spec::signatures_of(*family.spec);
    for (size_t i = 0; i < signatures.size(); ++i) all[signatures[i].name] = {family.spec, signatures[i], i};
  }
  return all;
}

bool is_given(const SignatureTensor& tensor) { return tensor.role == Role::input || tensor.role == Role::weight; }

// ---- types and values -----------------------------------------------------------------------------------------------

std::string value_type(const Attribute& attribute) {
  switch (attribute.kind) {
    case Kind::boolean: return "bool";
    case Kind::integer: return "int64_t";
    case Kind::real: return "double";
    case Kind::integers: return "std::vector<int64_t>";
    case Kind::word: return word_type(attribute.word_set);
    case Kind::dtype: return "DType";
    case Kind::layout: return "Layout";
  }
  return "";
}

bool has_value(const Attribute& attribute) {
  return attribute.otherwise && !attribute.otherwise->value.starts_with('(');
}

// As Given::attribute() gives it.
std::string given_type(const Attribute& attribute) {
  const bool may_lack = attribute.otherwise && !has_value(attribute);
  return may_lack ? fmt::format("std::optional<{}>", value_type(attribute)) : value_type(attribute);
}

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

std::string_view given_function(const SignatureTensor& tensor) {
  if (tensor.is_optional) return "optional";
  return tensor.operand->has_view ? "view" : "tensor";
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
  out.text("template <typename As>");
  print_struct(out, op.type() + "Inputs", members);
}

void print_attributes(TextWriter& out, const Public& op) {
  std::vector<Member> members;
  for (const Attribute* attribute : op.signature.attributes)
    members.push_back({member(*attribute), comment_of(*attribute)});
  print_struct(out, op.type() + "Attributes", members);
}

void print_places(TextWriter& out, const Public& op) {
  std::vector<Member> members;
  for (const SignatureTensor& tensor : op.signature.tensors) {
    if (tensor.role == Role::output && tensor.has_place)
      members.push_back({fmt::format("Place {} = {{}};", identifier(tensor.operand->name.value)), ""});
  }
  print_struct(out, op.type() + "Places", members);
}

void print_operator(TextWriter& out, const Public& op) {
  out.line("// {}: {}", op.signature.name, op.signature.summary);
  print_inputs(out, op);
  print_attributes(out, op);
  print_places(out, op);
  out.line("Expected<Call> infer(const {}Inputs<Described>& inputs,", op.type());
  out.line("                     const {}Attributes& attributes,", op.type());
  out.line("                     const {}Places& places);", op.type());
  out.blank();
}

// ---- from names to them ---------------------------------------------------------------------------------------------

void print_inference(TextWriter& out, const Public& op) {
  std::vector<std::string> inputs, attributes, places;
  for (const SignatureTensor& tensor : op.signature.tensors) {
    const std::string name = identifier(tensor.operand->name.value);
    if (is_given(tensor))
      inputs.push_back(fmt::format(".{} = given.{}({})", name, given_function(tensor), tensor.index));
    if (tensor.role == Role::output && tensor.has_place)
      places.push_back(fmt::format(".{} = given.place({})", name, tensor.index));
  }
  for (size_t i = 0; i < op.signature.attributes.size(); ++i) {
    const Attribute& attribute = *op.signature.attributes[i];
    attributes.push_back(
        fmt::format(".{} = given.attribute<{}>({})", identifier(attribute.name.value), given_type(attribute), i));
  }
  out.line("inline Expected<Call> infer_{}([[maybe_unused]] const Given& given) {{", identifier(op.signature.name));
  {
    const auto indented = out.indent();
    out.filled(fmt::format("const {}Inputs<Described> inputs{{", op.type()), inputs, "};");
    out.filled(fmt::format("const {}Attributes attributes{{", op.type()), attributes, "};");
    out.filled(fmt::format("const {}Places places{{", op.type()), places, "};");
    out.text("return infer(inputs, attributes, places);");
  }
  out.text("}");
}

void print_signature_declarations(TextWriter& out, const std::map<std::string, Public>& operators) {
  std::map<std::string, size_t> counts;  // of the signatures of a spec
  for (const auto& [name, op] : operators) ++counts[identifier(op.spec->name.value)];
  for (const auto& [spec, count] : counts)
    out.line("namespace {} {{ extern const SignatureInfo signatures[{}]; }}", spec, count);
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
  out.text(
      "// What callers of each operator say, as its spec has it, and where that becomes a Call: infer() is written by");
  out.text("// hand for each.");
  out.text("#pragma once");
  out.blank();
  out.text("#include \"runtime/library/required.h\"");
  out.text("#include \"runtime/operators/given.h\"");
  out.text("#include \"words.h\"");
  out.blank();
  out.text(open_namespace(options, ""));
  out.blank();
  print_signature_declarations(out, operators);
  out.text("namespace operators {");
  out.blank();
  for (const auto& [name, op] : operators) print_operator(out, op);
  out.text("// ---- by name");
  out.blank();
  for (const auto& [name, op] : operators) print_inference(out, op);
  out.blank();
  out.text("inline const OperatorEntry kEntries[] = {");
  {
    const auto indented = out.indent();
    for (const auto& [name, op] : operators) {
      out.line("{{{}::signatures[{}], infer_{}}},", identifier(op.spec->name.value), op.index, identifier(name));
    }
  }
  out.text("};");
  out.blank();
  out.text("}  // namespace operators");
  out.text(close_namespace(options, ""));
  return std::move(out).take();
}

}  // namespace qgen::emit
