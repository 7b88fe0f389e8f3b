// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/graph/candidates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "vocabulary/layouts.h"

namespace qgen::graph {
namespace {

// The operator that copies a tensor of bytes from layout to layout.
constexpr std::string_view kClone = "q8ta_clone";

std::vector<Layout> layouts_for(const TensorInfo& info, DType dtype) {
  if (!info.has_representation || info.layouts == 0) return {Layout::strided};
  std::vector<Layout> layouts = layouts_of_bytes(dtype);
  std::erase_if(layouts, [&](Layout layout) { return !has_layout(info.layouts, Storage::buffer, layout); });
  return layouts;
}

void put(InferArguments& arguments, const Slot& slot, Layout layout) {
  if (slot.is_output) arguments.set_output(slot.operand, TensorDesc{.layout = layout});
  else arguments.tensors[slot.operand]->tensor.layout = layout;
}

// To the next combination; false: that was the last.
bool next_combination(std::vector<size_t>& at, std::span<const Slot> slots) {
  for (size_t i = slots.size(); i-- > 0;) {
    if (++at[i] < slots[i].layouts.size()) return true;
    at[i] = 0;
  }
  return false;
}

// All that its ways depend on: two offers of one text have the same.
std::string text_of(const Offer& offer) {
  std::string text(offer.entry->name);
  for (const auto& viewed : offer.arguments->tensors) {
    if (!viewed) {
      text += " none";
      continue;
    }
    const TensorDesc& tensor = viewed->tensor;
    fmt::format_to(std::back_inserter(text), " {} [{}] {} {} {}", static_cast<int>(tensor.dtype),
                   fmt::join(tensor.shape, ","), static_cast<int>(tensor.storage), static_cast<int>(tensor.layout),
                   tensor.other_layouts);
  }
  for (const auto& attribute : offer.arguments->attributes) {
    const auto add = [&](const auto& value) {
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::vector<int64_t>>)
        fmt::format_to(std::back_inserter(text), " [{}]", fmt::join(value, ","));
      else fmt::format_to(std::back_inserter(text), " {}", value);
    };
    if (attribute) std::visit(add, *attribute);
    else text += " none";
  }
  for (const Slot& slot : offer.slots) fmt::format_to(std::back_inserter(text), " {}", slot.operand);
  return text;
}

// The ratio of the measured kernels' times to their costs, as a geometric mean; 1: none was measured.
double measured_ratio(std::span<const Estimate> estimates) {
  double sum = 0;
  int count = 0;
  for (const Estimate& one : estimates) {
    if (!one.is_measured || one.cost_us <= 0 || one.time_us <= 0) continue;
    sum += std::log(one.time_us / one.cost_us);
    ++count;
  }
  return count == 0 ? 1 : std::exp(sum / count);
}

}  // namespace

std::vector<Layout> layouts_of_bytes(DType dtype) {
  std::vector<Layout> layouts{Layout::strided};
  for (const LayoutInfo& row : kLayouts) {
    if (bytes(dtype) == 1 && row.storage == Storage::buffer && row.is_packed_bytes()) layouts.push_back(row.layout);
  }
  return layouts;
}

Candidates::Candidates(const Chooser& chooser)
    : chooser_(chooser),
      clone_(find_operator(chooser.operators, kClone)),
      decisions_(chooser.profile, chooser.library, chooser.times) {}

Selection Candidates::select_for(const Call& call, const std::string& kernel) const {
  const auto times = chooser_.times ? chooser_.times->of(call.problem, chooser_.profile) : nullptr;
  return select(call.problem, chooser_.profile, chooser_.library,
                {.force = kernel, .best_only = true, .times = times.get()});
}

bool Candidates::is_quarantined(const Call& call, const std::string& kernel) const {
  const auto times = chooser_.times ? chooser_.times->of(call.problem, chooser_.profile) : nullptr;
  return times && std::ranges::count(times->quarantined(), kernel, &QuarantinedChoice::id) > 0;
}

std::optional<Estimate> Candidates::estimate(const Call& call) {
  const auto [known, is_new] = known_.try_emplace(key_of(call.problem));
  if (is_new) {
    if (const auto best = decisions_.best(call.problem))
      known->second = {best->time_us, best->cost_us, best->source != TimeSource::estimated};
  }
  return known->second;
}

Expected<Offer> Candidates::slots_of(const Graph& graph, const Node& node, const OperatorEntry& entry,
                                     InferArguments arguments) const {
  const auto plain = checked(arguments, entry.infer);
  if (!plain) return plain.error();
  Offer offer{.entry = &entry};
  for (const auto& [ports, is_output] : {std::pair(&node.inputs, false), std::pair(&node.outputs, true)}) {
    for (const Port& port : *ports) {
      if (graph.values[port.value].is_constant) continue;
      const TensorInfo& info = *find_tensor(entry, port.operand);
      const TensorDesc& tensor = *plain->operands[info.operand];
      const bool is_fixed = is_output && !info.has_representation;  // the operator has one layout for it
      offer.slots.push_back({is_output, port.value, info.operand,
                             is_fixed ? std::vector{tensor.layout} : layouts_for(info, tensor.dtype)});
    }
  }
  offer.arguments = std::move(arguments);
  return offer;
}

Expected<Offer> Candidates::with_ways(Offer offer) {
  std::string text = text_of(offer);
  if (const auto known = known_ways_.find(text); known != known_ways_.end()) {
    offer.ways = known->second;
    return offer;
  }
  auto made = with_new_ways(std::move(offer));
  if (made) known_ways_.emplace(std::move(text), made->ways);
  return made;
}

Expected<Offer> Candidates::with_new_ways(Offer offer) {
  InferArguments arguments = *offer.arguments;
  std::vector<Estimate> estimates;  // of each way
  std::vector<size_t> at(offer.slots.size());
  do {
    LayoutChoice way;
    for (size_t i = 0; i < at.size(); ++i) {
      way.layouts.push_back(offer.slots[i].layouts[at[i]]);
      put(arguments, offer.slots[i], way.layouts.back());
    }
    const auto call = checked(arguments, offer.entry->infer);
    const auto thought = call ? estimate(*call) : std::nullopt;
    if (!thought) continue;
    way.time_us = thought->time_us;
    offer.ways.push_back(std::move(way));
    estimates.push_back(*thought);
  } while (next_combination(at, offer.slots));
  const double ratio = measured_ratio(estimates);
  for (size_t i = 0; i < estimates.size(); ++i) {
    if (!estimates[i].is_measured) offer.ways[i].time_us *= ratio;
  }
  if (!offer.ways.empty()) return offer;
  const auto plain = checked(*offer.arguments, offer.entry->infer);
  return plain ? no_kernel(select_for(*plain)) : plain.error();
}

Expected<Chosen> Candidates::chosen(const Offer& offer, std::span<const Layout> layouts, const Forced& forced) {
  InferArguments arguments = *offer.arguments;
  for (size_t i = 0; i < offer.slots.size(); ++i) put(arguments, offer.slots[i], layouts[i]);
  return chosen(*offer.entry, checked(arguments, offer.entry->infer), forced);
}

Expected<Chosen> Candidates::chosen(const OperatorEntry& entry, Expected<Call> call, const Forced& forced) {
  if (!call) return call.error();
  if (forced.choice) {
    auto choice = std::make_shared<Choice>(*forced.choice);
    choice->problem = std::make_shared<const Problem>(call->problem);
    return Chosen{&entry, *std::move(call), std::move(choice)};
  }
  const bool is_free = forced.kernel.empty() || is_quarantined(*call, forced.kernel);
  if (is_free) {
    if (auto best = decisions_.best(call->problem)) return Chosen{&entry, *std::move(call), std::move(best)};
  }
  Selection selection = select_for(*call, is_free ? "" : forced.kernel);
  if (selection.ranked.empty()) return no_kernel(selection);
  return Chosen{&entry, *std::move(call), std::make_shared<const Choice>(std::move(selection.ranked.front()))};
}

Expected<Call> Candidates::conversion_call(const TensorDesc& tensor, Layout from, Layout to) const {
  if (!clone_) return refused("the library has no operator that copies from layout to layout");
  InferArguments arguments(*clone_);
  for (const TensorInfo& info : clone_->tensors) {
    if (info.role == TensorInfo::Role::input)
      arguments.set_tensor(info.operand, {tensor.dtype, tensor.shape, Storage::buffer, from});
    else arguments.set_representation(info.operand, Representation{Storage::buffer, to});
  }
  return checked(arguments, clone_->infer);
}

std::optional<double> Candidates::conversion_us(const TensorDesc& tensor, Layout from, Layout to) {
  if (bytes(tensor.dtype) != 1) return std::nullopt;
  const auto [known, is_new] = conversions_.try_emplace({tensor.dtype, tensor.shape, from, to});
  if (is_new) {
    const auto call = conversion_call(tensor, from, to);
    if (const auto thought = call ? estimate(*call) : std::nullopt) known->second = thought->time_us;
  }
  return known->second;
}

Expected<Chosen> Candidates::conversion(const TensorDesc& tensor, Layout from, Layout to, const Forced& forced) {
  auto call = conversion_call(tensor, from, to);
  if (!call) return call.error();
  return chosen(*clone_, std::move(call), forced);
}

}  // namespace qgen::graph
