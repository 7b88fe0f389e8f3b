// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The commands of qgen-tune, one function each. They print, and return an exit code.
#pragma once

#include "runtime/workshop/tuner/arguments.h"
#include "runtime/workshop/tuner/program.h"

namespace qgen::tuner {

Expected<int> tune(const Program& program, const Arguments& arguments);

// Of the known times.
Expected<int> show(const Program& program, const Arguments& arguments);
Expected<int> export_file(const Program& program, const Arguments& arguments);
Expected<int> import_files(const Program& program, const Arguments& arguments);
Expected<int> merge_files(const Program& program, const Arguments& arguments);
Expected<int> forget(const Program& program, const Arguments& arguments);
Expected<int> fit(const Program& program, const Arguments& arguments);
Expected<int> report_page(const Program& program, const Arguments& arguments);

}  // namespace qgen::tuner
