// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The scalar references, by the names and on the requests of runtime/calls/registry.h: what verifies a kernel
// without knowing its operator.
//
//   if (const auto reference = reference::find("quantize_affine")) Tensors expected = reference(request);
#pragma once

#include "runtime/calls/registry.h"

namespace qgen::reference {

// Of a request that the operator itself accepts.
using Operator = Tensors (*)(const Request& request);
Operator find(std::string_view name);  // null: none

// How far each element of an output may be from the reference's, where kernels add up reals in an order of their own.
using Bounds = std::map<std::string, std::vector<double>, std::less<>>;
using BoundsOf = Bounds (*)(const Request& request);
BoundsOf find_bounds(std::string_view name);  // null: not at all

}  // namespace qgen::reference
