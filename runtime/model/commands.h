// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What qgen-model does: each gives an exit code (runtime/runner/arguments.h), or the error that is printed.
#pragma once

#include "runtime/calls/registry.h"
#include "runtime/model/arguments.h"

namespace qgen::model {

struct Program {
  const KernelLibrary& library;
  OperatorEntries operators;
};

Expected<int> run(const Program& program, const Arguments& arguments);
Expected<int> check(const Program& program, const Arguments& arguments);
Expected<int> compile(const Program& program, const Arguments& arguments);

}  // namespace qgen::model
