// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Prints operators.cpp: from a caller's structs or names to infer(), and from there to a run.
#include <fmt/format.h>

#include <map>

#include "codegen/emit/cpp_names.h"
#include "codegen/emit/products.h"
#include "codegen/emit/public_operators.h"
#include "codegen/spec/signature.h"

namespace qgen::emit {
namespace {

using spec::Attribute;
using spec::SignatureTensor;

std::string_view given_function(const SignatureTensor& tensor) {
  if (tensor.is_optional) return "optional";
  return tensor.operand->has_view ? "view" : "tensor";
}

void print_inference(TextWriter& out, const Public& op) {
  std::vector<std::string> inputs, attributes, representations;
  for (const SignatureTensor& tensor : op.signature.tensors) {
    if (!is_given(tensor)) continue;
    inputs.push_back(fmt::format(".{} = arguments.{}({})", identifier(tensor.operand->name.value),
                                 given_function(tensor), tensor.index));
  }
  for (const SignatureTensor* tensor : placed(op)) {
    representations.push_back(
        fmt::format(".{} = arguments.representation({})", identifier(tensor->operand->name.value), tensor->index));
  }
  for (size_t i = 0; i < op.signature.attributes.size(); ++i) {
    const Attribute& attribute = *op.signature.attributes[i];
    attributes.push_back(
        fmt::format(".{} = arguments.attribute<{}>({})", identifier(attribute.name.value), given_type(attribute), i));
  }
  out.line("Expected<Call> infer_{}(const InferArguments& arguments) {{", identifier(op.signature.name));
  {
    const auto indented = out.indent();
    out.filled(fmt::format("const {}Inputs<Described> inputs{{", op.type()), inputs, "};");
    if (has_attributes(op)) out.filled(fmt::format("const {}Attributes attributes{{", op.type()), attributes, "};");
    if (!representations.empty())
      out.filled(fmt::format("const {}Representations representations{{", op.type()), representations, "};");
    out.line("return infer(inputs{});", after_inputs(op));
  }
  out.text("}");
  out.blank();
}

std::string signature_of(const Public& op) {
  return fmt::format("{}::signatures[{}]", identifier(op.spec->name.value), op.index);
}

void print_call(TextWriter& out, const Public& op) {
  const std::string name = identifier(op.signature.name);
  print_function_head(out, fmt::format("Expected<Call> {}_call(", name),
                      parameters_of(op, "Described", Defaults::left_out), ") {");
  {
    const auto indented = out.indent();
    out.line("InferArguments arguments({});", signature_of(op));
    for (const SignatureTensor& tensor : op.signature.tensors) {
      if (is_given(tensor))
        out.line("arguments.set_{}({}, inputs.{});", given_function(tensor), tensor.index,
                 identifier(tensor.operand->name.value));
    }
    for (size_t i = 0; i < op.signature.attributes.size(); ++i) {
      out.line("arguments.set_attribute({}, attributes.{});", i, identifier(op.signature.attributes[i]->name.value));
    }
    for (const SignatureTensor* tensor : placed(op)) {
      out.line("arguments.set_representation({}, representations.{});", tensor->index,
               identifier(tensor->operand->name.value));
    }
    for (const SignatureTensor* tensor : outputs_of(op)) {
      out.line("arguments.set_output({}, inputs.{});", tensor->index, identifier(tensor->operand->name.value));
    }
    out.line("return checked(arguments, infer_{});", name);
  }
  out.text("}");
}

// What the call is kept by: all that infer() can see of the arguments.
std::vector<std::string> key_parts(const Public& op) {
  std::vector<std::string> parts{signature_of(op)};
  for (const SignatureTensor& tensor : op.signature.tensors) {
    const bool is_output = tensor.role == TensorInfo::Role::output;
    if (is_given(tensor) || is_output) parts.push_back("inputs." + identifier(tensor.operand->name.value));
  }
  for (const Attribute* attribute : op.signature.attributes)
    parts.push_back("attributes." + identifier(attribute->name.value));
  for (const SignatureTensor* tensor : placed(op))
    parts.push_back("representations." + identifier(tensor->operand->name.value));
  return parts;
}

void print_described(TextWriter& out, const Public& op) {
  std::vector<std::string> described, outputs_described;
  for (const SignatureTensor& tensor : op.signature.tensors) {
    const std::string description = fmt::format(".{0} = desc_of(inputs.{0})", identifier(tensor.operand->name.value));
    if (is_given(tensor)) described.push_back(description);
    if (tensor.role == TensorInfo::Role::output) outputs_described.push_back(description);  // behind the inputs
  }
  described.insert(described.end(), outputs_described.begin(), outputs_described.end());
  out.filled(fmt::format("const {}Inputs<Described> described{{", op.type()), described, "};");
}

std::vector<std::string> run_arguments(const Public& op) {
  std::vector<std::string> arguments;
  for (const SignatureTensor& tensor : op.signature.tensors) {
    const bool is_said = is_given(tensor) || tensor.role == TensorInfo::Role::output;
    arguments.push_back(is_said ? fmt::format("argument_of(inputs.{})", identifier(tensor.operand->name.value)) : "{}");
  }
  return arguments;
}

void print_result(TextWriter& out, const Public& op) {
  const auto outputs = outputs_of(op);
  if (outputs.size() == 1) {
    out.line("return run_for_one(context, {}, call, std::move(arguments));", signature_of(op));
    return;
  }
  out.line("auto made = run(context, {}, call, std::move(arguments));", signature_of(op));
  out.text("if (!made) return made.error();");
  std::vector<std::string> members;
  for (size_t i = 0; i < outputs.size(); ++i) members.push_back(fmt::format("std::move((*made)[{}])", i));
  out.filled(fmt::format("return {}{{", result_type(op)), members, "};");
}

void print_run(TextWriter& out, const Public& op) {
  const std::string name = identifier(op.signature.name);
  auto parameters = parameters_of(op, "OnDevice", Defaults::left_out);
  parameters.insert(parameters.begin(), "Context& context");
  print_function_head(out, fmt::format("Expected<{}> {}(", result_type(op), name), parameters, ") {");
  {
    const auto indented = out.indent();
    out.filled("const ArgumentKey key{", key_parts(op), "};");
    out.text("const auto call = call_of(context, key, [&] {");
    {
      const auto inner = out.indent();
      print_described(out, op);
      out.line("return {}_call(described{});", name, after_inputs(op));
    }
    out.text("});");
    out.filled("ArgumentList arguments({", run_arguments(op), "});");
    print_result(out, op);
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
        out.line("{{{}, infer_{}}},", signature_of(op), identifier(name));
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
