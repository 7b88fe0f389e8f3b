// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Sums that models without rotary embeddings give to scores: a number for each head, and for the position of the key or
// its distance from the row. If the caches are states, the model's own nodes cannot compute it, since they need to know
// how many tokens are cached. So it is recognised by its values in trials (trial.h), and written anew:
//
//   slope * t, or slope * (t - p)         ALiBi: BLOOM, MPT                   Mul of kKeyPositions
//   table[min(p - t, last distance)]      relative positions: T5              Gather at kPositions - kKeyPositions
//
// t is the position of the key, and p that of the row. The Softmax does not change if a row of scores gets the same number
// more, so the first two are one.
#pragma once

#include <span>

#include "runtime/models/onnx/rewriter.h"

namespace qgen::onnx {

// A mask in one trial. Each of its sides may be 1.
struct SeenMask {
  TensorPtr tensor;
  Shape sides;                 // batches, heads, rows, keys
  int64_t rows = 0, keys = 0;  // of the scores

  int64_t past() const { return keys - rows; }
  double at(int64_t batch, int64_t head, int64_t row, int64_t key) const;
};

struct PositionBias {
  ElementType type = ElementType::f32;
  std::vector<float> slopes = {};     // of each head, or one for all
  bool is_of_distance = false;        // else slopes are of keys
  std::vector<float> distances = {};  // of each head from 0 up, instead of slopes
  int64_t heads = 1;
  bool hides_later = false;  // later keys are not seen

  bool operator==(const PositionBias&) const = default;
};

// nullopt: the mask is something else, in one of the trials.
std::optional<PositionBias> position_bias_of(std::span<const SeenMask> seen);

// A value that is the bias of all keys up to the capacity. nullopt: inputs that it needs have names of other values.
std::optional<std::string> add_position_bias(Rewriter& rewriter, const PositionBias& bias);

}  // namespace qgen::onnx
