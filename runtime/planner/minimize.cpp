// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The order of work: eliminate under the largest limit that `work` pays for; if nothing was split, read the answer off
// the tables. Else make a first assignment, improve it in rounds (some choices stay as they are, all others are solved
// exactly), and let branch and bound improve it further or prove it.
#include <algorithm>
#include <utility>

#include "runtime/planner/choice_model.h"
#include "runtime/planner/elimination.h"
#include "runtime/planner/tighten.h"

namespace qgen::planner {
namespace {

using Values = std::vector<uint32_t>;

// Depth-first branch and bound over the tables of an elimination, from the last bucket to the first.
//
// bound(values from the last bucket to bucket p) = constant messages + every table whose choices are all valued
//                                                - the messages among them that a valued bucket sent
// A bucket's tables replace the messages made from them, so the bound only grows on the way down, and at the first
// bucket it is the cost.
class Search {
 public:
  Search(const ChoiceModel& model, const Elimination& tables)
      : tables_(tables), values_(model.costs.size(), 0), levels_(tables.buckets.size()) {}

  // Looks for an assignment better than `best`, opening at most `steps` choices. True: there is none better than what
  // `best` holds now.
  bool improve(Minimum& best, uint64_t steps) {
    if (levels_.empty()) return accept(best, tables_.lower_bound), true;
    size_t depth = levels_.size();  // of the level above the one to open
    open(--depth, tables_.lower_bound);
    while (true) {
      Level& level = levels_[depth];
      if (level.next == level.options.size() || !(level.options[level.next].first < best.cost)) {
        if (++depth == levels_.size()) return true;
        continue;
      }
      const auto [bound, value] = level.options[level.next++];
      values_[tables_.buckets[depth].choice] = value;
      if (depth == 0) {
        accept(best, bound);
        if (best.cost == tables_.lower_bound) return true;
        continue;
      }
      if (steps-- == 0) return false;
      open(--depth, bound);
    }
  }

 private:
  struct Level {
    std::vector<std::pair<Cost, uint32_t>> options;  // bound, value; the least bound first, then the least value
    size_t next = 0;
  };

  void accept(Minimum& best, Cost cost) const {
    best.values = values_;
    best.cost = cost;
  }

  void open(size_t depth, Cost bound) {
    const Bucket& bucket = tables_.buckets[depth];
    bound = bound - bucket.constant;
    for (const auto [to, table] : bucket.sent) {
      const Table& message = tables_.buckets[to].content[table];
      bound = bound - message.cells[message.row(values_) + values_[message.scope.front()]];
    }
    Level& level = levels_[depth];
    level.next = 0;
    level.options.clear();
    for (uint32_t value = 0; value < bucket.content.front().cells.size(); ++value)
      level.options.push_back({bound, value});
    for (const Table& table : bucket.content) {
      const Cost* row = table.cells.data() + table.row(values_);
      for (auto& [sum, value] : level.options) sum = sum + row[value];
    }
    std::sort(level.options.begin(), level.options.end());
  }

  const Elimination& tables_;
  Values values_;
  std::vector<Level> levels_;
};

// The order under the largest limit that the work pays for.
std::pair<EliminationOrder, uint64_t> affordable_order(const ChoiceModel& model, const MinimizeOptions& options) {
  constexpr uint64_t kSmallestLimit = 256;
  for (uint64_t limit = options.table_cells;; limit /= 16) {
    auto order = order_elimination(model, limit);
    if (order.work <= options.work || limit / 16 < kSmallestLimit) return {std::move(order), limit};
  }
}

// The leaders at their cheapest, then each follower at its best beside them. Followers meet only leaders, so this finds
// an assignment whenever any choice of the leaders has one.
Minimum start(const ChoiceModel& model) {
  std::vector<std::vector<Cost>> costs = model.costs;
  Minimum result{Values(model.costs.size(), 0), {}, {}};
  const auto settle = [&](uint32_t choice) {
    const auto least = std::min_element(costs[choice].begin(), costs[choice].end());
    result.values[choice] = static_cast<uint32_t>(least - costs[choice].begin());
    result.cost = result.cost + *least;
  };
  for (uint32_t leader = 0; leader < model.leaders; ++leader) settle(leader);
  for (const auto& fit : model.fits) {
    const uint32_t wanted = fit.a_masks[result.values[fit.a]];
    for (size_t value = 0; value < fit.b_masks.size(); ++value) {
      if ((fit.b_masks[value] & wanted) == 0) costs[fit.b][value] = kImpossible;
    }
  }
  for (uint32_t follower = model.leaders; follower < costs.size(); ++follower) settle(follower);
  if (!is_possible(result.cost)) return {};
  return result;
}

// The model with every choice of `is_kept` left at one value: the one in `values`.
ChoiceModel restrict_to(const ChoiceModel& model, const Values& values, const std::vector<bool>& is_kept) {
  ChoiceModel result = model;
  const auto keep_one = [](auto& list, uint32_t value) { list = {list[value]}; };
  for (uint32_t choice = 0; choice < values.size(); ++choice) {
    if (is_kept[choice]) keep_one(result.costs[choice], values[choice]);
  }
  for (auto& fit : result.fits) {
    if (is_kept[fit.a]) keep_one(fit.a_masks, values[fit.a]);
    if (is_kept[fit.b]) keep_one(fit.b_masks, values[fit.b]);
  }
  return result;
}

// The best assignment that agrees with `best` on the choices kept; never a worse one.
void resolve_others(const ChoiceModel& model, Minimum& best, std::vector<bool> is_kept,
                    const MinimizeOptions& options) {
  auto [order, limit] = affordable_order(restrict_to(model, best.values, is_kept), options);
  for (uint32_t choice : order.too_wide) is_kept[choice] = true;
  const ChoiceModel rest = restrict_to(model, best.values, is_kept);
  if (!order.too_wide.empty()) order = order_elimination(rest, limit);
  Minimum found;
  Search(rest, eliminate(rest, order.choices, limit)).improve(found, rest.costs.size());
  if (!(found.cost < best.cost)) return;
  for (uint32_t choice = 0; choice < is_kept.size(); ++choice) {
    if (!is_kept[choice]) best.values[choice] = found.values[choice];
  }
  best.cost = found.cost;
}

// Another half of the choices is kept in each round; which, is decided by a fixed scrambling of their indices.
void improve_in_rounds(const ChoiceModel& model, Minimum& best, MinimizeOptions options) {
  constexpr uint32_t kRounds = 12;
  options.work /= kRounds;
  for (uint32_t round = 0; round < kRounds; ++round) {
    std::vector<bool> is_kept(model.costs.size());
    for (uint32_t choice = 0; choice < is_kept.size(); ++choice) {
      is_kept[choice] = round > 0 && ((choice + 1) * 0x9e3779b1u >> (32 - round)) % 2 == 1;
    }
    resolve_others(model, best, std::move(is_kept), options);
  }
}

uint64_t pairs_of_values(const ChoiceModel& model) {
  uint64_t pairs = 1;
  for (const auto& fit : model.fits) pairs += fit.a_masks.size() * fit.b_masks.size();
  return pairs;
}

// Where tables had to be split.
Minimum search(const ChoiceModel& model, MinimizeOptions options, Cost lower_bound) {
  constexpr uint64_t kMostPasses = 100;
  constexpr uint64_t kLargestTable = uint64_t{1} << 24;
  const ChoiceModel tight =
      tighten(model, static_cast<uint32_t>(std::min(kMostPasses, options.work / pairs_of_values(model))));
  Minimum best = start(model);
  if (!best.values.empty()) improve_in_rounds(model, best, options);
  best.lower_bound = lower_bound;
  while (true) {
    const auto [order, limit] = affordable_order(tight, options);
    const Elimination tables = eliminate(tight, order.choices, limit);
    best.lower_bound = std::max(best.lower_bound, tables.lower_bound);
    const bool is_last = !options.until_proven || options.table_cells >= kLargestTable;
    if (Search(tight, tables).improve(best, options.until_proven && is_last ? UINT64_MAX : options.search_steps)) {
      best.lower_bound = best.cost;
    }
    if (best.lower_bound == best.cost || is_last) return best;
    options.table_cells *= 4;
    options.work *= 4;
    options.search_steps *= 4;
  }
}

}  // namespace

Minimum minimize(const ChoiceModel& model, const MinimizeOptions& options) {
  const auto [order, limit] = affordable_order(model, options);
  const Elimination tables = eliminate(model, order.choices, limit);
  if (!is_possible(tables.lower_bound)) return {{}, kImpossible, kImpossible};
  if (!tables.is_exact) return search(model, options, tables.lower_bound);
  Minimum best;
  Search(model, tables).improve(best, model.costs.size());
  best.lower_bound = best.cost;
  return best;
}

}  // namespace qgen::planner
