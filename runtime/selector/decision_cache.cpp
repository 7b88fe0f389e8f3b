// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/selector/decision_cache.h"

#include <algorithm>
#include <mutex>
#include <tuple>
#include <vector>

#include "runtime/library/blob_format.h"
#include "runtime/selector/mixed.h"

namespace qgen {
namespace {

uint64_t hash_of(const Problem& problem) {
  uint64_t hash = blob_format::checksum(problem.fields);
  hash = mixed(hash, reinterpret_cast<uintptr_t>(problem.op));
  for (const OperandDesc& operand : problem.operands) {
    const uint64_t words = static_cast<uint64_t>(operand.dtype) | static_cast<uint64_t>(operand.storage) << 8 |
                           static_cast<uint64_t>(operand.layout) << 16 | uint64_t{operand.is_present} << 24 |
                           uint64_t{operand.other_layouts} << 32;
    hash = mixed(hash, words);
    if (!operand.shape) continue;
    for (const int64_t side : *operand.shape) hash = mixed(hash, static_cast<uint64_t>(side));
  }
  return hash;
}

bool are_of_one_variant(std::string_view a, std::string_view b) {
  return a.substr(0, a.find('/')) == b.substr(0, b.find('/'));
}

// Of kernels that take equally long, select() puts that first whose specialization its spec has first; recipes go by
// their ids.
bool comes_before(const Choice& a, const Choice& b) {
  return !a.recipe && a.launches.front().specialization < b.launches.front().specialization;
}

}  // namespace

KeptChoices::ByHash::const_iterator KeptChoices::find(uint64_t hash, const Problem& problem) const {
  const auto [first, last] = choices_.equal_range(hash);
  const auto known = std::find_if(first, last, [&](const auto& kept) { return *kept.second->problem == problem; });
  return known == last ? choices_.end() : known;
}

std::shared_ptr<const Choice> KeptChoices::find(const Problem& problem) const {
  const uint64_t hash = hash_of(problem);
  const std::shared_lock lock(mutex_);
  const auto known = find(hash, problem);
  return known == choices_.end() ? nullptr : known->second;
}

std::shared_ptr<const Choice> KeptChoices::keep(Choice choice) {
  const uint64_t hash = hash_of(*choice.problem);
  auto kept = std::make_shared<const Choice>(std::move(choice));
  const std::unique_lock lock(mutex_);
  if (const auto known = find(hash, *kept->problem); known != choices_.end()) choices_.erase(known);
  if (choices_.size() >= most_) choices_.clear();
  choices_.emplace(hash, kept);
  return kept;
}

// The fastest that is known, where times are of this very problem: nothing else needs to be looked at. nullopt: none of
// them fits, or the most trusted are of other problems, and only costs say how they compare.
std::optional<Choice> DecisionCache::fastest_known(const Problem& problem, const KernelTimes& times) const {
  std::vector<const KernelTimes::value_type*> known;
  for (const auto& time : times) known.push_back(&time);
  std::ranges::sort(known, {},
                    [](const auto* time) { return std::tuple(time->second.source, time->second.us, time->first); });
  std::optional<Choice> fastest;
  const auto is_scaled = [&](TimeSource source) {
    return std::ranges::any_of(
        known, [&](const auto* time) { return time->second.source == source && time->second.cost_us > 0; });
  };
  for (const auto* time : known) {
    const bool may_be_it = !fastest || (time->second.source == fastest->source && time->second.us == fastest->time_us &&
                                        are_of_one_variant(time->first, fastest->id));
    if (!may_be_it) break;
    if (is_scaled(time->second.source)) return std::nullopt;
    Selection selection =
        select(problem, device_, library_,
               {.force = std::string(time->first), .best_only = true, .best_or_nothing = true, .times = &times});
    if (selection.ranked.empty()) continue;
    Choice& choice = selection.ranked.front();
    if (!fastest || comes_before(choice, *fastest)) fastest = std::move(choice);
  }
  return fastest;
}

std::optional<Choice> DecisionCache::choose(const Problem& problem) const {
  const auto times = times_ ? times_->of(problem, device_) : nullptr;
  if (!times || times->empty()) return quick_.best(problem);
  if (auto known = fastest_known(problem, *times)) return known;
  Selection selection =
      select(problem, device_, library_, {.best_only = true, .best_or_nothing = true, .times = times.get()});
  return selection.ranked.empty() ? std::nullopt : std::optional(std::move(selection.ranked.front()));
}

std::shared_ptr<const Choice> DecisionCache::best(const Problem& problem) {
  if (auto known = kept_.find(problem)) return known;
  auto chosen = choose(problem);
  return chosen ? kept_.keep(*std::move(chosen)) : nullptr;
}

}  // namespace qgen
