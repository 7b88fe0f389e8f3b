// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/onnx/position_bias.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace qgen::onnx {

double SeenMask::at(int64_t batch, int64_t head, int64_t row, int64_t key) const {
  int64_t index = 0;
  const std::array places{batch, head, row, key};
  for (size_t d = 0; d < places.size(); ++d) index = index * sides[d] + (sides[d] == 1 ? 0 : places[d]);
  return double{tensor->real(index)};
}

namespace {

using Seen = std::span<const SeenMask>;

int64_t heads_of(Seen seen) {
  int64_t heads = 1;
  for (const SeenMask& one : seen) heads = std::max(heads, one.sides[1]);
  return heads;
}

// Real numbers of one type, as many heads, and all batches the same.
bool are_alike(Seen seen) {
  const int64_t heads = heads_of(seen);
  return std::ranges::all_of(seen, [&](const SeenMask& one) {
    const ElementType type = one.tensor->type;
    const bool fits = type == seen.front().tensor->type && (type == ElementType::f32 || type == ElementType::f16) &&
                      (one.sides[1] == 1 || one.sides[1] == heads) && one.past() >= 0 && one.tensor->size() > 0;
    if (!fits) return false;
    const auto of_batch = one.tensor->data.size() / static_cast<size_t>(one.sides[0]);
    const auto first = std::span(one.tensor->data).first(of_batch);
    for (size_t b = 1; b < static_cast<size_t>(one.sides[0]); ++b) {
      if (!std::ranges::equal(first, std::span(one.tensor->data).subspan(b * of_batch, of_batch))) return false;
    }
    return true;
  });
}

const SeenMask& longest(Seen seen) {
  return *std::ranges::max_element(seen, {}, [](const SeenMask& one) { return one.keys; });
}

// Later keys of a row may have the bias too, or none of them is seen.
struct Later {
  bool are_biased = false, are_hidden = false;
};

// Whether the scores of one head get slope * t more, and one number; or slope * (t - p), and a number for each row.
bool is_linear(const SeenMask& one, int64_t head, double slope, std::optional<double> of_all, Later& later) {
  const double precision = one.tensor->type == ElementType::f16 ? 1.0 / (1 << 10) : 1.0 / (1 << 20);
  for (int64_t s = 0; s < one.rows; ++s) {
    const int64_t own = one.past() + s;
    const double base = of_all ? *of_all : one.at(0, head, s, own);
    for (int64_t t = 0; t < one.keys; ++t) {
      const double value = one.at(0, head, s, t), expected = base + slope * static_cast<double>(of_all ? t : t - own);
      const double size = std::max({std::abs(expected), std::abs(base), std::abs(slope) * static_cast<double>(own)});
      const bool is_near = std::abs(value - expected) <= precision * size;
      if (t > own) {
        later.are_biased = later.are_biased || is_near;
        later.are_hidden = later.are_hidden || !is_near;
      }
      if (!is_near && (t <= own || !(value <= kFilter))) return false;
    }
  }
  return true;
}

std::optional<PositionBias> linear(Seen seen, bool is_of_distance) {
  PositionBias bias{.type = seen.front().tensor->type, .is_of_distance = is_of_distance, .heads = heads_of(seen)};
  const SeenMask& most = longest(seen);
  const int64_t row = most.rows - 1, own = most.keys - 1;
  Later later;
  for (int64_t n = 0; n < bias.heads; ++n) {
    // Neighbours whose bias is small are the most precise ones.
    const int64_t key = is_of_distance ? own : 1;
    if (own < 1) return std::nullopt;
    const double slope = most.at(0, n, row, key) - most.at(0, n, row, key - 1);
    const auto of_all = is_of_distance ? std::nullopt : std::optional(most.at(0, n, row, 0));
    for (const SeenMask& one : seen) {
      if (!is_linear(one, n, slope, of_all, later)) return std::nullopt;
    }
    bias.slopes.push_back(static_cast<float>(slope));
  }
  if (later.are_biased && later.are_hidden) return std::nullopt;
  if (std::ranges::all_of(bias.slopes, [](float slope) { return slope == 0; })) return std::nullopt;
  bias.hides_later = later.are_hidden;
  return bias;
}

// The first distance from which on a row of the trial has the same number in each head.
int64_t last_distance(const SeenMask& one, int64_t heads) {
  const int64_t row = one.rows - 1, own = one.keys - 1;
  int64_t last = own;
  const auto is_as_next = [&](int64_t distance) {
    for (int64_t n = 0; n < heads; ++n) {
      if (one.at(0, n, row, own - distance) != one.at(0, n, row, own - distance - 1)) return false;
    }
    return true;
  };
  while (last > 0 && is_as_next(last - 1)) --last;
  return last;
}

std::optional<PositionBias> of_distances(Seen seen) {
  PositionBias bias{.type = seen.front().tensor->type, .is_of_distance = true, .heads = heads_of(seen)};
  const SeenMask& most = longest(seen);
  const int64_t last = last_distance(most, bias.heads), count = last + 1;
  // Intervals of distances that have one number become longer with the distance. A next one would show here.
  constexpr int64_t kLonger = 4, kMostElements = 1 << 20;
  if (count > most.keys / kLonger || bias.heads > kMostElements / count) return std::nullopt;
  for (int64_t n = 0; n < bias.heads; ++n) {
    for (int64_t d = 0; d < count; ++d)
      bias.distances.push_back(static_cast<float>(most.at(0, n, most.rows - 1, most.keys - 1 - d)));
  }
  // A row that does not see its own key may see none at all, which attention takes for something else.
  for (int64_t n = 0; n < bias.heads; ++n) {
    if (bias.distances[static_cast<size_t>(n * count)] <= kFilter) return std::nullopt;
  }
  bool are_hidden = true, has_later = false;
  for (const SeenMask& one : seen) {
    for (int64_t n = 0; n < bias.heads; ++n) {
      for (int64_t s = 0; s < one.rows; ++s) {
        const int64_t own = one.past() + s;
        for (int64_t t = 0; t <= own; ++t) {
          const auto place = static_cast<size_t>(n * count + std::min(own - t, last));
          if (one.at(0, n, s, t) != double{bias.distances[place]}) return std::nullopt;
        }
        for (int64_t t = own + 1; t < one.keys; ++t) are_hidden = are_hidden && one.at(0, n, s, t) <= kFilter;
        has_later = has_later || own + 1 < one.keys;
      }
    }
  }
  bias.hides_later = has_later && are_hidden;
  return bias;
}

// ---- writing it -----------------------------------------------------------------------------------------------------

Tensor reals(const std::vector<float>& values, Shape shape) {
  return tensor_of<float>(ElementType::f32, std::move(shape), std::span(values));
}

std::string number(Rewriter& rewriter, int64_t value) {
  return rewriter.add_constant(tensor_of<int64_t>(ElementType::i64, {}, std::span(&value, 1)));
}

std::string cast(Rewriter& rewriter, const std::string& value, ElementType type) {
  const int64_t to = type == ElementType::f16 ? 10 : 1;  // ONNX's numbers of f16 and f32
  return rewriter.add("Cast", {value}, {{"to", to}});
}

// [B, 1, S, 1]
std::string rows(Rewriter& rewriter) {
  return rewriter.add("Reshape", {std::string(kPositions), rewriter.add_list({0, 1, -1, 1})});
}

// [N, 1, T] of keys, and [B, N, S, T] of distances. The products are f32: f16 has no integers above 2,048.
std::string add_slopes(Rewriter& rewriter, const PositionBias& bias) {
  const std::string keys(kKeyPositions);
  const std::string places = bias.is_of_distance ? rewriter.add("Sub", {keys, rows(rewriter)}) : keys;
  const std::string slopes = rewriter.add_constant(reals(bias.slopes, {bias.heads, 1, 1}));
  const std::string product = rewriter.add("Mul", {cast(rewriter, places, ElementType::f32), slopes});
  return bias.type == ElementType::f32 ? product : cast(rewriter, product, bias.type);
}

// The distances of all heads are one list. Later keys, which are not seen, are as the row's own.
std::string add_distances(Rewriter& rewriter, const PositionBias& bias) {
  const int64_t count = std::ssize(bias.distances) / bias.heads;
  const std::string distance = rewriter.add("Sub", {rows(rewriter), std::string(kKeyPositions)});
  const std::string none = number(rewriter, 0), last = number(rewriter, count - 1);
  std::string place = rewriter.add("Min", {rewriter.add("Max", {distance, none}), last});
  if (bias.heads > 1) {
    std::vector<int64_t> firsts;
    for (int64_t n = 0; n < bias.heads; ++n) firsts.push_back(n * count);
    const Shape shape{bias.heads, 1, 1};
    place = rewriter.add("Add", {place, rewriter.add_constant(tensor_of<int64_t>(ElementType::i64, shape, firsts))});
  }
  const std::string table = rewriter.add_constant(reals(bias.distances, {std::ssize(bias.distances)}));
  const std::string value = rewriter.add("Gather", {table, place}, {{"axis", int64_t{0}}});
  return bias.type == ElementType::f32 ? value : cast(rewriter, value, bias.type);
}

}  // namespace

std::optional<PositionBias> position_bias_of(Seen seen) {
  if (seen.empty() || !are_alike(seen)) return std::nullopt;
  if (auto bias = linear(seen, false)) return bias;
  auto bias = linear(seen, true);
  // A bias of keys is computed once, for all tokens. f16 is too coarse for those of long sequences.
  if (bias && bias->type == ElementType::f32) bias->is_of_distance = false;
  return bias ? bias : of_distances(seen);
}

std::optional<std::string> add_position_bias(Rewriter& rewriter, const PositionBias& bias) {
  const ValueInfo* tokens = rewriter.input(kTokens);
  if (bias.is_of_distance && (!tokens || !tokens->shape || !rewriter.has_input(kPositions, *tokens->shape)))
    return std::nullopt;
  if (!rewriter.has_input(kKeyPositions, {{0, std::string(kKeyPositions)}})) return std::nullopt;
  return bias.distances.empty() ? add_slopes(rewriter, bias) : add_distances(rewriter, bias);
}

}  // namespace qgen::onnx
