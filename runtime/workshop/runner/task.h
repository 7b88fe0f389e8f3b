// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A problem to tune: an operator and a request, with the arguments of qgen-run. A file of problems lists them:
//
//   - operator: q8ta_linear
//     shape: [input=512x4096:i8, weight=4096x4096:i8, weight_scales=4096:f32=0.01]
//     set: [input_scale=0.05, output_scale=0.1]
//     layout: [input=packed_4h4w, output=packed_4h4w]
//     cold: true
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/workshop/runner/command.h"

namespace qgen::runner {

struct Task {
  std::string op;
  RequestText request;  // of random inputs; no files
  // Whether it is timed with a cold cache; nullopt: as for all problems of the run.
  std::optional<bool> is_cold = std::nullopt;
};
bool operator==(const Task& a, const Task& b);

// Errors have the location: invalid YAML, unknown or duplicate keys, values that are not lists of texts.
Expected<std::vector<Task>> read_tasks(const std::string& file, std::string_view text);
// As read_tasks() reads it.
std::string to_yaml(const std::vector<Task>& tasks);

// The arguments of `qgen-run` for it: "q8ta_linear --shape input=512x4096:i8 --set input_scale=0.05".
std::string command_of(const Task& task);

}  // namespace qgen::runner
