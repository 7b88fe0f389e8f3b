// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/selector/kernel_costs.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace qgen::selector {
namespace {

constexpr size_t kWord = 8;  // bytes, of terms and of what is aligned

size_t aligned(size_t bytes) { return (bytes + kWord - 1) / kWord * kWord; }

bool are_alike(const std::byte* a, const std::byte* b, std::span<const uint16_t> words) {
  return std::ranges::all_of(words, [&](uint16_t word) { return std::memcmp(a + word, b + word, kWord) == 0; });
}

}  // namespace

// Few differ, so that each is compared with all.
uint32_t KernelCosts::place_of(std::span<const std::byte> terms, const SharedTerms& shared,
                               Different& different) const {
  for (uint32_t place = 0; place < different.count; ++place) {
    if (are_alike(different.terms.data() + place * terms.size(), terms.data(), shared.read)) return place;
  }
  different.terms.insert(different.terms.end(), terms.begin(), terms.end());
  return different.count++;
}

void KernelCosts::add(std::span<const std::byte> terms) {
  assert(terms.size() == cost_->terms_bytes && "terms are of this cost");
  terms_.insert(terms_.end(), terms.begin(), terms.end());
  ++count_;
  for (size_t i = 0; i < shared_.size(); ++i) places_.push_back(place_of(terms, cost_->shared[i], shared_[i]));
}

void KernelCosts::find(const SelectionScope& scope, FoundCosts& found) const {
  size_t bytes = 0;
  for (size_t i = 0; i < shared_.size(); ++i) bytes += aligned(shared_[i].count * cost_->shared[i].bytes);
  if (found.shared.size() < bytes) found.shared.resize(bytes);
  found.shared_begin.clear();
  std::byte* to = found.shared.data();
  for (size_t i = 0; i < shared_.size(); ++i) {
    cost_->shared[i].find(scope, shared_[i].terms.data(), shared_[i].count, to);
    found.shared_begin.push_back(to);
    to += aligned(shared_[i].count * cost_->shared[i].bytes);
  }
  found.costs.resize(count_);
  cost_->costs(scope, {terms_.data(), count_, places_.data(), found.shared_begin.data()}, found.costs.data());
}

}  // namespace qgen::selector
