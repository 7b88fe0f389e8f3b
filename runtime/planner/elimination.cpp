// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Bucket elimination: each choice has a bucket of the tables that speak of it when its turn comes. A bucket that would
// make too large a table is split, and its groups are minimised apart.
#include "runtime/planner/elimination.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace qgen::planner {
namespace {

constexpr uint64_t kTooMany = uint64_t{1} << 62;

// One end of a fit.
struct End {
  uint32_t choice;
  const std::vector<uint32_t>& masks;
  const std::vector<Cost>& costs;

  Cost cost(size_t value) const { return costs.empty() ? Cost{} : costs[value]; }
};

// A choice with one value is left out of the scope, so that what is kept fixed takes no part in any other table.
Table table_of(const ChoiceModel::Fit& fit, const std::vector<uint32_t>& place) {
  const End a{fit.a, fit.a_masks, fit.a_costs}, b{fit.b, fit.b_masks, fit.b_costs};
  const bool a_first = b.masks.size() == 1 || (a.masks.size() > 1 && place[fit.a] < place[fit.b]);
  const End& first = a_first ? a : b;
  const End& second = a_first ? b : a;
  Table table{{first.choice}, {1}, {}};
  if (second.masks.size() > 1) {
    table.scope.push_back(second.choice);
    table.stride.push_back(first.masks.size());
  }
  table.cells.reserve(first.masks.size() * second.masks.size());
  for (size_t j = 0; j < second.masks.size(); ++j) {
    for (size_t i = 0; i < first.masks.size(); ++i) {
      const bool fits = (first.masks[i] & second.masks[j]) != 0;
      table.cells.push_back(fits ? first.cost(i) + second.cost(j) : kImpossible);
    }
  }
  return table;
}

// Joins two scopes, both by place, leaving out the choice at the front of each.
std::vector<uint32_t> others_of(const std::vector<uint32_t>& scope, const std::vector<uint32_t>& joined,
                                const std::vector<uint32_t>& place) {
  std::vector<uint32_t> result;
  std::set_union(scope.begin() + 1, scope.end(), joined.begin(), joined.end(), std::back_inserter(result),
                 [&](uint32_t a, uint32_t b) { return place[a] < place[b]; });
  return result;
}

class Eliminator {
 public:
  Eliminator(const ChoiceModel& model, const std::vector<uint32_t>& order, uint64_t table_cells, uint64_t additions)
      : model_(model), table_cells_(table_cells), additions_(additions), place_(order.size()) {
    result_.buckets.resize(order.size());
    for (uint32_t place = 0; place < order.size(); ++place) {
      const uint32_t choice = order[place];
      place_[choice] = place;
      result_.buckets[place].choice = choice;
      result_.buckets[place].content.push_back({{choice}, {1}, model.costs[choice]});
    }
    for (const auto& fit : model.fits) {
      Table table = table_of(fit, place_);
      result_.buckets[place_[table.scope.front()]].content.push_back(std::move(table));
    }
  }

  Elimination run() && {
    for (auto& bucket : result_.buckets) empty(bucket);
    return std::move(result_);
  }

 private:
  struct Group {
    std::vector<const Table*> tables;
    std::vector<uint32_t> others;
  };

  uint64_t size(uint32_t choice) const { return model_.costs[choice].size(); }

  uint64_t cells(uint32_t choice, const std::vector<uint32_t>& others) const {
    uint64_t count = size(choice);
    for (uint32_t other : others) {
      if (count >= kTooMany / size(other)) return kTooMany;
      count *= size(other);
    }
    return count;
  }

  // First fit, wide tables first: few groups, so little is lost to splitting.
  std::vector<Group> split(const Bucket& bucket) const {
    std::vector<const Table*> tables;
    for (const auto& table : bucket.content) tables.push_back(&table);
    std::stable_sort(tables.begin(), tables.end(),
                     [](const Table* a, const Table* b) { return a->cells.size() > b->cells.size(); });
    std::vector<Group> groups;
    for (const Table* table : tables) {
      bool is_placed = false;
      for (auto& group : groups) {
        auto others = others_of(table->scope, group.others, place_);
        if (cells(bucket.choice, others) > table_cells_) continue;
        group.tables.push_back(table);
        group.others = std::move(others);
        is_placed = true;
        break;
      }
      if (!is_placed) groups.push_back({{table}, {table->scope.begin() + 1, table->scope.end()}});
    }
    return groups;
  }

  void empty(Bucket& bucket) {
    const auto groups = split(bucket);
    result_.is_exact = result_.is_exact && groups.size() == 1;
    for (const auto& group : groups) {
      spend(cells(bucket.choice, group.others) * group.tables.size());
      send(bucket, minimum_over(bucket.choice, group));
    }
  }

  // Split buckets make more tables than an order foresees.
  void spend(uint64_t additions) {
    constexpr uint64_t kFrugalTable = 256;
    if (additions_ < additions) table_cells_ = std::min(table_cells_, kFrugalTable);
    additions_ -= std::min(additions, additions_);
  }

  void send(Bucket& from, Table message) {
    if (message.scope.empty()) {
      from.constant = from.constant + message.cells.front();
      result_.lower_bound = result_.lower_bound + message.cells.front();
      return;
    }
    const uint32_t to = place_[message.scope.front()];
    auto& content = result_.buckets[to].content;
    from.sent.push_back({to, static_cast<uint32_t>(content.size())});
    content.push_back(std::move(message));
  }

  // For each row of values of the others, the least over `choice` of the sum of the group's tables.
  Table minimum_over(uint32_t choice, const Group& group) const {
    Table message;
    message.scope = group.others;
    uint64_t count = 1;
    for (uint32_t other : group.others) {
      message.stride.push_back(count);
      count *= size(other);
    }
    message.cells.resize(count);

    // Tables that do not know others[0], which changes fastest, are added up once for all of its values.
    auto tables = group.tables;
    const auto fast = std::stable_partition(tables.begin(), tables.end(), [&](const Table* table) {
      return group.others.empty() || !has(*table, group.others.front());
    });
    const auto slow_count = static_cast<size_t>(fast - tables.begin());
    // steps[t][k]: how far table t moves when the value of others[k] grows by one.
    std::vector<std::vector<uint64_t>> steps;
    for (const Table* table : tables) steps.push_back(steps_along(*table, group.others));
    std::vector<uint64_t> at(tables.size(), 0);
    std::vector<uint64_t> values(group.others.size(), 0);
    std::vector<Cost> slow(size(choice)), sums(size(choice));
    for (Cost& cell : message.cells) {
      if (values.empty() || values.front() == 0) {
        std::fill(slow.begin(), slow.end(), Cost{});
        for (size_t t = 0; t < slow_count; ++t) add(slow, tables[t]->cells.data() + at[t], t);
      }
      sums = slow;
      for (size_t t = slow_count; t < at.size(); ++t) add(sums, tables[t]->cells.data() + at[t], t);
      cell = least_of(sums);
      advance(values, at, steps, group.others);
    }
    return message;
  }

  static bool has(const Table& table, uint32_t choice) {
    return std::find(table.scope.begin(), table.scope.end(), choice) != table.scope.end();
  }

  // Adds row number `index`, without a look at what is impossible but at every hundredth.
  static void add(std::vector<Cost>& sums, const Cost* row, size_t index) {
    for (size_t value = 0; value < sums.size(); ++value) {
      sums[value].picoseconds += row[value].picoseconds;
      sums[value].tie += row[value].tie;
    }
    if (index % 100 != 99) return;
    for (Cost& sum : sums) {
      if (!is_possible(sum)) sum = kImpossible;
    }
  }

  // The compiler makes moves of this rather than jumps, which would be mispredicted.
  static Cost least_of(const std::vector<Cost>& sums) {
    Cost least = sums.front();
    for (const Cost& sum : sums) {
      const bool is_less =
          (sum.picoseconds < least.picoseconds) | ((sum.picoseconds == least.picoseconds) & (sum.tie < least.tie));
      least.picoseconds = is_less ? sum.picoseconds : least.picoseconds;
      least.tie = is_less ? sum.tie : least.tie;
    }
    return is_possible(least) ? least : kImpossible;
  }

  static std::vector<uint64_t> steps_along(const Table& table, const std::vector<uint32_t>& others) {
    std::vector<uint64_t> steps;
    for (uint32_t other : others) {
      const auto found = std::find(table.scope.begin() + 1, table.scope.end(), other);
      steps.push_back(found == table.scope.end() ? 0 : table.stride[found - table.scope.begin()]);
    }
    return steps;
  }

  // The next row of values, the first other fastest.
  void advance(std::vector<uint64_t>& values, std::vector<uint64_t>& at,
               const std::vector<std::vector<uint64_t>>& steps, const std::vector<uint32_t>& others) const {
    for (size_t k = 0; k < values.size(); ++k) {
      if (++values[k] < size(others[k])) {
        for (size_t t = 0; t < at.size(); ++t) at[t] += steps[t][k];
        return;
      }
      for (size_t t = 0; t < at.size(); ++t) at[t] -= steps[t][k] * (size(others[k]) - 1);
      values[k] = 0;
    }
  }

  const ChoiceModel& model_;
  uint64_t table_cells_;
  uint64_t additions_;  // left
  std::vector<uint32_t> place_;
  Elimination result_;
};

}  // namespace

uint64_t Table::row(const std::vector<uint32_t>& values) const {
  uint64_t at = 0;
  for (size_t k = 1; k < scope.size(); ++k) at += values[scope[k]] * stride[k];
  return at;
}

Elimination eliminate(const ChoiceModel& model, const std::vector<uint32_t>& order, uint64_t table_cells,
                      uint64_t additions) {
  return Eliminator(model, order, table_cells, additions).run();
}

}  // namespace qgen::planner
