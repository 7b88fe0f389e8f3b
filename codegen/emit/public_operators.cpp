// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/emit/public_operators.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/emit/cpp_names.h"

namespace qgen::emit {
namespace {

using spec::Attribute;
using spec::SignatureTensor;
using Kind = AttributeInfo::Kind;
using Role = TensorInfo::Role;

}  // namespace

std::string Public::type() const { return pascal_case(signature.name); }

std::map<std::string, Public> public_operators(std::span<const Family> families) {
  std::map<std::string, Public> all;
  for (const Family& family : families) {
    const auto signatures = spec::signatures_of(*family.spec);
    for (size_t i = 0; i < signatures.size(); ++i) all[signatures[i].name] = {family.spec, signatures[i], i};
  }
  return all;
}

bool is_given(const SignatureTensor& tensor) { return tensor.role == Role::input || tensor.role == Role::weight; }

bool has_attributes(const Public& op) { return !op.signature.attributes.empty(); }

std::vector<const SignatureTensor*> placed(const Public& op) {
  std::vector<const SignatureTensor*> outputs;
  for (const SignatureTensor& tensor : op.signature.tensors) {
    if (tensor.role == Role::output && tensor.has_representation) outputs.push_back(&tensor);
  }
  return outputs;
}

std::vector<const SignatureTensor*> outputs_of(const Public& op) {
  std::vector<const SignatureTensor*> outputs;
  for (const SignatureTensor& tensor : op.signature.tensors) {
    if (tensor.role == Role::output) outputs.push_back(&tensor);
  }
  return outputs;
}

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

std::string given_type(const Attribute& attribute) {
  const bool may_lack = attribute.otherwise && !has_value(attribute);
  return may_lack ? fmt::format("std::optional<{}>", value_type(attribute)) : value_type(attribute);
}

std::string result_type(const Public& op) {
  return outputs_of(op).size() == 1 ? "DeviceTensor" : op.type() + "Outputs";
}

std::vector<std::string> parameters_of(const Public& op, std::string_view as, Defaults defaults) {
  const bool is_free = std::ranges::all_of(op.signature.attributes,
                                           [](const Attribute* attribute) { return attribute->otherwise.has_value(); });
  const bool has_defaults = defaults == Defaults::written;
  std::vector<std::string> parameters = {fmt::format("const {}Inputs<{}>& inputs", op.type(), as)};
  if (has_attributes(op)) {
    parameters.push_back(
        fmt::format("const {}Attributes& attributes{}", op.type(), has_defaults && is_free ? " = {}" : ""));
  }
  if (!placed(op).empty())
    parameters.push_back(
        fmt::format("const {}Representations& representations{}", op.type(), has_defaults ? " = {}" : ""));
  return parameters;
}

std::string_view after_inputs(const Public& op) {
  if (!has_attributes(op)) return placed(op).empty() ? "" : ", representations";
  return placed(op).empty() ? ", attributes" : ", attributes, representations";
}

void print_function_head(TextWriter& out, std::string_view begin, const std::vector<std::string>& parameters,
                         std::string_view end) {
  const std::string indent(begin.size(), ' ');
  for (size_t i = 0; i < parameters.size(); ++i) {
    const bool is_last = i + 1 == parameters.size();
    out.line("{}{}{}", i == 0 ? begin : indent, parameters[i], is_last ? end : ",");
  }
}

}  // namespace qgen::emit
