// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Chooses the representation of each tensor of a graph, the kernel of each operator, and the conversions, so that the
// estimated time of kernels and conversions together is least.
//
//   const auto planned = plan(graph, device_model(profile.numbers), conversion_us);
//   if (!planned) return planned.error();          // names the operator that nothing satisfies, and both sides
//   for (const Conversion& c : planned->conversions) insert(c);   // before its readers
//
// The plan is exact (cost_us == lower_bound_us) if tables along the graph are small (choice_model.h): for chains,
// trees, residual networks, U-Nets and transformers of any length. Otherwise the plan is good, with a true lower bound,
// and gap() returns how far it may be above it. The gap is 2 % for a transformer of eight separate heads with 100
// kernels for each product. It is 10 % and 15 % for graphs in which 64 or 10,000 operators read any two of the 8
// tensors before them. For such graphs, no plan may be found if conversions are missing, although there is one. The
// error says so. docs/results_host.md has the planning times: milliseconds for a network.
//
// It does not consider memory.
//
// The order of tensors, nodes and kernels has no effect. Of several plans with the least time it takes one with the
// fewest conversions. Then it takes one with the lowest sum of ranks over the tensors: buffers first, then in the order
// of the layout rows. If plans are still equal, the order of the names decides.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/models/planner/assignment.h"

namespace qgen::planner {

// A copy of a tensor in another representation; one serves all its readers.
struct Conversion {
  Name tensor;
  Representation from, to;  // from: the tensor's home, or the copy that an earlier conversion made
  friend bool operator==(const Conversion&, const Conversion&) = default;
};

struct PlannedTensor {
  Name name;
  Representation home;  // as its producer writes it, or as it arrives
  friend bool operator==(const PlannedTensor&, const PlannedTensor&) = default;
};

struct PlannedNode {
  Name name;
  Name kernel;
  std::vector<Representation> takes;  // at each operand: the tensor's home, or one of its conversions
  friend bool operator==(const PlannedNode&, const PlannedNode&) = default;
};

struct Plan {
  std::vector<PlannedTensor> tensors;   // by name
  std::vector<PlannedNode> nodes;       // by name
  std::vector<Conversion> conversions;  // by tensor, each after the one that it starts from
  double cost_us = 0;                   // of kernels and conversions
  double lower_bound_us = 0;            // of any plan
  friend bool operator==(const Plan&, const Plan&) = default;

  bool is_optimal() const { return cost_us == lower_bound_us; }
  double gap() const { return is_optimal() ? 0 : cost_us / lower_bound_us - 1; }  // 0.02: at most 2 % above the least
};

Expected<Plan> plan(const Graph& graph, const DeviceModel& device, const ConversionCost& conversion);

}  // namespace qgen::planner
