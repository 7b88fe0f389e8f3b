// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/planner/states.h"

#include <algorithm>
#include <bit>
#include <tuple>

namespace qgen::planner {
namespace {

class Lister {
 public:
  Lister(const Surroundings& around, CopyTrees& trees, Storage preferred)
      : around_(around), trees_(trees), conversions_(trees.conversions()), preferred_(preferred) {}

  std::vector<State> run() && {
    for (Representation home : around_.homes) add(home);
    // A state is replaced only by one that comes before it here, so one pass over those kept is enough.
    std::sort(all_.begin(), all_.end(), [](const State& a, const State& b) {
      return std::tuple(a.cost, a.home, a.present.bits()) < std::tuple(b.cost, b.home, b.present.bits());
    });
    std::vector<State> kept;
    std::vector<uint64_t> signatures;
    for (const State& state : all_) {
      const uint64_t satisfied = signature(state.home, state.present);
      const bool is_replaced =
          std::any_of(signatures.begin(), signatures.end(), [&](uint64_t other) { return (satisfied & ~other) == 0; });
      if (is_replaced) continue;
      kept.push_back(state);
      signatures.push_back(satisfied);
    }
    return kept;
  }

 private:
  // One bit for each set that the state satisfies. With more sets than bits, the representations themselves: what has
  // more of them satisfies no less.
  uint64_t signature(Representation home, RepresentationSet present) const {
    if (around_.offers.size() + around_.demands.size() > 64) {
      return uint64_t{RepresentationSet(home).bits()} << 32 | present.bits();
    }
    uint64_t bits = 0;
    for (auto offer : around_.offers) bits = bits << 1 | (offer.contains(home) ? 1 : 0);
    for (auto demand : around_.demands) bits = bits << 1 | ((demand & present).empty() ? 0 : 1);
    return bits;
  }

  void add(Representation home) {
    const RepresentationSet useful = useful_copies(home);
    const int most = static_cast<int>(std::min<size_t>(around_.takers, kRepresentations.size()));
    const Cost tie{0, rank(home, preferred_)};
    for (uint32_t bits = useful.bits();; bits = (bits - 1) & useful.bits()) {
      const auto copies = RepresentationSet::from_bits(bits);
      if (copies.size() <= most) {
        const State state{home, copies | home, trees_.cost(home, copies) + tie};
        if (around_.leaves_as.empty() || !(state.present & around_.leaves_as).empty()) all_.push_back(state);
      }
      if (bits == 0) return;
    }
  }

  // Copies that satisfy somebody whom neither home nor an easier copy satisfies.
  RepresentationSet useful_copies(Representation home) const {
    RepresentationSet useful;
    for (Representation copy : conversions_.held() - home) {
      if (!is_possible(conversions_.cost(home, copy)) || is_covered(home, copy, home)) continue;
      bool is_useful = true;
      for (Representation other : conversions_.held() - home - copy) {
        is_useful = is_useful && !(is_covered(home, copy, other) && is_easier(other, copy));
      }
      if (is_useful) useful = useful | copy;
    }
    return useful;
  }

  // Whether `by` satisfies every reader that `copy` does.
  bool is_covered(Representation home, Representation copy, Representation by) const {
    const bool leaves = !around_.leaves_as.contains(copy) || around_.leaves_as.contains(by);
    return leaves && (signature(home, copy) & ~signature(home, by)) == 0;
  }

  // Whether `by` can take the place of `copy` in every tree at no higher cost. Of two that can, the first of the table.
  bool is_easier(Representation by, Representation copy) const {
    bool is_equal = true;
    for (Representation end : conversions_.held()) {
      if (end == copy || end == by) continue;
      const Cost to_by = conversions_.cost(end, by), to_copy = conversions_.cost(end, copy);
      const Cost from_by = conversions_.cost(by, end), from_copy = conversions_.cost(copy, end);
      if (to_copy < to_by || from_copy < from_by) return false;
      is_equal = is_equal && to_by == to_copy && from_by == from_copy;
    }
    return !is_equal || by < copy;
  }

  const Surroundings& around_;
  CopyTrees& trees_;
  const Conversions& conversions_;
  Storage preferred_;
  std::vector<State> all_;
};

}  // namespace

std::vector<State> states_of(const Surroundings& around, CopyTrees& trees, Storage preferred) {
  return Lister(around, trees, preferred).run();
}

}  // namespace qgen::planner
