// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/onnx/mask_effects.h"

#include <algorithm>
#include <utility>

namespace qgen::onnx {
namespace {

// Whether the mask keeps a score.
std::optional<bool> keeps(const Mask& mask, const Tensor& tensor, int64_t i) {
  if (mask.kind != Mask::Kind::added) return (tensor.integer(i) != 0) == (mask.kind == Mask::Kind::kept_where_true);
  const double value = is_real(tensor.type) ? double{tensor.real(i)} : static_cast<double>(tensor.integer(i));
  if (value != 0 && !(value <= kFilter)) return std::nullopt;
  return value == 0;
}

// Whether all scores are kept, or those of keys up to the row, less than `window` before it.
struct Kept {
  bool may_be_all = true, may_be_causal = true;
};
Kept kept_by(const Mask& mask, const SeenMask& seen, int64_t window) {
  const int64_t rows = seen.rows, keys = seen.keys, own_rows = seen.sides[2], own_keys = seen.sides[3];
  const int64_t matrices = seen.sides[0] * seen.sides[1];
  constexpr int64_t kMostScores = 1 << 26;
  if (matrices > 0 && keys > 0 && rows > kMostScores / matrices / keys) return {false, false};
  Kept kept;
  for (int64_t m = 0; m < matrices; ++m) {
    for (int64_t s = 0; s < rows; ++s) {
      for (int64_t t = 0; t < keys; ++t) {
        const int64_t i = (m * own_rows + (own_rows == 1 ? 0 : s)) * own_keys + (own_keys == 1 ? 0 : t);
        const auto is_kept = keeps(mask, *seen.tensor, i);
        if (!is_kept) return {false, false};
        const int64_t distance = keys - rows + s - t;
        kept.may_be_all = kept.may_be_all && *is_kept;
        kept.may_be_causal = kept.may_be_causal && *is_kept == (distance >= 0 && distance < window);
        if (!kept.may_be_all && !kept.may_be_causal) return kept;
      }
    }
  }
  return kept;
}

// How many keys the first row sees, if it does not see the first key.
int64_t window_of_first_row(const Mask& mask, const SeenMask& seen) {
  if (seen.sides[3] != seen.keys || seen.tensor->size() < seen.keys) return kNoWindow;
  int64_t first = 0;
  while (first < seen.keys && keeps(mask, *seen.tensor, first) == false) ++first;
  return first == 0 || first > seen.past() ? kNoWindow : seen.past() - first + 1;
}

// [batches, heads, rows, keys] of a mask. nullopt: rows or keys are not those of the scores. In a trial with more keys
// than a table of the model has, the mask has fewer of them.
std::optional<Shape> sides_of(const Mask& mask, const Shape& shape, const Shape& scores, int64_t heads) {
  if (shape.size() > 4 || scores.size() < 2) return std::nullopt;
  Shape sides = shape;
  if (mask.is_flat) {
    if (shape.size() != 3 || heads < 1 || shape[0] % heads != 0) return std::nullopt;
    sides = {shape[0] / heads, heads, shape[1], shape[2]};
  }
  sides.insert(sides.begin(), 4 - sides.size(), 1);
  for (size_t d = 1; d <= 2; ++d) {
    if (sides[4 - d] != 1 && sides[4 - d] != scores[scores.size() - d]) return std::nullopt;
  }
  return sides;
}

}  // namespace

// One mask in several trials.
class MaskReader::Look {
 public:
  Look(Rewriter& rewriter, const Mask& mask, const Node& product, int64_t heads)
      : rewriter_(rewriter), mask_(mask), product_(product), heads_(heads) {}

  // False: the mask is not known there.
  bool at(const Trial& trial) {
    const TensorPtr tensor = trial.value(mask_.value);
    const auto scores = trial.shape(product_.outputs[0]);
    if (!tensor || !scores || (mask_.kind != Mask::Kind::added && is_real(tensor->type))) return false;
    const auto sides = sides_of(mask_, tensor->shape, *scores, heads_);
    if (!sides) return false;
    seen_.push_back({tensor, *sides, (*scores)[scores->size() - 2], scores->back()});
    return true;
  }
  bool at_all() {
    return std::ranges::all_of(rewriter_.trials(), [&](const Trial& trial) { return at(trial); });
  }
  // With so many keys at least.
  bool at_longer(int64_t keys) {
    for (const TrialSize& size : {TrialSize{1, 2, keys}, TrialSize{1, keys, 0}}) {
      const Trial* trial = rewriter_.trial_of(size, mask_.is_flat || has_heads() ? heads_ : 1);
      if (!trial || !at(*trial)) continue;
      if (seen_.back().keys >= keys) return true;
      seen_.pop_back();
    }
    return false;
  }
  const std::vector<SeenMask>& seen() const { return seen_; }

  bool has_other_sides() const {
    return std::ranges::any_of(
        seen_, [&](const SeenMask& one) { return one.keys != seen_.front().keys || one.rows != seen_.front().rows; });
  }

  // The input of which the mask has each element for all heads and rows.
  std::optional<Effect> of_input() {
    const Rewriter::Sources sources = rewriter_.sources(mask_.value);
    constexpr int64_t kMostColumns = 1 << 16;
    if (sources.inputs.size() != 1 || sources.largest > kMostColumns) return std::nullopt;
    Effect effect{.does = Does::reads_input, .input = *sources.inputs.begin()};
    bool is_first = true;
    for (size_t i = 0; i < seen_.size(); ++i) {
      if (!reads(rewriter_.trials()[i], seen_[i], effect, is_first)) return std::nullopt;
    }
    // A mask that is limited would show in a trial with more columns than any constant says.
    const Trial* longer = rewriter_.trial_of({.rows = 2, .past = 3, .others = sources.largest});
    const bool is_whole = longer && at(*longer) && reads(*longer, seen_.back(), effect, is_first);
    return is_whole ? std::optional(effect) : std::nullopt;
  }

 private:
  bool has_heads() const { return !seen_.empty() && seen_.front().sides[1] > 1; }

  // Whether the mask has the input's elements. `is_first`: the effect gets what its zeros do.
  bool reads(const Trial& trial, const SeenMask& seen, Effect& effect, bool& is_first) const {
    const TensorPtr input = trial.value(effect.input);
    const Shape& sides = seen.sides;
    if (!input || is_real(input->type) || input->shape != Shape{sides[0], seen.keys} || sides[3] != seen.keys)
      return false;
    bool has_zero = false;
    for (int64_t i = 0; i < seen.tensor->size(); ++i) {
      const int64_t key = i % sides[3], batch = i / (sides[1] * sides[2] * sides[3]);
      const auto is_kept = keeps(mask_, *seen.tensor, i);
      const bool is_zero = input->integer(batch * seen.keys + key) == 0;
      has_zero = has_zero || is_zero;
      if (!is_kept) return false;
      if (std::exchange(is_first, false)) effect.sees_zeros = *is_kept == is_zero;
      if (*is_kept != (is_zero == effect.sees_zeros)) return false;
      if (*is_kept || mask_.kind != Mask::Kind::added) continue;
      const double value = double{seen.tensor->real(i)};
      if (effect.fill != 0 && value != effect.fill) return false;
      effect.fill = value;
    }
    return has_zero;
  }

  Rewriter& rewriter_;
  const Mask& mask_;
  const Node& product_;
  int64_t heads_;
  std::vector<SeenMask> seen_;
};

const Effect& MaskReader::effect_of(const Mask& mask, const Node& product, int64_t heads) {
  const auto key = std::tuple(mask.kind, mask.value);
  const auto found = effects_.find(key);
  if (found != effects_.end()) return found->second;
  return effects_.emplace(key, found_effect(mask, product, heads)).first->second;
}

Effect MaskReader::found_effect(const Mask& mask, const Node& product, int64_t heads) {
  Look look(rewriter_, mask, product, heads);
  if (!look.at_all()) return {};
  if (Look of_columns = look; auto effect = of_columns.of_input()) return *std::move(effect);
  Effect effect;
  const int64_t largest = rewriter_.sources(mask.value).largest;
  // A window shows in a trial with more keys than any constant says. A table of a mask ends before.
  if (look.has_other_sides() || rewriter_.depends_on_past(mask.value)) {
    if (largest > kMostKeys) return {};
    if (!look.at_longer(largest + 3) && (largest < 3 || !look.at_longer(largest - 2))) return {};
    effect.window = window_of_first_row(mask, look.seen().back());
  }
  Kept kept;
  for (const SeenMask& seen : look.seen()) {
    const Kept here = kept_by(mask, seen, effect.window);
    kept = {kept.may_be_all && here.may_be_all, kept.may_be_causal && here.may_be_causal};
  }
  effect.does = kept.may_be_all ? Does::nothing : kept.may_be_causal ? Does::is_causal : Does::other;
  if (effect.does != Does::other || mask.kind != Mask::Kind::added) return effect;
  constexpr int64_t kManyKeys = 4096;  // of relative positions, the far ones are all alike
  if (largest < kManyKeys) look.at_longer(kManyKeys);
  effect.bias = position_bias_of(look.seen());
  if (effect.bias) effect.does = Does::is_bias;
  return effect;
}

Mask MaskReader::of_positions(const Mask& mask, const Effect& effect) {
  const auto written = std::ranges::find(biases_, *effect.bias, &std::pair<PositionBias, std::string>::first);
  if (written != biases_.end()) return {.value = written->second, .factor = mask.factor};
  const bool has_other_input = biases_.empty() && rewriter_.input(kKeyPositions);
  const auto value = has_other_input ? std::nullopt : add_position_bias(rewriter_, *effect.bias);
  if (!value) return mask;
  biases_.emplace_back(*effect.bias, *value);
  return {.value = *value, .factor = mask.factor};
}

Mask MaskReader::of_input(const Mask& mask, const Effect& effect) {
  std::string& value = reads_[effect.input];
  if (value.empty()) {
    const std::string wider = rewriter_.add("Reshape", {effect.input, rewriter_.add_list({0, 1, 1, -1})});
    value = rewriter_.add("Cast", {wider}, {{"to", int64_t{9}}});  // to booleans
  }
  Mask other{.kind = effect.sees_zeros ? Mask::Kind::kept_where_false : Mask::Kind::kept_where_true,
             .value = value,
             .fill = mask.fill,
             .factor = mask.factor};
  if (mask.kind == Mask::Kind::added) other.fill = constant_like(mask.value, effect.fill);
  return other;
}

// A number that the value has.
std::string MaskReader::constant_like(const std::string& value, double number) {
  const TensorPtr like = rewriter_.trials().front().value(value);
  const auto size = static_cast<size_t>(bytes(like->type));
  Tensor constant{"", like->type, {}, {}};
  for (int64_t i = 0; i < like->size() && constant.data.empty(); ++i) {
    if (double{like->real(i)} != number) continue;
    const auto element = std::span(like->data).subspan(static_cast<size_t>(i) * size, size);
    constant.data.assign(element.begin(), element.end());
  }
  return rewriter_.add_constant(std::move(constant));
}

}  // namespace qgen::onnx
