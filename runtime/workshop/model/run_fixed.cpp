// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// `run` of a file for named devices, which has no graph: inputs in, outputs out.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>

#include "common/files.h"
#include "common/stopwatch.h"
#include "runtime/models/graph/fixed_model.h"
#include "runtime/models/graph/fixed_part.h"
#include "runtime/workshop/model/commands.h"
#include "runtime/workshop/model/inputs.h"
#include "runtime/workshop/runner/arguments.h"
#include "runtime/workshop/runner/opened.h"

namespace qgen::model {
namespace {

// Of inputs and outputs alone, for those who ask a graph for them.
graph::Graph doors_of(const graph::FixedPart& part) {
  graph::Graph doors;
  const auto add = [&](const graph::NamedTensor& one) {
    const graph::FixedPart::Tensor& tensor = part.tensors[one.tensor];
    doors.values.push_back({.name = one.name, .dtype = tensor.dtype, .shape = tensor.shape});
    return static_cast<graph::ValueId>(doors.values.size() - 1);
  };
  for (const graph::NamedTensor& input : part.inputs) doors.inputs.push_back(add(input));
  for (const graph::NamedTensor& output : part.outputs) doors.outputs.push_back({output.name, add(output)});
  return doors;
}

Done check_options(const Arguments& arguments) {
  const bool asks_for_a_graph = arguments.explained || arguments.is_timed || !arguments.profile.empty() ||
                                !arguments.json.empty() || !arguments.html.empty() || !arguments.plot.empty() ||
                                !arguments.trace.empty();
  if (!asks_for_a_graph) return std::monostate{};
  return refused(
      fmt::format("{} was compiled with --for or --cpp, so it has no graph to time or to explain", arguments.model),
      "give the ONNX file");
}

}  // namespace

Expected<int> run_fixed(const Program& program, const Arguments& arguments) {
  if (Done possible = check_options(arguments); !possible) return possible.error();
  const auto file = read_file(arguments.model);
  if (!file) return file.error();
  const auto bytes = std::as_bytes(std::span(*file));
  const auto about = [&](const Error& error) { return in_file(arguments.model, error); };
  const auto parts = graph::read_fixed(bytes);
  if (!parts) return about(parts.error());
  const graph::Graph doors = doors_of(parts->front());
  auto inputs = inputs_of(doors, arguments, {});
  if (!inputs) return inputs.error();
  const auto files = files_of_outputs(doors, "--output", arguments.outputs);
  if (!files) return files.error();
  const auto opened =
      runner::Opened::open(program.library, arguments.device, {.is_untuned = true, .mask = arguments.mask});
  if (!opened) return opened.error();
  if (Done filled = make(*inputs); !filled) return filled.error();

  Stopwatch watch;
  auto model = graph::FixedModel::open((*opened)->device(), bytes, {});
  if (!model) return about(model.error());
  const double open_ms = watch.lap_ms();
  if (Done ready = model->prepare(); !ready) return about(ready.error());
  const double prepare_ms = watch.lap_ms();
  const auto outputs = model->run(inputs->tensors);
  if (!outputs) return outputs.error();
  const double run_ms = watch.lap_ms();
  if (Done written = write_outputs(*files, *outputs); !written) return written.error();
  if (!inputs->random_inputs.empty()) fmt::print("random: {}\n", fmt::join(inputs->random_inputs, ", "));
  for (const auto& [name, tensor] : *outputs) fmt::print("{}", tensor_text(name, tensor));
  fmt::print("compiled for {}; open {:.1f} ms, upload and pipelines {:.1f}, first run {:.1f}\n", model->compiled_for(),
             open_ms, prepare_ms, run_ms);
  return runner::kDone;
}

}  // namespace qgen::model
