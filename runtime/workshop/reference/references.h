// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The scalar references by name, on the requests of runtime/engine/calls/registry.h. With them a kernel is verified
// without code for its operator.
//
//   if (const auto reference = reference::find("quantize_affine")) Tensors expected = reference(request);
#pragma once

#include <optional>

#include "runtime/engine/calls/registry.h"
#include "runtime/workshop/reference/exact.h"

namespace qgen::reference {

// Of a request that the operator itself accepts.
using Operator = Tensors (*)(const Request& request);
Operator find(std::string_view name);  // null: none

// With the exact values of floating-point outputs.
struct Answer {
  Tensors outputs;
  std::map<std::string, Exact, std::less<>> exact;  // by output
};
std::optional<Answer> answer(std::string_view name, const Request& request);  // nullopt: there is no such reference

// How another library's operators are judged: a function like answer(), or null where it has no references.
using Answers = std::optional<Answer> (*)(std::string_view name, const Request& request);

// Whether the reference has exact values: for outputs that the spec calls `computed`.
bool has_exact_values(std::string_view name);

}  // namespace qgen::reference
