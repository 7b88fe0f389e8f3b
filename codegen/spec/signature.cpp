// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/spec/signature.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "codegen/spec/axes.h"

namespace qgen::spec {
namespace {

TensorInfo::Role role_of(const Operand& operand) {
  if (operand.access == Access::write) return TensorInfo::Role::output;
  if (operand.row_sums_of) return TensorInfo::Role::derived;
  return operand.is_weight ? TensorInfo::Role::weight : TensorInfo::Role::input;
}

// A weight has the form that the chosen kernel reads, and an attribute may select a layout.
bool has_representation(const Spec& spec, const Operand& operand) {
  if (operand.is_weight || operand.row_sums_of) return false;
  const bool is_said = std::ranges::any_of(spec.attributes, [&](const Attribute& attribute) {
    return attribute.kind == AttributeInfo::Kind::layout && attribute.operand &&
           attribute.operand->value == operand.name.value;
  });
  if (is_said) return false;
  return words_of(spec, operand.storage).size() > 1 || (operand.layout && words_of(spec, *operand.layout).size() > 1);
}

SignatureTensor tensor_of(const Spec& spec, size_t index, const PublicOperator& op) {
  const Operand& operand = spec.operands[index];
  SignatureTensor tensor{&operand,
                         index,
                         role_of(operand),
                         operand.is_optional,
                         words_of(spec, operand.dtype),
                         words_of(spec, operand.storage),
                         operand.layout ? words_of(spec, *operand.layout) : std::vector<std::string>(),
                         has_representation(spec, operand),
                         operand.help};
  const auto narrowing =
      std::ranges::find_if(op.operands, [&](const Narrowing& n) { return n.operand.value == operand.name.value; });
  if (narrowing == op.operands.end()) return tensor;
  if (!narrowing->dtypes.empty()) tensor.dtypes.clear();
  for (const auto& dtype : narrowing->dtypes) tensor.dtypes.push_back(dtype.value);
  tensor.is_optional = narrowing->is_optional.value_or(tensor.is_optional);
  tensor.help = narrowing->help.value_or(tensor.help);
  return tensor;
}

bool names(const std::vector<Located<std::string>>& list, const Attribute& attribute) {
  return std::ranges::find(list, attribute.name.value, &Located<std::string>::value) != list.end();
}

// An attribute that any operator of the spec names under `with` belongs to those that do.
bool has(const Spec& spec, const PublicOperator& op, const Attribute& attribute) {
  if (names(op.without, attribute)) return false;
  const auto adds_it = [&](const PublicOperator& sibling) { return names(sibling.with, attribute); };
  return adds_it(op) || std::ranges::none_of(spec.operators, adds_it);
}

Signature signature_of(const Spec& spec, const PublicOperator& op) {
  Signature signature{op.name.value, op.summary.empty() ? spec.summary : op.summary, {}, {}, op.aliases};
  for (size_t i = 0; i < spec.operands.size(); ++i) signature.tensors.push_back(tensor_of(spec, i, op));
  for (const Attribute& attribute : spec.attributes) {
    if (has(spec, op, attribute)) signature.attributes.push_back(&attribute);
  }
  return signature;
}

}  // namespace

bool is_public(const Spec& spec) {
  return !spec.is_internal &&
         std::ranges::any_of(spec.operands, [](const Operand& operand) { return !operand.shapes.empty(); });
}

std::vector<Signature> signatures_of(const Spec& spec) {
  if (!is_public(spec)) return {};
  if (spec.operators.empty()) return {signature_of(spec, {spec.name, spec.summary, {}, {}, {}})};
  std::vector<Signature> signatures;
  for (const PublicOperator& op : spec.operators) signatures.push_back(signature_of(spec, op));
  return signatures;
}

std::vector<std::string> words_of(const Spec& spec, const Signature& signature, const Attribute& attribute) {
  std::vector<std::string> words;
  for (const auto& word : attribute.words) words.push_back(word.value);
  if (!attribute.operand) return words;
  const auto tensor = std::ranges::find_if(
      signature.tensors, [&](const SignatureTensor& t) { return t.operand->name.value == attribute.operand->value; });
  if (tensor == signature.tensors.end()) return words;
  if (attribute.kind == AttributeInfo::Kind::dtype) return tensor->dtypes;
  return tensor->operand->layout ? words_of(spec, *tensor->operand->layout) : words;
}

std::string_view to_word(AttributeInfo::Kind kind) {
  switch (kind) {
    case AttributeInfo::Kind::boolean: return "boolean";
    case AttributeInfo::Kind::integer: return "integer";
    case AttributeInfo::Kind::real: return "real";
    case AttributeInfo::Kind::integers: return "integers";
    case AttributeInfo::Kind::word: return "word";
    case AttributeInfo::Kind::dtype: return "dtype";
    case AttributeInfo::Kind::layout: return "layout";
  }
  return "?";
}

std::string to_text(const ShapePattern& shape) {
  std::vector<std::string> sides;
  if (shape.has_leading) sides.emplace_back("...");
  sides.insert(sides.end(), shape.sides.begin(), shape.sides.end());
  return fmt::format("[{}]", fmt::join(sides, ", "));
}

}  // namespace qgen::spec
