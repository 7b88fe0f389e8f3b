// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Finds how a module accesses its global variables, for bindings without readonly or
// writeonly.
#pragma once

#include "codegen/reflect/module.h"

namespace qgen::reflect {

struct Use {
  bool is_read = false;
  bool is_written = false;
};

// By variable id. A pointer that goes where it cannot be followed (a call, a select) counts as read and written.
std::vector<Use> uses_of_variables(const Module& module);

}  // namespace qgen::reflect
