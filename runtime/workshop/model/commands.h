// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The commands of qgen-model. Each returns an exit code (runtime/workshop/runner/arguments.h), or the error to print.
#pragma once

#include "runtime/engine/calls/registry.h"
#include "runtime/workshop/model/arguments.h"

namespace qgen::model {

struct Program {
  const KernelLibrary& library;
  OperatorEntries operators;
};

Expected<int> run(const Program& program, const Arguments& arguments);
// run() of a file for named devices (models/graph/fixed_part.h).
Expected<int> run_fixed(const Program& program, const Arguments& arguments);
Expected<int> check(const Program& program, const Arguments& arguments);
Expected<int> compile(const Program& program, const Arguments& arguments);
// Makes kernels of a model's chains (runtime/engine/operators/pointwise/chain_kernels.h).
Expected<int> compile_chains(const Program& program, const Arguments& arguments);
Expected<int> check_support(const Arguments& arguments);
Expected<int> generate(const Program& program, const Arguments& arguments);
Expected<int> quantize(const Program& program, const Arguments& arguments);

}  // namespace qgen::model
