// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What a person types behind qgen-tune.
#pragma once

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "runtime/fitting/fit_specs.h"
#include "runtime/runner/command.h"
#include "runtime/tuner/program.h"
#include "runtime/tuner/search.h"

namespace qgen::tuner {

// Exit codes, as --help tells them.
constexpr int kDone = 0;
constexpr int kSomeFailed = 1;
constexpr int kWrongInput = 2;
constexpr int kWrongMachine = 3;

enum class Command : uint8_t { tune, show, export_, import, merge, forget, fit, report };

struct Arguments {
  Command command = Command::tune;
  std::vector<std::string> operators;
  runner::RequestText request;  // of one problem, typed
  std::string problems;         // a file
  std::string device;
  std::string store;
  std::string output;
  std::vector<std::string> files;
  SearchOptions search;
  double budget_s = 0;  // of all problems together; 0: each has the default
  double hang_s = 10;
  bool is_cold = false;
  bool is_anew = false;
  bool is_all = false;  // of forget
  fitting::FitRequest fit;
};

// --store, or where times are kept without it.
std::filesystem::path store_path(const Arguments& arguments);

// The arguments; or, where the command line alone has settled it (--help, a mistake, which is printed), an exit code.
std::variant<Arguments, int> parse_arguments(int argc, char** argv, const Program& program);

}  // namespace qgen::tuner
