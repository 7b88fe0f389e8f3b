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
// The answer is exact (cost_us == lower_bound_us) where tables along the graph are small (choice_model.h): for chains,
// trees, residual networks, U-Nets and transformers, of any length. Where they are not, it is a good plan with a true
// bound, and gap() says how far above the least it may be: 14 % for a transformer of eight separate heads with 100
// kernels for each product, 13 % and 14 % where each of 64 or of 10,000 operators reads any two of the 8 tensors before
// it. There a plan may also not be found although there is one, if conversions are missing; the error says so.
//
// What it does not weigh: memory.
//
// It does not depend on the order of tensors, nodes or kernels. Among plans of the least time it takes one with the
// fewest conversions; then one with the lowest sum of ranks over the tensors: the device's preferred storage first,
// then rows of the table of layouts; what is equal then is settled by a walk in the order of the names.
//
// Time, of one core of a virtual machine (bench/README.md): 1.5 ms for ResNet-50 with 5 to 16 kernels an operator, 0.19
// s for a residual network of 9,608 operators; 6 s and 3 s for the large ones of the graphs that are not exact.
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
