// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/selector/decision_cache.h"

#include <mutex>

#include "runtime/library/blob_format.h"

namespace qgen {
namespace {

uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

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

std::shared_ptr<const Choice> DecisionCache::find(uint64_t hash, const Problem& problem) const {
  const auto [first, last] = decisions_.equal_range(hash);
  for (auto known = first; known != last; ++known) {
    if (*known->second->problem == problem) return known->second;
  }
  return nullptr;
}

std::optional<Choice> DecisionCache::choose(const Problem& problem) const {
  const auto times = times_ ? times_->of(problem, device_) : nullptr;
  if (!times || times->empty()) return quick_.best(problem);
  Selection selection =
      select(problem, device_, library_, {.best_only = true, .best_or_nothing = true, .times = times.get()});
  return selection.ranked.empty() ? std::nullopt : std::optional(std::move(selection.ranked.front()));
}

std::shared_ptr<const Choice> DecisionCache::best(const Problem& problem) {
  const uint64_t hash = hash_of(problem);
  {
    const std::shared_lock lock(mutex_);
    if (auto known = find(hash, problem)) return known;
  }
  auto chosen = choose(problem);
  if (!chosen) return nullptr;
  auto choice = std::make_shared<const Choice>(*std::move(chosen));
  const std::unique_lock lock(mutex_);
  if (auto known = find(hash, problem)) return known;  // another thread was here
  if (decisions_.size() >= most_) decisions_.clear();
  decisions_.emplace(hash, choice);
  return choice;
}

}  // namespace qgen
