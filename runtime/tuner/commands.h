// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What qgen-tune does, a function each. They print, and give an exit code.
#pragma once

#include "runtime/tuner/arguments.h"
#include "runtime/tuner/program.h"

namespace qgen::tuner {

Expected<int> tune(const Program& program, const Arguments& arguments);

// Of what is known.
Expected<int> show(const Program& program, const Arguments& arguments);
Expected<int> export_file(const Program& program, const Arguments& arguments);
Expected<int> import_files(const Arguments& arguments);
Expected<int> merge_files(const Arguments& arguments);
Expected<int> forget(const Arguments& arguments);
Expected<int> fit(const Program& program, const Arguments& arguments);
Expected<int> report_page(const Program& program, const Arguments& arguments);

}  // namespace qgen::tuner
