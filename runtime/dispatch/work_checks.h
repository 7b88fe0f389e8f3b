// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Whether a work may be recorded at all. A kernel trusts its Problem, so a tensor that is smaller than the one that the
// Problem was filled from is read and written past its end; this is where such a tensor stops.
#pragma once

#include "runtime/dispatch/executor.h"
#include "runtime/library/kernel_library.h"

namespace qgen::dispatch {

// Errors: no choice, a choice that is not whole or of another library; operands that are too few, too many, null where
// one was present, other than those that the choice was made for, or written and at the same time another operand.
Done check_work(const Work& work, const KernelLibrary& library);

}  // namespace qgen::dispatch
