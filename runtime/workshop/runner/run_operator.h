// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Runs or times one operator on one device. Both print the results and return the exit code. Errors: a wrong request,
// no kernel fits, the device failed.
#pragma once

#include "runtime/engine/device/device_profile.h"
#include "runtime/engine/library/kernel_library.h"
#include "runtime/workshop/runner/arguments.h"

namespace qgen::runner {

Expected<int> run_operator(Context& context, const OperatorEntry& entry, const Arguments& arguments);

// `shipped` is a context of the same device with the shipped kernels, among them the copy that is timed for comparison.
Expected<int> time_operator(Context& context, Context& shipped, const OperatorEntry& entry, const Arguments& arguments);

// Prints which kernel would be chosen on the device, and why; opens none.
Expected<int> explain_operator(const KernelLibrary& library, const DeviceProfile& device, const OperatorEntry& entry,
                               const Arguments& arguments);

}  // namespace qgen::runner
