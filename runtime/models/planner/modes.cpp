// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A kernel's mode is the remaining part of its sets. A mode that another replaces at no higher cost is left out.
#include "runtime/models/planner/modes.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "runtime/models/planner/conversions.h"

namespace qgen::planner {
namespace {

std::string refusal_of(const Node& node, const Kernel& kernel, size_t operand) {
  const std::string_view verb = operand < node.inputs.size() ? "reads" : "writes";
  const std::string kernel_text = kernel.name.text.empty() ? "" : kernel.name.text + " ";
  return fmt::format("{}{} '{}' as {}, which is not possible here", kernel_text, verb, tensor_name(node, operand).text,
                     to_text(kernel.takes[operand]));
}

// Whether the first takes at least as much as the second everywhere, at no higher cost.
bool replaces(const Mode& by, const Mode& mode) {
  return by.picoseconds <= mode.picoseconds &&
         std::ranges::equal(mode.takes, by.takes,
                            [](RepresentationSet less, RepresentationSet more) { return (less - more).empty(); });
}

std::vector<Mode> without_replaced(const std::vector<Mode>& all) {
  std::vector<Mode> kept;
  for (const Mode& mode : all) {
    const bool is_replaced = std::ranges::any_of(
        all, [&](const Mode& by) { return replaces(by, mode) && (!replaces(mode, by) || &by < &mode); });
    if (!is_replaced) kept.push_back(mode);
  }
  return kept;
}

}  // namespace

Modes modes_of(const Node& node, const std::vector<RepresentationSet>& held) {
  Modes modes;
  for (uint32_t index = 0; index < node.kernels.size(); ++index) {
    const Kernel& kernel = node.kernels[index];
    Mode mode{index, {}, to_picoseconds(kernel.cost_us)};
    std::ranges::transform(kernel.takes, held, std::back_inserter(mode.takes), std::bit_and<>());
    const auto none = std::ranges::find_if(mode.takes, &RepresentationSet::empty);
    if (none == mode.takes.end()) modes.list.push_back(std::move(mode));
    else modes.refusals.push_back(refusal_of(node, kernel, none - mode.takes.begin()));
  }
  modes.list = without_replaced(modes.list);
  return modes;
}

}  // namespace qgen::planner
