// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The parts of a public operator's declaration (operators.h) and definition (operators.cpp) that must be spelled
// equally. Private to this room.
//
//   for (const auto& [name, op] : public_operators(families)) {
//     print_function_head(out, "Expected<Call> infer(", parameters_of(op, "Described", Defaults::left_out), ");");
//   }
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/emit/products.h"
#include "codegen/spec/signature.h"
#include "codegen/support/text_writer.h"

namespace qgen::emit {

// A signature, and where the tables have it.
struct Public {
  const spec::Spec* spec = nullptr;
  spec::Signature signature;
  size_t index = 0;  // among its spec's signatures

  std::string type() const;  // "RowMax"
};
std::map<std::string, Public> public_operators(std::span<const Family> families);  // by name

bool is_given(const spec::SignatureTensor& tensor);  // by the caller: an input or a weight
bool has_attributes(const Public& op);
std::vector<const spec::SignatureTensor*> placed(const Public& op);  // the outputs that a caller may place
std::vector<const spec::SignatureTensor*> outputs_of(const Public& op);

std::string value_type(const spec::Attribute& attribute);
// Whether its default is a value; else it is in words, "(the dtype's)", or there is none.
bool has_value(const spec::Attribute& attribute);
// As InferArguments::attribute() gives it.
std::string given_type(const spec::Attribute& attribute);

// The result type of the operator's function: a tensor, or a struct of several.
std::string result_type(const Public& op);

// The parameters of a call, with inputs `as` tensors or as descriptions. A declaration has their defaults.
enum class Defaults : uint8_t { left_out, written };
std::vector<std::string> parameters_of(const Public& op, std::string_view as, Defaults defaults);
// The arguments of its functions after the inputs: ", attributes, representations".
std::string_view after_inputs(const Public& op);
// "Expected<Call> infer(", its parameters a line each, `end`.
void print_function_head(TextWriter& out, std::string_view begin, const std::vector<std::string>& parameters,
                         std::string_view end);

}  // namespace qgen::emit
