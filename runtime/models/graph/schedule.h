// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Plans a graph: the layout of each value, the kernel of each node, the conversions between layouts, and the arena. It
// is pure. It needs only a device profile, so it also plans for a device that is not here.
//
//   const auto inferred = infer(graph, operators, {{"image", {1, 3, 224, 224}}});
//   const auto schedule = make_schedule(graph, *inferred, weights, {profile, library});
//   schedule->steps        // in their order
//   schedule->memory.bytes // of the arena
//
// The planner (runtime/models/planner/plan.h) chooses the layouts. For each node it gets the combinations of layouts
// that infer() accepts and for which select() has a kernel, each with the kernel's time: measured, or else estimated. A
// conversion is a q8ta_clone, and has a time too. Inputs and outputs of the graph are row-major. So are all tensors
// whose elements are not bytes.
#pragma once

#include <functional>
#include <limits>
#include <map>

#include "runtime/models/graph/candidates.h"
#include "runtime/models/graph/memory.h"
#include "runtime/models/planner/plan.h"

namespace qgen::graph {

// A value in one layout: the one in which it is computed, or a converted copy.
struct PlacedValue {
  ValueId value = 0;
  Layout layout = Layout::strided;
  // The tensor whose memory it shares. For a reshape that moves nothing, this is the input of the reshape. For an
  // output that is written in place, it is the input that no later step reads.
  uint32_t alias_of = kNone;

  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
};

// The tensor, constant or weight that a step reads or writes as one of its operands.
struct Source {
  enum class Kind : uint8_t { none, tensor, constant, weight } kind = Kind::none;  // none: left out, or derived
  uint32_t index = 0;  // of Schedule::tensors; of a constant or weight its ValueId
};

struct Step {
  std::string name;  // the node's, or "image as packed_4c"
  size_t node = kConversion;
  const OperatorEntry* entry = nullptr;
  Call call;
  std::shared_ptr<const Choice> choice;
  std::vector<Source> operands;     // of the call
  std::optional<uint32_t> scratch;  // into MemoryPlan::offsets

  static constexpr size_t kConversion = std::numeric_limits<size_t>::max();
};

// The choices of a schedule. With them the same schedule is made again without choosing.
struct Decision {
  struct Copy {
    ValueId value = 0;
    Layout from = Layout::strided, to = Layout::strided;
  };
  std::vector<std::vector<Layout>> ways;  // by node, of each tensor that is placed: inputs, then outputs
  std::vector<Copy> copies;
  std::vector<std::string> kernels;        // by step: Choice::id
  double cost_us = 0, lower_bound_us = 0;  // of the planner: equal where no other choice of layouts is better
};

struct Schedule {
  std::vector<TensorDesc> values;    // as infer() gives them, in the layout in which each is computed
  std::vector<PlacedValue> tensors;  // no constants
  std::vector<Step> steps;
  std::vector<uint32_t> inputs, outputs;  // into `tensors`, as the graph's
  std::vector<uint32_t> states;           // likewise: of each state its tensor, which is in no arena
  std::vector<uint32_t> kept;             // likewise: of each kept input
  MemoryPlan memory;                      // of `tensors`, those that alias too, then of scratch
  Decision decision;
};

// `weights`: how each constant that is a weight can be had (desc_of(Weight)). Errors: no kernel fits a node in any
// layout, with the reasons of its plainest form. With a `decision` for the same graph at the same shapes, nothing is
// planned. Errors are then the reasons why it is for another graph, device or library. `on_node` hears how many nodes
// have been offered; it may be empty.
Expected<Schedule> make_schedule(const Graph& graph, const Inferred& inferred,
                                 const std::map<ValueId, TensorDesc>& weights, const Chooser& chooser,
                                 const Decision* decision = nullptr,
                                 const std::function<void(size_t done, size_t total)>& on_node = {});

}  // namespace qgen::graph
