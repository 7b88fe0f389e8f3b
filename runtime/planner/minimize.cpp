// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Bucket elimination: each choice has a bucket of the tables that speak of it when its turn comes. choice_model.h has
// the idea and the proof, elimination_order.h the order.
#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/planner/choice_model.h"
#include "runtime/planner/elimination_order.h"

namespace qgen::planner {
namespace {

using Values = std::vector<uint32_t>;

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
  // `kept`: a value for each choice, of which those that are set apart are kept; empty: they go to pieces.
  Elimination(const ChoiceModel& model, const std::vector<FitClasses>& classes, const EliminationOrder& order,
              const Values& kept)
      : model_(model),
        classes_(classes),
        order_(order),
        kept_(kept),
        costs_(model.costs),
        place_(costs_.size()),
        fits_of_(costs_.size()),
        buckets_(costs_.size()),
        decided_(costs_.size()) {
    for (uint32_t place = 0; place < order.choices.size(); ++place) place_[order.choices[place]] = place + 1;
  }

  Minimum run() && {
    for (const auto& fit : model_.fits) {
      fits_of_[fit.a].push_back(&fit);
      fits_of_[fit.b].push_back(&fit);
    }
    is_open_.assign(costs_.size(), true);
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

  static uint32_t other(const ChoiceModel::Fit& fit, uint32_t choice) { return fit.a == choice ? fit.b : fit.a; }

  static Cost misfit(const ChoiceModel::Fit& fit, uint32_t choice, uint32_t value, uint32_t others_value) {
    const bool is_a = fit.a == choice;
    const uint32_t mask = is_a ? fit.a_masks[value] : fit.b_masks[value];
    const uint32_t others_mask = is_a ? fit.b_masks[others_value] : fit.a_masks[others_value];
    return (mask & others_mask) != 0 ? Cost{} : kImpossible;
  }

  // Moves what the choice costs to those that it must fit: all of the least that it costs to the bound, and an equal
  // share of what is above that to each fit. Misfits are not shared: one is enough to rule a value out.
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
    const auto share = std::count_if(fits_of_[choice].begin(), fits_of_[choice].end(),
                                     [&](const auto* fit) { return is_open_[other(*fit, choice)]; });
    for (const auto* fit : fits_of_[choice]) {
      if (!is_open_[other(*fit, choice)]) continue;
      auto& others_costs = costs_[other(*fit, choice)];
      for (uint32_t at = 0; at < others_costs.size(); ++at) {
        Cost best{.misfits = INT32_MAX};
        for (uint32_t value : values) {
          const Cost cost = costs[value];
          const Cost above{cost.misfits - least.misfits, (cost.picoseconds - least.picoseconds) / share,
                           (cost.tie - least.tie) / share};
          best = std::min(best, above + misfit(*fit, choice, value, at));
        }
        others_costs[at] = others_costs[at] + best;
      }
    }
  }

  Table table_of(const ChoiceModel::Fit& fit, uint32_t first) const {
    const bool is_a = fit.a == first;
    const auto& masks = is_a ? fit.a_masks : fit.b_masks;
    const auto& others_masks = is_a ? fit.b_masks : fit.a_masks;
    const auto& [a, b] = classes_[static_cast<size_t>(&fit - model_.fits.data())];
    Table table{{{first, is_a ? a : b}, {other(fit, first), is_a ? b : a}}, {}};
    const auto mask_of_class = [](const Classes& classes, const std::vector<uint32_t>& of_values) {
      std::vector<uint32_t> of_classes(classes->count);
      for (size_t value = 0; value < of_values.size(); ++value) of_classes[classes->of[value]] = of_values[value];
      return of_classes;
    };
    for (const uint32_t other_mask : mask_of_class(table.axes[1].classes, others_masks)) {
      for (const uint32_t mask : mask_of_class(table.axes[0].classes, masks))
        table.cells.push_back((mask & other_mask) != 0 ? Cost{} : kImpossible);
    }
    return table;
  }

  // For each row of classes of the others in its tables, the least over `choice` of their sum.
  void eliminate(uint32_t choice) {
    std::vector<Table> tables = std::exchange(buckets_[choice], {});
    for (const auto* fit : fits_of_[choice]) {
      if (place_[other(*fit, choice)] > place_[choice]) tables.push_back(table_of(*fit, choice));
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
      const auto least = std::min_element(sums.begin(), sums.end());
      message.cells.push_back(*least);
      decision.best.push_back(static_cast<uint16_t>(least - sums.begin()));
      advance(decision.others, read, classes, at);
    }
    if (message.axes.empty()) {
      lower_bound_ = lower_bound_ + message.cells.front();
    } else {
      buckets_[message.axes.front().choice].push_back(std::move(message));
    }
  }

  // In the order of their elimination; of one class is what all tables have in one.
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

  // Decides in the reverse order, the choices set apart last: each at its best beside what is decided.
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
      for (const auto* fit : fits_of_[*choice]) {
        const uint32_t by = other(*fit, *choice);
        for (uint32_t value = 0; value < sums.size() && is_decided[by]; ++value)
          sums[value] = sums[value] + misfit(*fit, *choice, value, result.values[by]);
      }
      result.values[*choice] = static_cast<uint32_t>(std::min_element(sums.begin(), sums.end()) - sums.begin());
      is_decided[*choice] = true;
    }
    for (uint32_t choice = 0; choice < costs_.size(); ++choice)
      result.cost = result.cost + model_.costs[choice][result.values[choice]];
    for (const auto& fit : model_.fits)
      result.cost = result.cost + misfit(fit, fit.a, result.values[fit.a], result.values[fit.b]);
    return result;
  }

  const ChoiceModel& model_;
  const std::vector<FitClasses>& classes_;
  const EliminationOrder& order_;
  const Values& kept_;
  std::vector<std::vector<Cost>> costs_;  // with what was moved here from those set apart
  std::vector<uint32_t> place_;           // in the order, from 1; 0: set apart
  std::vector<std::vector<const ChoiceModel::Fit*>> fits_of_;
  std::vector<std::vector<Table>> buckets_;  // what eliminations left, by the choice that goes first
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
  // What may be spent, as a multiple of the model's size. With 4 instead of 8 a round, 64 operators of which each
  // reads two of the 8 tensors before it ended 14 % above their bound instead of 10 %.
  constexpr uint64_t kExactWork = 64, kRoundWork = 8;
  constexpr uint32_t kRounds = 8, kIdleRounds = 3;
  uint64_t size = 0;  // of the model: cells of the tables that its fits are
  for (const auto& fit : model.fits) size += fit.a_masks.size() * fit.b_masks.size();
  uint64_t table_cells = options.table_cells;
  std::vector<uint32_t> turns(model.costs.size());
  const std::vector<FitClasses> classes = classes_of(model);
  EliminationOrder order = elimination_order(model, classes, table_cells, turns);
  if (order.is_exact && order.work <= std::max(options.work, kExactWork * size))
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
