// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Draws a token from logits. The same seed gives the same tokens on every machine, if the logits are the same.
//
//   sampled(logits, {.top_k = 40, .temperature = 0.8, .seed = 7}, sequence, index)
//
// The generator is SplitMix64 without a state (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
// 2014). Number `index` of sequence `sequence` is
//
//   z = seed + sequence * 2^32 + index
//   z = (z + 1) * 0x9e3779b97f4a7c15
//   z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9
//   z = (z ^ z >> 27) * 0x94d049bb133111eb
//   u = ((z ^ z >> 31) >> 11) * 2^-53               from 0 up to 1, without 1
//
// The top_k largest logits are sorted, the largest first, and of equal ones the lower token first. Each gets the weight
// exp((logit - largest) / temperature), in f64. The first token whose weight, with those before it, is above u times
// the sum of all is drawn. A NaN is never drawn, unless all logits are NaN: then the token is 0.
#pragma once

#include <cstdint>
#include <span>

namespace qgen::graph {

struct Sampling {
  uint32_t top_k = 1;      // 1: the token with the largest logit. 0: all tokens
  double temperature = 1;  // above 0
  uint64_t seed = 0;

  bool is_greedy() const { return top_k == 1; }
};

int32_t sampled(std::span<const double> logits, const Sampling& how, uint64_t sequence, uint64_t index);

}  // namespace qgen::graph
