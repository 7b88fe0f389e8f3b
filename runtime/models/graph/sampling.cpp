// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/graph/sampling.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace qgen::graph {
namespace {

double uniform(uint64_t seed, uint64_t sequence, uint64_t index) {
  uint64_t z = seed + (sequence << 32) + index;
  z = (z + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

// The tokens with the largest logits, the largest first.
std::vector<size_t> largest(std::span<const double> logits, size_t count) {
  std::vector<size_t> tokens;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!std::isnan(logits[i])) tokens.push_back(i);
  }
  count = count == 0 ? tokens.size() : std::min(count, tokens.size());
  const auto is_before = [&](size_t a, size_t b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; };
  std::ranges::partial_sort(tokens, tokens.begin() + static_cast<ptrdiff_t>(count), is_before);
  tokens.resize(count);
  return tokens;
}

}  // namespace

int32_t sampled(std::span<const double> logits, const Sampling& how, uint64_t sequence, uint64_t index) {
  const std::vector<size_t> tokens = largest(logits, how.top_k);
  if (tokens.empty()) return 0;
  const double most = logits[tokens.front()];
  std::vector<double> sums;
  double sum = 0;
  for (const size_t token : tokens)
    sums.push_back(sum += logits[token] == most ? 1 : std::exp((logits[token] - most) / how.temperature));
  const auto drawn = std::ranges::upper_bound(sums, uniform(how.seed, sequence, index) * sum);
  const auto place = std::min<ptrdiff_t>(drawn - sums.begin(), std::ssize(sums) - 1);
  return static_cast<int32_t>(tokens[static_cast<size_t>(place)]);
}

}  // namespace qgen::graph
