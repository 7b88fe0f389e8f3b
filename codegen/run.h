// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// One run of the program: it reads the inputs and the cache, generates, and then writes files, compares them, or prints
// an answer. Only this file and inputs.cpp read or write files.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/pipeline.h"

namespace qgen {

// The task of a run.
enum class Task : uint8_t { store, compile_share, check, list, explain, explain_cost, why_not, show_room, translate };

struct RunOptions {
  Task task = Task::store;
  std::vector<std::string> specs;
  std::vector<std::string> template_roots;
  std::string output;                     // folder
  std::string tuning;                     // folder of tuning files; empty: none
  std::vector<std::string> device_files;  // of Subset::devices
  Settings settings;
  std::string question;  // of explain, explain_cost and why_not
  Room shown_room = Room::emit;
  std::optional<reflect::Language> language;  // of translate; nullopt: SPIR-V itself
  bool is_in_c = false;                       // the SPIR-V as arrays of C, with tables and functions
  size_t threads = 0;                         // 0: one a core
  workers::Limits limits;                     // of compiling one variant
  std::optional<std::string> cache;           // folder; nullopt: none
  std::string remote_cache;                   // URL of a folder; empty: none. It needs `cache`
  std::string depfile;
  std::string stats_file;  // JSON
  enum class Verbosity : uint8_t { quiet, normal, verbose } verbosity = Verbosity::normal;
};

enum class ExitCode : int { done = 0, differs = 1, bad_input = 2, bad_machine = 3 };

struct RunResult {
  ExitCode code = ExitCode::done;
  std::string out;  // for stdout
  std::string err;  // for stderr
};

RunResult run(const RunOptions& options);
void print(const RunResult& result);

// Runs of Task::store with the same options, one after the other. They share the workers of the compilers, and whatever
// depends only on inputs that did not change. watch.h says when to run.
class Repeated {
 public:
  explicit Repeated(RunOptions options);
  ~Repeated();
  Repeated(const Repeated&) = delete;
  Repeated& operator=(const Repeated&) = delete;

  // Reads the inputs, and generates if they differ from the inputs of the last run; nullopt: they are the same.
  std::optional<RunResult> run();
  const RunOptions& options() const { return options_; }

  struct State;

 private:
  RunOptions options_;
  std::unique_ptr<State> state_;
};

}  // namespace qgen
