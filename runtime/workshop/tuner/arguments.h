// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The command line of qgen-tune.
#pragma once

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "common/shard.h"
#include "runtime/engine/profiles/mask_text.h"
#include "runtime/workshop/fitting/fit_specs.h"
#include "runtime/workshop/runner/command.h"
#include "runtime/workshop/tuner/program.h"
#include "runtime/workshop/tuner/search.h"

namespace qgen::tuner {

// Exit codes, as in --help.
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
  profiles::MaskText mask;
  std::string store;
  std::string output;
  std::string result;     // of the run's times, for merge; empty: none
  std::string decisions;  // of merge
  std::vector<std::string> files;
  SearchOptions search;
  double budget_s = 0;  // of all problems together; 0: each has the default
  double hang_s = 10;
  double cool_s = 0;
  Shard shard;
  bool is_cold = false;
  bool is_anew = false;
  bool is_all = false;      // of forget
  bool is_current = false;  // of merge: only times of kernels that this program has
  std::string older_than;   // of forget: a date; empty: whatever was measured when
  fitting::FitRequest fit;
  std::string chains;  // a file of chain kernels; empty: none
};

// --store, or where times are kept without it.
std::filesystem::path store_path(const Arguments& arguments);

// The arguments; or, where the command line alone has settled it (--help, a mistake, which is printed), an exit code.
std::variant<Arguments, int> parse_arguments(int argc, char** argv, const Program& program);

}  // namespace qgen::tuner
