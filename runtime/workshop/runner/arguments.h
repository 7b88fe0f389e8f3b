// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The command line of qgen-run.
//
//   row-run row_max --shape input=4x6:f32 --explain   -> an operator that is run once, with its request
//   row-run row_max --shape input=4x6:f32 --explain --device-file gpu.yaml   -> its choice on a described device
//   row-run --cases cases --all-kernels               -> conformance cases
//
// An option that the rest of the command line has no use for is refused: none is ignored.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/engine/profiles/mask_text.h"
#include "runtime/workshop/measure/timing.h"
#include "runtime/workshop/runner/command.h"
#include "runtime/workshop/runner/program.h"

namespace qgen::runner {

// Exit codes, as in --help.
constexpr int kDone = 0;
constexpr int kCasesFailed = 1;
constexpr int kWrongInput = 2;
constexpr int kWrongMachine = 3;

// Prints the error; gives the exit code that it means.
int fail(const Program& program, const Error& error);

enum class Mode : uint8_t { run = 1, time = 2, cases = 4, list = 8, explain = 16 };  // bits, for sets of them

struct Arguments {
  std::string op;
  RequestText request;
  std::vector<std::string> outputs;  // name=file.npy
  std::string cases;
  std::string kernel;
  std::string device;
  std::string device_file;
  profiles::MaskText mask;
  std::string json;
  std::string explained;  // "true", or "all"; empty: not requested
  measure::TimingOptions timing;
  bool all_kernels = false;
  double sample = 1;         // of all kernels: the share of SampleOptions
  uint64_t sample_seed = 0;  // and its seed
  bool has_statistics = false;
  bool is_untuned = false;
  bool is_timed = false;
  bool is_list = false;
  bool is_help = false;
  std::string chains;  // a file of chain kernels; empty: none

  Mode mode() const;
  bool is_explained() const { return !explained.empty(); }
};

// The arguments; or, where the command line alone has settled it (--help, a mistake, which is printed), an exit code.
std::variant<Arguments, int> parse_arguments(int argc, char** argv, const Program& program);

}  // namespace qgen::runner
