// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Independent checks of the planner: the slow, obvious optimum, the definition of a plan, and the greedy rule that the
// planner must beat.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/models/planner/plan.h"

namespace qgen::planner::testing {

// Time, conversions, ranks of the homes: the order in which plans are better.
using Rank = std::tuple<int64_t, int64_t, int64_t>;

// The readers of a tensor and their demands; the decisions so far.
struct Situation {
  std::map<std::string, Representation> home;
  std::map<std::string, std::set<Representation>> wanted;
  int64_t kernels = 0;  // picoseconds
};

class BruteForce {
 public:
  BruteForce(const Graph& graph, const DeviceModel& device, const ConversionCost& conversion)
      : graph_(graph), device_(device), conversion_(conversion) {
    for (const Tensor& tensor : graph.tensors) tensors_[tensor.name] = &tensor;
  }

  // Every kernel of every operator with every tuple it takes, every form that each input may arrive in.
  std::optional<Rank> best() {
    choose_input(0, {});
    return best_;
  }

 private:
  bool holds(const Tensor& tensor, Representation r) const {
    return refusal(tensor.shape, tensor.dtype, r, device_).empty();
  }

  bool is_written(const std::string& tensor) const {
    for (const Node& node : graph_.nodes) {
      if (std::count(node.outputs.begin(), node.outputs.end(), tensor) > 0) return true;
    }
    return false;
  }

  void choose_input(size_t index, Situation so_far) {
    if (index == graph_.tensors.size()) return choose_node(0, std::move(so_far));
    const Tensor& tensor = graph_.tensors[index];
    if (is_written(tensor.name)) return choose_input(index + 1, std::move(so_far));
    for (Representation r : tensor.arrives_as.empty() ? any_representation() : tensor.arrives_as) {
      if (!holds(tensor, r)) continue;
      so_far.home[tensor.name] = r;
      choose_input(index + 1, so_far);
    }
  }

  void choose_node(size_t index, Situation so_far) {
    if (index == graph_.nodes.size()) return judge(so_far);
    for (const Kernel& kernel : graph_.nodes[index].kernels) {
      Situation with = so_far;
      with.kernels += std::llround(kernel.cost_us * 1e6);
      choose_operand(index, kernel, 0, std::move(with));
    }
  }

  void choose_operand(size_t index, const Kernel& kernel, size_t operand, Situation so_far) {
    const Node& node = graph_.nodes[index];
    if (operand == kernel.takes.size()) return choose_node(index + 1, std::move(so_far));
    const bool reads = operand < node.inputs.size();
    const std::string& tensor = tensor_name(node, operand);
    for (Representation r : kernel.takes[operand]) {
      if (!holds(*tensors_.at(tensor), r)) continue;
      Situation with = so_far;
      if (reads) {
        with.wanted[tensor].insert(r);
      } else {
        with.home[tensor] = r;
      }
      choose_operand(index, kernel, operand + 1, std::move(with));
    }
  }

  // A tensor whose caller demands a form is tried with each.
  void judge(const Situation& situation, size_t tensor = 0, Situation chosen = {}) {
    if (tensor == 0) chosen = situation;
    while (tensor < graph_.tensors.size() && graph_.tensors[tensor].leaves_as.empty()) ++tensor;
    if (tensor == graph_.tensors.size()) return add_up(chosen);
    for (Representation r : graph_.tensors[tensor].leaves_as) {
      if (!holds(graph_.tensors[tensor], r)) continue;
      Situation with = chosen;
      with.wanted[graph_.tensors[tensor].name].insert(r);
      judge(situation, tensor + 1, with);
    }
  }

  void add_up(const Situation& situation) {
    Rank rank{situation.kernels, 0, 0};
    for (const auto& [name, home] : situation.home) {
      std::get<2>(rank) += qgen::planner::rank(home);
      const auto wanted = situation.wanted.find(name);
      if (wanted == situation.wanted.end()) continue;
      const auto copies = least_copies(*tensors_.at(name), home, wanted->second);
      if (!copies) return;
      std::get<0>(rank) += copies->first;
      std::get<1>(rank) += copies->second;
    }
    if (!best_ || rank < *best_) best_ = rank;
  }

  // Picoseconds and number of the conversions that make the forms wanted, and whatever forms help on the way.
  using Copies = std::optional<std::pair<int64_t, int64_t>>;
  Copies least_copies(const Tensor& tensor, Representation home, const std::set<Representation>& wanted) {
    RepresentationSet needed = home;
    for (Representation r : wanted) needed = needed | r;
    const auto& made = all_copies(tensor, home);
    Copies least;
    for (uint32_t set = 0; set < made.size(); ++set) {
      if ((set & needed.bits()) != needed.bits() || !made[set] || (least && *least <= *made[set])) continue;
      least = made[set];
    }
    return least;
  }

  // For every set of forms: the last that was made came from one that was there.
  const std::vector<Copies>& all_copies(const Tensor& tensor, Representation home) {
    auto& made = copies_[{tensor.name, home}];
    if (!made.empty()) return made;
    made.resize(any_representation().bits() + 1);
    made[RepresentationSet(home).bits()] = {0, 0};
    for (uint32_t bits = 0; bits < made.size(); ++bits) {
      const auto set = RepresentationSet::from_bits(bits);
      for (Representation last : set - home) {
        const auto& before = made[(set - last).bits()];
        if (!before || !holds(tensor, last)) continue;
        for (Representation from : set - last) {
          const auto us = conversion_(tensor, from, last);
          if (!us) continue;
          const std::pair<int64_t, int64_t> candidate{before->first + std::llround(*us * 1e6), before->second + 1};
          if (!made[bits] || candidate < *made[bits]) made[bits] = candidate;
        }
      }
    }
    return made;
  }

  const Graph& graph_;
  const DeviceModel& device_;
  const ConversionCost& conversion_;
  std::map<std::string, const Tensor*> tensors_;
  std::map<std::pair<std::string, Representation>, std::vector<Copies>> copies_;
  std::optional<Rank> best_;
};

// A plan's rank by its content, or its fault.
struct Verdict {
  std::string fault;
  Rank rank;
};

// Follows a plan: tensors come to be, copies are made of them, and operators read and write.
class Judge {
 public:
  Judge(const Graph& graph, const DeviceModel& device, const ConversionCost& conversion, const Plan& plan)
      : graph_(graph), device_(device), conversion_(conversion), plan_(plan) {}

  Verdict verdict() && {
    write_tensors();
    for (const auto step :
         {&Judge::make_copies, &Judge::hold_tensors, &Judge::hand_out_tensors, &Judge::run_nodes, &Judge::use_copies}) {
      if (std::string fault = (this->*step)(); !fault.empty()) return {std::move(fault), rank_};
    }
    return {"", rank_};
  }

 private:
  void write_tensors() {
    for (const PlannedTensor& planned : plan_.tensors) {
      home_[planned.name] = planned.home;
      present_[planned.name] = planned.home;
      std::get<2>(rank_) += qgen::planner::rank(planned.home);
    }
  }

  // Each from a form that is there.
  std::string make_copies() {
    for (const Conversion& made : plan_.conversions) {
      RepresentationSet& present = present_[made.tensor];
      if (!present.contains(made.from)) return made.tensor.text + " is converted from what is not there";
      if (present.contains(made.to)) return made.tensor.text + " is converted twice to one form";
      const auto us = conversion_(*std::ranges::find(graph_.tensors, made.tensor, &Tensor::name), made.from, made.to);
      if (!us) return made.tensor.text + ": there is no such conversion";
      present = present | made.to;
      add_time(*us);
      std::get<1>(rank_) += 1;
    }
    return "";
  }

  std::string hold_tensors() {
    for (const Tensor& tensor : graph_.tensors) {
      for (Representation r : present_[tensor.name]) {
        if (!refusal(tensor.shape, tensor.dtype, r, device_).empty()) return tensor.name.text + " cannot be held";
      }
    }
    return "";
  }

  std::string hand_out_tensors() {
    for (const Tensor& tensor : graph_.tensors) {
      if (!tensor.leaves_as.empty() && (tensor.leaves_as & present_[tensor.name]).empty())
        return tensor.name.text + " leaves otherwise";
    }
    return "";
  }

  std::string run_nodes() {
    for (const Node& node : graph_.nodes) {
      const auto planned = std::ranges::find(plan_.nodes, node.name, &PlannedNode::name);
      if (planned == plan_.nodes.end()) return node.name.text + " has no kernel";
      const auto kernel = std::ranges::find(node.kernels, planned->kernel, &Kernel::name);
      if (kernel == node.kernels.end()) return node.name.text + " has an unknown kernel";
      add_time(kernel->cost_us);
      for (size_t operand = 0; operand < kernel->takes.size(); ++operand) {
        const Representation taken = planned->takes[operand];
        if (!kernel->takes[operand].contains(taken)) return node.name.text + " takes what its kernel does not";
        if (std::string fault = take(node, operand, taken); !fault.empty()) return fault;
      }
    }
    return "";
  }

  // The node reads or writes the tensor of this operand.
  std::string take(const Node& node, size_t operand, Representation taken) {
    const std::string& tensor = tensor_name(node, operand);
    const bool reads = operand < node.inputs.size();
    if (!reads && taken != home_[tensor]) return tensor + " is written otherwise";
    if (!present_[tensor].contains(taken)) return tensor + " is read in a form that nobody makes";
    if (reads) read_[tensor] = read_[tensor] | taken;
    return "";
  }

  // Somebody reads each copy, or takes it out of the graph, or makes another of it.
  std::string use_copies() {
    for (const Conversion& made : plan_.conversions) {
      const bool leads_on = std::ranges::any_of(plan_.conversions, [&](const Conversion& next) {
        return next.tensor == made.tensor && next.from == made.to;
      });
      const RepresentationSet leaves_as = std::ranges::find(graph_.tensors, made.tensor, &Tensor::name)->leaves_as;
      const bool leaves = leaves_as.contains(made.to) && !leaves_as.contains(home_[made.tensor]);
      if (!read_[made.tensor].contains(made.to) && !leaves && !leads_on)
        return made.tensor.text + " is converted for nobody";
    }
    return "";
  }

  void add_time(double us) { std::get<0>(rank_) += std::llround(us * 1e6); }

  const Graph& graph_;
  const DeviceModel& device_;
  const ConversionCost& conversion_;
  const Plan& plan_;
  std::map<std::string, Representation> home_;
  std::map<std::string, RepresentationSet> present_, read_;
  Rank rank_{0, 0, 0};
};

inline Verdict judge(const Graph& graph, const DeviceModel& device, const ConversionCost& conversion,
                     const Plan& plan) {
  return Judge(graph, device, conversion, plan).verdict();
}

// The rule to beat, with advantages: operators in the order of insertion, each at its cheapest given the existing
// copies, with shared conversions; no look at later operators. Of a set it writes the first row.
inline std::optional<double> greedy_cost_us(const Graph& graph, const ConversionCost& conversion) {
  std::map<std::string, std::vector<Representation>> present;  // the home first
  std::map<std::string, const Tensor*> tensors;
  for (const Tensor& tensor : graph.tensors) {
    tensors[tensor.name] = &tensor;
    if (!tensor.arrives_as.empty()) present[tensor.name] = {tensor.arrives_as.first()};
  }
  const auto copy_us = [&](const std::string& tensor, RepresentationSet takes,
                           Representation* form) -> std::optional<double> {
    auto& forms = present[tensor];
    if (forms.empty()) forms = {takes.first()};
    std::optional<double> least;
    for (Representation to : takes) {
      const bool is_there = std::find(forms.begin(), forms.end(), to) != forms.end();
      const auto us = is_there ? 0.0 : conversion(*tensors[tensor], forms.front(), to);
      if (!us || (least && *least <= *us)) continue;
      least = us;
      *form = to;
    }
    return least;
  };
  double total = 0;
  for (const Node& node : graph.nodes) {
    const Kernel* best = nullptr;
    std::vector<Representation> best_forms;
    double least = 0;
    for (const Kernel& kernel : node.kernels) {
      double us = kernel.cost_us;
      std::vector<Representation> forms(node.inputs.size());
      for (size_t input = 0; input < node.inputs.size(); ++input) {
        us += copy_us(node.inputs[input], kernel.takes[input], &forms[input]).value_or(INFINITY);
      }
      if (best != nullptr && least <= us) continue;
      best = &kernel;
      best_forms = forms;
      least = us;
    }
    if (best == nullptr || std::isinf(least)) return std::nullopt;
    total += least;
    for (size_t input = 0; input < node.inputs.size(); ++input) {
      auto& forms = present[node.inputs[input]];
      if (std::find(forms.begin(), forms.end(), best_forms[input]) == forms.end()) forms.push_back(best_forms[input]);
    }
    for (size_t output = 0; output < node.outputs.size(); ++output) {
      present[node.outputs[output]] = {best->takes[node.inputs.size() + output].first()};
    }
  }
  for (const Tensor& tensor : graph.tensors) {
    Representation form;
    if (!tensor.leaves_as.empty()) total += copy_us(tensor.name, tensor.leaves_as, &form).value_or(INFINITY);
  }
  return total;
}

}  // namespace qgen::planner::testing
