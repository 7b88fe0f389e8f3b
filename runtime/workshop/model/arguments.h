// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The command line of qgen-model.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/engine/profiles/mask_text.h"
#include "runtime/models/graph/generator.h"
#include "runtime/workshop/model/calibrate.h"

namespace qgen::model {

enum class Command : uint8_t { run, check, compile, check_support, generate, quantize, chains };

struct Arguments {
  Command command = Command::run;
  std::string model;
  std::vector<std::string> inputs;     // file.npy of the only input, or name=file.npy
  std::vector<std::string> shapes;     // name=1x3x224x224:f32, random
  std::vector<std::string> constants;  // name=16000, of inputs that are known before the model runs
  std::vector<std::string> outputs;    // file.npy of the only output, or name=file.npy
  std::vector<std::string> expected;
  double tolerance = 0;
  bool is_unfused = false;               // ImportOptions::fuses, for the expected values
  std::string compiled;                  // the file to write, also of quantize
  std::vector<std::string> devices_for;  // files of devices that compile() is for; empty: the one that is here
  bool is_cpp = false;                   // of compile: also writes C++ that embeds the file
  std::optional<int64_t> batch;          // of random inputs; nullopt: the batch for which the model was compiled, or 1
  std::string device;
  std::string device_file;
  profiles::MaskText mask;
  std::string profile;  // a file for a trace
  std::string json;
  std::string html;
  std::string plot;
  std::string trace;
  std::optional<std::string> explained;  // a part of a layer's name; empty: all
  uint32_t replays = 0;                  // 0: not given
  bool is_timed = false;
  bool is_json = false;  // of check-support and generate
  bool is_untuned = false;
  struct Calibration {
    std::string folder;
    CalibrationOptions method;
    std::vector<std::string> kept;  // nodes
    bool layers_only = false;
    int weight_bits = 8;
  } calibration;  // of quantize
  struct Generation {
    std::vector<std::string> prompts;  // 1,2,3: one for each sequence
    std::vector<std::string> states;   // input=output; empty: by their names
    std::vector<std::string> end_tokens;
    size_t most_tokens = 64;
    std::optional<int64_t> capacity;  // nullopt: what the prompts and the new tokens need
    graph::Cache cache = graph::Cache::of_model;
    graph::Blocks blocks;  // of paged caches
    size_t prompt_rows = 0;
    graph::Sampling sampling;
  } generation;  // of generate
  struct Chains {
    std::string file;                  // of chain kernels; empty: none
    size_t most = 16;                  // how many chains become kernels
    std::string generator, operators;  // runner::find_generator()
  } chains;
};

// The arguments; or, where the command line alone has settled it (--help, a mistake, which is printed), an exit code.
std::variant<Arguments, int> parse_arguments(int argc, char** argv);

}  // namespace qgen::model
