// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/report/facts.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/engine/selector/select.h"

namespace qgen::report {
namespace {

// ---- names ----------------------------------------------------------------------------------------------------------

constexpr size_t kFirstLetters = 56;  // of a name, as whole words
constexpr size_t kFurtherWords = 4;
constexpr size_t kWordLetters = 40;  // of each of those

std::string first_words(const ProblemFact& problem) {
  const std::string_view words =
      std::string_view(problem.key).substr(std::min(problem.op().size() + 1, problem.key.size()));
  if (words.size() <= kFirstLetters) return std::string(words);
  const size_t space = words.rfind(' ', kFirstLetters);
  return std::string(words.substr(0, space == std::string_view::npos ? kFirstLetters : space)) + " ...";
}

std::vector<std::string_view> words_of(std::string_view key) {
  std::vector<std::string_view> words;
  while (!key.empty()) {
    const size_t end = std::min(key.find(' '), key.size());
    words.push_back(key.substr(0, end));
    key.remove_prefix(std::min(end + 1, key.size()));
  }
  return words;
}

using Alike = std::vector<ProblemFact*>;  // problems of one name

// The entries of each name that several have.
std::vector<Alike> alike(const Alike& problems) {
  std::map<std::pair<std::string_view, std::string>, Alike> by_name;
  for (ProblemFact* problem : problems) by_name[{problem->op(), problem->name}].push_back(problem);
  std::vector<Alike> groups;
  for (auto& [name, group] : by_name) {
    if (group.size() > 1) groups.push_back(std::move(group));
  }
  return groups;
}

// Adds the first word that differs among them, after `begin` words that do not, and so on; for keys of as many words.
void tell_apart(const Alike& problems, size_t begin, size_t words_left) {
  if (words_left == 0) return;
  std::vector<std::vector<std::string_view>> words;
  for (const ProblemFact* problem : problems) words.push_back(words_of(problem->key));
  const auto is_same = [&](size_t i) {
    return std::ranges::all_of(words, [&](const auto& of) { return of[i] == words.front()[i]; });
  };
  const bool are_as_many =
      std::ranges::all_of(words, [&](const auto& of) { return of.size() == words.front().size(); });
  if (!are_as_many) return;
  while (begin < words.front().size() && is_same(begin)) ++begin;
  if (begin == words.front().size()) return;
  for (size_t i = 0; i < problems.size(); ++i) {
    problems[i]->name.append(" ").append(words[i][begin].substr(0, kWordLetters));
  }
  for (const Alike& group : alike(problems)) tell_apart(group, begin + 1, words_left - 1);
}

// ---- estimates ------------------------------------------------------------------------------------------------------

using Costs = std::map<std::string, double, std::less<>>;

Costs costs_of(const Selection& selection) {
  Costs costs;
  for (const Choice& choice : selection.ranked) costs.emplace(choice.id, choice.cost_us);
  return costs;
}

// A recipe is listed with one step's kernels at a time, and may have been measured with others: these are requested.
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

void name_problems(std::vector<ProblemFact>& problems) {
  Alike all;
  for (ProblemFact& problem : problems) {
    problem.name = first_words(problem);
    all.push_back(&problem);
  }
  for (const Alike& group : alike(all)) tell_apart(group, 0, kFurtherWords);
}

std::optional<double> ProblemFact::gain() const {
  if (!untuned || !(best_us() > 0) || !(kernels[*untuned].row.us > 0)) return std::nullopt;
  // Times of a final and of rounds before it do not compare.
  if (kernels[*untuned].row.is_final != kernels.front().row.is_final) return std::nullopt;
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
  name_problems(facts.problems);
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
