// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/prune/prune.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>

#include "codegen/prune/alternatives.h"
#include "runtime/engine/selector/problem.h"

namespace qgen::prune {
namespace {

using emit::CheckedRow;
using emit::CheckedTuning;
using emit::Family;
using emit::KernelIndex;

constexpr double kBytesOfVariant = 300;  // of generated tables: docs/results_host.md

// Rows of one problem follow each other, the fastest first.
template <typename Visit>
void for_each_problem(const CheckedTuning& tuning, const Visit& visit) {
  const auto& rows = tuning.rows;
  for (size_t begin = 0, end; begin < rows.size(); begin = end) {
    for (end = begin; end < rows.size() && rows[end].row->problem == rows[begin].row->problem;) ++end;
    visit(std::span(rows).subspan(begin, end - begin));
  }
}

KernelSet set_of(std::vector<KernelIndex> kernels) {
  std::ranges::sort(kernels);
  kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());
  return kernels;
}

// Of each problem on each device a choice that is fast enough.
void add_problems(std::span<const CheckedTuning> tunings, double loss, std::set<Demand>& demands) {
  for (const CheckedTuning& tuning : tunings) {
    for_each_problem(tuning, [&](std::span<const CheckedRow> rows) {
      std::set<KernelSet> choices;
      for (const CheckedRow& row : rows) {
        if (row.row->us <= rows.front().row->us * (1 + loss)) choices.insert(set_of(row.kernels));
      }
      demands.emplace(choices.begin(), choices.end());
    });
  }
}

std::set<std::string, std::less<>> measured_operators(std::span<const CheckedTuning> tunings) {
  std::set<std::string, std::less<>> operators;
  for (const CheckedTuning& tuning : tunings) {
    for (const CheckedRow& row : tuning.rows) operators.emplace(operator_of(row.row->problem));
  }
  return operators;
}

class Pruner {
 public:
  Pruner(std::span<const Family> families, std::span<const CheckedTuning> tunings, const Options& options)
      : families_(families), tunings_(tunings) {
    std::set<Demand> demands;
    add_problems(tunings, options.loss, demands);
    const auto measured = measured_operators(tunings);
    for (OperatorDemands& of_operator : demands_of_operators(families)) {
      demands.insert(of_operator.demands.begin(), of_operator.demands.end());
      const std::string& name = families[of_operator.family].spec->name.value;
      if (of_operator.kernels.empty() || measured.contains(name)) continue;
      pruned_.unmeasured.push_back(name);
      if (options.keeps_unmeasured) demands.insert(Demand{of_operator.kernels});
    }
    for (size_t f = 0; f < families.size(); ++f) {
      pruned_.kept.emplace_back(families[f].kernels.size());
      Demand any;
      for (size_t k = 0; k < families[f].kernels.size(); ++k) any.push_back({{f, k}});
      if (!any.empty()) demands.insert(std::move(any));
    }
    demands_.assign(demands.begin(), demands.end());
  }

  Pruned run() {
    for (const Demand& demand : demands_) {
      if (demand.size() == 1) keep_all(demand.front());
    }
    meet_demands();
    thin_out();
    for (const CheckedTuning& tuning : tunings_) pruned_.losses.push_back(loss_of(tuning));
    return std::move(pruned_);
  }

 private:
  using Module = std::pair<size_t, uint64_t>;  // family and digest: a family's blob has each module once
  const emit::Kernel& kernel(const KernelIndex& place) const { return families_[place.family].kernels[place.kernel]; }
  Module module_of(const KernelIndex& place) const { return {place.family, kernel(place).module_digest}; }

  bool is_kept(const KernelIndex& place) const { return pruned_.kept[place.family][place.kernel]; }
  bool is_kept(const std::vector<KernelIndex>& kernels) const {
    return std::ranges::all_of(kernels, [&](const KernelIndex& place) { return is_kept(place); });
  }
  bool is_met(const Demand& demand) const {
    return std::ranges::any_of(demand, [&](const KernelSet& kernels) { return is_kept(kernels); });
  }
  void keep(const KernelIndex& place) {
    if (is_kept(place)) return;
    pruned_.kept[place.family][place.kernel] = true;
    ++variants_of_[module_of(place)];
  }
  void keep_all(const KernelSet& kernels) {
    for (const KernelIndex& place : kernels) keep(place);
  }
  void drop(const KernelIndex& place) {
    pruned_.kept[place.family][place.kernel] = false;
    --variants_of_[module_of(place)];
  }

  KernelSet missing(const KernelSet& kernels) const {
    KernelSet rest;
    std::ranges::copy_if(kernels, std::back_inserter(rest), [&](const KernelIndex& place) { return !is_kept(place); });
    return rest;
  }

  // The bytes that keeping them adds: a module that is already kept adds only a line of a table.
  double bytes_of(const KernelSet& kernels) const {
    double bytes = 0;
    std::set<Module> modules;
    for (const KernelIndex& place : kernels) {
      const Module module = module_of(place);
      const auto there = variants_of_.find(module);
      bytes += kBytesOfVariant;
      if ((there == variants_of_.end() || there->second == 0) && modules.insert(module).second)
        bytes += kernel(place).module_bytes;
    }
    return bytes;
  }

  // Takes the kernels that meet the most demands for a byte, until all are met.
  void meet_demands() {
    std::vector<const Demand*> open;
    for (const Demand& demand : demands_) open.push_back(&demand);
    const auto is_done = [&](const Demand* demand) { return is_met(*demand); };
    for (std::erase_if(open, is_done); !open.empty(); std::erase_if(open, is_done)) {
      std::map<KernelSet, size_t> serves;  // kernels that are missing: how many demands they meet
      for (const Demand* demand : open) {
        std::set<KernelSet> sets;
        for (const KernelSet& kernels : *demand) sets.insert(missing(kernels));
        for (const KernelSet& kernels : sets) ++serves[kernels];
      }
      const auto best = std::ranges::max_element(serves, {}, [&](const auto& kernels_and_count) {
        return static_cast<double>(kernels_and_count.second) / bytes_of(kernels_and_count.first);
      });
      keep_all(best->first);
    }
  }

  // Kernels that were chosen early may have become unnecessary; the largest modules are tried first.
  void thin_out() {
    std::map<KernelIndex, std::vector<const Demand*>> users;
    for (const Demand& demand : demands_) {
      for (const KernelSet& kernels : demand) {
        for (const KernelIndex& place : kernels) {
          if (is_kept(place)) users[place].push_back(&demand);
        }
      }
    }
    std::vector<KernelIndex> places;
    for (const auto& [place, demands] : users) places.push_back(place);
    std::ranges::stable_sort(places, std::greater(),
                             [&](const KernelIndex& place) { return kernel(place).module_bytes; });
    for (const KernelIndex& place : places) {
      drop(place);
      const bool is_needed = !std::ranges::all_of(users[place], [&](const Demand* demand) { return is_met(*demand); });
      if (is_needed) keep(place);
    }
  }

  PredictedLoss loss_of(const CheckedTuning& tuning) const {
    PredictedLoss loss{.name = tuning.name};
    for_each_problem(tuning, [&](std::span<const CheckedRow> rows) {
      const auto kept = std::ranges::find_if(rows, [&](const CheckedRow& row) { return is_kept(row.kernels); });
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
  std::vector<Demand> demands_;
  std::map<Module, size_t> variants_of_;  // that are kept
  Pruned pruned_;
};

// The size of kernels: each module counts once.
struct Size {
  size_t variants = 0, modules = 0;
  uint64_t bytes = 0;
};
Size& operator+=(Size& size, const Size& other) {
  size.variants += other.variants;
  size.modules += other.modules;
  size.bytes += other.bytes;
  return size;
}

Size size_of(const Family& family, const std::function<bool(size_t)>& counts) {
  Size size;
  std::set<uint64_t> modules;
  for (size_t k = 0; k < family.kernels.size(); ++k) {
    if (!counts(k)) continue;
    ++size.variants;
    if (!modules.insert(family.kernels[k].module_digest).second) continue;
    ++size.modules;
    size.bytes += family.kernels[k].module_bytes;
  }
  return size;
}

std::string to_text(const Size& kept, const Size& all) {
  const auto megabytes = [](uint64_t bytes) { return static_cast<double>(bytes) / 1e6; };
  return fmt::format("{} of {} variants stay, {} of {} modules, SPIR-V {:.2f} MB of {:.2f} MB", kept.variants,
                     all.variants, kept.modules, all.modules, megabytes(kept.bytes), megabytes(all.bytes));
}

}  // namespace

Pruned prune(std::span<const Family> families, std::span<const CheckedTuning> tunings, const Options& options) {
  return Pruner(families, tunings, options).run();
}

std::string to_text(const Pruned& pruned, std::span<const Family> families, const Options& options, bool all_ids) {
  Size all, kept;
  std::string of_families;
  for (size_t f = 0; f < families.size(); ++f) {
    const Family& family = families[f];
    const Size of_family = size_of(family, [](size_t) { return true; });
    const Size stay = size_of(family, [&](size_t k) { return pruned.kept[f][k]; });
    all += of_family;
    kept += stay;
    if (stay.variants == of_family.variants) continue;
    of_families +=
        fmt::format("  {}: {}{}\n", family.spec->name.value, to_text(stay, of_family), all_ids ? "; without" : "");
    for (size_t k = 0; all_ids && k < family.kernels.size(); ++k) {
      if (!pruned.kept[f][k]) of_families += fmt::format("    {}\n", family.kernels[k].variant.id);
    }
  }
  std::string text = fmt::format("pruned at {:.4g} %: {}\n", 100 * options.loss, to_text(kept, all));
  text += of_families;
  for (const PredictedLoss& device : pruned.losses) {
    text += fmt::format("  predicted loss on {}: {:.2f} % on average of {} problems, {:.2f} % at most\n", device.name,
                        100 * device.mean, device.problems, 100 * device.worst);
  }
  if (!pruned.unmeasured.empty()) {
    text += fmt::format("  operators without a measured problem keep {}: {}\n",
                        options.keeps_unmeasured ? "all variants" : "only variants without which they could not run",
                        fmt::join(pruned.unmeasured, ", "));
  }
  return text;
}

}  // namespace qgen::prune
