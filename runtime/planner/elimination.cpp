// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The order is found on the graph of choices alone, before any table is made: it costs nothing next to the tables, so
// several limits can be tried. Past the limit the graph is no longer filled in, since the messages of a split bucket
// stay small; without that, a dense graph of 10,000 operators would spend its second on fill edges.
#include "runtime/planner/elimination.h"

#include <algorithm>
#include <iterator>
#include <queue>
#include <utility>

namespace qgen::planner {
namespace {

constexpr uint64_t kTooMany = uint64_t{1} << 62;

void insert_sorted(std::vector<uint32_t>& set, uint32_t value) {
  const auto at = std::lower_bound(set.begin(), set.end(), value);
  if (at == set.end() || *at != value) set.insert(at, value);
}

void erase_sorted(std::vector<uint32_t>& set, uint32_t value) {
  const auto at = std::lower_bound(set.begin(), set.end(), value);
  if (at != set.end() && *at == value) set.erase(at);
}

// The graph of choices that are left: an edge between two that some table holds together.
class ChoiceGraph {
 public:
  explicit ChoiceGraph(const ChoiceModel& model) : neighbours_(model.costs.size()) {
    for (const auto& costs : model.costs) sizes_.push_back(costs.size());
    for (const auto& fit : model.fits) {
      if (sizes_[fit.a] == 1 || sizes_[fit.b] == 1) continue;
      neighbours_[fit.a].push_back(fit.b);
      neighbours_[fit.b].push_back(fit.a);
    }
    for (auto& set : neighbours_) {
      std::sort(set.begin(), set.end());
      set.erase(std::unique(set.begin(), set.end()), set.end());
    }
  }

  const std::vector<uint32_t>& neighbours(uint32_t choice) const { return neighbours_[choice]; }

  // Cells of the table over the choice and its neighbours.
  uint64_t weight(uint32_t choice) const {
    uint64_t cells = sizes_[choice];
    for (uint32_t neighbour : neighbours_[choice]) {
      if (cells >= kTooMany / sizes_[neighbour]) return kTooMany;
      cells *= sizes_[neighbour];
    }
    return cells;
  }

  // Takes a choice out; its neighbours come to know each other if a table over them is made.
  std::vector<uint32_t> take(uint32_t choice, bool fill) {
    std::vector<uint32_t> left = std::move(neighbours_[choice]);
    neighbours_[choice].clear();
    for (uint32_t neighbour : left) {
      erase_sorted(neighbours_[neighbour], choice);
      if (!fill) continue;
      for (uint32_t other : left) {
        if (other != neighbour) insert_sorted(neighbours_[neighbour], other);
      }
    }
    return left;
  }

 private:
  std::vector<std::vector<uint32_t>> neighbours_;
  std::vector<uint64_t> sizes_;
};

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
  Eliminator(const ChoiceModel& model, const std::vector<uint32_t>& order, uint64_t table_cells)
      : model_(model), table_cells_(table_cells), place_(order.size()) {
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
    for (const auto& group : groups) send(bucket, minimum_over(bucket.choice, group));
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

    // steps[t][k]: how far table t moves when the value of others[k] grows by one.
    std::vector<std::vector<uint64_t>> steps;
    for (const Table* table : group.tables) steps.push_back(steps_along(*table, group.others));
    std::vector<uint64_t> at(group.tables.size(), 0);
    std::vector<uint64_t> values(group.others.size(), 0);
    std::vector<Cost> sums(size(choice));
    for (Cost& cell : message.cells) {
      std::fill(sums.begin(), sums.end(), Cost{});
      for (size_t t = 0; t < at.size(); ++t) {
        const Cost* row = group.tables[t]->cells.data() + at[t];
        for (size_t value = 0; value < sums.size(); ++value) sums[value] = sums[value] + row[value];
      }
      cell = *std::min_element(sums.begin(), sums.end());
      advance(values, at, steps, group.others);
    }
    return message;
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
  std::vector<uint32_t> place_;
  Elimination result_;
};

}  // namespace

EliminationOrder order_elimination(const ChoiceModel& model, uint64_t table_cells) {
  using Entry = std::pair<uint64_t, uint32_t>;  // weight, choice
  ChoiceGraph graph(model);
  std::vector<uint64_t> weight(model.costs.size());
  std::vector<bool> is_gone(model.costs.size());
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (uint32_t choice = 0; choice < weight.size(); ++choice) {
    weight[choice] = graph.weight(choice);
    queue.push({weight[choice], choice});
  }

  EliminationOrder result;
  const auto take = [&](uint32_t choice, bool fill) {
    is_gone[choice] = true;
    for (uint32_t neighbour : graph.take(choice, fill)) {
      const uint64_t now = graph.weight(neighbour);
      if (now == weight[neighbour]) continue;
      weight[neighbour] = now;
      queue.push({now, neighbour});
    }
  };
  while (!queue.empty()) {
    const auto [cells, choice] = queue.top();
    queue.pop();
    if (is_gone[choice] || cells != weight[choice]) continue;
    const bool fits = cells <= table_cells;
    result.work += std::min(cells, table_cells);
    result.choices.push_back(choice);
    if (!fits) result.too_wide.push_back(choice);
    take(choice, fits);
  }
  return result;
}

uint64_t Table::row(const std::vector<uint32_t>& values) const {
  uint64_t at = 0;
  for (size_t k = 1; k < scope.size(); ++k) at += values[scope[k]] * stride[k];
  return at;
}

Elimination eliminate(const ChoiceModel& model, const std::vector<uint32_t>& order, uint64_t table_cells) {
  return Eliminator(model, order, table_cells).run();
}

}  // namespace qgen::planner
