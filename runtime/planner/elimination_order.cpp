// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The choices wait in a queue by their scores. Only the neighbours of one that is taken out are scored anew, and old
// entries of the queue are passed over.
#include "runtime/planner/elimination_order.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>
#include <queue>
#include <utility>

namespace qgen::planner {
namespace {

constexpr uint64_t kTooMany = uint64_t{1} << 62;
constexpr size_t kHub = 256;  // neighbours

void insert_sorted(std::vector<uint32_t>& set, uint32_t value) {
  const auto at = std::lower_bound(set.begin(), set.end(), value);
  if (at == set.end() || *at != value) set.insert(at, value);
}

void erase_sorted(std::vector<uint32_t>& set, uint32_t value) {
  const auto at = std::lower_bound(set.begin(), set.end(), value);
  if (at != set.end() && *at == value) set.erase(at);
}

// 64 log2(value), by a straight line between powers of two: the same integer on every machine.
uint64_t logarithm(uint64_t value) {
  const int whole = std::bit_width(value) - 1;
  return static_cast<uint64_t>(whole) * 64 + ((value - (uint64_t{1} << whole)) * 64 >> whole);
}

// The graph of choices that are left: an edge between two that some table holds together.
class ChoiceGraph {
 public:
  explicit ChoiceGraph(const ChoiceModel& model) : neighbours_(model.costs.size()) {
    for (const auto& costs : model.costs) {
      sizes_.push_back(costs.size());
      logarithms_.push_back(logarithm(costs.size()));
    }
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

  size_t size() const { return sizes_.size(); }

  // Cells of the table over the choice and its neighbours; saturates.
  uint64_t cells(uint32_t choice) const {
    uint64_t cells = sizes_[choice];
    for (uint32_t neighbour : neighbours_[choice]) {
      if (cells >= kTooMany / sizes_[neighbour]) return kTooMany;
      cells *= sizes_[neighbour];
    }
    return cells;
  }

  // The same where it would saturate.
  double additions(uint32_t choice) const {
    auto cells = static_cast<double>(sizes_[choice]);
    for (uint32_t neighbour : neighbours_[choice]) cells *= static_cast<double>(sizes_[neighbour]);
    return cells;
  }

  // What the neighbours that do not know each other have to learn: of each pair, the product of their logarithms.
  uint64_t fill(uint32_t choice) const {
    const auto& around = neighbours_[choice];
    uint64_t sum = 0;
    for (size_t i = 0; i < around.size(); ++i) {
      for (size_t j = i + 1; j < around.size(); ++j) {
        if (!know_each_other(around[i], around[j])) sum += logarithms_[around[i]] * logarithms_[around[j]];
      }
    }
    return sum;
  }

  // Takes a choice out; its neighbours come to know each other if a table over them is made. Returns those whose table
  // changed and, if asked for, those whose fill alone changed, which know both sides of a new acquaintance; hubs aside.
  std::vector<uint32_t> take(uint32_t choice, bool is_filled, bool with_fill) {
    std::vector<uint32_t> around = std::move(neighbours_[choice]);
    neighbours_[choice].clear();
    for (uint32_t neighbour : around) erase_sorted(neighbours_[neighbour], choice);
    if (!is_filled) return around;
    std::vector<uint32_t> changed = around;
    for (size_t i = 0; i < around.size(); ++i) {
      auto& first = neighbours_[around[i]];
      for (size_t j = i + 1; j < around.size(); ++j) {
        auto& second = neighbours_[around[j]];
        if (know_each_other(around[i], around[j])) continue;
        if (with_fill && first.size() + second.size() <= kHub)
          std::set_intersection(first.begin(), first.end(), second.begin(), second.end(), std::back_inserter(changed));
        insert_sorted(first, around[j]);
        insert_sorted(second, around[i]);
      }
    }
    std::sort(changed.begin(), changed.end());
    changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
    return changed;
  }

 private:
  bool know_each_other(uint32_t a, uint32_t b) const {
    return std::binary_search(neighbours_[a].begin(), neighbours_[a].end(), b);
  }

  std::vector<std::vector<uint32_t>> neighbours_;
  std::vector<uint64_t> sizes_, logarithms_;
};

enum class Rule : uint8_t { table, fill };

// Takes the choice with the least score, and the first of equals, until none is left.
class Greedy {
 public:
  Greedy(const ChoiceModel& model, Rule rule, uint64_t table_cells, uint32_t attempt)
      : graph_(model), rule_(rule), table_cells_(table_cells), attempt_(attempt), score_(graph_.size()) {
    for (uint32_t choice = 0; choice < score_.size(); ++choice) {
      score_[choice] = score(choice);
      queue_.push({score_[choice], choice});
    }
  }

  // Stops, without an order, once the additions reach `most`.
  std::vector<uint32_t> run(double& most) && {
    std::vector<uint32_t> order;
    std::vector<bool> is_gone(score_.size());
    double additions = 0;
    while (!queue_.empty()) {
      const auto [now, choice] = queue_.top();
      queue_.pop();
      if (is_gone[choice] || now != score_[choice]) continue;
      additions += graph_.additions(choice);
      if (additions >= most) return {};
      is_gone[choice] = true;
      order.push_back(choice);
      take(choice);
    }
    most = additions;
    return order;
  }

 private:
  uint64_t score(uint32_t choice) const {
    const uint64_t cells = graph_.cells(choice);
    if (rule_ == Rule::table) return cells;
    if (cells > table_cells_) return kTooMany + cells;  // last; the fill of a hub would take long to add up
    const uint64_t fill = graph_.fill(choice);
    const uint64_t distortion = (choice + 1) * (attempt_ * 0x9e3779b1u) >> 8 & 127;  // up to a half more
    return fill + (fill * distortion >> 8);
  }

  void take(uint32_t choice) {
    const bool is_filled = graph_.cells(choice) <= table_cells_;
    for (uint32_t changed : graph_.take(choice, is_filled, rule_ == Rule::fill)) {
      const uint64_t now = score(changed);
      if (now == score_[changed]) continue;
      score_[changed] = now;
      queue_.push({now, changed});
    }
  }

  using Entry = std::pair<uint64_t, uint32_t>;  // score, choice
  ChoiceGraph graph_;
  Rule rule_;
  uint64_t table_cells_;
  uint32_t attempt_;
  std::vector<uint64_t> score_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

std::optional<EliminationOrder> order_by(Rule rule, const ChoiceModel& model, uint64_t table_cells, double most_work) {
  auto order = Greedy(model, rule, table_cells, 0).run(most_work);
  if (order.size() < model.costs.size()) return std::nullopt;
  return weigh(model, std::move(order), table_cells);
}

}  // namespace

EliminationOrder weigh(const ChoiceModel& model, std::vector<uint32_t> choices, uint64_t table_cells) {
  EliminationOrder result;
  ChoiceGraph graph(model);
  for (uint32_t choice : choices) {
    const uint64_t cells = graph.cells(choice);
    result.work += std::min(cells, table_cells);
    if (cells > table_cells) result.too_wide.push_back(choice);
    graph.take(choice, cells <= table_cells, false);
  }
  result.choices = std::move(choices);
  return result;
}

std::optional<EliminationOrder> order_by_table(const ChoiceModel& model, uint64_t table_cells, double most_work) {
  return order_by(Rule::table, model, table_cells, most_work);
}

std::optional<EliminationOrder> order_by_fill(const ChoiceModel& model, uint64_t table_cells, double most_work) {
  return order_by(Rule::fill, model, table_cells, most_work);
}

std::optional<EliminationOrder> order_by_attempts(const ChoiceModel& model, uint64_t table_cells, uint32_t attempts,
                                                  double most_work) {
  std::vector<uint32_t> best;
  for (uint32_t attempt = 0; attempt < attempts; ++attempt) {
    auto order = Greedy(model, Rule::fill, kTooMany, attempt).run(most_work);
    if (!order.empty()) best = std::move(order);
  }
  if (best.size() < model.costs.size()) return std::nullopt;
  return weigh(model, std::move(best), table_cells);
}

}  // namespace qgen::planner
