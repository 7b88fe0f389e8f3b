// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The layouts in which a node can run, each with the time of its best kernel.
//
//   auto offer = candidates.slots_of(graph, node, *entry, given);   // input, output
//   offer = candidates.with_ways(*offer);   // {{packed_4c, packed_4c}, 6.1 us}, {{strided, packed_4c}, 8.0 us}, ...
//   candidates.chosen(*offer, offer->ways[0].layouts, {})                 // the Call and the Choice
//
// Equal layers of a network are ranked once. A node may be measured in some layouts only. Its estimates in the others
// are multiplied by the ratio of measured time to estimate, since times and estimates cannot be compared directly.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "runtime/engine/selector/decision_cache.h"
#include "runtime/models/graph/graph.h"
#include "runtime/models/graph/own_kernels.h"

namespace qgen::graph {

// How to choose.
struct Chooser {
  const DeviceProfile& profile;
  const KernelLibrary& library;
  OperatorEntries operators;
  const TimeBook* times = nullptr;          // null: by estimates
  const OwnKernels* own_kernels = nullptr;  // of a Decision that is done again: whose choices its steps take
};

// The kernel of a step: a choice, or the text for SelectOptions::force.
struct Forced {
  std::string kernel = {};
  const Choice* choice = nullptr;
};

// An operand that the planner may place.
struct Slot {
  bool is_output = false;
  ValueId value = 0;
  uint8_t operand = 0;
  std::vector<Layout> layouts = {};  // that the signature takes
};

struct LayoutChoice {
  std::vector<Layout> layouts;  // of each slot
  double time_us = 0;
};

struct Offer {
  const OperatorEntry* entry = nullptr;
  std::optional<InferArguments> arguments = {};
  std::vector<Slot> slots;  // inputs, then outputs
  std::vector<LayoutChoice> ways = {};
};

struct Chosen {
  const OperatorEntry* entry;
  Call call;
  std::shared_ptr<const Choice> choice;
};

// The layouts that an int8 tensor, or another one, can have in a graph: those in buffers.
std::vector<Layout> layouts_of_bytes(DType dtype);

// The expected time of a problem's best kernel.
struct Estimate {
  double time_us = 0;
  double cost_us = 0;  // by its spec
  bool is_measured = false;
};

class Candidates {
 public:
  explicit Candidates(const Chooser& chooser);

  // Without ways. `given`: complete, constants in it.
  Expected<Offer> slots_of(const Graph& graph, const Node& node, const OperatorEntry& entry,
                           InferArguments arguments) const;
  // Errors: no kernel fits, whatever the layouts, with the reasons of one of them.
  Expected<Offer> with_ways(Offer offer);
  Expected<Chosen> chosen(const Offer& offer, std::span<const Layout> layouts, const Forced& forced);

  // A copy of a tensor of bytes in another layout; nullopt: there is no such conversion.
  std::optional<double> conversion_us(const TensorDesc& tensor, Layout from, Layout to);
  Expected<Chosen> conversion(const TensorDesc& tensor, Layout from, Layout to, const Forced& forced);

 private:
  // With reasons; of one kernel, where `kernel` names it.
  Selection select_for(const Call& call, const std::string& kernel = "") const;
  // For a kernel that a file names: it may have been quarantined after the file was written.
  bool is_quarantined(const Call& call, const std::string& kernel) const;
  std::optional<Estimate> estimate(const Call& call);
  Expected<Offer> with_new_ways(Offer offer);
  Expected<Chosen> chosen(const OperatorEntry& entry, Expected<Call> call, const Forced& forced);
  Expected<Call> conversion_call(const TensorDesc& tensor, Layout from, Layout to) const;

  const Chooser& chooser_;
  const OperatorEntry* clone_;
  DecisionCache decisions_;
  std::unordered_map<std::string, std::optional<Estimate>> known_;         // by key_of()
  std::unordered_map<std::string, std::vector<LayoutChoice>> known_ways_;  // of nodes that are equal in all respects
  std::map<std::tuple<DType, Shape, Layout, Layout>, std::optional<double>> conversions_;
};

}  // namespace qgen::graph
