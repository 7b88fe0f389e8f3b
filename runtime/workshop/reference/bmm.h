// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Products of matrices that are each real or quantized, as docs/fused.md defines them, one element at a time: bmm is
// the same where it may be asked for.
#pragma once

#include "runtime/workshop/reference/fused.h"

namespace qgen::reference {

HostTensor fused_bmm(const FusedOperand& input, const FusedOperand& other, const FusedOutput& output);

}  // namespace qgen::reference
