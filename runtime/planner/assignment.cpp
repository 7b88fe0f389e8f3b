// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/planner/assignment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace qgen::planner {
namespace {

std::string describe(const Tensor& tensor) {
  return fmt::format("'{}' ({} [{}])", tensor.name, name(tensor.dtype), fmt::join(tensor.shape, ", "));
}

const std::string& tensor_name(const Node& node, size_t operand) {
  return operand < node.inputs.size() ? node.inputs[operand] : node.outputs[operand - node.inputs.size()];
}

std::string_view verb(const Node& node, size_t operand) { return operand < node.inputs.size() ? "reads" : "writes"; }

// Row by row: one set of compatible representations each, in the order of the table.
std::vector<RepresentationSet> compatibility_classes() {
  std::vector<RepresentationSet> classes;
  for (Representation r : any_representation()) {
    const auto same = std::find_if(classes.begin(), classes.end(),
                                   [&](RepresentationSet set) { return are_compatible(set.first(), r); });
    if (same == classes.end()) {
      classes.push_back(r);
    } else {
      *same = *same | r;
    }
  }
  return classes;
}

// The modes of one node's kernels.
class Modes {
 public:
  Modes(const Node& node, std::vector<RepresentationSet> admissible) : node_(node), admissible_(std::move(admissible)) {
    for (uint32_t index = 0; index < node.kernels.size(); ++index) add(index);
  }

  const std::vector<std::string>& refusals() const { return refusals_; }  // one a kernel that has no mode

  // Without those that another mode replaces: takes at least as much at every operand, costs no more; of equals the
  // first stays.
  std::vector<Mode> thinned() const {
    std::vector<Mode> kept;
    for (size_t i = 0; i < modes_.size(); ++i) {
      bool is_replaced = false;
      for (size_t j = 0; j < modes_.size() && !is_replaced; ++j) is_replaced = i != j && replaces(j, i);
      if (!is_replaced) kept.push_back(modes_[i]);
    }
    return kept;
  }

 private:
  void add(uint32_t index) {
    const Kernel& kernel = node_.kernels[index];
    Mode mode{index, {}, to_picoseconds(kernel.cost_us)};
    for (size_t operand = 0; operand < kernel.takes.size(); ++operand) {
      mode.takes.push_back(kernel.takes[operand] & admissible_[operand]);
      if (mode.takes.back().empty()) return refuse(kernel, operand);
    }
    const size_t before = modes_.size();
    choose_classes(kernel, mode, 0);
    if (modes_.size() == before) refuse_synced(kernel);
  }

  // One mode for each way to give every synced group one class.
  void choose_classes(const Kernel& kernel, const Mode& mode, size_t group) {
    if (group == kernel.synced.size()) return modes_.push_back(mode);
    static const auto classes = compatibility_classes();
    for (RepresentationSet one : classes) {
      Mode narrowed = mode;
      bool is_possible_class = true;
      for (uint32_t operand : kernel.synced[group]) {
        narrowed.takes[operand] = narrowed.takes[operand] & one;
        is_possible_class = is_possible_class && !narrowed.takes[operand].empty();
      }
      if (is_possible_class) choose_classes(kernel, narrowed, group + 1);
    }
  }

  void refuse(const Kernel& kernel, size_t operand) {
    refusals_.push_back(fmt::format("{} {} '{}' as {}, which it cannot be here", kernel.name, verb(node_, operand),
                                    tensor_name(node_, operand), to_text(kernel.takes[operand])));
  }

  void refuse_synced(const Kernel& kernel) {
    std::vector<std::string> sides;
    for (const auto& group : kernel.synced) {
      for (uint32_t operand : group) {
        sides.push_back(fmt::format("'{}' as {}", tensor_name(node_, operand),
                                    to_text(kernel.takes[operand] & admissible_[operand])));
      }
    }
    refusals_.push_back(fmt::format("{} wants one packed dimension and block for its synced operands, but takes {}",
                                    kernel.name, fmt::join(sides, ", ")));
  }

  bool replaces(size_t j, size_t i) const {
    const Mode &by = modes_[j], &mode = modes_[i];
    bool is_same = by.picoseconds == mode.picoseconds;
    if (by.picoseconds > mode.picoseconds) return false;
    for (size_t operand = 0; operand < mode.takes.size(); ++operand) {
      if (!(mode.takes[operand] - by.takes[operand]).empty()) return false;
      is_same = is_same && by.takes[operand] == mode.takes[operand];
    }
    return !is_same || j < i;
  }

  const Node& node_;
  std::vector<RepresentationSet> admissible_;
  std::vector<Mode> modes_;
  std::vector<std::string> refusals_;
};

// The states of one tensor, given what the modes around it write and read.
class States {
 public:
  RepresentationSet homes;
  RepresentationSet leaves_as;                // empty: no demand
  std::vector<RepresentationSet> offers;      // sets that modes write, each once
  std::vector<RepresentationSet> demands;     // sets that modes read, each once
  std::array<std::array<Cost, kRepresentations.size()>, kRepresentations.size()> conversion;  // [from][to]

  std::vector<State> thinned() const {
    std::vector<State> all;
    for (Representation home : homes) add(home, all);
    // A state is replaced only by one that comes before it here, so one pass over those kept is enough.
    std::sort(all.begin(), all.end(), [](const State& a, const State& b) {
      return std::tuple(a.cost, a.home, a.present.bits()) < std::tuple(b.cost, b.home, b.present.bits());
    });
    std::vector<State> kept;
    std::vector<uint64_t> signatures;
    for (const State& state : all) {
      const uint64_t satisfied = signature(state.home, state.present);
      const bool is_replaced = std::any_of(signatures.begin(), signatures.end(),
                                           [&](uint64_t other) { return (satisfied & ~other) == 0; });
      if (is_replaced) continue;
      kept.push_back(state);
      signatures.push_back(satisfied);
    }
    return kept;
  }

 private:
  const Cost& cost(Representation from, Representation to) const { return conversion[from.row][to.row]; }

  // One bit for each set that the state satisfies. With more sets than bits, the representations themselves: what has
  // more of them satisfies no less.
  uint64_t signature(Representation home, RepresentationSet present) const {
    if (offers.size() + demands.size() > 64) return uint64_t{RepresentationSet(home).bits()} << 32 | present.bits();
    uint64_t bits = 0;
    for (auto offer : offers) bits = bits << 1 | (offer.contains(home) ? 1 : 0);
    for (auto demand : demands) bits = bits << 1 | ((demand & present).empty() ? 0 : 1);
    return bits;
  }

  void add(Representation home, std::vector<State>& all) const {
    const RepresentationSet copies = useful_copies(home);
    for (uint32_t bits = copies.bits();; bits = (bits - 1) & copies.bits()) {
      State state{home, RepresentationSet::from_bits(bits) | home, {0, home.row}};
      for (Representation copy : RepresentationSet::from_bits(bits)) state.cost = state.cost + cost(home, copy);
      if (leaves_as.empty() || !(state.present & leaves_as).empty()) all.push_back(state);
      if (bits == 0) return;
    }
  }

  // Copies that satisfy something which neither home nor a copy that costs no more satisfies.
  RepresentationSet useful_copies(Representation home) const {
    RepresentationSet useful;
    for (Representation copy : any_representation() - home) {
      if (!is_possible(cost(home, copy)) || is_covered(home, copy, home)) continue;
      bool is_useful = true;
      for (Representation other : any_representation() - home - copy) {
        const bool is_before = std::pair(cost(home, other), other) < std::pair(cost(home, copy), copy);
        is_useful = is_useful && !(is_before && is_covered(home, copy, other));
      }
      if (is_useful) useful = useful | copy;
    }
    return useful;
  }

  // Whether `by` satisfies every reader that `copy` does.
  bool is_covered(Representation home, Representation copy, Representation by) const {
    const bool leaves = !leaves_as.contains(copy) || leaves_as.contains(by);
    return leaves && (signature(home, copy) & ~signature(home, by)) == 0;
  }
};

class Builder {
 public:
  Builder(ResolvedGraph resolved, const DeviceModel& device, const ConversionCost& conversion)
      : device_(device), conversion_(conversion) {
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
    for (const Tensor& tensor : graph().tensors) {
      RepresentationSet held;
      for (Representation r : any_representation()) {
        std::string reason = refusal(tensor.shape, tensor.dtype, r, device_);
        if (reason.empty()) {
          held = held | r;
        } else {
          result_.dropped.push_back({tensor.name, r, std::move(reason)});
        }
      }
      admissible_.push_back(held);
    }
    result_.modes.resize(graph().nodes.size());
    result_.states.resize(graph().tensors.size());
  }

  uint32_t tensor_of(uint32_t node, size_t operand) const {
    const auto& [inputs, outputs] = result_.resolved.edges[node];
    return operand < inputs.size() ? inputs[operand] : outputs[operand - inputs.size()];
  }

  size_t operands(uint32_t node) const {
    return result_.resolved.edges[node].inputs.size() + result_.resolved.edges[node].outputs.size();
  }

  Done add_modes(uint32_t node) {
    std::vector<RepresentationSet> admissible;
    for (size_t operand = 0; operand < operands(node); ++operand) {
      admissible.push_back(admissible_[tensor_of(node, operand)]);
    }
    const Modes modes(graph().nodes[node], std::move(admissible));
    result_.modes[node] = modes.thinned();
    if (result_.modes[node].empty()) return no_kernel(node, modes.refusals());
    return std::monostate{};
  }

  // Which representations a tensor can come in from its writer or from outside.
  RepresentationSet homes(uint32_t tensor) const {
    const auto writer = result_.resolved.writer[tensor];
    if (!writer) {
      const RepresentationSet given = graph().tensors[tensor].arrives_as;
      return admissible_[tensor] & (given.empty() ? any_representation() : given);
    }
    RepresentationSet written;
    const auto& [inputs, outputs] = result_.resolved.edges[*writer];
    const size_t operand = inputs.size() + (std::find(outputs.begin(), outputs.end(), tensor) - outputs.begin());
    for (const Mode& mode : result_.modes[*writer]) written = written | mode.takes[operand];
    return written;
  }

  Done add_states(uint32_t tensor) {
    const Tensor& described = graph().tensors[tensor];
    States states;
    states.homes = homes(tensor);
    states.leaves_as = described.leaves_as & admissible_[tensor];
    if (states.homes.empty()) return cannot_cross(described, "arrives", described.arrives_as);
    if (states.leaves_as.empty() && !described.leaves_as.empty()) {
      return cannot_cross(described, "leaves", described.leaves_as);
    }
    collect(tensor, states);
    if (Done done = price(tensor, states); !done) return done;
    result_.states[tensor] = states.thinned();
    if (!result_.states[tensor].empty()) return std::monostate{};
    return Error{Error::Kind::unsupported,
                 fmt::format("{} is written as {} and leaves as {}, and no conversion leads there", describe(described),
                             to_text(states.homes), to_text(states.leaves_as)),
                 ""};
  }

  void collect(uint32_t tensor, States& states) const {
    const auto add = [](std::vector<RepresentationSet>& sets, RepresentationSet set) {
      if (std::find(sets.begin(), sets.end(), set) == sets.end()) sets.push_back(set);
    };
    if (const auto writer = result_.resolved.writer[tensor]) {
      for (size_t operand = 0; operand < operands(*writer); ++operand) {
        const bool writes = operand >= result_.resolved.edges[*writer].inputs.size();
        if (!writes || tensor_of(*writer, operand) != tensor) continue;
        for (const Mode& mode : result_.modes[*writer]) add(states.offers, mode.takes[operand]);
      }
    }
    for (const auto [node, input] : result_.resolved.uses[tensor]) {
      for (const Mode& mode : result_.modes[node]) add(states.demands, mode.takes[input]);
    }
  }

  Done price(uint32_t tensor, States& states) const {
    const Tensor& described = graph().tensors[tensor];
    RepresentationSet wanted = states.leaves_as;
    for (RepresentationSet demand : states.demands) wanted = wanted | demand;
    for (auto& row : states.conversion) row.fill(kImpossible);
    for (Representation from : states.homes) {
      for (Representation to : wanted - from) {
        const auto us = conversion_(described, from, to);
        if (!us) continue;
        if (!(*us >= 0 && *us <= 1e9)) {
          return Error{Error::Kind::invalid_argument,
                       fmt::format("converting {} from {} to {} costs {} us", describe(described), name(from), name(to), *us),
                       "a cost is a number from 0 to 1e9; a conversion that does not exist has none"};
        }
        states.conversion[from.row][to.row] = {to_picoseconds(*us), kTieOfConversion};
      }
    }
    return std::monostate{};
  }

  void fill_model() {
    auto& model = result_.model;
    for (const auto& modes : result_.modes) {
      auto& costs = model.costs.emplace_back();
      for (const Mode& mode : modes) costs.push_back({mode.picoseconds, 0});
    }
    model.leaders = static_cast<uint32_t>(model.costs.size());
    for (const auto& states : result_.states) {
      auto& costs = model.costs.emplace_back();
      for (const State& state : states) costs.push_back(state.cost);
    }
    for (uint32_t node = 0; node < model.leaders; ++node) {
      for (size_t operand = 0; operand < operands(node); ++operand) add_fit(node, operand);
    }
  }

  Done check_sum() const {
    double sum = 0;
    for (const auto& costs : result_.model.costs) sum += std::max_element(costs.begin(), costs.end())->picoseconds;
    if (sum < static_cast<double>(kImpossiblePicoseconds) / 4) return std::monostate{};
    return Error{Error::Kind::invalid_argument, fmt::format("the costs may add up to {:.3g} us", sum * 1e-6),
                 "plans are compared in whole picoseconds, up to 2.8e11 us: give costs in microseconds"};
  }

  void add_fit(uint32_t node, size_t operand) {
    const uint32_t tensor = tensor_of(node, operand);
    const bool reads = operand < result_.resolved.edges[node].inputs.size();
    ChoiceModel::Fit fit{node, result_.model.leaders + tensor, {}, {}};
    for (const Mode& mode : result_.modes[node]) fit.a_masks.push_back(mode.takes[operand].bits());
    for (const State& state : result_.states[tensor]) {
      fit.b_masks.push_back(reads ? state.present.bits() : RepresentationSet(state.home).bits());
    }
    result_.model.fits.push_back(std::move(fit));
  }

  // "a: rank 5 is above the four dimensions of a texture (texture3d.width_packed, ...)", equal reasons together.
  std::string why_dropped(uint32_t tensor) const {
    std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
    for (const Dropped& dropped : result_.dropped) {
      if (dropped.tensor != graph().tensors[tensor].name) continue;
      auto same = std::find_if(reasons.begin(), reasons.end(), [&](const auto& r) { return r.first == dropped.reason; });
      if (same == reasons.end()) same = reasons.insert(reasons.end(), {dropped.reason, {}});
      same->second.push_back(name(dropped.representation));
    }
    std::string text;
    for (const auto& [reason, names] : reasons) {
      text += fmt::format("\n    not as {}: {}", fmt::join(names, ", "), reason);
    }
    return text;
  }

  Error no_kernel(uint32_t node, const std::vector<std::string>& refusals) const {
    const Node& described = graph().nodes[node];
    std::string text = fmt::format("no kernel of '{}' ({}) can take its operands", described.name, described.op);
    for (const auto& refusal : refusals) text += "\n  " + refusal;
    if (described.kernels.empty()) text += "\n  it has no kernels at all";
    std::vector<uint32_t> told;
    for (size_t operand = 0; operand < operands(node); ++operand) {
      const uint32_t tensor = tensor_of(node, operand);
      if (std::find(told.begin(), told.end(), tensor) != told.end()) continue;
      told.push_back(tensor);
      text += "\n  " + offer(node, operand) + why_dropped(tensor);
    }
    return {Error::Kind::unsupported, std::move(text),
            "give the operator a kernel for what is offered, or its tensors a shape that the device can hold"};
  }

  std::string offer(uint32_t node, size_t operand) const {
    const uint32_t tensor = tensor_of(node, operand);
    const std::string what = describe(graph().tensors[tensor]);
    if (operand >= result_.resolved.edges[node].inputs.size()) {
      return fmt::format("{} can be held as {}", what, to_text(admissible_[tensor]));
    }
    const auto writer = result_.resolved.writer[tensor];
    if (!writer) return fmt::format("{} arrives as {}", what, to_text(homes(tensor)));
    return fmt::format("{} is written as {} by '{}' ({})", what, to_text(homes(tensor)), graph().nodes[*writer].name,
                       graph().nodes[*writer].op);
  }

  Error cannot_cross(const Tensor& tensor, std::string_view how, RepresentationSet set) const {
    const auto at = static_cast<uint32_t>(&tensor - graph().tensors.data());
    return {Error::Kind::unsupported,
            fmt::format("{} {} as {}, which this device cannot hold{}", describe(tensor), how,
                        to_text(set.empty() ? any_representation() : set), why_dropped(at)),
            ""};
  }

  const DeviceModel& device_;
  const ConversionCost& conversion_;
  std::vector<RepresentationSet> admissible_;  // one a tensor
  Assignment result_;
};

}  // namespace

int64_t to_picoseconds(double us) { return std::llround(us * 1e6); }

Expected<Assignment> make_assignment(const Graph& graph, const DeviceModel& device, const ConversionCost& conversion) {
  auto resolved = resolve(graph);
  if (!resolved) return resolved.error();
  return Builder(*std::move(resolved), device, conversion).run();
}

Error no_way_to(const Assignment& assignment, uint32_t node) {
  const auto& resolved = assignment.resolved;
  const Node& described = resolved.graph.nodes[node];
  std::string text = fmt::format("no representations satisfy '{}' ({}) together with what comes before it", described.name,
                                 described.op);
  for (size_t input = 0; input < described.inputs.size(); ++input) {
    RepresentationSet homes, taken;
    for (const State& state : assignment.states[resolved.edges[node].inputs[input]]) homes = homes | state.home;
    for (const Mode& mode : assignment.modes[node]) taken = taken | mode.takes[input];
    const auto writer = resolved.writer[resolved.edges[node].inputs[input]];
    text += fmt::format("\n  '{}' {} as {}; '{}' takes it as {}", described.inputs[input],
                        writer ? fmt::format("is written by '{}'", resolved.graph.nodes[*writer].name) : "arrives",
                        to_text(homes), described.name, to_text(taken));
  }
  return {Error::Kind::unsupported, std::move(text), "allow a conversion between the two sides, or add a kernel that bridges them"};
}

}  // namespace qgen::planner
