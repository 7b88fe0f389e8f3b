// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The kernels and formats of an operator that a device can run, for any problem. docs/device_table.md is made from it.
//
//   const Coverage coverage = coverage_of(signature, device);
//   coverage.kernels    // 34 of coverage.all_kernels
//   coverage.formats    // 28 of coverage.all_formats
//   coverage.missing    // "output i8 buffer strided: q8_linear_gemv.i8...: needs storage_buffer_8bit, which ..."
#pragma once

#include <string>
#include <vector>

#include "runtime/engine/device/device_profile.h"
#include "runtime/engine/library/signature_info.h"

namespace qgen {

// A format of a kernel is the dtypes, storages and layouts of the caller's tensors that it takes. For a recipe, whose
// steps each read and write some of them, it is the format of one tensor; a kernel of the operator has it too if one of
// its tensors has. Weights have no part in it: they get the form that the chosen kernel reads.
struct Coverage {
  size_t kernels = 0, all_kernels = 0;  // variants, and recipes
  size_t formats = 0, all_formats = 0;
  std::vector<std::string> missing;  // a line for each format without a kernel: the format, a kernel, its refusal
};

// Conditions on problems are not read.
Coverage coverage_of(const SignatureInfo& signature, const DeviceProfile& device);

}  // namespace qgen
