// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Graphs as YAML, for people and for tests.
//
//   device: {bytes_per_us: 4.0e6, launch_us: 2}          # what is not said has the values of DeviceModel
//
//   tensors:
//     x: {shape: [1, 64, 56, 56], dtype: f32, arrives_as: buffer.strided}
//     q: {shape: [1, 64, 56, 56], dtype: i8}
//     y: {shape: [1, 64, 56, 56], dtype: i8, leaves_as: [buffer.packed_4w, buffer.packed_4c]}
//
//   operators:
//     quantize:
//       op: q8ta_quantize
//       reads: [x]
//       writes: [q]
//       kernels:
//         blocks: {takes: [buffer.strided, buffer.packed_4w4c], cost_us: 3.5}
//         words: {takes: [buffer.strided, buffer.packed_*], cost_us: 6}
//     relu:
//       op: q8ta_relu
//       reads: [q]
//       writes: [y]
//       kernels:
//         words: {takes: [buffer.packed_*, buffer.packed_*], synced: [q, y], cost_us: 4}
//
//   conversions:                                         # the first rule that matches a conversion decides its cost;
//     - {from: texture3d.*, to: buffer.packed_*, cost_us: none}   # without one it is that of moving the bytes
//
// A set of representations is a name, a name cut short by '*', `any`, or a list of these. `takes` has one set for each
// tensor of `reads`, then of `writes`. `synced` is a group of tensors, or a list of groups; an operand whose tensor is
// named twice goes by its number, from 0.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/planner/plan.h"

namespace qgen::planner {

struct ConversionRule {
  std::string tensor;  // empty: any
  RepresentationSet from, to;
  std::optional<double> cost_us;  // none: there is no such conversion
  friend bool operator==(const ConversionRule&, const ConversionRule&) = default;
};

struct GraphText {
  DeviceModel device;
  Graph graph;
  std::vector<ConversionRule> conversions;
  friend bool operator==(const GraphText&, const GraphText&) = default;
};

// The error holds everything that is wrong with the text, each with its line; `file` is how the text is called there.
Expected<GraphText> read_graph(std::string_view yaml, const std::string& file);

// What read_graph() reads back as the same.
std::string to_yaml(const GraphText& text);

// The device and the costs of conversions that the text asks for.
PlanOptions plan_options(const GraphText& text);

}  // namespace qgen::planner
