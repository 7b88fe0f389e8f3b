// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Chooses the kernels that a run of tests verifies. All of them would take hours: a driver needs 0.1 to 10 s to compile
// one, and milliseconds to run it.
//
//   KernelSample sample({.share = 0.02, .seed = 7});
//   verify(context, entry, request, judge, {.all_kernels = true, .sample = &sample});
//
// The rule. From the kernels of each combination of formats (request_formats.h) the sample takes
//   - the best kernel, if the formats are those of the request itself;
//   - a random share of all;
//   - as few others as have all traits that no kernel has had so far. Traits are an operator's variant axes with their
//     values ("q8ta_linear, 3rd part of the id: vec4"), its specializations ("workgroup 128"), its recipes, and the
//     storage and layout of each operand.
// So a run covers each template and each value of each axis that its requests can reach. Which of several kernels
// brings a trait depends on the seed too.
//
// Instead it takes everything (a share of 1), or all kernels of some families, in recipes too, and no others.
//
// Shards divide the work among processes: operator by operator if traits count, else combination by combination.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/selector/select.h"

namespace qgen::measure {

struct SampleOptions {
  double share = 1;   // of the kernels that bring no new trait: 0 to 1. 1: everything, and no trait counts
  uint64_t seed = 0;  // another seed, another sample
  uint32_t shard = 0, shards = 1;
  std::set<std::string, std::less<>> families;  // not empty: all kernels of these and no others, whatever the share
};

class KernelSample {
 public:
  explicit KernelSample(SampleOptions options) : options_(std::move(options)) {}

  // Begins the next combination of formats of a request. Whether it belongs to this shard; if not, it has no sampled
  // kernels.
  bool begin_formats(std::string_view op);
  // The sampled kernels of `ranked`, in the same order. They belong to the combination that was begun.
  std::vector<Choice> of(std::vector<Choice> ranked, bool is_as_it_stands);

  size_t traits() const { return met_.size(); }  // met so far
  const SampleOptions& options() const { return options_; }

 private:
  bool counts_traits() const { return options_.share < 1 && options_.families.empty(); }
  void take_for_traits(const std::vector<Choice>& ranked, std::vector<bool>& is_taken);
  void keep_new(std::vector<std::string>& traits) const;
  uint64_t random(uint64_t of) const;

  SampleOptions options_;
  std::set<std::string, std::less<>> met_;
  uint64_t ways_ = 0;
};

// Traits of a choice, for the rule above: "softmax 2 vec4", "softmax workgroup=128", "softmax input buffer strided".
std::vector<std::string> traits_of(const Choice& choice);

}  // namespace qgen::measure
