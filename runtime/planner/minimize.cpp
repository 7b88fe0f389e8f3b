// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The order of work: eliminate under the largest limit that `work` pays for; if nothing was split, read the answer off
// the tables. Else make a first assignment, improve it in rounds (some choices stay as they are, all others are solved
// exactly), and let branch and bound improve it further or prove it.
#include <algorithm>
#include <tuple>
#include <utility>

#include "runtime/planner/choice_model.h"
#include "runtime/planner/elimination.h"
#include "runtime/planner/elimination_order.h"
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

using LimitedOrder = std::pair<EliminationOrder, uint64_t>;  // and the cells of its largest table

// What an elimination may spend where splitting makes more tables than its order foresaw.
uint64_t additions(const MinimizeOptions& options) { return 4 * options.work; }

bool is_affordable(const EliminationOrder& order, const MinimizeOptions& options) {
  return order.too_wide.empty() && order.work <= options.work;
}

// The same choices under the largest limit that the work pays for.
LimitedOrder limited(const ChoiceModel& model, EliminationOrder order, const MinimizeOptions& options) {
  constexpr uint64_t kSmallestLimit = 256;
  uint64_t limit = options.table_cells;
  order = weigh(model, std::move(order.choices), limit);
  while (order.work > options.work && limit / 16 >= kSmallestLimit) {
    limit /= 16;
    order = weigh(model, std::move(order.choices), limit);
  }
  return {std::move(order), limit};
}

// The first order that can be afforded, from the one that is quickest to find to the best; else the best under a limit.
LimitedOrder affordable_order(const ChoiceModel& model, const MinimizeOptions& options, uint32_t attempts) {
  constexpr size_t kSmall = 512;  // choices
  EliminationOrder order = order_by_table(model, options.table_cells);
  if (is_affordable(order, options)) return {std::move(order), options.table_cells};
  order = order_by_fill(model, options.table_cells);
  if (is_affordable(order, options)) return {std::move(order), options.table_cells};
  if (attempts > 0 && model.costs.size() <= kSmall) order = order_by_attempts(model, options.table_cells, attempts);
  return limited(model, std::move(order), options);
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
  auto [order, limit] = affordable_order(restrict_to(model, best.values, is_kept), options, 0);
  for (uint32_t choice : order.too_wide) is_kept[choice] = true;
  const ChoiceModel rest = restrict_to(model, best.values, is_kept);
  Minimum found;
  Search(rest, eliminate(rest, order.choices, limit, additions(options))).improve(found, rest.costs.size());
  if (!(found.cost < best.cost)) return;
  for (uint32_t choice = 0; choice < is_kept.size(); ++choice) {
    if (!is_kept[choice]) best.values[choice] = found.values[choice];
  }
  best.cost = found.cost;
}

// Another half of the choices is kept in each round; which, is decided by a fixed scrambling of their indices.
void improve_in_rounds(const ChoiceModel& model, Minimum& best, MinimizeOptions options) {
  constexpr size_t kMany = 4096;  // choices, so that merely walking over them takes time
  const uint32_t rounds = model.costs.size() > kMany ? 3 : 12;
  options.work /= 2 * rounds;
  for (uint32_t round = 1; round <= rounds; ++round) {
    std::vector<bool> is_kept(model.costs.size());
    for (uint32_t choice = 0; choice < is_kept.size(); ++choice) {
      is_kept[choice] = ((choice + 1) * 0x9e3779b1u >> (32 - round)) % 2 == 1;
    }
    resolve_others(model, best, std::move(is_kept), options);
  }
}

uint64_t pairs_of_values(const ChoiceModel& model) {
  uint64_t pairs = 1;
  for (const auto& fit : model.fits) pairs += fit.a_masks.size() * fit.b_masks.size();
  return pairs;
}

// As much as one elimination may take where the optimum must be proven: two seconds, and half a gigabyte.
constexpr uint64_t kLargestTable = uint64_t{1} << 24;
MinimizeOptions largest(MinimizeOptions options) {
  options.table_cells = std::max(options.table_cells, kLargestTable);
  options.work = std::max(options.work, uint64_t{1} << 28);
  return options;
}

// Where tables have to be split.
Minimum search(const ChoiceModel& model, MinimizeOptions options, const EliminationOrder& order) {
  constexpr uint64_t kMostPasses = 100;
  const uint64_t passes = std::clamp<uint64_t>(options.work / 8 / pairs_of_values(model), 2, kMostPasses);
  const ChoiceModel tight = tighten(model, static_cast<uint32_t>(passes));
  Minimum best = start(model);
  best.lower_bound = {};
  for (bool is_first = true;; is_first = false) {
    const auto [limited_order, limit] = limited(tight, order, options);
    const Elimination tables = eliminate(tight, limited_order.choices, limit, additions(options));
    if (!is_possible(tables.lower_bound)) return {{}, kImpossible, kImpossible};
    best.lower_bound = std::max(best.lower_bound, tables.lower_bound);
    Search search(tight, tables);
    bool is_proven = search.improve(best, is_first ? tight.costs.size() : options.search_steps);
    if (is_first && !is_proven && !best.values.empty()) {
      improve_in_rounds(model, best, options);
      is_proven = search.improve(best, options.search_steps);
    }
    if (is_proven) best.lower_bound = best.cost;
    if (is_proven || best.lower_bound == best.cost || !options.until_proven) return best;
    if (options.table_cells < kLargestTable) {
      options.table_cells *= 4;
      options.work *= 4;
    }
    options.search_steps *= 4;
  }
}

}  // namespace

Minimum minimize(const ChoiceModel& model, const MinimizeOptions& options) {
  constexpr uint32_t kAttempts = 64;
  const MinimizeOptions most = options.until_proven ? largest(options) : options;
  const auto [order, limit] = affordable_order(model, most, kAttempts);
  if (!order.too_wide.empty()) return search(model, options, order);
  const Elimination tables = eliminate(model, order.choices, limit, UINT64_MAX);
  if (!is_possible(tables.lower_bound)) return {{}, kImpossible, kImpossible};
  Minimum best;
  Search(model, tables).improve(best, model.costs.size());
  best.lower_bound = best.cost;
  return best;
}

}  // namespace qgen::planner
