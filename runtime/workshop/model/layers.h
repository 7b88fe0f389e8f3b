// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The layers of a prepared model and their times, for people and for tools.
//
//   const auto layers = layers_of(prepared->schedule(), samples);
//   table_of(layers, headline_us)    // a row a layer, its name last
//   trace_of(layers, device)         // events as chrome://tracing and ui.perfetto.dev read them, with ONNX Runtime's fields
//   json_of(layers, device)          // trtexec --exportProfile's keys
#pragma once

#include <string>
#include <vector>

#include "runtime/models/graph/schedule.h"
#include "runtime/workshop/measure/timing.h"

namespace qgen::model {

struct Layer {
  std::string name;     // the nodes that it came of: "Conv_5 + Relu_6"; of a copy "x as packed_4c"
  std::string op;       // q8ta_conv2d
  std::string kernel;   // Choice::id
  std::string layouts;  // "packed_4c -> packed_4w4c"
  std::string shapes;   // "1x64x56x56 -> 1x256x56x56"
  TimeSource source = TimeSource::estimated;
  double estimated_us = 0;  // the source of the choice's time
  double operations = 0;    // operations_of()
  double bytes = 0;         // that it must at least move
  measure::Spread us = {};  // measured; 0: it was not
  double least_us = 0;
  double average_us = 0;
};

// Of the product of a layer with a weight, or of matmul: a multiplication and an addition as two. Of other layers 0.
double operations_of(const graph::Step& step);

// `samples`: of each replay the microseconds of each step; none: nothing was measured.
std::vector<Layer> layers_of(const graph::Schedule& schedule, const std::vector<std::vector<double>>& samples);

// Layers, their sum, and the rest: the difference to `headline_us`, the time of a replay without timestamps between
// layers. Without times: kernels and layouts alone.
std::string table_of(const std::vector<Layer>& layers, double headline_us);
std::string trace_of(const std::vector<Layer>& layers, std::string_view model, std::string_view device);
std::string json_of(const std::vector<Layer>& layers, size_t replays);
// Graphviz's language.
std::string dot_of(const graph::Graph& graph, const graph::Schedule& schedule, const std::vector<Layer>& layers);

}  // namespace qgen::model
