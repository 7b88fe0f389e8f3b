// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// operators.h: what callers type. Each public operator's inputs, attributes and places are structs whose members are
// named as in its spec, and `infer` is a function on them that is written by hand. operators.cpp: what is the same for
// every operator, from a caller's structs or from names to infer(), and from there to a run.
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

bool has_attributes(const Public& op) { return !op.signature.attributes.empty(); }

void print_attributes(TextWriter& out, const Public& op) {
  if (!has_attributes(op)) return;
  std::vector<Member> members;
  for (const Attribute* attribute : op.signature.attributes)
    members.push_back({member(*attribute), comment_of(*attribute)});
  print_struct(out, op.type() + "Attributes", members);
}

std::vector<const SignatureTensor*> placed(const Public& op) {
  std::vector<const SignatureTensor*> outputs;
  for (const SignatureTensor& tensor : op.signature.tensors) {
    if (tensor.role == Role::output && tensor.has_place) outputs.push_back(&tensor);
  }
  return outputs;
}

void print_places(TextWriter& out, const Public& op) {
  std::vector<Member> members;
  for (const SignatureTensor* tensor : placed(op)) {
    const auto& like = tensor->operand->like;
    members.push_back({fmt::format("std::optional<Place> {} = std::nullopt;", identifier(tensor->operand->name.value)),
                       like ? fmt::format("without: as {} lies", like->value) : "without: a plain buffer"});
  }
  if (!members.empty()) print_struct(out, op.type() + "Places", members);
}

std::vector<const SignatureTensor*> outputs_of(const Public& op) {
  std::vector<const SignatureTensor*> outputs;
  for (const SignatureTensor& tensor : op.signature.tensors) {
    if (tensor.role == Role::output) outputs.push_back(&tensor);
  }
  return outputs;
}

// What the operator's function gives: a tensor, or a struct of several.
std::string result_type(const Public& op) {
  return outputs_of(op).size() == 1 ? "DeviceTensor" : op.type() + "Outputs";
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

// The arguments of its functions behind the inputs.
std::string_view after_inputs(const Public& op) {
  if (!has_attributes(op)) return placed(op).empty() ? "" : ", places";
  return placed(op).empty() ? ", attributes" : ", attributes, places";
}

// ---- the functions of one operator ----------------------------------------------------------------------------------

// The parameters that say a call, its inputs `as` tensors lie or are described.
std::vector<std::string> parameters_of(const Public& op, std::string_view as, bool has_defaults) {
  const bool is_free = std::ranges::all_of(op.signature.attributes,
                                           [](const Attribute* attribute) { return attribute->otherwise.has_value(); });
  std::vector<std::string> parameters = {fmt::format("const {}Inputs<{}>& inputs", op.type(), as)};
  if (has_attributes(op)) {
    parameters.push_back(
        fmt::format("const {}Attributes& attributes{}", op.type(), has_defaults && is_free ? " = {}" : ""));
  }
  if (!placed(op).empty())
    parameters.push_back(fmt::format("const {}Places& places{}", op.type(), has_defaults ? " = {}" : ""));
  return parameters;
}

// "Expected<Call> infer(", its parameters a line each, `end`.
void print_function_head(TextWriter& out, std::string_view begin, const std::vector<std::string>& parameters,
                         std::string_view end) {
  const std::string indent(begin.size(), ' ');
  for (size_t i = 0; i < parameters.size(); ++i) {
    const bool is_last = i + 1 == parameters.size();
    out.line("{}{}{}", i == 0 ? begin : indent, parameters[i], is_last ? end : ",");
  }
}

void print_operator(TextWriter& out, const Public& op) {
  const std::string name = identifier(op.signature.name);
  out.line("// {}: {}", op.signature.name, op.signature.summary);
  print_inputs(out, op);
  print_attributes(out, op);
  print_places(out, op);
  print_outputs(out, op);
  print_function_head(out, "Expected<Call> infer(", parameters_of(op, "Described", false), ");");
  print_function_head(out, fmt::format("Expected<Call> {}_call(", name), parameters_of(op, "Described", true), ");");
  auto on_device = parameters_of(op, "OnDevice", true);
  on_device.insert(on_device.begin(), "Context& context");
  print_function_head(out, fmt::format("Expected<{}> {}(", result_type(op), name), on_device, ");");
  out.blank();
}

// ---- what is the same for all --------------------------------------------------------------------------------------

void print_inference(TextWriter& out, const Public& op) {
  std::vector<std::string> inputs, attributes, places;
  for (const SignatureTensor& tensor : op.signature.tensors) {
    if (!is_given(tensor)) continue;
    inputs.push_back(fmt::format(".{} = given.{}({})", identifier(tensor.operand->name.value), given_function(tensor),
                                 tensor.index));
  }
  for (const SignatureTensor* tensor : placed(op)) {
    places.push_back(fmt::format(".{} = given.place({})", identifier(tensor->operand->name.value), tensor->index));
  }
  for (size_t i = 0; i < op.signature.attributes.size(); ++i) {
    const Attribute& attribute = *op.signature.attributes[i];
    attributes.push_back(
        fmt::format(".{} = given.attribute<{}>({})", identifier(attribute.name.value), given_type(attribute), i));
  }
  out.line("Expected<Call> infer_{}(const Given& given) {{", identifier(op.signature.name));
  {
    const auto indented = out.indent();
    out.filled(fmt::format("const {}Inputs<Described> inputs{{", op.type()), inputs, "};");
    if (has_attributes(op)) out.filled(fmt::format("const {}Attributes attributes{{", op.type()), attributes, "};");
    if (!places.empty()) out.filled(fmt::format("const {}Places places{{", op.type()), places, "};");
    out.line("return infer(inputs{});", after_inputs(op));
  }
  out.text("}");
  out.blank();
}

void print_call(TextWriter& out, const Public& op) {
  const std::string name = identifier(op.signature.name);
  print_function_head(out, fmt::format("Expected<Call> {}_call(", name), parameters_of(op, "Described", false), ") {");
  {
    const auto indented = out.indent();
    out.line("Given given({}::signatures[{}]);", identifier(op.spec->name.value), op.index);
    for (const SignatureTensor& tensor : op.signature.tensors) {
      if (is_given(tensor))
        out.line("given.set_{}({}, inputs.{});", given_function(tensor), tensor.index,
                 identifier(tensor.operand->name.value));
    }
    for (size_t i = 0; i < op.signature.attributes.size(); ++i) {
      out.line("given.set_attribute({}, attributes.{});", i, identifier(op.signature.attributes[i]->name.value));
    }
    for (const SignatureTensor* tensor : placed(op)) {
      out.line("given.set_place({}, places.{});", tensor->index, identifier(tensor->operand->name.value));
    }
    out.line("return checked(given, infer_{});", name);
  }
  out.text("}");
}

void print_run(TextWriter& out, const Public& op) {
  const std::string name = identifier(op.signature.name);
  std::vector<std::string> described, arguments;
  for (const SignatureTensor& tensor : op.signature.tensors) {
    const std::string member = identifier(tensor.operand->name.value);
    if (is_given(tensor)) described.push_back(fmt::format(".{0} = desc_of(inputs.{0})", member));
    arguments.push_back(is_given(tensor) ? fmt::format("argument_of(inputs.{})", member) : "{}");
  }
  auto parameters = parameters_of(op, "OnDevice", false);
  parameters.insert(parameters.begin(), "Context& context");
  print_function_head(out, fmt::format("Expected<{}> {}(", result_type(op), name), parameters, ") {");
  {
    const auto indented = out.indent();
    out.filled(fmt::format("const {}Inputs<Described> described{{", op.type()), described, "};");
    out.line("const auto call = {}_call(described{});", name, after_inputs(op));
    out.filled("const ArgumentList arguments({", arguments, "});");
    const std::string signature = fmt::format("{}::signatures[{}]", identifier(op.spec->name.value), op.index);
    const auto outputs = outputs_of(op);
    if (outputs.size() == 1) {
      out.line("return run_for_one(context, {}, call, arguments);", signature);
    } else {
      out.line("auto made = run(context, {}, call, arguments);", signature);
      out.text("if (!made) return made.error();");
      std::vector<std::string> members;
      for (size_t i = 0; i < outputs.size(); ++i) members.push_back(fmt::format("std::move((*made)[{}])", i));
      out.filled(fmt::format("return {}{{", result_type(op)), members, "};");
    }
  }
  out.text("}");
  out.blank();
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
  out.text("// Each operator as its callers see it:");
  out.text("//");
  out.text("//   x(context, {.input = ...}, {.scale = ...})  runs it, and gives what it made");
  out.text("//   x_call({.input = ...}, {.scale = ...})      the same checks, and no device");
  out.text("//   infer(inputs, attributes)                   after those checks; written by hand for each operator");
  out.text("#pragma once");
  out.blank();
  out.text("#include \"runtime/library/required.h\"");
  out.text("#include \"runtime/calls/given.h\"");
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

std::string operators_source(std::span<const Family> families, const Options& options) {
  const auto operators = public_operators(families);
  TextWriter out;
  out.line("// {}. Do not edit.", kGeneratedMark);
  out.text("#include \"operators.h\"");
  if (operators.empty()) return std::move(out).take();
  out.blank();
  out.text("#include <utility>");
  out.blank();
  out.text(open_namespace(options, ""));
  out.blank();
  print_signature_declarations(out, operators);
  out.text("namespace operators {");
  out.text("namespace {");
  out.blank();
  for (const auto& [name, op] : operators) print_inference(out, op);
  out.text("}  // namespace");
  out.blank();
  for (const auto& [name, op] : operators) {
    print_call(out, op);
    print_run(out, op);
  }
  out.text("std::span<const OperatorEntry> entries() {");
  {
    const auto indented = out.indent();
    out.text("static const OperatorEntry all[] = {");
    {
      const auto rows = out.indent();
      const auto more = out.indent();
      for (const auto& [name, op] : operators) {
        out.line("{{{}::signatures[{}], infer_{}}},", identifier(op.spec->name.value), op.index, identifier(name));
      }
    }
    out.text("};");
    out.text("return all;");
  }
  out.text("}");
  out.blank();
  out.text("}  // namespace operators");
  out.text(close_namespace(options, ""));
  return std::move(out).take();
}

}  // namespace qgen::emit
