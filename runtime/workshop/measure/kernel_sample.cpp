// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/measure/kernel_sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "runtime/engine/library/blob_format.h"
#include "vocabulary/layouts.h"

namespace qgen::measure {
namespace {

void add_traits(const Launch& launch, std::vector<std::string>& traits) {
  const OperatorInfo& family = *launch.op;
  std::string_view axes = launch.kernel->id.substr(std::min(family.name.size(), launch.kernel->id.size()));
  for (size_t part = 0; !axes.empty(); ++part) {
    const size_t end = std::min(axes.find('.'), axes.size());
    traits.push_back(fmt::format("{} {} {}", family.name, part, axes.substr(0, end)));
    axes.remove_prefix(std::min(end + 1, axes.size()));
  }
  for (size_t i = 0; i < family.specialization_names.size(); ++i) {
    traits.push_back(fmt::format("{} {}={}", family.name, family.specialization_names[i],
                                 family.specialization(launch.specialization)[i]));
  }
}

bool is_of(const Choice& choice, const std::set<std::string, std::less<>>& families) {
  return std::ranges::any_of(choice.launches, [&](const Launch& l) { return families.contains(l.op->name); }) ||
         (choice.recipe && choice.problem && families.contains(choice.problem->op->name));
}

}  // namespace

std::vector<std::string> traits_of(const Choice& choice) {
  std::vector<std::string> traits;
  for (const Launch& launch : choice.launches) add_traits(launch, traits);
  if (choice.recipe) traits.emplace_back(choice.recipe->id);
  if (!choice.problem) return traits;
  const Problem& problem = *choice.problem;
  for (size_t i = 0; i < problem.operands.size() && i < problem.op->operands.size(); ++i) {
    if (!problem.operands[i].is_present) continue;
    traits.push_back(fmt::format("{} {} {} {}", problem.op->name, problem.op->operands[i].name,
                                 name(problem.operands[i].storage), name(problem.operands[i].layout)));
  }
  return traits;
}

// A checksum: neighbours in, strangers out, and the same on every machine, as std::hash is not.
uint64_t KernelSample::random(uint64_t of) const {
  const uint64_t drawn[] = {options_.seed, of};
  return blob_format::checksum(std::as_bytes(std::span(drawn)));
}

bool KernelSample::begin_formats(std::string_view op) {
  ++ways_;
  return random(counts_traits() ? blob_format::checksum(std::as_bytes(std::span(op.data(), op.size()))) : ways_) %
             options_.shards ==
         options_.shard;
}

void KernelSample::keep_new(std::vector<std::string>& traits) const {
  std::erase_if(traits, [&](const std::string& trait) { return met_.contains(trait); });
}

// Few kernels shall bring all new traits, since each has to be compiled: that which brings the most comes next. Among
// equals a draw decides, else the same kernels would be taken in every run.
void KernelSample::take_for_traits(const std::vector<Choice>& ranked, std::vector<bool>& is_taken) {
  struct Candidate {
    size_t index = 0;
    std::vector<std::string> traits;  // new ones
  };
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < ranked.size(); ++i) {
    Candidate candidate{i, traits_of(ranked[i])};
    keep_new(candidate.traits);
    if (!candidate.traits.empty()) candidates.push_back(std::move(candidate));
  }
  std::ranges::sort(candidates, {}, [&](const Candidate& c) { return random(ways_ << 20 | c.index); });
  while (!candidates.empty()) {
    const auto most = std::ranges::max_element(candidates, {}, [](const Candidate& c) { return c.traits.size(); });
    is_taken[most->index] = true;
    met_.insert(most->traits.begin(), most->traits.end());
    for (Candidate& candidate : candidates) keep_new(candidate.traits);
    std::erase_if(candidates, [](const Candidate& c) { return c.traits.empty(); });
  }
}

std::vector<Choice> KernelSample::of(std::vector<Choice> ranked, bool is_as_it_stands) {
  std::vector<Choice> taken;
  if (!counts_traits()) {
    if (options_.families.empty()) return ranked;
    std::ranges::copy_if(ranked, std::back_inserter(taken),
                         [&](const Choice& c) { return is_of(c, options_.families); });
    return taken;
  }
  std::vector<bool> is_taken(ranked.size());
  for (size_t i = 0; i < ranked.size(); ++i) {
    const double draw = static_cast<double>(random(~(ways_ << 20 | i)) >> 11) * 0x1p-53;
    is_taken[i] = (i == 0 && is_as_it_stands) || draw < options_.share;
    if (!is_taken[i]) continue;
    for (std::string& trait : traits_of(ranked[i])) met_.insert(std::move(trait));
  }
  take_for_traits(ranked, is_taken);
  for (size_t i = 0; i < ranked.size(); ++i) {
    if (is_taken[i]) taken.push_back(std::move(ranked[i]));
  }
  return taken;
}

}  // namespace qgen::measure
