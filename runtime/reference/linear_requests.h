// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// linear.h, on requests.
#pragma once

#include "runtime/reference/linear.h"
#include "runtime/reference/references.h"

namespace qgen::reference {

// The attributes.
Activation activation_of(const Request& request);
LinearParams params_of(const Request& request);

}  // namespace qgen::reference
