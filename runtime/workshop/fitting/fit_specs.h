// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen-tune fit: from tuning files to the numbers in specs.
#pragma once

#include <string>
#include <vector>

#include "runtime/engine/library/error.h"
#include "runtime/engine/library/kernel_library.h"

namespace qgen::fitting {

struct FitRequest {
  std::vector<std::string> files;      // tuning files
  std::vector<std::string> operators;  // rows of these alone; empty: all
  std::vector<std::string> only;       // the specs and fragments whose constants are found; empty: all
  std::string specs = "specs";         // the folder whose specs are written
  bool is_dry_run = false;             // nothing is written
};

// What to tell: the constants, the errors of costs before and after, the files that were written. The library is the
// one that the specs make: its constants are those that the specs have.
Expected<std::string> fit_specs(const FitRequest& request, const KernelLibrary& library);

}  // namespace qgen::fitting
