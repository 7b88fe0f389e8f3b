// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen/runner.h: a program that runs a library's operators by name, and compares them with a reference.
//
//   runner softmax --shape input=64x100:f32 --time --all-kernels
#include "qgen/runner.h"

#include "operators.h"
#include "registry.h"

using namespace qgen;

int main(int argc, char** argv) {
  return runner::run_program(argc, argv,
                             {.name = "runner",
                              .kernels = generated::library(),
                              .operators = generated::operators::entries(),
                              .answers = reference::answer});
}
