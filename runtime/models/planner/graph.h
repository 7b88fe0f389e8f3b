// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The planner's graph: operators, the representations that each kernel accepts, and the tensors between them.
//
//   Graph graph;
//   graph.tensors = {{.name = "x", .shape = {1, 64, 56, 56}, .dtype = DType::f32, .arrives_as = strided},
//                    {.name = "q", .shape = {1, 64, 56, 56}, .dtype = DType::i8}};
//   graph.nodes = {{.name = "quantize", .op = "q8ta_quantize", .inputs = {"x"}, .outputs = {"q"},
//                   .kernels = {{.name = "tiles", .takes = {strided, tiles_4w4c}, .cost_us = 3.5},
//                               {.name = "words", .takes = {strided, all_words}, .cost_us = 6}}}};
//
// A kernel accepts a set of representations for each operand: any member, at the same cost. If it accepts only some
// combinations, or if its cost depends on the combination, it needs several rows.
//
// Names identify tensors, nodes and kernels; their order has no meaning. A caller with indices puts them into Name::id. Weights that are packed in advance for their
// kernel are not tensors of the graph.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/models/planner/representation.h"

namespace qgen::planner {

// Identifies a tensor, a node or a kernel. Names are ordered by id, then by text; messages print only the text.
struct Name {
  Name() = default;
  Name(const char* words) : text(words) {}             // NOLINT(google-explicit-constructor)
  Name(std::string words) : text(std::move(words)) {}  // NOLINT(google-explicit-constructor)
  Name(uint32_t index, std::string words) : id(index), text(std::move(words)) {}
  operator const std::string&() const { return text; }  // NOLINT(google-explicit-constructor)
  friend auto operator<=>(const Name&, const Name&) = default;

  uint32_t id = 0;
  std::string text;
};

struct Tensor {
  Name name;
  Shape shape;
  DType dtype = DType::f32;
  RepresentationSet arrives_as = {};  // of a graph input: how the caller may hand it in; empty: as suits the graph
  RepresentationSet leaves_as = {};   // of a graph output: how the caller takes it; empty: no demand
  friend bool operator==(const Tensor&, const Tensor&) = default;
};

constexpr double kMostMicroseconds = 1e9;  // that a kernel or a conversion may cost: 17 minutes

struct Kernel {
  Name name;                             // unique in its node
  std::vector<RepresentationSet> takes;  // one an input, then one an output
  double cost_us = 0;
  friend bool operator==(const Kernel&, const Kernel&) = default;
};

struct Node {
  Name name;
  std::string op;
  std::vector<Name> inputs, outputs;  // tensors
  std::vector<Kernel> kernels;
  friend bool operator==(const Node&, const Node&) = default;
};

const Name& tensor_name(const Node& node, size_t operand);  // of its inputs, then of its outputs

struct Graph {
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;
  friend bool operator==(const Graph&, const Graph&) = default;
};

// A checked graph with names resolved, in canonical order: everything is sorted by name, so that results cannot depend
// on the order of insertion.
struct ResolvedGraph {
  struct Use {
    uint32_t node, operand;
  };
  Graph graph;                                  // sorted; kernels too
  std::vector<std::vector<uint32_t>> operands;  // of each node: the tensors that it reads, then those that it writes
  std::vector<std::vector<Use>> uses;           // of each tensor that is read, by node, then by operand
  std::vector<std::optional<Use>> writer;       // of each tensor; none: a graph input
  std::vector<uint32_t> topological;            // nodes, each after those that write its inputs
};

// Refuses: names that are not unique or not known, tensors that are written twice or both written and arriving, cycles,
// kernels whose `takes` does not match the operands, costs that are negative or no number.
Expected<ResolvedGraph> resolve(const Graph& graph);

}  // namespace qgen::planner
