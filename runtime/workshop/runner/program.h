// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A program that runs the operators of a library by name: on NumPy files, timed, or on conformance cases. qgen-run
// is this program for the shipped operators. qgen_add_kernels(... RUNNER row-run) makes one for a project's
// operators:
//
//   int main(int argc, char** argv) {
//     return qgen::runner::run_program(argc, argv, {"row-run", rows::library(), rows::operators::entries()});
//   }
//
// A project with references passes them too. Then cases are also compared with these.
#pragma once

#include <string_view>

#include "runtime/engine/calls/registry.h"
#include "runtime/workshop/reference/references.h"

namespace qgen::runner {

struct Program {
  std::string_view name;  // as messages and --help call it
  const LibraryInfo& kernels;
  OperatorEntries operators;
  reference::Answers answers = nullptr;  // the references; null: there are none
  std::string_view examples = "";        // the text of --help after the options
};

int run_program(int argc, char** argv, const Program& program);

}  // namespace qgen::runner
