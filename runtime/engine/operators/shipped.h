// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The shipped operators by name.
#pragma once

#include "runtime/engine/calls/registry.h"

namespace qgen {

OperatorEntries operators();
inline const OperatorEntry* find_operator(std::string_view name) { return find_operator(operators(), name); }

}  // namespace qgen
