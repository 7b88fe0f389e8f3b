// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen-tune: finds the fastest shipped kernel for each problem on a device, by measuring, and keeps the results.
//
//   qgen-tune --operator q8ta_linear     tunes an operator on its built-in problems
//   qgen-tune show                       what was gained
//   qgen-tune export -o tuning/          a file to read, commit and ship
//   qgen-tune --help                     the rest
#include "default_problems.h"
#include "registry.h"
#include "runtime/engine/operators/shipped.h"
#include "runtime/workshop/tuner/program.h"

int main(int argc, char** argv) {
  return qgen::tuner::run_program(argc, argv,
                                  {.library = {.name = "qgen-tune",
                                               .kernels = qgen::generated::library(),
                                               .operators = qgen::operators(),
                                               .answers = qgen::reference::answer},
                                   .problems = qgen::kDefaultProblems});
}
