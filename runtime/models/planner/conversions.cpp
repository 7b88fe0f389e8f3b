// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Every conversion has a tie above 0, so a least tree visits each representation once. Equal times are decided by the
// number of conversions, then by the order of the table, since a later candidate must be better to replace one.
#include "runtime/models/planner/conversions.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace qgen::planner {

int64_t to_picoseconds(double us) { return std::llround(us * 1e6); }

CopyTrees::CopyTrees(RepresentationSet held, const Matrix& direct, uint32_t number)
    : held_(held), number_(number), direct_(direct), least_(direct), place_(any_representation().bits() + 1), rows_(1) {
  rows_.front().fill({});  // the empty set's
  for (auto& row : next_) {
    for (Representation to : held_) row[to.row()] = to;
  }
  for (Representation via : held_) {
    for (Representation from : held_) {
      for (Representation to : held_) {
        const Cost detour = least_[from.row()][via.row()] + least_[via.row()][to.row()];
        if (!(detour < least_[from.row()][to.row()])) continue;
        least_[from.row()][to.row()] = detour;
        next_[from.row()][to.row()] = next_[from.row()][via.row()];
      }
    }
  }
}

std::vector<ConversionStep> CopyTrees::steps(Representation home, RepresentationSet reached) {
  std::vector<ConversionStep> steps;
  if (const auto copies = reached - home; !copies.empty()) collect(home, copies.bits(), steps);
  return steps;
}

const CopyTrees::Row& CopyTrees::row_of(uint32_t set) {
  if (set == 0 || place_[set] != 0) return rows_[place_[set]];
  Row joins, row;
  row.fill(kImpossible);
  for (Representation u : held_) joins[u.row()] = joined(u, set);
  for (Representation v : held_) {
    for (Representation u : held_) {
      row[v.row()] = std::min(row[v.row()], least_[v.row()][u.row()] + joins[u.row()]);
    }
  }
  place_[set] = static_cast<uint16_t>(rows_.size());
  rows_.push_back(row);
  return rows_.back();
}

// Two trees at `u` that share the set; of a set of one, `u` itself. The first half has the last form.
Cost CopyTrees::joined(Representation u, uint32_t set) {
  if (std::has_single_bit(set)) return RepresentationSet(u).bits() == set ? Cost{} : kImpossible;
  const uint32_t rest = set & ~std::bit_floor(set);
  Cost least = kImpossible;
  for (uint32_t second = rest; second != 0; second = (second - 1) & rest) {
    least = std::min(least, at(u, set ^ second) + at(u, second));
  }
  return least;
}

void CopyTrees::collect(Representation v, uint32_t set, std::vector<ConversionStep>& steps) {
  for (Representation u : held_) {
    const Cost join = joined(u, set);
    if (least_[v.row()][u.row()] + join != at(v, set)) continue;
    for (Representation from = v; from != u; from = next_[from.row()][u.row()]) {
      steps.push_back({from, next_[from.row()][u.row()]});
    }
    if (std::has_single_bit(set)) return;
    const uint32_t rest = set & ~std::bit_floor(set);
    uint32_t second = 1;  // the largest first half first, so the smallest second
    while ((second & ~rest) != 0 || at(u, set ^ second) + at(u, second) != join) ++second;
    collect(u, set ^ second, steps);
    return collect(u, second, steps);
  }
}

Expected<CopyTrees*> CopyTreesOf::operator()(const Tensor& tensor, RepresentationSet held) {
  constexpr size_t kMostKnown = 256;
  CopyTrees::Matrix direct;
  for (auto& row : direct) row.fill(kImpossible);
  for (Representation from : held) {
    direct[from.row()][from.row()] = {};
    for (Representation to : held - from) {
      const auto us = cost_(tensor, from, to);
      if (!us) continue;
      if (!(*us >= 0 && *us <= kMostMicroseconds)) {
        return refused(fmt::format("converting '{}' ({} {}) from {} to {} costs {} us", tensor.name.text,
                                   name(tensor.dtype), qgen::to_text(tensor.shape), name(from), name(to), *us),
                       "a cost is a number from 0 to 1e9; a conversion that does not exist has none");
      }
      direct[from.row()][to.row()] = {.picoseconds = to_picoseconds(*us), .tie = kTieOfConversion};
    }
  }
  const auto known = known_.find(direct);
  if (known != known_.end()) return &known->second;
  if (known_.size() == kMostKnown) known_.clear();
  return &known_.emplace(direct, CopyTrees(held, direct, count_++)).first->second;
}

}  // namespace qgen::planner
