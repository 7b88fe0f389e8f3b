// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Checks what a device computes with each feature that kernels rely on: small kernels (specs/check), whose results the
// host compares. It takes seconds on llvmpipe, and less on a GPU. A driver that computes a feature wrongly is then used
// without the feature, as with a known fault of a driver (quirks.h). A program does this at its first start:
//
//   auto checked = self_test::checked_profile(device, library);
//   if (!checked) return checked.error();
//   Context context{.profile = checked->profile, .library = library, .executor = executor};
//
// The verdict is stored for the device and the version of its driver (runtime/engine/profiles/verdict.h). So the next
// start reads a file. All programs of qgen read it too.
#pragma once

#include <string>
#include <vector>

#include "runtime/engine/device/device.h"
#include "runtime/engine/library/kernel_library.h"

namespace qgen::self_test {

// One check.
struct Finding {
  enum class Verdict : uint8_t { works, wrong, missing };
  Verdict verdict = Verdict::works;
  std::string name;          // the feature, or "cooperative matrix 16 x 16 x 32, i8 x i8 + i32 -> i32"
  std::string text;          // wrong: an input, its result, and the right one; missing: why; else a remark, or nothing
  FeatureMask features = 0;  // that are wrong
  std::vector<CooperativeMatrixShape> shapes = {};  // that are wrong
};

// Runs all checks on the device. `library` must have the operators check_feature and check_matrix, as the shipped one
// has. A check that the device cannot run is `missing`; one whose kernel fails is `wrong`. Errors: a library without
// these operators, those of Executor::create().
Expected<std::vector<Finding>> run(const Device& device, const KernelLibrary& library);

// The profile without what is wrong.
DeviceProfile without_wrong(const DeviceProfile& profile, const std::vector<Finding>& findings);

struct Checked {
  DeviceProfile profile;  // of the device, without what is wrong
  bool was_stored = false;
  std::string warning;  // why the verdict could not be read or stored; empty: it was
};
// The stored verdict; or, if there is none, that of run(), which is then stored. Errors: those of run().
Expected<Checked> checked_profile(const Device& device, const KernelLibrary& library);

// Runs all checks and stores the verdict, whether or not there is one. Errors: those of run(), and of storing.
Expected<std::vector<Finding>> run_and_store(const Device& device, const KernelLibrary& library);

// A line for each check: "  wrong    integer_dot_product    0x80808080, 0x7f7f7f7f: 65024, not -65024".
std::string to_text(const std::vector<Finding>& findings);
// The same for programs: an array of objects with verdict, name and text.
std::string to_json(const std::vector<Finding>& findings);

}  // namespace qgen::self_test
