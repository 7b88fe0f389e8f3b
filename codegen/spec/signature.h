// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The signature of an operator: names, tensors, attributes. A spec whose operands have shapes has one signature for
// each of its public operators. Other specs are for recipes, or for callers who fill a Problem themselves.
//
//   operands:
//     input:  {access: read,  dtype: $dtype, shape: [..., K]}
//     ...
//   operators:
//     q8ta_relu:    {summary: "max(x, 0)"}       two signatures, on the same kernels
//     q8ta_sigmoid: {summary: 1 / (1 + exp(-x))}
#pragma once

#include "codegen/spec/spec.h"

namespace qgen::spec {

// An operand as one public operator has it.
struct SignatureTensor {
  const Operand* operand = nullptr;
  size_t index = 0;  // of the operand
  TensorInfo::Role role = TensorInfo::Role::input;
  bool is_optional = false;
  std::vector<std::string> dtypes;
  std::vector<std::string> storages;
  std::vector<std::string> layouts;  // that kernels name; none: strided in a buffer, any in a texture
  bool has_representation = false;   // the caller may choose its storage and layout
  std::string help;
};

struct Signature {
  std::string name;
  std::string summary;
  std::vector<SignatureTensor> tensors;  // one for each operand
  std::vector<const Attribute*> attributes;
  std::vector<Alias> aliases;
};

// An operator some of whose operands have a shape. Signatures of kernels are empty: a kernel shares fragments with
// operators.
bool is_public(const Spec& spec);

// The spec outlives them.
std::vector<Signature> signatures_of(const Spec& spec);

// The possible values of an attribute that is a word, a dtype or a layout.
std::vector<std::string> words_of(const Spec& spec, const Signature& signature, const Attribute& attribute);

// As specs write it: "integers"; of words "word".
std::string_view to_word(AttributeInfo::Kind kind);

// "[..., N, K]"
std::string to_text(const ShapePattern& shape);

}  // namespace qgen::spec
