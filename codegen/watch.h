// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// --watch: an edit loop. The inputs are generated once, and again after each change in their folders.
//
//   save a template  ->  inotify wakes qgen  ->  the changed variants are compiled  ->  kernels.blob is renamed into place
//
// Events only wake it. Whether there is work is decided by the contents of the inputs, so the many events of one save,
// and a save without a change, are one run or none.
#pragma once

#include "codegen/run.h"

namespace qgen {

// Prints one line for each run, or its errors. Ends with ExitCode::done on SIGINT or SIGTERM. Errors: the system cannot
// watch the folders.
ExitCode watch(const RunOptions& options);

}  // namespace qgen
