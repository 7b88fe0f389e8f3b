// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A graph made ready for one set of input shapes: kernels and layouts chosen, tensors placed in one arena, weights in
// the forms that are read, pipelines made, all of it in one recording that is replayed.
//
//   const auto inferred = infer(graph, operators, {{"image", {1, 3, 224, 224}}});
//   auto prepared = Prepared::create(context, operators, graph, *inferred, constants, {});
//   const auto outputs = prepared->run({{"image", picture}});
//
// Inputs are written before each replay: their memory serves other tensors when their last reader has run.
#pragma once

#include "runtime/graph/constants.h"
#include "runtime/graph/schedule.h"

namespace qgen::graph {

// How long each phase took; milliseconds.
struct Phases {
  double plan = 0;       // kernels and layouts, memory
  double upload = 0;     // weights packed and copied, parameters
  double pipelines = 0;  // on all cores
  double record = 0;
};

// Hears of what may take seconds as it goes on: "plan", node by node, and "pipelines".
using OnProgress = std::function<void(std::string_view what, size_t done, size_t total)>;

struct PrepareOptions {
  OnProgress on_progress = {};              // may be empty
  const Decision* decision = nullptr;       // make_schedule()
  const OwnKernels* own_kernels = nullptr;  // Chooser
};

class Prepared {
 public:
  // What it refers to must outlive it: the context, the constants; not the graph. Errors: those of
  // make_schedule(), and of the device.
  static Expected<std::unique_ptr<Prepared>> create(Context& context, OperatorEntries operators, const Graph& graph,
                                                    const Inferred& inferred, Constants& constants,
                                                    const PrepareOptions& options);

  // All inputs in, all outputs out. Errors: an input that is missing, unknown, or of another dtype or shape.
  Expected<Tensors> run(const Tensors& inputs);
  // Once, on whatever lies in the inputs' memory. Errors: those of Executor::run().
  Done replay() { return context_.executor.run(recording_); }
  // One replay by the device's clock: from the first launch to the last, with no timestamp between them.
  Expected<Timing> time();
  // One replay with a timestamp behind each launch, which keeps them apart: a number for each step of the schedule.
  Expected<std::vector<double>> step_times_us();

  const Schedule& schedule() const { return schedule_; }
  const Phases& phases() const { return phases_; }

 private:
  Prepared(Context& context, Schedule schedule, Recording recording)
      : context_(context), schedule_(std::move(schedule)), recording_(std::move(recording)) {}

  Context& context_;
  Schedule schedule_;
  Recording recording_;
  Phases phases_;
  std::vector<std::pair<std::string, DeviceTensor>> inputs_, outputs_;
};

}  // namespace qgen::graph
