// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Which representation each tensor of a graph gets, which kernel runs each operator, and where a conversion goes, so
// that the estimated time of kernels and conversions together is least.
//
//   const auto planned = plan(graph, {.device = device_model(profile.numbers)});
//   if (!planned) return planned.error();          // names the operator that nothing satisfies, and both sides
//   for (const Conversion& c : planned->conversions) insert(c);   // before its readers
//   print(explain(graph, {}, *planned));           // what each conversion costs, and what going without it would
//
// The answer is exact (cost_us == lower_bound_us) for chains, trees, residual and other networks that are nowhere wide,
// of any size, and for every graph of up to 64 tensors: by elimination, then branch and bound (choice_model.h). For the
// rest, lower_bound_us is a proven bound, and gap() says how far from it the plan may be: 3 % and 8 % on the widest
// graphs of bench/planner_main.cpp, where each of 10,000 operators reads any two of the 8 tensors before it, or of all.
//
// What it does not weigh: memory.
//
// It does not depend on the order of tensors, nodes or kernels. Among plans of the least time it takes one with the
// fewest conversions; then one with the lowest sum of ranks over the tensors: the device's preferred storage first,
// then rows of the table of layouts; what is equal then is settled by a walk in the order of the names.
//
// Time, of one core of a virtual machine under load (bench/README.md, four kernels an operator): 0.2 to 0.4 s for
// networks of 10,000 operators, 0.7 and 0.8 s for those widest graphs, 2 ms for a network of 64 tensors. Proving the
// optimum of 64 tensors takes 0.2 s where each operator reads two of the eight before it, and 1.3 s where it reads two
// of the 16 before it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/planner/assignment.h"

namespace qgen::planner {

struct PlanOptions {
  DeviceModel device;
  ConversionCost conversion;  // empty: conversion_cost(device)
};

// Reads the tensor as stored in one form, writes it as stored in the other, and launches once.
ConversionCost conversion_cost(const DeviceModel& device);

// A copy of a tensor in another representation; one serves all its readers.
struct Conversion {
  std::string tensor;
  Representation from, to;  // from: the tensor's home, or the copy that an earlier conversion made
  double cost_us = 0;
  std::vector<std::string> readers;  // operators
  bool leaves = false;               // the caller takes this copy
  friend bool operator==(const Conversion&, const Conversion&) = default;
};

struct PlannedTensor {
  std::string name;
  Representation home;  // as its producer writes it, or as it arrives
  friend bool operator==(const PlannedTensor&, const PlannedTensor&) = default;
};

struct PlannedNode {
  std::string name;
  std::string kernel;
  std::vector<Representation> takes;  // at each operand: the tensor's home, or one of its conversions
  double cost_us = 0;
  friend bool operator==(const PlannedNode&, const PlannedNode&) = default;
};

struct Plan {
  std::vector<PlannedTensor> tensors;   // by name
  std::vector<PlannedNode> nodes;       // by name
  std::vector<Conversion> conversions;  // by tensor, each after the one that it starts from
  std::vector<Dropped> dropped;         // what the device cannot hold
  double cost_us = 0;                   // of kernels and conversions
  double lower_bound_us = 0;            // of any plan
  friend bool operator==(const Plan&, const Plan&) = default;

  bool is_optimal() const { return cost_us == lower_bound_us; }
  double gap() const { return is_optimal() ? 0 : cost_us / lower_bound_us - 1; }  // 0.02: at most 2 % above the least
};

Expected<Plan> plan(const Graph& graph, const PlanOptions& options = {});

// For --explain. Each of the first `most_conversions` conversions is forbidden in turn and the graph planned anew: the
// difference is what the conversion saves, and where the other plan differs is why.
std::string explain(const Graph& graph, const PlanOptions& options, const Plan& plan, size_t most_conversions = 20);

std::string to_text(const Graph& graph, const Plan& plan);  // the same without reasons
std::string to_json(const Plan& plan);                      // keys in a fixed order

}  // namespace qgen::planner
