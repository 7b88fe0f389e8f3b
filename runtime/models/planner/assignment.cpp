// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Several steps, each of which may refuse the graph: the device's limits, the kernels of each operator, the
// representations of each tensor, and last the model of choices. A refusal lists the given operands, and the reason of
// each kernel.
#include "runtime/models/planner/assignment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

namespace qgen::planner {
namespace {

std::string describe(const Tensor& tensor) {
  return fmt::format("'{}' ({} [{}])", tensor.name.text, name(tensor.dtype), fmt::join(tensor.shape, ", "));
}

// Which representations a tensor can come in, from its writer (whose modes are known) or from outside.
RepresentationSet homes(const Assignment& assignment, uint32_t tensor) {
  const auto writer = assignment.resolved.writer[tensor];
  if (!writer) {
    const RepresentationSet given = assignment.resolved.graph.tensors[tensor].arrives_as;
    return assignment.held[tensor] & (given.empty() ? any_representation() : given);
  }
  RepresentationSet written;
  for (const Mode& mode : assignment.modes[writer->node]) written = written | mode.takes[writer->operand];
  return written;
}

class Builder {
 public:
  Builder(ResolvedGraph resolved, const DeviceModel& device, const ConversionCost& conversion)
      : device_(device), trees_of_(conversion) {
    result_.resolved = std::move(resolved);
  }

  Expected<Assignment> run() && {
    admit();
    for (uint32_t node : result_.resolved.topological) {
      if (Done done = add_modes(node); !done) return done.error();
    }
    for (uint32_t tensor = 0; tensor < graph().tensors.size(); ++tensor) {
      if (Done done = add_states(tensor); !done) return done.error();
    }
    fill_model();
    if (Done done = check_sum(); !done) return done.error();
    return std::move(result_);
  }

 private:
  const Graph& graph() const { return result_.resolved.graph; }

  void admit() {
    for (const Tensor& tensor : graph().tensors)
      result_.held.push_back(set_of([&](Representation r) { return why_not(tensor, r).empty(); }));
    result_.modes.resize(graph().nodes.size());
    result_.states.resize(graph().tensors.size());
  }

  std::string why_not(const Tensor& tensor, Representation r) const {
    return refusal(tensor.shape, tensor.dtype, r, device_);
  }

  const std::vector<uint32_t>& operands(uint32_t node) const { return result_.resolved.operands[node]; }

  Done add_modes(uint32_t node) {
    std::vector<RepresentationSet> held;
    for (uint32_t tensor : operands(node)) held.push_back(result_.held[tensor]);
    Modes modes = modes_of(graph().nodes[node], held);
    if (modes.list.empty()) return no_kernel(node, modes.refusals);
    result_.modes[node] = std::move(modes.list);
    return std::monostate{};
  }

  Done add_states(uint32_t tensor) {
    const Tensor& described = graph().tensors[tensor];
    const Surroundings around = surroundings(tensor);
    if (around.homes.empty()) return cannot_cross(tensor, "arrives", described.arrives_as);
    if (around.leaves_as.empty() && !described.leaves_as.empty())
      return cannot_cross(tensor, "leaves", described.leaves_as);
    const auto trees = trees_of_(described, result_.held[tensor]);
    if (!trees) return trees.error();
    const auto [known, is_new] = known_states_.emplace(std::pair((*trees)->number(), around), tensor);
    result_.states[tensor] = is_new ? states_of(around, **trees) : result_.states[known->second];
    if (!result_.states[tensor].empty()) return std::monostate{};
    return Error{Error::Kind::unsupported,
                 fmt::format("{} is written as {} and required as {}, and no conversion leads from one to the other",
                             describe(described), to_text(around.homes), to_text(around.leaves_as)),
                 ""};
  }

  Surroundings surroundings(uint32_t tensor) const {
    const Tensor& described = graph().tensors[tensor];
    const size_t takers = result_.resolved.uses[tensor].size() + (described.leaves_as.empty() ? 0 : 1);
    Surroundings around{.homes = homes(result_, tensor),
                        .leaves_as = described.leaves_as & result_.held[tensor],
                        .takers = std::min(takers, kRepresentationCount)};
    if (const auto writer = result_.resolved.writer[tensor]) {
      for (const Mode& mode : result_.modes[writer->node]) around.offers.insert(mode.takes[writer->operand]);
    }
    for (const auto [node, input] : result_.resolved.uses[tensor]) {
      for (const Mode& mode : result_.modes[node]) around.demands.insert(mode.takes[input]);
    }
    return around;
  }

  void fill_model() {
    auto& model = result_.model;
    for (const auto& modes : result_.modes) {
      auto& costs = model.costs.emplace_back();
      for (const Mode& mode : modes) costs.push_back({.picoseconds = mode.picoseconds});
    }
    model.leaders = static_cast<uint32_t>(model.costs.size());
    for (const auto& states : result_.states) {
      auto& costs = model.costs.emplace_back();
      costs.reserve(states.size());
      for (const State& state : states) costs.push_back(state.cost);
    }
    for (uint32_t node = 0; node < model.leaders; ++node) {
      for (size_t operand = 0; operand < operands(node).size(); ++operand) add_fit(node, operand);
    }
  }

  Done check_sum() const {
    double sum = 0;
    for (const auto& costs : result_.model.costs) sum += std::max_element(costs.begin(), costs.end())->picoseconds;
    if (sum < 0x1p52) return std::monostate{};
    return refused(fmt::format("the costs may add up to {:.3g} us", sum * 1e-6),
                   "plans are compared in whole picoseconds, up to 4.5e9 us: give costs in microseconds");
  }

  void add_fit(uint32_t node, size_t operand) {
    const uint32_t tensor = operands(node)[operand];
    const bool reads = operand < graph().nodes[node].inputs.size();
    ChoiceModel::Fit fit{node, result_.model.leaders + tensor, {}, {}};
    for (const Mode& mode : result_.modes[node]) fit.a_masks.push_back(mode.takes[operand].bits());
    fit.b_masks.reserve(result_.states[tensor].size());
    for (const State& state : result_.states[tensor]) {
      fit.b_masks.push_back(reads ? state.present.bits() : RepresentationSet(state.home).bits());
    }
    result_.model.fits.push_back(std::move(fit));
  }

  // "not as texture3d.width_packed: rank 5 is above ...", of the representations in question, equal reasons together.
  std::string why_not_held(uint32_t tensor, RepresentationSet in_question) const {
    std::string text;
    for (RepresentationSet left = in_question - result_.held[tensor]; !left.empty();) {
      const Tensor& described = graph().tensors[tensor];
      const std::string reason = why_not(described, left.first());
      const auto same = left & set_of([&](Representation r) { return why_not(described, r) == reason; });
      text += fmt::format("\n    not as {}: {}", to_text(same), reason);
      left = left - same;
    }
    return text;
  }

  Error no_kernel(uint32_t node, const std::vector<std::string>& refusals) const {
    const Node& described = graph().nodes[node];
    std::string text = fmt::format("no kernel of '{}' ({}) accepts its operands", described.name.text, described.op);
    for (const auto& refusal : refusals) text += "\n  " + refusal;
    if (described.kernels.empty()) text += "\n  it has no kernels at all";
    std::vector<uint32_t> told;
    for (size_t operand = 0; operand < operands(node).size(); ++operand) {
      const uint32_t tensor = operands(node)[operand];
      if (std::find(told.begin(), told.end(), tensor) != told.end()) continue;
      told.push_back(tensor);
      text += "\n  " + offer(node, operand) + why_not_held(tensor, wanted(node, tensor));
    }
    return {Error::Kind::unsupported, std::move(text),
            "add a kernel for these representations, or give the tensors a shape that the device can hold"};
  }

  // The representations that kernels of the operator accept for the tensor.
  RepresentationSet wanted(uint32_t node, uint32_t tensor) const {
    RepresentationSet all;
    for (size_t operand = 0; operand < operands(node).size(); ++operand) {
      if (operands(node)[operand] != tensor) continue;
      for (const Kernel& kernel : graph().nodes[node].kernels) all = all | kernel.takes[operand];
    }
    return all;
  }

  std::string offer(uint32_t node, size_t operand) const {
    const uint32_t tensor = operands(node)[operand];
    const std::string what = describe(graph().tensors[tensor]);
    if (operand >= graph().nodes[node].inputs.size()) {
      return fmt::format("{} can be held as {}", what, to_text(result_.held[tensor]));
    }
    const auto writer = result_.resolved.writer[tensor];
    if (!writer) return fmt::format("{} arrives as {}", what, to_text(homes(result_, tensor)));
    return fmt::format("{} is written as {} by '{}' ({})", what, to_text(homes(result_, tensor)),
                       graph().nodes[writer->node].name.text, graph().nodes[writer->node].op);
  }

  Error cannot_cross(uint32_t tensor, std::string_view how, RepresentationSet set) const {
    if (set.empty()) set = any_representation();
    return {Error::Kind::unsupported,
            fmt::format("{} {} as {}, which this device cannot hold{}", describe(graph().tensors[tensor]), how,
                        to_text(set), why_not_held(tensor, set)),
            ""};
  }

  const DeviceModel& device_;
  CopyTreesOf trees_of_;
  // A tensor with the same trees and surroundings: most of a graph is made of repeated parts.
  std::map<std::pair<uint32_t, Surroundings>, uint32_t> known_states_;
  Assignment result_;
};

}  // namespace

Expected<Assignment> make_assignment(const Graph& graph, const DeviceModel& device, const ConversionCost& conversion) {
  auto resolved = resolve(graph);
  if (!resolved) return resolved.error();
  return Builder(*std::move(resolved), device, conversion).run();
}

Error no_way_to(const Assignment& assignment, uint32_t node) {
  const auto& resolved = assignment.resolved;
  const Node& described = resolved.graph.nodes[node];
  std::string text = fmt::format("no representations satisfy '{}' ({}) and the operators before it",
                                 described.name.text, described.op);
  for (size_t input = 0; input < described.inputs.size(); ++input) {
    const uint32_t tensor = resolved.operands[node][input];
    const auto writer = resolved.writer[tensor];
    RepresentationSet taken;
    for (const Mode& mode : assignment.modes[node]) taken = taken | mode.takes[input];
    text += fmt::format(
        "\n"
        "  '{}' {} as {}; '{}' accepts it as {}",
        described.inputs[input].text,
        writer ? fmt::format("is written by '{}'", resolved.graph.nodes[writer->node].name.text) : "arrives",
        to_text(homes(assignment, tensor)), described.name.text, to_text(taken));
  }
  return {Error::Kind::unsupported, std::move(text),
          "allow a conversion between these representations, or add a kernel that accepts one and gives another"};
}

}  // namespace qgen::planner
