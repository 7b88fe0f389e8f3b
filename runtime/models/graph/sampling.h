// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Draws tokens from logits that are on the device, by the operator `sample` (docs/reduction.md). Draw `index` of
// sequence `b` has the counter (b, index), and the seed is its key. So the same seed gives the same tokens, if the
// logits are the same.
//
//   auto sampler = Sampler::create(context, operators, logits);
//   const auto tokens = sampler->draw({.top_k = 40, .temperature = 0.8, .seed = 7}, index);
#pragma once

#include <memory>

#include "runtime/engine/calls/registry.h"
#include "runtime/engine/dispatch/round_trip.h"

namespace qgen::graph {

// Logits divided by less may be infinite in f32, and those divided by more are all the same.
constexpr double kLeastTemperature = 1e-6, kMostTemperature = 1e6;

struct Sampling {
  uint32_t top_k = 1;      // 1: the token with the largest logit. 0: all tokens
  double temperature = 1;  // from kLeastTemperature to kMostTemperature
  uint64_t seed = 0;

  bool is_greedy() const { return top_k == 1; }
};

class Sampler {
 public:
  // Of logits [B, V]. Errors: `operators` lacks `sample`, no kernel fits, and those of the device.
  static Expected<Sampler> create(Context& context, OperatorEntries operators, const DeviceTensor& logits);
  // A token of each sequence. Errors: those of the device.
  Expected<std::vector<int32_t>> draw(const Sampling& how, uint32_t index);
  bool is_of(const DeviceTensor& logits) const { return logits_ && logits_ == logits.shared_memory(); }

 private:
  Sampler(std::shared_ptr<const DeviceTensor::Memory> logits, std::vector<DeviceTensor> tensors, Recording recording,
          RoundTrip trip);

  std::shared_ptr<const DeviceTensor::Memory> logits_;
  std::vector<DeviceTensor> tensors_;  // the small inputs and the output
  Recording recording_;
  RoundTrip trip_;
};

}  // namespace qgen::graph
