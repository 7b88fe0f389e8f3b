// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/graph/alternatives.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace qgen::graph {
namespace {

// A step among the others, which stay as they are.
class Surroundings {
 public:
  Surroundings(const Schedule& schedule, const Step& step) : schedule_(schedule) {
    std::vector<bool> is_written(schedule.tensors.size());
    for (const Step& other : schedule.steps) {
      for (const TensorInfo& info : other.entry->tensors) {
        const Source& source = other.operands[info.operand];
        if (source.kind != Source::Kind::tensor) continue;
        if (info.role == TensorInfo::Role::output) is_written[source.index] = true;
        else if (&other != &step && other.node != Step::kConversion) add(source.index);
      }
    }
    for (const uint32_t output : schedule.outputs) add(output);
    // Reshapes, which no step does.
    for (size_t i = 0; i < schedule.tensors.size(); ++i) {
      const uint32_t source = schedule.tensors[i].alias_of;
      if (source != PlacedValue::kNone && !is_written[i]) add(source);
    }
  }

  // The layout in which a value is written, or arrives as an input.
  Layout home(ValueId value) const {
    const auto is_home = [&](const PlacedValue& placed) {
      return placed.value == value && std::ranges::none_of(schedule_.decision.copies, [&](const Decision::Copy& copy) {
               return copy.value == value && copy.to == placed.layout;
             });
    };
    return std::ranges::find_if(schedule_.tensors, is_home)->layout;
  }

  bool is_read(ValueId value, Layout layout) const { return read_.contains({value, layout}); }

  std::vector<Layout> layouts_read(ValueId value) const {
    std::vector<Layout> layouts;
    for (auto at = read_.lower_bound({value, Layout{}}); at != read_.end() && at->first == value; ++at)
      layouts.push_back(at->second);
    return layouts;
  }

 private:
  void add(uint32_t tensor) { read_.emplace(schedule_.tensors[tensor].value, schedule_.tensors[tensor].layout); }

  const Schedule& schedule_;
  std::set<std::pair<ValueId, Layout>> read_;  // by others
};

// Without times.
std::vector<Alternative::Copy> copies_for(const Surroundings& around, std::span<const Slot> slots,
                                          std::span<const Layout> layouts) {
  std::vector<Alternative::Copy> copies;
  for (size_t i = 0; i < slots.size(); ++i) {
    const ValueId value = slots[i].value;
    if (slots[i].is_output) {
      for (const Layout read : around.layouts_read(value)) {
        if (read != layouts[i]) copies.push_back({value, layouts[i], read});
      }
      continue;
    }
    const bool is_there = layouts[i] == around.home(value) || around.is_read(value, layouts[i]);
    const bool is_known = std::ranges::any_of(
        copies, [&](const Alternative::Copy& copy) { return copy.value == value && copy.to == layouts[i]; });
    if (!is_there && !is_known) copies.push_back({value, around.home(value), layouts[i]});
  }
  return copies;
}

}  // namespace

double Alternative::total_us() const {
  return std::accumulate(copies.begin(), copies.end(), time_us,
                         [](double sum, const Copy& copy) { return sum + copy.time_us; });
}

Expected<std::vector<Alternative>> alternatives_of(const Graph& graph, const Schedule& schedule, const Step& step,
                                                   const Chooser& chooser) {
  Candidates candidates(chooser);
  auto offer = candidates.slots_of(graph, graph.nodes[step.node], *step.entry, *step.call.arguments);
  if (offer) offer = candidates.with_ways(*std::move(offer));
  if (!offer) return offer.error();
  const Surroundings around(schedule, step);
  std::vector<Alternative> alternatives;
  for (const LayoutChoice& way : offer->ways) {
    Alternative one{.layouts = way.layouts, .time_us = way.time_us};
    one.copies = copies_for(around, offer->slots, way.layouts);
    one.is_chosen = way.layouts == schedule.decision.ways[step.node];
    const bool is_possible = std::ranges::all_of(one.copies, [&](Alternative::Copy& copy) {
      const auto time_us = candidates.conversion_us(schedule.values[copy.value], copy.from, copy.to);
      copy.time_us = time_us.value_or(0);
      return time_us.has_value();
    });
    if (is_possible) alternatives.push_back(std::move(one));
  }
  std::ranges::stable_sort(alternatives, {}, &Alternative::total_us);
  return alternatives;
}

}  // namespace qgen::graph
