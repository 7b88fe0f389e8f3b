// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Bucket elimination: each choice has a bucket of the tables that speak of it when its turn comes. choice_model.h has
// the idea and the proof, elimination_order.h the order.
#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/models/planner/choice_model.h"
#include "runtime/models/planner/elimination_order.h"

namespace qgen::planner {
namespace {

using Values = std::vector<uint32_t>;

// A fit as one of its choices sees it.
struct Neighbour {
  uint32_t choice;  // the other
  const std::vector<uint32_t>*masks, *others_masks;
  Classes classes, others_classes;

  Cost cost(uint32_t value, uint32_t others_value) const {
    return ((*masks)[value] & (*others_masks)[others_value]) != 0 ? Cost{} : kImpossible;
  }
};

// A choice in a table, which has a row for each class of its values.
struct Axis {
  uint32_t choice;
  Classes classes;
};

// A table over some choices, in the order of their elimination; the first changes fastest.
struct Table {
  std::vector<Axis> axes;
  std::vector<Cost> cells;
};

class Elimination {
 public:
  // `kept`: a value for each choice; those that are set apart stay whole. Empty: they are divided.
  Elimination(const ChoiceModel& model, const std::vector<FitClasses>& classes, const EliminationOrder& order,
              const Values& kept)
      : model_(model),
        order_(order),
        kept_(kept),
        costs_(model.costs),
        place_(costs_.size()),
        neighbours_(costs_.size()),
        buckets_(costs_.size()),
        decided_(costs_.size()),
        is_open_(costs_.size(), true) {
    for (size_t i = 0; i < classes.size(); ++i) {
      const auto& [a, b, a_masks, b_masks] = model.fits[i];
      neighbours_[a].push_back({b, &a_masks, &b_masks, classes[i].a, classes[i].b});
      neighbours_[b].push_back({a, &b_masks, &a_masks, classes[i].b, classes[i].a});
    }
    for (uint32_t place = 0; place < order.choices.size(); ++place) place_[order.choices[place]] = place + 1;
  }

  Minimum run() && {
    for (uint32_t choice : order_.apart) take_apart(choice);
    for (uint32_t choice : order_.choices) eliminate(choice);
    return assignment();
  }

 private:
  struct Decision {
    std::vector<Axis> others;    // the first changes fastest
    std::vector<uint16_t> best;  // value, for each row of theirs
  };

  // A table as an elimination of its first choice reads it: a cell for each value of that, one row after the other.
  struct Rows {
    std::vector<Cost> cells;
    // offsets[k][c]: how far on the row is where the k-th of the others is of class c; empty: all the same.
    std::vector<std::vector<std::ptrdiff_t>> offsets;

    const Cost* first_row() const {
      std::ptrdiff_t first = 0;
      for (const auto& of_classes : offsets) first += of_classes.empty() ? 0 : of_classes.front();
      return cells.data() + first;
    }
  };

  // Moves the choice's cost to the choices that it must fit: its least cost to the bound, and an equal share of the
  // rest to each fit. Misfits are not shared: one is enough to rule a value out.
  void take_apart(uint32_t choice) {
    is_open_[choice] = false;
    const auto& costs = costs_[choice];
    Values values;
    for (uint32_t value = 0; value < costs.size(); ++value) {
      if (kept_.empty() || kept_[choice] == value) values.push_back(value);
    }
    Cost least = costs[values.front()];
    for (uint32_t value : values) least = std::min(least, costs[value]);
    lower_bound_ = lower_bound_ + least;
    const auto share = std::ranges::count_if(neighbours_[choice], [&](const auto& n) { return is_open_[n.choice]; });
    for (const Neighbour& neighbour : neighbours_[choice]) {
      if (!is_open_[neighbour.choice]) continue;
      auto& others_costs = costs_[neighbour.choice];
      for (uint32_t at = 0; at < others_costs.size(); ++at) {
        Cost best{.misfits = INT32_MAX};
        for (uint32_t value : values) {
          const Cost cost = costs[value];
          const Cost above{cost.misfits - least.misfits, (cost.picoseconds - least.picoseconds) / share,
                           (cost.tie - least.tie) / share};
          best = std::min(best, above + neighbour.cost(value, at));
        }
        others_costs[at] = others_costs[at] + best;
      }
    }
  }

  static Table table_of(uint32_t choice, const Neighbour& neighbour) {
    Table table{{{choice, neighbour.classes}, {neighbour.choice, neighbour.others_classes}}, {}};
    const auto mask_of_class = [](const Classes& classes, const std::vector<uint32_t>& of_values) {
      std::vector<uint32_t> of_classes(classes->count);
      for (size_t value = 0; value < of_values.size(); ++value) of_classes[classes->of[value]] = of_values[value];
      return of_classes;
    };
    for (const uint32_t others_mask : mask_of_class(neighbour.others_classes, *neighbour.others_masks)) {
      for (const uint32_t mask : mask_of_class(neighbour.classes, *neighbour.masks))
        table.cells.push_back((mask & others_mask) != 0 ? Cost{} : kImpossible);
    }
    return table;
  }

  // For each row of classes of the others in its tables, the least over `choice` of their sum.
  void eliminate(uint32_t choice) {
    std::vector<Table> tables = std::exchange(buckets_[choice], {});
    for (const Neighbour& neighbour : neighbours_[choice]) {
      if (place_[neighbour.choice] > place_[choice]) tables.push_back(table_of(choice, neighbour));
    }
    Decision& decision = decided_[choice];
    decision.others = others_of(tables);
    Table message{decision.others, {}};
    size_t rows = 1;
    for (const Axis& one : decision.others) rows *= one.classes->count;
    message.cells.reserve(rows);
    decision.best.reserve(rows);

    std::vector<Rows> read;
    for (const Table& table : tables) read.push_back(rows_of(table, decision.others));
    std::vector<const Cost*> at;
    for (const Rows& table : read) at.push_back(table.first_row());
    Values classes(decision.others.size());
    std::vector<Cost> sums;
    while (message.cells.size() < rows) {
      sums = costs_[choice];
      for (const Cost* row : at) {
        for (size_t value = 0; value < sums.size(); ++value) sums[value] = sums[value] + row[value];
      }
      Cost least = sums.front();
      size_t best = 0;
      for (size_t value = 1; value < sums.size(); ++value) {
        if (!(sums[value] < least)) continue;
        least = sums[value];
        best = value;
      }
      message.cells.push_back(least);
      decision.best.push_back(static_cast<uint16_t>(best));
      advance(decision.others, read, classes, at);
    }
    if (message.axes.empty()) {
      lower_bound_ = lower_bound_ + message.cells.front();
    } else {
      buckets_[message.axes.front().choice].push_back(std::move(message));
    }
  }

  // In the order of their elimination; values that all tables treat equally are one class.
  std::vector<Axis> others_of(const std::vector<Table>& tables) const {
    std::vector<Axis> others;
    for (const Table& table : tables) {
      for (auto axis = table.axes.begin() + 1; axis != table.axes.end(); ++axis) {
        const auto at = std::find_if(others.begin(), others.end(),
                                     [&](const Axis& a) { return place_[a.choice] >= place_[axis->choice]; });
        if (at == others.end() || at->choice != axis->choice) others.insert(at, *axis);
        else at->classes = refined(at->classes, axis->classes);
      }
    }
    return others;
  }

  Rows rows_of(const Table& table, const std::vector<Axis>& others) const {
    const ValueClasses& first = *table.axes.front().classes;
    Rows rows{{}, std::vector<std::vector<std::ptrdiff_t>>(others.size())};
    rows.cells.reserve(table.cells.size() / first.count * first.of.size());
    for (auto row = table.cells.begin(); row != table.cells.end(); row += first.count) {
      for (const uint16_t one : first.of) rows.cells.push_back(row[one]);
    }
    std::ptrdiff_t stride = std::ssize(first.of);
    size_t k = 0;  // both are in the order of elimination
    for (auto axis = table.axes.begin() + 1; axis != table.axes.end(); ++axis) {
      while (others[k].choice != axis->choice) ++k;
      rows.offsets[k].resize(others[k].classes->count);
      for (size_t value = 0; value < axis->classes->of.size(); ++value)
        rows.offsets[k][others[k].classes->of[value]] = axis->classes->of[value] * stride;
      stride *= axis->classes->count;
    }
    return rows;
  }

  // To the next row of classes; from the last to the first.
  static void advance(const std::vector<Axis>& others, const std::vector<Rows>& tables, Values& classes,
                      std::vector<const Cost*>& at) {
    for (size_t k = 0; k < classes.size(); ++k) {
      const uint32_t before = classes[k];
      const bool is_last = before + 1 == others[k].classes->count;
      classes[k] = is_last ? 0 : before + 1;
      for (size_t t = 0; t < at.size(); ++t) {
        const auto& offsets = tables[t].offsets[k];
        if (!offsets.empty()) at[t] += offsets[classes[k]] - offsets[before];
      }
      if (!is_last) return;
    }
  }

  // Decides in the reverse order, the choices set apart last: each gets its best value, given the decided ones.
  Minimum assignment() const {
    Minimum result{Values(costs_.size()), {}, lower_bound_};
    for (auto choice = order_.choices.rbegin(); choice != order_.choices.rend(); ++choice) {
      const auto& [others, best] = decided_[*choice];
      size_t row = 0;
      for (size_t k = others.size(); k-- > 0;)
        row = row * others[k].classes->count + others[k].classes->of[result.values[others[k].choice]];
      result.values[*choice] = best[row];
    }
    std::vector<bool> is_decided = is_open_;
    for (auto choice = order_.apart.rbegin(); choice != order_.apart.rend(); ++choice) {
      auto sums = costs_[*choice];
      for (const Neighbour& neighbour : neighbours_[*choice]) {
        for (uint32_t value = 0; value < sums.size() && is_decided[neighbour.choice]; ++value)
          sums[value] = sums[value] + neighbour.cost(value, result.values[neighbour.choice]);
      }
      result.values[*choice] = static_cast<uint32_t>(std::min_element(sums.begin(), sums.end()) - sums.begin());
      is_decided[*choice] = true;
    }
    result.cost = cost_of(result.values);
    return result;
  }

  Cost cost_of(const Values& values) const {
    Cost sum;
    for (uint32_t choice = 0; choice < values.size(); ++choice) {
      sum = sum + model_.costs[choice][values[choice]];
      for (const Neighbour& neighbour : neighbours_[choice]) {  // each fit once
        if (choice < neighbour.choice) sum = sum + neighbour.cost(values[choice], values[neighbour.choice]);
      }
    }
    return sum;
  }

  const ChoiceModel& model_;
  const EliminationOrder& order_;
  const Values& kept_;
  std::vector<std::vector<Cost>> costs_;  // with costs that were moved here from choices set apart
  std::vector<uint32_t> place_;           // in the order, from 1; 0: set apart
  std::vector<std::vector<Neighbour>> neighbours_;
  std::vector<std::vector<Table>> buckets_;  // the results of eliminations, by the choice that comes first
  std::vector<Decision> decided_;
  std::vector<bool> is_open_;  // not set apart
  Cost lower_bound_;
};

Minimum eliminate(const ChoiceModel& model, const std::vector<FitClasses>& classes, const EliminationOrder& order,
                  const Values& kept) {
  return Elimination(model, classes, order, kept).run();
}

}  // namespace

Minimum minimize(const ChoiceModel& model, const MinimizeOptions& options) {
  // The cells that all tables of an exact answer may have, and the limits of it and of a round as multiples of the
  // model's size. With 4 instead of 8 in a round, 64 operators that each read two of the 8 tensors before them ended 14
  // % above their bound instead of 10 %.
  constexpr uint64_t kAlwaysExact = uint64_t{1} << 26, kExactWork = 64, kRoundWork = 8;
  constexpr uint32_t kRounds = 8, kIdleRounds = 3;
  uint64_t size = 0;  // of the model: cells of the tables that its fits are
  for (const auto& fit : model.fits) size += fit.a_masks.size() * fit.b_masks.size();
  uint64_t table_cells = options.table_cells;
  std::vector<uint32_t> turns(model.costs.size());
  const std::vector<FitClasses> classes = classes_of(model);
  EliminationOrder order = elimination_order(model, classes, table_cells, turns);
  if (order.is_exact && order.work <= std::max(kAlwaysExact, kExactWork * size))
    return eliminate(model, classes, order, {});

  while (order.work > kRoundWork * size && table_cells > 1) {
    table_cells /= 4;
    turns.assign(turns.size(), 0);
    order = elimination_order(model, classes, table_cells, turns);
  }
  Minimum best = eliminate(model, classes, order, {});
  for (uint32_t round = 0, idle = 0; round < kRounds && idle < kIdleRounds; ++round) {
    order = elimination_order(model, classes, table_cells, turns);
    Minimum next = eliminate(model, classes, order, best.values);
    idle = next.cost < best.cost ? 0 : idle + 1;
    next.lower_bound = best.lower_bound;
    best = std::move(next);
  }
  return best;
}

}  // namespace qgen::planner
