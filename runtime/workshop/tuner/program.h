// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen-tune, for the operators of any library:
//
//   int main(int argc, char** argv) {
//     using namespace rows;
//     return qgen::tuner::run_program(argc, argv, {{"row-tune", library(), operators::entries(), answers}});
//   }
#pragma once

#include <functional>
#include <string_view>

#include "runtime/workshop/runner/program.h"

namespace qgen::tuner {

struct Program {
  runner::Program library;
  std::string_view problems = "";  // the file of problems that stands for --problems where none is named; empty: none
  // WorkerOptions::on_candidate.
  std::function<void(std::string_view stage, std::string_view id)> on_candidate = {};
};

int run_program(int argc, char** argv, const Program& program);

}  // namespace qgen::tuner
