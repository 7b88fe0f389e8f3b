// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The scalar references, by the names and on the requests of runtime/operators/registry.h: what verifies a kernel without
// knowing its operator.
//
//   if (const auto reference = reference::find("quantize_affine")) Tensors expected = reference(request);
#pragma once

#include "runtime/operators/registry.h"

namespace qgen::reference {

// Of a request that the operator itself accepts.
using Operator = Tensors (*)(const Request& request);
Operator find(std::string_view name);  // null: none

}  // namespace qgen::reference
