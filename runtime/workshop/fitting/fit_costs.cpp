// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/fitting/fit_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <unsupported/Eigen/NonLinearOptimization>

#include "runtime/engine/selector/select.h"

namespace qgen::fitting {
namespace {

// The fit minimises, over the logarithms of the constants,
//
//   sum over rows of (weight * h(e - (1 - kCommonErrorWeight) * common))^2
//   + kLossWeight * sum over problems of loss
//   + sum over constants of rows(constant) * (kPriorStrength * log(constant / value before))^2
//
//   e       log(cost / time) of a row
//   common  the weighted mean of e over all choices of the row's problem, each e clamped to kHuberThreshold. An error
//           that all choices have changes no ranking, so it counts less
//   weight  (time / time of the third best)^-kWeightExponent, between kLeastWeight and 1: slow choices count less. The
//           third best and not the best, so that one wrong time does not take the weight from all others
//   loss    of a problem: what errors of costs do to its choice. It is the mean of log(time / best time) over all
//           choices, each at most kHuberThreshold, as if each was chosen with a probability in proportion to
//           cost^(-1 / kCostSpread), less the same with times in place of costs; at least 0
//   h       its square is a smooth Huber loss: quadratic up to kHuberThreshold, linear beyond
constexpr double kWeightExponent = 1.5;
constexpr double kLeastWeight = 0.2;
constexpr size_t kWeightRank = 3;  // the choice whose time has weight 1
constexpr double kCommonErrorWeight = 0.3;
constexpr double kHuberThreshold = 0.3;
constexpr double kLossWeight = 2;
constexpr double kCostSpread = 0.05;  // costs that differ by this share are about equal
constexpr double kPriorStrength = 0.004;
constexpr double kLeastLoss = 1e-8;       // so that its root has a derivative
constexpr double kDerivativeStep = 1e-4;  // of a logarithm
constexpr int kSignificantDigits = 3;     // of a written constant
constexpr int kMaxEvaluations = 400;

// ---- rows -----------------------------------------------------------------------------------------------------------

struct Row {
  std::string op;
  size_t problem = 0;  // of a device
  std::vector<Launch> launches;
  const DeviceNumbers* device = nullptr;
  double log_us = 0;
  double low_us = 0, high_us = 0;
  double weight = 1;  // of its error
};

struct Table {
  std::vector<Row> rows;
  size_t problems = 0;
  std::map<std::string, size_t> passed_over;  // by reason: how many rows
};

// A recipe's conditions need not hold for the measured problem: a choice is forced, so its reason is reported.
Expected<Choice> choice_of(const Problem& problem, const DeviceProfile& device, const KernelLibrary& library,
                           const std::string& id) {
  Selection selection = select(problem, device, library, {.force = id, .all_specializations = true});
  if (!selection.ranked.empty()) return std::move(selection.ranked.front());
  return refused(selection.rejected.empty() ? "nothing fits" : selection.rejected.front().reason);
}

class TableMaker {
 public:
  TableMaker(const KernelLibrary& library, const FitOptions& options) : library_(library), options_(options) {}

  void add(const tuning::TuningFile& device) {
    std::map<std::string_view, size_t> places;
    for (const tuning::TunedRow& row : device.rows) {
      const auto problem = problem_of(row.problem, library_);
      if (!problem) {
        ++table_.passed_over[problem.error().message];
        continue;
      }
      const std::string name(problem->op->name);
      const auto& wanted = options_.operators;
      if (!wanted.empty() && std::ranges::find(wanted, name) == wanted.end()) continue;
      if (const auto place = places.try_emplace(row.problem, table_.problems); place.second) ++table_.problems;
      add(device, row, *problem, places.at(row.problem));
    }
  }

  Table take() {
    std::vector<std::vector<double>> times(table_.problems);
    for (const Row& row : table_.rows) times[row.problem].push_back(row.log_us);
    for (std::vector<double>& of_problem : times) std::ranges::sort(of_problem);
    for (Row& row : table_.rows) {
      const std::vector<double>& known = times[row.problem];
      const double best = known[std::min(kWeightRank, known.size()) - 1];
      row.weight = std::clamp(std::exp(kWeightExponent * (best - row.log_us)), kLeastWeight, 1.0);
    }
    return std::move(table_);
  }

 private:
  void add(const tuning::TuningFile& device, const tuning::TunedRow& row, const Problem& problem, size_t place) {
    const auto digest = digest_of(*problem.op, row.kernel, library_);
    if (!digest) return pass_over("the library does not have the kernel");
    if (row.digest != 0 && *digest != row.digest) return pass_over("the kernel has changed since it was measured");
    const auto choice = choice_of(problem, device.device, library_, row.kernel);
    if (!choice) return pass_over(choice.error().message);
    if (!(row.us > 0)) return pass_over("the time is 0");
    table_.rows.push_back({std::string(problem.op->name), place, choice->launches, &device.device.numbers,
                           std::log(row.us), row.low_us, row.high_us});
  }
  void pass_over(std::string_view reason) { ++table_.passed_over[std::string(reason)]; }

  const KernelLibrary& library_;
  const FitOptions& options_;
  Table table_;
};

// ---- constants ------------------------------------------------------------------------------------------------------

// Those that the costs of rows read, each once, however many families share it. All constants except those of the specs
// `only` keep the numbers of their specs.
class Constants {
 public:
  Constants(std::span<const Row> rows, const std::vector<std::string>& only) {
    const auto by_name = [](const OperatorInfo* a, const OperatorInfo* b) { return a->name < b->name; };
    std::set<const OperatorInfo*, decltype(by_name)> families;
    for (const Row& row : rows) {
      for (const Launch& launch : row.launches) families.insert(launch.op);
    }
    std::map<std::string_view, size_t> places;
    for (const OperatorInfo* family : families) {
      for (size_t i = 0; i < family->fit_names.size(); ++i) {
        const std::string_view name = family->fit_names[i];
        std::vector<Source>& sources = sources_[family];
        if (!only.empty() && std::ranges::find(only, spec_of(name)) == only.end()) {
          sources.push_back({kIsKept, family->fit_values[i]});
          continue;
        }
        const auto [place, is_new] = places.emplace(name, names_.size());
        sources.push_back({place->second, 0});
        if (!is_new) continue;
        names_.push_back(name);
        values_.push_back(family->fit_values[i]);
      }
    }
  }

  const std::vector<std::string_view>& names() const { return names_; }  // each after its spec or fragment
  const std::vector<double>& values() const { return values_; }          // as that says
  static std::string_view spec_of(std::string_view name) { return name.substr(0, name.find('.')); }

  // The inputs of the family's cost, in its order, with the constants `values`.
  void read(const OperatorInfo* family, const std::vector<double>& values, std::vector<double>& result) const {
    result.clear();
    const auto sources = sources_.find(family);
    if (sources == sources_.end()) return;
    for (const Source& source : sources->second)
      result.push_back(source.place == kIsKept ? source.kept : values[source.place]);
  }
  bool reads(const Row& row, size_t constant) const {
    return std::ranges::any_of(row.launches, [&](const Launch& launch) {
      const auto sources = sources_.find(launch.op);
      return sources != sources_.end() &&
             std::ranges::find(sources->second, constant, &Source::place) != sources->second.end();
    });
  }

 private:
  static constexpr size_t kIsKept = static_cast<size_t>(-1);
  struct Source {
    size_t place = 0;  // among all; kIsKept: it is no constant to be found
    double kept = 0;
  };
  std::vector<std::string_view> names_;
  std::vector<double> values_;
  std::map<const OperatorInfo*, std::vector<Source>> sources_;
};

double cost_of(const Row& row, const Constants& constants, const std::vector<double>& values) {
  double cost = 0;
  std::vector<double> own;
  for (const Launch& launch : row.launches) {
    constants.read(launch.op, values, own);
    const SelectionScope scope{launch.problem.data(), launch.kernel->parameters,
                               launch.op->specialization(launch.specialization), row.device,
                               own.empty() ? nullptr : own.data()};
    cost += launch.op->cost(scope).value;
  }
  return std::clamp(cost, 1e-6, 1e12);  // the ones with a logarithm
}

double log_ratio(const Row& row, const Constants& constants, const std::vector<double>& values) {
  return std::log(cost_of(row, constants, values)) - row.log_us;
}

// ---- least squares --------------------------------------------------------------------------------------------------

// The root of Huber's loss: its square grows as the square of `error` near 0, and as `error` beyond kHuberThreshold.
double huber_root(double error) {
  const double ratio = error / kHuberThreshold;
  const double size = kHuberThreshold * std::sqrt(2 * (std::sqrt(1 + ratio * ratio) - 1));
  return std::copysign(size, error);
}

// The functor for Eigen's Levenberg-Marquardt: errors, one for each row, one for each problem (the root of its loss) and
// one for each constant (its distance from the value before), and their derivatives.
class Errors {
 public:
  Errors(std::span<const Row* const> rows, const Constants& constants) : rows_(rows), constants_(constants) {
    readers_.resize(constants.values().size());
    for (size_t c = 0; c < readers_.size(); ++c) {
      for (size_t r = 0; r < rows.size(); ++r) {
        if (constants.reads(*rows[r], c)) readers_[c].push_back(r);
      }
    }
    std::map<size_t, size_t> places;  // of problems
    for (const Row* row : rows) problems_.push_back(places.try_emplace(row->problem, places.size()).first->second);
    weights_.setZero(index(places.size()));
    best_.setConstant(index(places.size()), std::numeric_limits<double>::infinity());
    for (size_t r = 0; r < rows.size(); ++r) {
      weights_[index(problems_[r])] += rows[r]->weight;
      best_[index(problems_[r])] = std::min(best_[index(problems_[r])], rows[r]->log_us);
    }
    least_losses_ = losses_of(Eigen::VectorXd::Zero(index(rows.size())));
  }

  using InputType = Eigen::VectorXd;
  int inputs() const { return static_cast<int>(constants_.values().size()); }
  int values() const { return static_cast<int>(count()) + inputs(); }

  int operator()(const Eigen::VectorXd& logs, Eigen::VectorXd& errors) const {
    errors.head(count()) = errors_of(log_ratios(values_of(logs)));
    for (size_t c = 0; c < readers_.size(); ++c) {
      errors[count() + index(c)] = prior_weight(c) * (logs[index(c)] - std::log(constants_.values()[c]));
    }
    return 0;
  }

  int df(const Eigen::VectorXd& logs, Eigen::MatrixXd& derivatives) const {
    derivatives.setZero();
    std::vector<double> values = values_of(logs);
    const Eigen::VectorXd ratios = log_ratios(values);
    for (size_t c = 0; c < readers_.size(); ++c) {
      const double value = values[c];
      const auto errors_at = [&](double step) {
        values[c] = value * std::exp(step);
        Eigen::VectorXd moved = ratios;
        for (const size_t r : readers_[c]) moved[index(r)] = log_ratio(*rows_[r], constants_, values);
        return errors_of(moved);
      };
      const Eigen::VectorXd above = errors_at(kDerivativeStep), below = errors_at(-kDerivativeStep);
      values[c] = value;
      derivatives.col(index(c)).head(count()) = (above - below) / (2 * kDerivativeStep);
      derivatives(count() + index(c), index(c)) = prior_weight(c);
    }
    return 0;
  }

 private:
  static Eigen::Index index(size_t place) { return static_cast<Eigen::Index>(place); }
  Eigen::Index count() const { return index(rows_.size()) + weights_.size(); }  // without those of constants
  double prior_weight(size_t constant) const {
    return kPriorStrength * std::sqrt(static_cast<double>(readers_[constant].size()));
  }

  static std::vector<double> values_of(const Eigen::VectorXd& logs) {
    std::vector<double> values;
    for (const double log : logs) values.push_back(std::exp(log));
    return values;
  }
  Eigen::VectorXd log_ratios(const std::vector<double>& values) const {
    Eigen::VectorXd ratios(index(rows_.size()));
    for (size_t r = 0; r < rows_.size(); ++r) ratios[index(r)] = log_ratio(*rows_[r], constants_, values);
    return ratios;
  }
  Eigen::VectorXd errors_of(const Eigen::VectorXd& ratios) const {
    Eigen::VectorXd shared = Eigen::VectorXd::Zero(weights_.size());
    for (size_t r = 0; r < rows_.size(); ++r) {
      shared[index(problems_[r])] += rows_[r]->weight * std::clamp(ratios[index(r)], -kHuberThreshold, kHuberThreshold);
    }
    shared = shared.cwiseQuotient(weights_);
    Eigen::VectorXd errors(count());
    for (size_t r = 0; r < rows_.size(); ++r) {
      errors[index(r)] =
          rows_[r]->weight * huber_root(ratios[index(r)] - (1 - kCommonErrorWeight) * shared[index(problems_[r])]);
    }
    errors.tail(weights_.size()) =
        (kLossWeight * (losses_of(ratios) - least_losses_).cwiseMax(0).array() + kLeastLoss).sqrt();
    return errors;
  }
  // Of each problem, with costs that are off by these logarithms.
  Eigen::VectorXd losses_of(const Eigen::VectorXd& ratios) const {
    const auto log_cost = [&](size_t r) { return ratios[index(r)] + rows_[r]->log_us; };
    Eigen::VectorXd least = Eigen::VectorXd::Constant(weights_.size(), std::numeric_limits<double>::infinity());
    for (size_t r = 0; r < rows_.size(); ++r) {
      least[index(problems_[r])] = std::min(least[index(problems_[r])], log_cost(r));
    }
    Eigen::VectorXd shares = Eigen::VectorXd::Zero(weights_.size()), losses = shares;
    for (size_t r = 0; r < rows_.size(); ++r) {
      const Eigen::Index p = index(problems_[r]);
      const double share = std::exp((least[p] - log_cost(r)) / kCostSpread);
      shares[p] += share;
      losses[p] += share * std::min(rows_[r]->log_us - best_[p], kHuberThreshold);
    }
    return losses.cwiseQuotient(shares);
  }

  std::span<const Row* const> rows_;
  const Constants& constants_;
  std::vector<std::vector<size_t>> readers_;  // of each constant: the rows whose costs read it
  std::vector<size_t> problems_;              // of each row: which of those that there are
  Eigen::VectorXd weights_;                   // of each problem: its rows' together
  Eigen::VectorXd best_;                      // the logarithm of its best time
  Eigen::VectorXd least_losses_;              // and its loss by costs that are right
};

double rounded(double value) {
  const double scale = std::pow(10, kSignificantDigits - 1 - std::floor(std::log10(value)));
  return std::round(value * scale) / scale;
}

// A constant that no row determines keeps all its digits.
std::vector<double> fitted(std::span<const Row* const> rows, const Constants& constants) {
  const std::vector<double>& before = constants.values();
  if (before.empty() || rows.empty()) return before;
  Eigen::VectorXd logs(static_cast<Eigen::Index>(before.size()));
  for (size_t c = 0; c < before.size(); ++c) logs[static_cast<Eigen::Index>(c)] = std::log(before[c]);
  Errors errors(rows, constants);
  Eigen::LevenbergMarquardt<Errors> solver(errors);
  solver.parameters.maxfev = kMaxEvaluations;
  solver.minimize(logs);
  std::vector<double> after;
  for (size_t c = 0; c < before.size(); ++c) {
    const double value = std::exp(logs[static_cast<Eigen::Index>(c)]);
    const bool has_changed = std::abs(value / before[c] - 1) > 1e-4;
    after.push_back(has_changed ? rounded(value) : before[c]);
  }
  return after;
}

// ---- judgement ------------------------------------------------------------------------------------------------------

// A row, and its cost by some constants.
struct JudgedRow {
  const Row* row;
  double log_cost;
  double log_ratio() const { return log_cost - row->log_us; }
};

// As select() ranks: of equal costs the kernel and the specialization that come first in the library.
bool is_ranked_before(const JudgedRow& a, const JudgedRow& b) {
  if (a.log_cost != b.log_cost) return a.log_cost < b.log_cost;
  const auto place_of = [](const Launch& launch) { return std::pair(launch.kernel->id, launch.specialization); };
  return std::ranges::lexicographical_compare(a.row->launches, b.row->launches, {}, place_of, place_of);
}

class Judge {
 public:
  // All rows of one problem.
  void add(std::vector<JudgedRow> rows) {
    for (const JudgedRow& row : rows) {
      sum_of_errors_ += std::abs(row.log_ratio());
      worst_error_ = std::max(worst_error_, std::abs(row.log_ratio()));
    }
    rows_ += rows.size();
    if (rows.size() < 2) return;
    const auto best = std::ranges::min_element(rows, {}, [](const JudgedRow& r) { return r.row->log_us; })->row;
    std::ranges::sort(rows, is_ranked_before);
    const double loss = rows.front().row->log_us - best->log_us;
    sum_of_losses_ += loss;
    worst_loss_ = std::max(worst_loss_, loss);
    const auto first_five = std::span(rows).first(std::min<size_t>(rows.size(), 5));
    const auto is_best = [&](const JudgedRow& r) { return r.row->low_us <= best->high_us; };  // by all that is known
    found_ += std::ranges::any_of(first_five, is_best) ? 1 : 0;
    ++choices_;
  }

  Judgement take() const {
    Judgement judgement;
    if (rows_ > 0) judgement.errors = {std::exp(sum_of_errors_ / count(rows_)), std::exp(worst_error_)};
    if (choices_ > 0) {
      judgement.choices = {std::exp(-sum_of_losses_ / count(choices_)), std::exp(-worst_loss_),
                           count(found_) / count(choices_)};
    }
    return judgement;
  }

 private:
  static double count(size_t number) { return static_cast<double>(number); }
  double sum_of_errors_ = 0, worst_error_ = 0, sum_of_losses_ = 0, worst_loss_ = 0;
  size_t rows_ = 0, choices_ = 0, found_ = 0;
};

using Problems = std::map<size_t, std::vector<const Row*>>;  // the rows of each

std::vector<JudgedRow> judged(const std::vector<const Row*>& rows, const Constants& constants,
                              const std::vector<double>& values) {
  std::vector<JudgedRow> result;
  for (const Row* row : rows) result.push_back({row, std::log(cost_of(*row, constants, values))});
  return result;
}

// Of each group of problems: the constants that the other groups give.
std::vector<std::vector<double>> fitted_without(const Problems& problems, const Constants& constants, size_t groups) {
  std::vector<std::vector<double>> values;
  for (size_t group = 0; group < groups; ++group) {
    std::vector<const Row*> others;
    for (const auto& [place, rows] : problems) {
      if (place % groups != group) others.insert(others.end(), rows.begin(), rows.end());
    }
    values.push_back(fitted(others, constants));
  }
  return values;
}

std::vector<OperatorFit> judge(const Table& table, const Constants& constants, const std::vector<double>& after,
                               size_t groups) {
  std::map<std::string, Problems> of_operators;
  Problems all;
  for (const Row& row : table.rows) {
    of_operators[row.op][row.problem].push_back(&row);
    all[row.problem].push_back(&row);
  }
  groups = std::min(groups, all.size());
  const auto without = fitted_without(all, constants, groups < 2 ? 0 : groups);
  std::vector<OperatorFit> result;
  for (const auto& [name, problems] : of_operators) {
    Judge as_before, as_after, unseen;
    OperatorFit fit{.name = name, .problems = problems.size()};
    for (const auto& [place, rows] : problems) {
      fit.rows += rows.size();
      as_before.add(judged(rows, constants, constants.values()));
      as_after.add(judged(rows, constants, after));
      unseen.add(judged(rows, constants, without.empty() ? constants.values() : without[place % groups]));
    }
    fit.before = as_before.take();
    fit.after = as_after.take();
    fit.unseen = unseen.take();
    result.push_back(std::move(fit));
  }
  return result;
}

}  // namespace

Expected<CostFit> fit_costs(std::span<const tuning::TuningFile> files, const KernelLibrary& library,
                            const FitOptions& options) {
  for (const std::string& name : options.operators) {
    if (!library.find(name)) return refused(fmt::format("no operator is named '{}'", name));
  }
  TableMaker maker(library, options);
  for (const tuning::TuningFile& file : files) maker.add(file);
  const Table table = maker.take();
  CostFit fit;
  for (const auto& [reason, count] : table.passed_over) {
    fit.passed_over.push_back(fmt::format("{} row{}: {}", count, count == 1 ? "" : "s", reason));
  }
  if (table.rows.empty()) {
    return refused("there are no rows to fit to", fit.passed_over.empty() ? "" : fit.passed_over.front());
  }
  const Constants constants(table.rows, options.only);
  for (const std::string& name : options.only) {
    if (std::ranges::find(constants.names(), name, &Constants::spec_of) != constants.names().end()) continue;
    return refused(fmt::format("no row's cost reads a constant of '{}'", name));
  }
  std::vector<const Row*> rows;
  for (const Row& row : table.rows) rows.push_back(&row);
  const std::vector<double> after = fitted(rows, constants);
  for (size_t c = 0; c < after.size(); ++c) {
    const std::string_view name = constants.names()[c];
    const std::string_view spec = Constants::spec_of(name);
    const auto readers = std::ranges::count_if(table.rows, [&](const Row& row) { return constants.reads(row, c); });
    fit.constants.push_back({std::string(spec), std::string(name.substr(spec.size() + 1)), constants.values()[c],
                             after[c], static_cast<size_t>(readers)});
  }
  std::ranges::stable_sort(fit.constants, {}, &FittedConstant::spec);
  fit.operators = judge(table, constants, after, options.groups);
  return fit;
}

std::string to_text(const CostFit& fit) {
  std::string text = fmt::format("{:<40} {:>10} {:>10} {:>7}\n", "constant", "before", "after", "rows");
  for (const FittedConstant& constant : fit.constants) {
    text += fmt::format("{:<40} {:>10.4g} {:>10.4g} {:>7}\n", constant.spec + "." + constant.name, constant.before,
                        constant.after, constant.rows);
  }
  text +=
      "\n"
      "errors: cost / time or time / cost, whichever is above 1; choices: best time / time of the choice with the "
      "lowest cost,\n"
      "of the measured ones; unseen: with constants that were fitted to other problems\n";
  text += fmt::format("{:<24} {:>6} {:>8}   {:<8} {:>8} {:>8}   {:>8} {:>8} {:>10}\n", "operator", "rows", "problems",
                      "", "mean", "worst", "choice", "worst", "first five");
  const auto add_line = [&](std::string_view head, std::string_view when, const Judgement& judged) {
    text += fmt::format("{:<40}   {:<8} {:>8.3f} {:>8.3f}   {:>8.3f} {:>8.3f} {:>8.1f} %\n", head, when,
                        judged.errors.geometric_mean, judged.errors.worst, judged.choices.geometric_mean,
                        judged.choices.worst, 100 * judged.choices.in_first_five);
  };
  for (const OperatorFit& op : fit.operators) {
    add_line(fmt::format("{:<24} {:>6} {:>8}", op.name, op.rows, op.problems), "before", op.before);
    add_line("", "after", op.after);
    add_line("", "unseen", op.unseen);
  }
  if (!fit.passed_over.empty()) text += "\npassed over:\n";
  for (const std::string& reason : fit.passed_over) text += "  " + reason + "\n";
  return text;
}

}  // namespace qgen::fitting
