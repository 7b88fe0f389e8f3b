// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen/tuner.h: a program that tunes a library's operators. Kernels are compared with a reference before they are timed.
//
//   tuner --operator softmax --shape input=64x100:f32 --budget 2
#include "qgen/tuner.h"

#include "operators.h"
#include "qgen/runner.h"
#include "registry.h"

using namespace qgen;

int main(int argc, char** argv) {
  return tuner::run_program(argc, argv,
                            {.library = {.name = "tuner",
                                         .kernels = generated::library(),
                                         .operators = generated::operators::entries(),
                                         .answers = reference::answer}});
}
