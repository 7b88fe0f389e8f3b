// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// linear.h, on requests.
#pragma once

#include "runtime/workshop/reference/linear.h"
#include "runtime/workshop/reference/references.h"

namespace qgen::reference {

// The attributes.
Activation activation_of(const Request& request);
LinearParams params_of(const Request& request);

// The stored value of f32 results: rounded to i8, looked up in a table, and added to a residual, if the operator has
// these.
HostTensor stored(const HostTensor& results, const Request& request);

}  // namespace qgen::reference
