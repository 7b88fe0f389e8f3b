// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// One operator on one device, as the command line asks: run once, or timed. Both print what came of it and give the
// exit code. Errors: what was asked for is wrong, no kernel fits, the device failed.
#pragma once

#include "runtime/device/device_profile.h"
#include "runtime/library/kernel_library.h"
#include "runtime/runner/arguments.h"

namespace qgen::runner {

Expected<int> run_operator(Context& context, const OperatorEntry& entry, const Arguments& arguments);

// `shipped` is a context of the same device with the shipped kernels, among them the copy that is timed beside.
Expected<int> time_operator(Context& context, Context& shipped, const OperatorEntry& entry, const Arguments& arguments);

// Prints which kernel would be chosen on the device, and why; opens none.
Expected<int> explain_operator(const KernelLibrary& library, const DeviceProfile& device, const OperatorEntry& entry,
                               const Arguments& arguments);

}  // namespace qgen::runner
