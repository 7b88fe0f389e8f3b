// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// All states of a home are listed from its useful copies, then sorted by cost. A state is kept unless a kept one
// replaces it.
#include "runtime/models/planner/states.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace qgen::planner {
namespace {

class StateLister {
 public:
  StateLister(const Surroundings& around, CopyTrees& trees)
      : around_(around), trees_(trees), of_home_(bits_of(around.offers)), of_present_(bits_of(around.demands)) {}

  std::vector<State> run() && {
    for (Representation home : around_.homes) add(home);
    // A state is replaced only by one that comes before it here, so one pass over those kept is enough.
    std::sort(all_.begin(), all_.end(), [](const State& a, const State& b) {
      return std::tuple(a.cost, a.home, a.present.bits()) < std::tuple(b.cost, b.home, b.present.bits());
    });
    std::vector<State> kept;
    for (const State& state : all_) {
      if (is_replaced(state)) continue;
      kept.push_back(state);
      satisfied_[state.home.row()].push_back(satisfied_by(state.present));
    }
    return kept;
  }

 private:
  using Bits = std::array<uint32_t, kRepresentationCount>;

  // For each representation one bit for each set that has it. With more sets than bits, one bit for each
  // representation: a state with more of them satisfies no less.
  static Bits bits_of(const std::set<RepresentationSet>& sets) {
    Bits result{};
    uint32_t bit = 1;
    for (RepresentationSet set : sets) {
      for (Representation r : set) result[r.row()] |= sets.size() > 32 ? 1u << r.row() : bit;
      bit <<= 1;
    }
    return result;
  }

  uint32_t satisfied_by(RepresentationSet present) const {
    uint32_t bits = 0;
    for (Representation r : present) bits |= of_present_[r.row()];
    return bits;
  }

  // By a state that is kept, of the same home or of one that everybody offers who offers that.
  bool is_replaced(const State& state) const {
    const uint32_t satisfied = satisfied_by(state.present);
    uint32_t count = 0;  // of states that could replace it: looking at all is quicker than stopping at one
    for (Representation home : around_.homes) {
      if ((of_home_[state.home.row()] & ~of_home_[home.row()]) != 0) continue;
      for (uint32_t by : satisfied_[home.row()]) count += (satisfied & ~by) == 0 ? 1 : 0;
    }
    return count > 0;
  }

  void add(Representation home) {
    const RepresentationSet useful = useful_copies(home);
    const Cost tie{.tie = rank(home)};
    for (uint32_t bits = useful.bits();; bits = (bits - 1) & useful.bits()) {
      const auto copies = RepresentationSet::from_bits(bits);
      const auto present = copies | home;
      const bool may_leave = around_.leaves_as.empty() || !(present & around_.leaves_as).empty();
      if (may_leave && static_cast<size_t>(copies.size()) <= around_.takers)
        all_.push_back({home, present, trees_.cost(home, copies) + tie});
      if (bits == 0) return;
    }
  }

  // Copies that can be made, and that some mode needs.
  RepresentationSet useful_copies(Representation home) {
    return set_of([&](Representation copy) {
      const bool is_wanted = of_present_[copy.row()] != 0 || around_.leaves_as.contains(copy);
      return copy != home && is_wanted && is_possible(trees_.cost(home, copy));
    });
  }

  const Surroundings& around_;
  CopyTrees& trees_;
  Bits of_home_, of_present_;
  std::vector<State> all_;
  std::array<std::vector<uint32_t>, kRepresentationCount> satisfied_;  // by the states kept of each home
};

}  // namespace

std::vector<State> states_of(const Surroundings& around, CopyTrees& trees) { return StateLister(around, trees).run(); }

}  // namespace qgen::planner
