// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The choices wait in a queue by the sizes of their tables. Only the neighbours of a removed choice get new weights,
// and old entries of the queue are skipped.
#include "runtime/models/planner/elimination_order.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

namespace qgen::planner {
namespace {

constexpr uint64_t kTooMany = uint64_t{1} << 62;

// The graph of the remaining choices. It has an edge between two choices that share a table. Each end has the classes
// into which such tables divide the values of the other.
class ChoiceGraph {
 public:
  struct Edge {
    uint32_t to;
    Classes classes;
  };

  ChoiceGraph(const ChoiceModel& model, const std::vector<FitClasses>& classes) : edges_(model.costs.size()) {
    for (const auto& costs : model.costs) sizes_.push_back(costs.size());
    for (size_t i = 0; i < model.fits.size(); ++i) {
      const auto& fit = model.fits[i];
      if (sizes_[fit.a] > 1 && sizes_[fit.b] > 1) connect({fit.a, classes[i].a}, {fit.b, classes[i].b});
    }
  }

  const std::vector<Edge>& edges(uint32_t choice) const { return edges_[choice]; }

  // Cells of the table over the choice and its neighbours; saturates.
  uint64_t cells(uint32_t choice) const {
    uint64_t cells = sizes_[choice];
    for (const Edge& edge : edges_[choice]) {
      if (cells >= kTooMany / edge.classes->count) return kTooMany;
      cells *= edge.classes->count;
    }
    return cells;
  }

  // Takes a choice out; if it is eliminated, its neighbours stand together in the table that it leaves. Returns the
  // edges that it had.
  std::vector<Edge> take(uint32_t choice, bool is_eliminated) {
    std::vector<Edge> around = std::exchange(edges_[choice], {});
    for (const Edge& edge : around) {
      auto& others = edges_[edge.to];
      others.erase(place_in(others, choice));
    }
    for (size_t i = 0; is_eliminated && i < around.size(); ++i) {
      for (size_t j = i + 1; j < around.size(); ++j) connect(around[i], around[j]);
    }
    return around;
  }

 private:
  static std::vector<Edge>::iterator place_in(std::vector<Edge>& edges, uint32_t to) {
    return std::lower_bound(edges.begin(), edges.end(), to,
                            [](const Edge& edge, uint32_t one) { return edge.to < one; });
  }

  void connect(const Edge& a, const Edge& b) {
    for (const auto& [from, edge] : {std::pair(a.to, &b), std::pair(b.to, &a)}) {
      auto& edges = edges_[from];
      const auto at = place_in(edges, edge->to);
      if (at == edges.end() || at->to != edge->to) edges.insert(at, *edge);
      else at->classes = refined(at->classes, edge->classes);
    }
  }

  std::vector<std::vector<Edge>> edges_;  // by their other ends
  std::vector<uint64_t> sizes_;
};

class Orderer {
 public:
  Orderer(const ChoiceModel& model, const std::vector<FitClasses>& classes, uint64_t table_cells,
          std::vector<uint32_t>& turns)
      : model_(model), graph_(model, classes), table_cells_(table_cells), turns_(turns), cells_(model.costs.size()) {}

  EliminationOrder run() && {
    for (uint32_t choice = 0; choice < cells_.size(); ++choice) {
      if (model_.costs[choice].size() > 1) {
        weigh(choice);
      } else {
        order_.apart.push_back(choice);
      }
    }
    while (!queue_.empty()) {
      const auto [cells, choice] = queue_.top();
      queue_.pop();
      if (cells != cells_[choice]) continue;
      if (cells <= table_cells_) {
        order_.work += cells;
        order_.choices.push_back(choice);
        take(choice, true);
      } else {
        set_one_apart(choice);
      }
    }
    return std::move(order_);
  }

 private:
  // Of a choice whose table is too large and its neighbours.
  void set_one_apart(uint32_t choice) {
    const auto priority = [&](uint32_t one) {
      return std::tuple(one >= model_.leaders, turns_[one], -std::ssize(graph_.edges(one)), one);
    };
    uint32_t apart = choice;
    for (const ChoiceGraph::Edge& edge : graph_.edges(choice)) {
      if (priority(edge.to) < priority(apart)) apart = edge.to;
    }
    ++turns_[apart];
    order_.is_exact = false;
    order_.apart.push_back(apart);
    take(apart, false);
  }

  void take(uint32_t choice, bool is_eliminated) {
    cells_[choice] = 0;
    for (const ChoiceGraph::Edge& edge : graph_.take(choice, is_eliminated)) weigh(edge.to);
  }

  void weigh(uint32_t choice) {
    cells_[choice] = graph_.cells(choice);
    queue_.push({cells_[choice], choice});
  }

  using Entry = std::pair<uint64_t, uint32_t>;  // cells, choice
  const ChoiceModel& model_;
  ChoiceGraph graph_;
  uint64_t table_cells_;
  std::vector<uint32_t>& turns_;
  std::vector<uint64_t> cells_;  // of each choice's table; 0: removed
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
  EliminationOrder order_;
};

}  // namespace

EliminationOrder elimination_order(const ChoiceModel& model, const std::vector<FitClasses>& classes,
                                   uint64_t table_cells, std::vector<uint32_t>& turns) {
  return Orderer(model, classes, table_cells, turns).run();
}

}  // namespace qgen::planner
