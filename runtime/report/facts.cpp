// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/report/facts.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/selector/select.h"

namespace qgen::report {
namespace {

using Costs = std::map<std::string, double, std::less<>>;

Costs costs_of(const Selection& selection) {
  Costs costs;
  for (const Choice& choice : selection.ranked) costs.emplace(choice.id, choice.cost_us);
  return costs;
}

// A recipe is listed with one step's kernels at a time, and may have been measured with others: those are asked for.
double cost_of(const Costs& costs, const std::string& id, const Problem& problem, const DeviceProfile& device,
               const KernelLibrary& library) {
  if (const auto known = costs.find(id); known != costs.end()) return known->second;
  const Selection forced = select(problem, device, library, {.force = id, .all_specializations = true});
  return forced.ranked.empty() ? 0 : forced.ranked.front().cost_us;
}

void add_estimates(ProblemFact& fact, const Problem& problem, const DeviceProfile& device,
                   const KernelLibrary& library) {
  const Selection all = select(problem, device, library, {.all_specializations = true, .all_step_kernels = true});
  const Costs costs = costs_of(all);
  for (KernelFact& kernel : fact.kernels) {
    kernel.estimated_us = cost_of(costs, kernel.row.kernel, problem, device, library);
  }
  if (all.ranked.empty()) return;
  const auto id_of = [](const KernelFact& kernel) -> const std::string& { return kernel.row.kernel; };
  const auto untuned = std::ranges::find(fact.kernels, all.ranked.front().id, id_of);
  if (untuned != fact.kernels.end()) fact.untuned = static_cast<size_t>(untuned - fact.kernels.begin());
}

}  // namespace

std::optional<double> ProblemFact::gain() const {
  if (!untuned || !(best_us() > 0) || !(kernels[*untuned].row.us > 0)) return std::nullopt;
  return kernels[*untuned].row.us / best_us();
}

Facts facts_of(const tuning::TuningFile& file, const KernelLibrary& library) {
  Facts facts{.device = file.device};
  for (const tuning::TunedRow& row : tuning::comparable(file.rows)) {
    if (facts.problems.empty() || facts.problems.back().key != row.problem) {
      facts.problems.push_back({.key = row.problem});
    }
    facts.problems.back().kernels.push_back({.row = row});
  }
  for (ProblemFact& fact : facts.problems) {
    const auto problem = problem_of(fact.key, library);
    if (!problem) continue;
    fact.work = work_of(*problem);
    add_estimates(fact, *problem, file.device, library);
  }
  return facts;
}

GainSummary summary_of(const std::vector<ProblemFact>& problems) {
  GainSummary summary;
  double log_sum = 0;
  for (const ProblemFact& problem : problems) {
    const auto gain = problem.gain();
    if (!gain) continue;
    ++summary.problems;
    if (*gain <= 1.1) ++summary.within_tenth;
    log_sum += std::log(*gain);
    summary.worst = std::max(summary.worst, *gain);
  }
  if (summary.problems > 0) summary.geometric_mean = std::exp(log_sum / static_cast<double>(summary.problems));
  return summary;
}

}  // namespace qgen::report
