// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Checks a work before it is recorded. A kernel trusts its Problem, so a tensor that is smaller than the Problem says
// would be read and written past its end. Such a tensor is refused here.
#pragma once

#include "runtime/engine/dispatch/executor.h"
#include "runtime/engine/library/kernel_library.h"

namespace qgen::dispatch {

// Errors: no choice, an incomplete choice or one of another library; operands that are too few, too many, null where
// one was present, or different from the choice's; an operand that is written and is also another operand.
Done check_work(const Work& work, const KernelLibrary& library);
// The same of a choice that was found whole before: its operands alone.
Done check_operands(const Work& work);

}  // namespace qgen::dispatch
