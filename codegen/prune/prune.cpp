// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/prune/prune.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "codegen/prune/stands_in.h"
#include "runtime/selector/problem.h"

namespace qgen::prune {
namespace {

using emit::CheckedRow;
using emit::CheckedTuning;
using emit::Family;
using emit::KernelPlace;

// The choices of a problem, on one device, that are fast enough; the kernels of each.
struct Problem {
  std::vector<const CheckedRow*> choices;
};

// Rows of one problem follow each other, the fastest first.
template <typename Visit>
void for_each_problem(const CheckedTuning& tuning, const Visit& visit) {
  const auto& rows = tuning.rows;
  for (size_t begin = 0, end; begin < rows.size(); begin = end) {
    for (end = begin; end < rows.size() && rows[end].row->problem == rows[begin].row->problem;) ++end;
    visit(std::span(rows).subspan(begin, end - begin));
  }
}

std::vector<Problem> problems_of(std::span<const CheckedTuning> tunings, double loss) {
  std::vector<Problem> problems;
  for (const CheckedTuning& tuning : tunings) {
    for_each_problem(tuning, [&](std::span<const CheckedRow> rows) {
      Problem& problem = problems.emplace_back();
      for (const CheckedRow& row : rows) {
        if (row.row->us <= rows.front().row->us * (1 + loss)) problem.choices.push_back(&row);
      }
    });
  }
  return problems;
}

// The families that operators with measured problems run.
std::set<std::string> measured_families(std::span<const Family> families, std::span<const CheckedTuning> tunings) {
  std::set<std::string> operators, names;
  for (const CheckedTuning& tuning : tunings) {
    for (const CheckedRow& row : tuning.rows) operators.emplace(operator_of(row.row->problem));
  }
  for (const Family& family : families) {
    if (!operators.contains(family.spec->name.value)) continue;
    names.insert(family.spec->name.value);
    for (const spec::Recipe& recipe : family.spec->recipes) {
      for (const spec::Step& step : recipe.steps) names.insert(step.kernel.value);
    }
  }
  return names;
}

class Pruner {
 public:
  Pruner(std::span<const Family> families, std::span<const CheckedTuning> tunings, double loss)
      : families_(families), tunings_(tunings), problems_(problems_of(tunings, loss)) {}

  Pruned run() {
    keep_what_is_unknown();
    find_guarantees();
    keep_only_members();
    cover();
    for (const auto& group : groups_) {
      if (!is_met(group)) keep(*std::ranges::min_element(group, {}, [&](const KernelPlace& p) { return bytes_of(p); }));
    }
    thin_out();
    for (const CheckedTuning& tuning : tunings_) pruned_.losses.push_back(loss_of(tuning));
    return std::move(pruned_);
  }

 private:
  uint64_t bytes_of(const KernelPlace& place) const {
    return families_[place.family].kernels[place.kernel].module_bytes;
  }
  bool is_kept(const KernelPlace& place) const { return pruned_.kept[place.family][place.kernel]; }
  void keep(const KernelPlace& place, bool keeps = true) { pruned_.kept[place.family][place.kernel] = keeps; }
  bool is_kept(const CheckedRow& choice) const {
    return std::ranges::all_of(choice.kernels, [&](const KernelPlace& place) { return is_kept(place); });
  }
  bool is_covered(const Problem& problem) const {
    return std::ranges::any_of(problem.choices, [&](const CheckedRow* choice) { return is_kept(*choice); });
  }
  bool is_met(const std::vector<KernelPlace>& group) const {
    return std::ranges::any_of(group, [&](const KernelPlace& place) { return is_kept(place); });
  }

  void keep_what_is_unknown() {
    const std::set<std::string> measured = measured_families(families_, tunings_);
    for (const Family& family : families_) {
      const bool is_measured = measured.contains(family.spec->name.value);
      pruned_.kept.emplace_back(family.kernels.size(), !is_measured);
      if (!is_measured && !family.kernels.empty()) pruned_.unmeasured.push_back(family.spec->name.value);
    }
  }

  // Groups of variants that can stand in for each other, and for which no other can: one of each stays.
  void find_guarantees() {
    for (size_t f = 0; f < families_.size(); ++f) {
      const auto stands_in = stand_ins(families_[f], families_);
      std::vector<bool> is_done(stands_in.size());
      for (size_t v = 0; v < stands_in.size(); ++v) {
        if (is_done[v]) continue;
        std::vector<KernelPlace> group;
        bool is_replaceable = false;
        for (size_t u = 0; u < stands_in.size(); ++u) {
          if (!stands_in[u][v]) continue;
          if (stands_in[v][u]) group.push_back({f, u}), is_done[u] = true;
          else is_replaceable = true;
        }
        if (!is_replaceable) groups_.push_back(std::move(group));
      }
    }
  }

  void keep_only_members() {
    for (const auto& group : groups_) {
      if (group.size() == 1) keep(group.front());
    }
  }

  // Takes the choice that makes the most problems fast for a byte, until all are.
  void cover() {
    std::vector<const Problem*> open;
    const auto leave_open = [&](const auto& problems) {
      std::vector<const Problem*> rest;
      for (const Problem& problem : problems) {
        if (!is_covered(problem)) rest.push_back(&problem);
      }
      return rest;
    };
    for (open = leave_open(problems_); !open.empty();) {
      std::map<std::vector<KernelPlace>, size_t> serves;  // kernels that are missing: how many problems they serve
      for (const Problem* problem : open) {
        std::set<std::vector<KernelPlace>> missing_of_problem;
        for (const CheckedRow* choice : problem->choices) missing_of_problem.insert(missing(*choice));
        for (const auto& kernels : missing_of_problem) ++serves[kernels];
      }
      const auto best = std::ranges::max_element(serves, {}, [&](const auto& kernels_and_count) {
        uint64_t bytes = 1;
        for (const KernelPlace& place : kernels_and_count.first) bytes += bytes_of(place);
        return static_cast<double>(kernels_and_count.second) / static_cast<double>(bytes);
      });
      for (const KernelPlace& place : best->first) keep(place);
      std::erase_if(open, [&](const Problem* problem) { return is_covered(*problem); });
    }
  }

  std::vector<KernelPlace> missing(const CheckedRow& choice) const {
    std::vector<KernelPlace> kernels;
    for (const KernelPlace& place : choice.kernels) {
      if (!is_kept(place)) kernels.push_back(place);
    }
    std::ranges::sort(kernels);
    kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());
    return kernels;
  }

  // What was taken early may be needed no more; the largest modules first.
  void thin_out() {
    std::vector<KernelPlace> places;
    for (const Problem& problem : problems_) {
      for (const CheckedRow* choice : problem.choices) {
        std::ranges::copy_if(choice->kernels, std::back_inserter(places),
                             [&](const KernelPlace& place) { return is_kept(place); });
      }
    }
    std::ranges::sort(places);
    places.erase(std::unique(places.begin(), places.end()), places.end());
    std::ranges::stable_sort(places, std::greater(), [&](const KernelPlace& place) { return bytes_of(place); });
    for (const KernelPlace& place : places) {
      keep(place, false);
      const bool is_needed = !std::ranges::all_of(problems_, [&](const Problem& p) { return is_covered(p); }) ||
                             !std::ranges::all_of(groups_, [&](const auto& group) { return is_met(group); });
      if (is_needed) keep(place);
    }
  }

  PredictedLoss loss_of(const CheckedTuning& tuning) const {
    PredictedLoss loss{.name = tuning.name};
    for_each_problem(tuning, [&](std::span<const CheckedRow> rows) {
      const auto kept = std::ranges::find_if(rows, [&](const CheckedRow& row) { return is_kept(row); });
      const double lost = kept->row->us / rows.front().row->us - 1;
      ++loss.problems;
      loss.mean += lost;
      loss.worst = std::max(loss.worst, lost);
    });
    if (loss.problems > 0) loss.mean /= static_cast<double>(loss.problems);
    return loss;
  }

  std::span<const Family> families_;
  std::span<const CheckedTuning> tunings_;
  std::vector<Problem> problems_;
  std::vector<std::vector<KernelPlace>> groups_;
  Pruned pruned_;
};

double megabytes(uint64_t bytes) { return static_cast<double>(bytes) / 1e6; }

}  // namespace

Pruned prune(std::span<const Family> families, std::span<const CheckedTuning> tunings, double loss) {
  return Pruner(families, tunings, loss).run();
}

std::string to_text(const Pruned& pruned, std::span<const Family> families, double loss, bool all_ids) {
  size_t variants = 0, kept = 0;
  uint64_t bytes = 0, kept_bytes = 0;
  std::string of_families;
  for (size_t f = 0; f < families.size(); ++f) {
    const auto& kernels = families[f].kernels;
    size_t stay = 0;
    uint64_t of_family = 0, kept_of_family = 0;
    std::string ids;
    for (size_t k = 0; k < kernels.size(); ++k) {
      of_family += kernels[k].module_bytes;
      if (!pruned.kept[f][k]) {
        ids += fmt::format("    {}\n", kernels[k].variant.id);
        continue;
      }
      ++stay;
      kept_of_family += kernels[k].module_bytes;
    }
    variants += kernels.size();
    kept += stay;
    bytes += of_family;
    kept_bytes += kept_of_family;
    if (stay == kernels.size()) continue;
    of_families +=
        fmt::format("  {}: {} of {} stay, {:.2f} MB of {:.2f} MB{}\n", families[f].spec->name.value, stay,
                    kernels.size(), megabytes(kept_of_family), megabytes(of_family), all_ids ? "; without" : "");
    if (all_ids) of_families += ids;
  }
  std::string text = fmt::format("pruned at {:.4g} %: {} of {} variants stay, SPIR-V {:.2f} MB of {:.2f} MB\n",
                                 100 * loss, kept, variants, megabytes(kept_bytes), megabytes(bytes));
  text += of_families;
  for (const PredictedLoss& device : pruned.losses) {
    text += fmt::format("  predicted loss on {}: {:.2f} % on average of {} problems, {:.2f} % at most\n", device.name,
                        100 * device.mean, device.problems, 100 * device.worst);
  }
  if (!pruned.unmeasured.empty()) {
    text += fmt::format("  whole, since no problem of theirs was measured: {}\n", fmt::join(pruned.unmeasured, ", "));
  }
  return text;
}

}  // namespace qgen::prune
