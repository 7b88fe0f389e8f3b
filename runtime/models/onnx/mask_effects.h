// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What masks do to the scores of attention. It is found by their values in trials of several sizes (trial.h), and not by
// the nodes that compute them.
#pragma once

#include <limits>

#include "runtime/models/onnx/position_bias.h"

namespace qgen::onnx {

struct Mask {
  // What a score becomes: its sum with the value; or `fill` where the value, of booleans, is false, or is true.
  enum class Kind : uint8_t { added, kept_where_true, kept_where_false };
  Kind kind = Kind::added;
  std::string value, fill = {};
  bool is_flat = false;  // batches and heads are one dimension
  double factor = 1;     // of what is added; above 0
};

// In all trials.
enum class Does : uint8_t {
  nothing,
  is_causal,
  is_bias,      // of positions
  reads_input,  // one of the model, [batches, keys]: keys with a 0 there are not seen, or all others are not
  other
};
constexpr int64_t kNoWindow = std::numeric_limits<int64_t>::max();

struct Effect {
  Does does = Does::other;
  int64_t window = kNoWindow;
  std::optional<PositionBias> bias = {};
  // Of one that reads an input.
  std::string input = {};
  bool sees_zeros = false;
  double fill = 0;  // of an added one, where no key is seen
};

class MaskReader {
 public:
  explicit MaskReader(Rewriter& rewriter) : rewriter_(rewriter) {}

  // `product`: of queries and keys, of so many heads.
  const Effect& effect_of(const Mask& mask, const Node& product, int64_t heads);
  // The same mask in nodes that need not know how many tokens are cached, or of the input alone. The mask itself, if there
  // are none.
  Mask of_positions(const Mask& mask, const Effect& effect);
  Mask of_input(const Mask& mask, const Effect& effect);

 private:
  class Look;
  Effect found_effect(const Mask& mask, const Node& product, int64_t heads);
  std::string constant_like(const std::string& value, double number);

  Rewriter& rewriter_;
  std::map<std::tuple<Mask::Kind, std::string>, Effect> effects_;
  std::vector<std::pair<PositionBias, std::string>> biases_;  // that were written
  std::map<std::string, std::string> reads_;                  // inputs as booleans [batches, 1, 1, keys]
};

}  // namespace qgen::onnx
