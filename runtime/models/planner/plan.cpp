// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// From a graph to choices (assignment.h), to the least of them (choice_model.h), and back to names.
#include "runtime/models/planner/plan.h"

#include <cassert>
#include <utility>

namespace qgen::planner {
namespace {

double to_us(int64_t picoseconds) { return static_cast<double>(picoseconds) * 1e-6; }

// Turns the chosen values into a plan.
class Writer {
 public:
  Writer(const Assignment& assignment, const ConversionCost& conversion, const Minimum& minimum)
      : assignment_(assignment), trees_of_(conversion), minimum_(minimum) {}

  Plan run() && {
    const Graph& graph = assignment_.resolved.graph;
    for (uint32_t node = 0; node < graph.nodes.size(); ++node) write_node(node);
    for (uint32_t tensor = 0; tensor < graph.tensors.size(); ++tensor) write_tensor(tensor);
    plan_.cost_us = to_us(picoseconds_);
    plan_.lower_bound_us = to_us(minimum_.lower_bound.picoseconds);
    return std::move(plan_);
  }

 private:
  const Mode& mode(uint32_t node) const { return assignment_.modes[node][minimum_.values[node]]; }
  const State& state(uint32_t tensor) const {
    return assignment_.states[tensor][minimum_.values[assignment_.model.leaders + tensor]];
  }

  // The home, if the mode accepts it; else the first copy that it accepts.
  Representation taken(uint32_t node, size_t operand, uint32_t tensor) const {
    const RepresentationSet takes = mode(node).takes[operand];
    const State& s = state(tensor);
    return takes.contains(s.home) ? s.home : (takes & s.present).first();
  }

  void write_node(uint32_t node) {
    const Node& described = assignment_.resolved.graph.nodes[node];
    const Kernel& kernel = described.kernels[mode(node).kernel];
    PlannedNode planned{described.name, kernel.name, {}};
    const auto& tensors = assignment_.resolved.operands[node];
    for (size_t operand = 0; operand < tensors.size(); ++operand)
      planned.takes.push_back(taken(node, operand, tensors[operand]));
    picoseconds_ += mode(node).picoseconds;
    plan_.nodes.push_back(std::move(planned));
  }

  // Makes only copies that are read: a search that was cut short may hold others.
  void write_tensor(uint32_t tensor) {
    const Tensor& described = assignment_.resolved.graph.tensors[tensor];
    const Representation home = state(tensor).home;
    plan_.tensors.push_back({described.name, home});
    RepresentationSet needed;
    for (const auto [node, input] : assignment_.resolved.uses[tensor]) needed = needed | taken(node, input, tensor);
    const RepresentationSet leaves_as = described.leaves_as;
    if (!leaves_as.empty() && (leaves_as & (needed | home)).empty())
      needed = needed | (leaves_as & state(tensor).present).first();
    if ((needed - home).empty()) return;
    const auto trees = trees_of_(described, assignment_.held[tensor]);
    assert(trees && "make_assignment() asked for the same conversions");
    for (const ConversionStep& step : (*trees)->steps(home, needed)) {
      picoseconds_ += (*trees)->direct(step).picoseconds;
      plan_.conversions.push_back({described.name, step.from, step.to});
    }
  }

  const Assignment& assignment_;
  CopyTreesOf trees_of_;
  const Minimum& minimum_;
  Plan plan_;
  int64_t picoseconds_ = 0;
};

// The first operator in topological order with which nothing fits any more. Adding operators never makes an impossible
// graph possible, so halving finds it. (A wide graph may be impossible without a proof: then a later one.)
Error explain_impossible(const Assignment& whole) {
  const auto& topological = whole.resolved.topological;
  std::vector<size_t> turn(topological.size());  // of each operator
  for (size_t i = 0; i < topological.size(); ++i) turn[topological[i]] = i;
  size_t possible = 0, impossible = topological.size();
  while (impossible - possible > 1) {
    const size_t middle = (possible + impossible) / 2;
    ChoiceModel part = whole.model;
    std::erase_if(part.fits, [&](const ChoiceModel::Fit& fit) { return turn[fit.a] >= middle; });
    (is_possible(minimize(part).lower_bound) ? possible : impossible) = middle;
  }
  return no_way_to(whole, topological[impossible - 1]);
}

}  // namespace

Expected<Plan> plan(const Graph& graph, const DeviceModel& device, const ConversionCost& conversion) {
  const auto assignment = make_assignment(graph, device, conversion);
  if (!assignment) return assignment.error();
  const Minimum minimum = minimize(assignment->model);
  if (!is_possible(minimum.lower_bound)) return explain_impossible(*assignment);
  if (!is_possible(minimum.cost)) {
    return Error{Error::Kind::unsupported, "no plan was found, but there may be one",
                 "divide the model into parts, or allow more conversions"};
  }
  return Writer(*assignment, conversion, minimum).run();
}

}  // namespace qgen::planner
