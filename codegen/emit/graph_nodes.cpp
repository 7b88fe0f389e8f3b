// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// graph_nodes.h: the structs of operators.h, handed to a graph's builder by name. It is all that it takes to build
// graphs whose operands and attributes the compiler checks.
#include <fmt/format.h>

#include "codegen/emit/cpp_names.h"
#include "codegen/emit/products.h"
#include "codegen/emit/public_operators.h"
#include "codegen/spec/signature.h"

namespace qgen::emit {
namespace {

using spec::Attribute;
using spec::SignatureTensor;

std::string value_text(const Attribute& attribute) {
  return fmt::format("{{\"{}\", graph::to_value({}attributes.{})}}", attribute.name.value,
                     attribute.is_word() ? words_array(attribute.word_set) + ", " : "",
                     identifier(attribute.name.value));
}

std::string quoted_name(const SignatureTensor& tensor) { return fmt::format("\"{}\"", tensor.operand->name.value); }

void print_node(TextWriter& out, const Public& op) {
  const auto outputs = outputs_of(op);
  std::string result = "graph::Var";
  if (outputs.size() > 1) {
    result = op.type() + "Values";
    out.line("struct {} {{", result);
    {
      const auto indented = out.indent();
      for (const SignatureTensor* tensor : outputs) out.line("graph::Var {};", identifier(tensor->operand->name.value));
    }
    out.text("};");
  }
  std::vector<std::string> inputs, attributes, names, values;
  for (const SignatureTensor& tensor : op.signature.tensors) {
    if (is_given(tensor))
      inputs.push_back(fmt::format("{{{}, inputs.{}}}", quoted_name(tensor), identifier(tensor.operand->name.value)));
  }
  for (const Attribute* attribute : op.signature.attributes) attributes.push_back(value_text(*attribute));
  for (const SignatureTensor* tensor : outputs) names.push_back(quoted_name(*tensor));
  for (size_t i = 0; i < outputs.size(); ++i) values.push_back(fmt::format("made[{}]", i));

  auto parameters = parameters_of(op, "graph::InGraph", Defaults::written);
  if (!placed(op).empty()) parameters.pop_back();  // the planner sees to it
  parameters.insert(parameters.begin(), "graph::Builder& net");
  print_function_head(out, fmt::format("inline {} {}(", result, identifier(op.signature.name)), parameters, ") {");
  {
    const auto indented = out.indent();
    out.line("graph::NodeOf node(\"{}\");", op.signature.name);
    out.filled("node.inputs({", inputs, "});");
    if (!attributes.empty()) out.filled("node.attributes({", attributes, "});");
    if (outputs.size() == 1) {
      out.line("return net.add(node, {});", names.front());
    } else {
      out.filled("const auto made = net.add(node, {", names, "});");
      out.filled("return {", values, "};");
    }
  }
  out.text("}");
  out.blank();
}

}  // namespace

std::string graph_nodes_header(std::span<const Family> families, const Options& options) {
  const auto operators = public_operators(families);
  TextWriter out;
  out.line("// {}. Do not edit.", kGeneratedMark);
  out.text("//");
  out.text("// Each operator as a node of a graph that a graph::Builder makes:");
  out.text("//");
  out.text("//   const graph::Var y = x(net, {.input = ...}, {.scale = ...});");
  out.text("#pragma once");
  out.blank();
  out.text("#include \"operators.h\"");
  if (operators.empty()) return std::move(out).take();
  out.text("#include \"qgen/graph.h\"");
  out.blank();
  out.text(open_namespace(options, "operators"));
  out.blank();
  for (const auto& [name, op] : operators) print_node(out, op);
  out.text(close_namespace(options, "operators"));
  return std::move(out).take();
}

}  // namespace qgen::emit
