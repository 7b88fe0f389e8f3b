// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A kernel's modes are found group by group: each synced group takes one class of compatible representations. A mode
// that another replaces at no higher cost is left out.
#include "runtime/planner/modes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/planner/conversions.h"

namespace qgen::planner {
namespace {

std::string_view verb(const Node& node, size_t operand) { return operand < node.inputs.size() ? "reads" : "writes"; }

class ModeLister {
 public:
  ModeLister(const Node& node, const std::vector<RepresentationSet>& held) : node_(node), held_(held) {}

  Modes run() && {
    for (uint32_t index = 0; index < node_.kernels.size(); ++index) add(index);
    return {thinned(), std::move(refusals_)};
  }

 private:
  void add(uint32_t index) {
    const Kernel& kernel = node_.kernels[index];
    Mode mode{index, {}, to_picoseconds(kernel.cost_us)};
    for (size_t operand = 0; operand < kernel.takes.size(); ++operand) {
      mode.takes.push_back(kernel.takes[operand] & held_[operand]);
      if (mode.takes.back().empty()) return refuse(kernel, operand);
    }
    const size_t before = all_.size();
    choose_classes(kernel, mode, 0);
    if (all_.size() == before) refuse_synced(kernel);
  }

  // One mode for each way to give every synced group one class.
  void choose_classes(const Kernel& kernel, const Mode& mode, size_t group) {
    if (group == kernel.synced.size()) return all_.push_back(mode);
    for (Representation r : any_representation()) {
      const RepresentationSet one = compatible_with(r);
      if (one.first() != r) continue;
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
        sides.push_back(
            fmt::format("'{}' as {}", tensor_name(node_, operand), to_text(kernel.takes[operand] & held_[operand])));
      }
    }
    refusals_.push_back(fmt::format("{} wants one packed dimension and block for its synced operands, but takes {}",
                                    kernel.name, fmt::join(sides, ", ")));
  }

  std::vector<Mode> thinned() const {
    std::vector<Mode> kept;
    for (size_t i = 0; i < all_.size(); ++i) {
      bool is_replaced = false;
      for (size_t j = 0; j < all_.size() && !is_replaced; ++j) is_replaced = i != j && replaces(j, i);
      if (!is_replaced) kept.push_back(all_[i]);
    }
    return kept;
  }

  bool replaces(size_t j, size_t i) const {
    const Mode &by = all_[j], &mode = all_[i];
    bool is_same = by.picoseconds == mode.picoseconds;
    if (by.picoseconds > mode.picoseconds) return false;
    for (size_t operand = 0; operand < mode.takes.size(); ++operand) {
      if (!(mode.takes[operand] - by.takes[operand]).empty()) return false;
      is_same = is_same && by.takes[operand] == mode.takes[operand];
    }
    return !is_same || j < i;
  }

  const Node& node_;
  const std::vector<RepresentationSet>& held_;
  std::vector<Mode> all_;
  std::vector<std::string> refusals_;
};

}  // namespace

Modes modes_of(const Node& node, const std::vector<RepresentationSet>& held) { return ModeLister(node, held).run(); }

}  // namespace qgen::planner
