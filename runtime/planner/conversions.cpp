// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Every conversion has a tie above 0, so a least tree passes each form once, and what is equal in time is settled by
// the number of conversions; then by the order of the table, since a later candidate must be better to replace one.
#include "runtime/planner/conversions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace qgen::planner {

int64_t to_picoseconds(double us) { return std::llround(us * 1e6); }

Conversions::Conversions(RepresentationSet held, const Matrix& direct) : held_(held), direct_(direct), least_(direct) {
  for (Representation from : held_) {
    for (Representation to : held_) next_[from.row][to.row] = to;
  }
  for (Representation via : held_) {
    for (Representation from : held_) {
      for (Representation to : held_) {
        const Cost detour = cost(from, via) + cost(via, to);
        if (!(detour < cost(from, to))) continue;
        least_[from.row][to.row] = detour;
        next_[from.row][to.row] = next_[from.row][via.row];
      }
    }
  }
}

void Conversions::walk(Representation from, Representation to, std::vector<ConversionStep>& steps) const {
  while (from != to) {
    const Representation next = next_[from.row][to.row];
    steps.push_back({from, next});
    from = next;
  }
}

std::vector<ConversionStep> Conversions::steps(Representation home, RepresentationSet reached) const {
  const RepresentationSet copies = reached - home;
  std::vector<ConversionStep> steps;
  if (copies.empty()) return steps;
  const CopyTrees trees(*this, copies, copies.size());
  trees.collect(home, trees.mask(copies), steps);
  return steps;
}

Expected<Conversions> conversions_of(const Tensor& tensor, RepresentationSet held, const ConversionCost& cost) {
  Conversions::Matrix direct;
  for (auto& row : direct) row.fill(kImpossible);
  for (Representation from : held) {
    direct[from.row][from.row] = {};
    for (Representation to : held - from) {
      const auto us = cost(tensor, from, to);
      if (!us) continue;
      if (!(*us >= 0 && *us <= kMostMicroseconds)) {
        return Error{Error::Kind::invalid_argument,
                     fmt::format("converting '{}' ({} {}) from {} to {} costs {} us", tensor.name, name(tensor.dtype),
                                 qgen::to_text(tensor.shape), name(from), name(to), *us),
                     "a cost is a number from 0 to 1e9; a conversion that does not exist has none"};
      }
      direct[from.row][to.row] = {to_picoseconds(*us), kTieOfConversion};
    }
  }
  return Conversions(held, direct);
}

CopyTrees::CopyTrees(const Conversions& conversions, RepresentationSet reached, int most) : conversions_(conversions) {
  for (Representation r : reached) reached_.push_back(r);
  cost_.resize(size_t{1} << reached_.size());
  for (uint32_t mask = 1; mask < cost_.size(); ++mask) {
    if (std::popcount(mask) > most) continue;
    std::array<Cost, kRepresentations.size()> joins;
    for (Representation u : conversions_.held()) joins[u.row] = joined(u, mask);
    for (Representation v : conversions_.held()) {
      Cost least = kImpossible;
      for (Representation u : conversions_.held()) least = std::min(least, conversions_.cost(v, u) + joins[u.row]);
      cost_[mask][v.row] = least;
    }
  }
}

uint32_t CopyTrees::mask(RepresentationSet subset) const {
  uint32_t result = 0;
  for (size_t i = 0; i < reached_.size(); ++i) result |= subset.contains(reached_[i]) ? 1u << i : 0;
  return result;
}

// Two trees at `u` that share the set; of a set of one, `u` itself. Both ways to name the same two halves are tried.
Cost CopyTrees::joined(Representation u, uint32_t mask) const {
  if (std::has_single_bit(mask)) return reached_[std::countr_zero(mask)] == u ? Cost{} : kImpossible;
  Cost least = kImpossible;
  for (uint32_t half = (mask - 1) & mask; half != 0; half = (half - 1) & mask) {
    least = std::min(least, at(u, half) + at(u, mask ^ half));
  }
  return least;
}

void CopyTrees::collect(Representation v, uint32_t mask, std::vector<ConversionStep>& steps) const {
  for (Representation u : conversions_.held()) {
    if (conversions_.cost(v, u) + joined(u, mask) != at(v, mask)) continue;
    conversions_.walk(v, u, steps);
    if (std::has_single_bit(mask)) return;
    for (uint32_t half = (mask - 1) & mask;; half = (half - 1) & mask) {
      if (at(u, half) + at(u, mask ^ half) != joined(u, mask)) continue;
      collect(u, half, steps);
      return collect(u, mask ^ half, steps);
    }
  }
}

}  // namespace qgen::planner
