// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Products of floating-point or quantized matrices, as docs/fused.md defines fused_bmm, one element at a time. It is
// the reference of bmm too.
#pragma once

#include "runtime/workshop/reference/fused.h"

namespace qgen::reference {

HostTensor fused_bmm(const FusedOperand& input, const FusedOperand& other, const FusedOutput& output);

}  // namespace qgen::reference
