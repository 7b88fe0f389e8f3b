// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The order of work: eliminate where `work` pays for all tables, and read the answer off them. Else approach the least
// cost from below by prices (tighten.h) and from above by forests (forests.h). Where the optimum must be proven, or a
// small graph is nearly narrow enough, branch and bound takes it from there.
#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/planner/choice_model.h"
#include "runtime/planner/elimination.h"
#include "runtime/planner/elimination_order.h"
#include "runtime/planner/forests.h"
#include "runtime/planner/sieve.h"
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

// Additions that one elimination may take: more where there are so many choices, all with small tables.
uint64_t affordable_work(const ChoiceModel& model, const MinimizeOptions& options) {
  constexpr uint64_t kSmallTable = 1024;
  return std::max(options.work, kSmallTable * model.costs.size());
}

constexpr size_t kSmall = 512;  // choices

// Of the orders that take less than the work the one that takes least, where that is soon found.
std::optional<EliminationOrder> best_order(const ChoiceModel& model, uint64_t table_cells, double most_work) {
  constexpr uint32_t kAttempts = 64;
  if (model.costs.size() <= kSmall) return order_by_attempts(model, table_cells, kAttempts, most_work);
  return order_by_fill(model, table_cells, most_work);
}

// An order without a table past the limit: the one that is quickest to find, or the best.
std::optional<EliminationOrder> affordable_order(const ChoiceModel& model, const MinimizeOptions& options) {
  const auto most = static_cast<double>(affordable_work(model, options));
  const auto is_affordable = [](const std::optional<EliminationOrder>& order) {
    return order && order->too_wide.empty();
  };
  auto order = order_by_table(model, options.table_cells, most);
  if (!is_affordable(order)) order = best_order(model, options.table_cells, most);
  return is_affordable(order) ? order : std::nullopt;
}

// Without tables: the best of many forests, and the bound of the prices.
Minimum approach(const Stars& stars, const Tightened& tight, uint32_t rounds) {
  FittingStates fitting(stars);
  auto chosen = round_off(stars, tight);
  if (chosen.empty()) chosen = cheapest(stars);
  Minimum best = completed(stars, fitting, chosen);
  if (is_possible(best.cost)) {
    improve_by_forests(stars, fitting, chosen, rounds);
    best = completed(stars, fitting, chosen);
  }
  best.lower_bound = {tight.lower_bound, 0};
  return best;
}

// As much as one elimination may take where the optimum must be proven: two seconds, and half a gigabyte.
constexpr uint64_t kLargestTable = uint64_t{1} << 24;
MinimizeOptions largest(MinimizeOptions options) {
  options.table_cells = std::max(options.table_cells, kLargestTable);
  options.work = std::max(options.work, uint64_t{1} << 28);
  return options;
}

// Split tables give every branch a bound. `best`: where to begin, and what is known.
Minimum branch_and_bound(const ChoiceModel& model, Minimum best, MinimizeOptions options,
                         const EliminationOrder& order) {
  while (true) {
    const auto [limited_order, limit] = limited(model, order, options);
    const Elimination tables = eliminate(model, limited_order.choices, limit, additions(options));
    if (!is_possible(tables.lower_bound)) return {{}, kImpossible, kImpossible};
    best.lower_bound = std::max(best.lower_bound, tables.lower_bound);
    const bool is_proven = Search(model, tables).improve(best, options.search_steps);
    if (is_proven) best.lower_bound = best.cost;
    if (is_proven || best.lower_bound == best.cost || !options.until_proven) return best;
    if (options.table_cells < kLargestTable) {
      options.table_cells *= 4;
      options.work *= 4;
    }
    options.search_steps *= 4;
  }
}

// An order for branch and bound. Unless it must be tried, none where so much would be split that its bounds are weak.
std::optional<EliminationOrder> order_to_split(const ChoiceModel& model, const MinimizeOptions& options,
                                               bool must_try) {
  if (must_try) return best_order(model, options.table_cells, kAnyWork);
  if (model.costs.size() > kSmall) return std::nullopt;
  return best_order(model, options.table_cells, 4 * static_cast<double>(options.work));
}

// Where tables would have to be split. The larger the graph, the fewer rounds: prices gain most in the first few.
Minimum search(const ChoiceModel& model, const MinimizeOptions& options) {
  const auto stars = sifted(stars_of(model));
  if (!stars) return {{}, kImpossible, kImpossible};
  const uint64_t rounds = options.work / 5 / std::max<uint64_t>(stars->class_of.size(), 1);
  const auto clamped = [](uint64_t value, uint64_t least, uint64_t most) {
    return static_cast<uint32_t>(std::clamp(value, least, most));
  };
  const Tightened tight = tighten(*stars, clamped(rounds, 4, 100));
  Minimum best = approach(*stars, tight, clamped(4 * rounds, 12, 400));
  const auto order = order_to_split(model, options, options.until_proven || !is_possible(best.cost));
  return order ? branch_and_bound(with_prices(model, *stars, tight), std::move(best), options, *order) : best;
}

}  // namespace

Minimum minimize(const ChoiceModel& model, const MinimizeOptions& options) {
  const MinimizeOptions most = options.until_proven ? largest(options) : options;
  const auto order = affordable_order(model, most);
  if (!order) return search(model, options);
  const Elimination tables = eliminate(model, order->choices, most.table_cells, UINT64_MAX);
  if (!is_possible(tables.lower_bound)) return {{}, kImpossible, kImpossible};
  Minimum best;
  Search(model, tables).improve(best, model.costs.size());
  best.lower_bound = best.cost;
  return best;
}

}  // namespace qgen::planner
