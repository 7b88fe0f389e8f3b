// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#pragma once

#include "runtime/engine/selector/select.h"

namespace qgen {

// Whether a choice may write operand `output` in the bytes of operand `input`: the kernel that writes it allows that
// (OperandInfo::in_place), and no later launch reads the input. Both must lie alike: dispatch/in_place.h.
bool may_be_in_place(const Choice& choice, size_t output, size_t input);

}  // namespace qgen
