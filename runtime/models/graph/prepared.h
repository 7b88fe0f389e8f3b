// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A graph prepared for one set of input shapes: chosen kernels and layouts, tensors in one arena, packed weights,
// pipelines, and one recording that is replayed.
//
//   const auto inferred = infer(graph, operators, {{"image", {1, 3, 224, 224}}});
//   auto prepared = Prepared::create(context, operators, graph, *inferred, constants, {});
//   const auto outputs = prepared->run({{"image", picture}});
//
// Inputs are written before each replay, since their memory holds other tensors after their last reader. An engine
// instead records the graph into its own command buffer, on its own buffers, and may pass the arena:
//
//   prepared->record(frame, {{"image", &x}}, {{"scores", &y}});      // frame: runtime/engine/dispatch/commands.h
#pragma once

#include <optional>
#include <span>

#include "runtime/engine/dispatch/round_trip.h"
#include "runtime/models/graph/bound_graph.h"
#include "runtime/models/graph/constants.h"
#include "runtime/models/graph/schedule.h"

namespace qgen::graph {

// How long each phase took; milliseconds.
struct Phases {
  double plan = 0;       // kernels and layouts, memory
  double upload = 0;     // weights packed and copied, parameters
  double pipelines = 0;  // on all cores
  double record = 0;
};

// Gets reports on work that may take seconds: "plan", node by node, and "pipelines".
using OnProgress = std::function<void(std::string_view what, size_t done, size_t total)>;

struct PrepareOptions {
  OnProgress on_progress = {};              // may be empty
  const Decision* decision = nullptr;       // make_schedule()
  const OwnKernels* own_kernels = nullptr;  // Chooser
  // The memory of the tensors between the nodes: a tensor in a buffer that is in no other arena, such as one of
  // Executor::wrap(), with room for Schedule::memory. Null: memory of the executor's.
  const DeviceTensor* arena = nullptr;
  LentTensors states = {};  // of a graph with states: the memory of each, by the input's name
  LentTensors kept = {};    // of each kept input: a row-major tensor in a buffer
};

// Kernels, layouts and places in the arena, before anything is on the device.
struct Planned {
  Schedule schedule;
  double plan_ms = 0;
};

// For each tensor of a schedule, the tensor of which it is a view: the output of a reshape has the memory of its input.
// A tensor that a step writes is its own, even if it replaces another one in memory.
std::vector<uint32_t> owners_of(const Schedule& schedule);

class Prepared {
 public:
  // The context and the constants must outlive it; the graph need not. Errors: the errors of make_schedule(), and of
  // the device.
  static Expected<std::unique_ptr<Prepared>> create(Context& context, OperatorEntries operators, const Graph& graph,
                                                    const Inferred& inferred, Constants& constants,
                                                    const PrepareOptions& options);
  // The same in two steps, so that the arena's size is known in between.
  static Expected<Planned> plan(Context& context, OperatorEntries operators, const Graph& graph,
                                const Inferred& inferred, Constants& constants, const PrepareOptions& options);
  static Expected<std::unique_ptr<Prepared>> create(Context& context, const Graph& graph, Planned planned,
                                                    Constants& constants, const PrepareOptions& options);

  // All inputs in, all outputs out. Errors: an input that is missing, unknown, or of another dtype or shape.
  Expected<Tensors> run(const Tensors& inputs);
  // Into the caller's command buffer. Given inputs and outputs are read and written in their own memory, row-major, and
  // need no copy. The others are in the arena: input(), output(). Nothing is planned, allocated or waited for. Errors:
  // names that the model does not have, tensors of another dtype, shape or layout, an output that is an input passed
  // through, outputs that share bytes with read tensors.
  Done record(Commands& commands, const LentTensors& inputs = {}, const LentTensors& outputs = {});
  const DeviceTensor* input(std::string_view name) const;   // null: there is none
  const DeviceTensor* output(std::string_view name) const;  // the same

  // Once, on the present content of the inputs' memory. Errors: the errors of Executor::run().
  Done replay() { return context_.executor.run(bound_.recording()); }
  // The same with inputs and outputs in the host's memory, in one submission. Made by the first call; later calls must
  // name the same inputs and outputs. Errors: names that the model does not have, and those of RoundTrip::create().
  Expected<RoundTrip*> round_trip(std::span<const std::string_view> inputs, std::span<const std::string_view> outputs,
                                  std::optional<RoundTrip::Fed> fed = {});
  // One replay by the device's clock: from the first launch to the last, with no timestamp between them.
  Expected<Timing> time();
  // One replay with a timestamp after each launch, which separates them: a time for each step of the schedule.
  Expected<std::vector<double>> step_times_us();

  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  const Schedule& schedule() const { return schedule_; }
  const Phases& phases() const { return phases_; }

 private:
  Prepared(Context& context, Schedule schedule, BoundGraph bound, const Phases& phases)
      : context_(context), schedule_(std::move(schedule)), bound_(std::move(bound)), phases_(phases) {}

  Context& context_;
  Schedule schedule_;
  BoundGraph bound_;
  Phases phases_;
  std::optional<RoundTrip> trip_;  // after bound_, whose recording it uses
};

}  // namespace qgen::graph
