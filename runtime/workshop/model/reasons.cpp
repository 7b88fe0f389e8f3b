// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/model/reasons.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "common/time_text.h"
#include "runtime/models/graph/alternatives.h"

namespace qgen::model {
namespace {

using graph::Alternative;
using graph::Graph;
using graph::Schedule;
using graph::Step;

// Of 6 layouts for each of 3 tensors there are 216.
constexpr size_t kMaxReported = 20;

// Whether all of it, or one of the nodes that it is made of, has this name.
bool is_called(const std::string& step, const std::string& layer) {
  return fmt::format(" + {} + ", step).find(fmt::format(" + {} + ", layer)) != std::string::npos;
}

std::vector<const Step*> steps_of(const Schedule& schedule, const std::string& layer) {
  std::vector<const Step*> called, similar;
  for (const Step& step : schedule.steps) {
    if (is_called(step.name, layer)) called.push_back(&step);
    if (step.name.find(layer) != std::string::npos) similar.push_back(&step);
  }
  return called.empty() ? similar : called;
}

// "packed_4c, packed_4c -> packed_4w4c"
std::string layouts_text(const Graph& graph, const Step& step, const Alternative& one) {
  const auto count = std::ranges::count_if(
      graph.nodes[step.node].inputs, [&](const graph::Port& port) { return !graph.values[port.value].is_constant; });
  std::vector<std::string_view> names;
  for (const Layout layout : one.layouts) names.push_back(name(layout));
  return fmt::format("{} -> {}", fmt::join(names.begin(), names.begin() + count, ", "),
                     fmt::join(names.begin() + count, names.end(), ", "));
}

std::string costs_text(const Graph& graph, const Alternative& one) {
  std::string text = us_text(one.time_us) + " us";
  for (const Alternative::Copy& copy : one.copies)
    text += fmt::format(" + {} for '{}' from {} to {}", us_text(copy.time_us), graph.values[copy.value].name,
                        name(copy.from), name(copy.to));
  return text;
}

Expected<std::string> reasons_of_layouts(const Graph& graph, const Schedule& schedule, const Step& step,
                                         const graph::Chooser& chooser) {
  const auto alternatives = alternatives_of(graph, schedule, step, chooser);
  if (!alternatives) return alternatives.error();
  const auto chosen = std::ranges::find(*alternatives, true, &Alternative::is_chosen);
  if (chosen == alternatives->end()) return std::string();
  std::string text = fmt::format("in {}: {}\n", layouts_text(graph, step, *chosen), costs_text(graph, *chosen));
  if (alternatives->size() == 1) return text + "no other layouts fit\n";
  text += "in other layouts, with the conversions that only this layer needs, and the rest of the plan unchanged:\n";
  size_t told = 0;
  for (const Alternative& one : *alternatives) {
    if (one.is_chosen) continue;
    if (told++ == kMaxReported) return text + fmt::format("  and {} more\n", alternatives->size() - 1 - kMaxReported);
    const double more_us = one.total_us() - chosen->total_us();
    text += fmt::format("  {:>9} us  {}: {}\n", (more_us < 0 ? "" : "+") + us_text(more_us),
                        layouts_text(graph, step, one), costs_text(graph, one));
  }
  return text;
}

}  // namespace

Expected<std::string> reasons_of(const Graph& graph, const Schedule& schedule, const std::string& layer,
                                 const graph::Chooser& chooser) {
  std::string text;
  for (const Step* step : steps_of(schedule, layer)) {
    text += fmt::format("\n{}\n", step->name);
    if (step->node != Step::kConversion) {
      const auto layouts = reasons_of_layouts(graph, schedule, *step, chooser);
      if (!layouts) return layouts.error();
      text += *layouts;
    }
    const auto times = chooser.times ? chooser.times->of(step->call.problem, chooser.profile) : nullptr;
    Selection selection = select(step->call.problem, chooser.profile, chooser.library, {.times = times.get()});
    if (step->call.arguments) selection.question = question_of(step->call, chooser.profile);
    text += explain(selection);
  }
  if (!text.empty()) return text;
  return refused(fmt::format("no layer's name contains '{}'", layer), "--explain alone lists them");
}

}  // namespace qgen::model
