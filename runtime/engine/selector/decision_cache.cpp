// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/selector/decision_cache.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "runtime/engine/library/blob_format.h"
#include "runtime/engine/selector/mixed.h"

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

std::shared_ptr<const Choice> DecisionCache::best(const Problem& problem) {
  if (auto known = kept_.find(problem)) return known;
  const auto times = times_ ? times_->of(problem, device_) : nullptr;
  Selection selection =
      select(problem, device_, library_, {.best_only = true, .best_or_nothing = true, .times = times.get()});
  return selection.ranked.empty() ? nullptr : kept_.keep(std::move(selection.ranked.front()));
}

KeptCall DecisionCache::find(std::span<const std::byte> arguments) const {
  const uint64_t hash = blob_format::checksum(arguments);
  const std::shared_lock lock(calls_mutex_);
  const auto [first, last] = calls_.equal_range(hash);
  const auto known =
      std::find_if(first, last, [&](const auto& row) { return std::ranges::equal(row.second.arguments, arguments); });
  return known == last ? KeptCall() : known->second.kept;
}

void DecisionCache::keep(std::span<const std::byte> arguments, KeptCall call) {
  const uint64_t hash = blob_format::checksum(arguments);
  const std::unique_lock lock(calls_mutex_);
  if (calls_.size() >= most_) calls_.clear();
  calls_.emplace(hash, CallRow{{arguments.begin(), arguments.end()}, std::move(call)});
}

}  // namespace qgen
