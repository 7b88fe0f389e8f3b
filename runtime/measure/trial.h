// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// One choice of a call, run with suspicion: what it is to write is filled with one poison before a first run and with
// another before a second, so that an element it leaves out, or a result that changes from run to run, shows as a
// difference; and the guard words behind each output are looked at. Where the kernel may write an output in an input's
// place, it does so in a third run, which must give the same bits. Make the Executor with guard_bytes.
#pragma once

#include "runtime/calls/registry.h"

namespace qgen::measure {

// The result holds the tensors that the call makes, and those given to it that it only writes.
Expected<Tensors> run_trial(Context& context, const PreparedCall& prepared, const Choice& choice);

}  // namespace qgen::measure
