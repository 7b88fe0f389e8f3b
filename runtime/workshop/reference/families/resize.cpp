// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// docs/resize.md as plain loops. Places are fractions; to find a pixel they are rounded as integers.
#include <algorithm>

#include "runtime/engine/calls/attributes.h"
#include "runtime/workshop/reference/float32.h"
#include "runtime/workshop/reference/rows.h"
#include "words.h"

namespace qgen::reference {
namespace {

using generated::words::CoordinateMode;
using generated::words::NearestMode;
using generated::words::ResizeMode;

struct Fraction {
  int64_t numerator, denominator;  // the latter above 0
};

int64_t floor_of(const Fraction& f) {
  const int64_t rest = f.numerator % f.denominator;
  return f.numerator / f.denominator - (rest < 0 ? 1 : 0);
}
int64_t ceil_of(const Fraction& f) { return -floor_of({-f.numerator, f.denominator}); }
// With a half added or subtracted.
Fraction with_half(const Fraction& f, int64_t sign) {
  return {2 * f.numerator + sign * f.denominator, 2 * f.denominator};
}

Fraction place_of(CoordinateMode mode, int64_t place, int64_t side, int64_t made) {
  switch (mode) {
    case CoordinateMode::half_pixel: return with_half({(2 * place + 1) * side, 2 * made}, -1);
    case CoordinateMode::align_corners: return made == 1 ? Fraction{0, 1} : Fraction{place * (side - 1), made - 1};
    case CoordinateMode::asymmetric: return {place * side, made};
  }
  return {0, 1};
}

int64_t nearest_to(NearestMode mode, const Fraction& place) {
  switch (mode) {
    case NearestMode::round_prefer_floor: return ceil_of(with_half(place, -1));
    case NearestMode::round_prefer_ceil: return floor_of(with_half(place, 1));
    case NearestMode::floor: return floor_of(place);
    case NearestMode::ceil: return ceil_of(place);
  }
  return 0;
}

// Two pixels along a dimension, and the weight of the second.
struct Pair {
  int64_t first, second;
  float weight;
};

Pair nearest_pair(NearestMode mode, const Fraction& place, int64_t side) {
  const int64_t pixel = std::clamp<int64_t>(nearest_to(mode, place), 0, side - 1);
  return {pixel, pixel, 0};
}

Pair linear_pair(const Fraction& place, int64_t side) {
  const Fraction inside{std::max<int64_t>(place.numerator, 0), place.denominator};
  const int64_t first = floor_of(inside);
  const float weight = static_cast<float>(inside.numerator - first * inside.denominator) *
                       (1.0f / static_cast<float>(inside.denominator));
  return {std::min(first, side - 1), std::min(first + 1, side - 1), weight};
}

float between(float first, float second, float weight) {
  return flushed(first + product(weight, flushed(second - first)));
}

Tensors resize(const Request& request, ResizeMode mode) {
  const HostTensor& input = request.inputs.at("input");
  const auto sizes = attribute<std::vector<int64_t>>(request, "sizes");
  const auto coordinates =
      word_attribute<CoordinateMode>(request, "coordinate_mode", generated::words::kCoordinateMode);
  const auto nearest = word_attribute<NearestMode>(request, "nearest_mode", generated::words::kNearestMode);
  const int64_t height = input.shape[2], width = input.shape[3];
  const auto pair_of = [&](int64_t place, int64_t side, int64_t made) {
    const Fraction at = place_of(coordinates, place, side, made);
    return mode == ResizeMode::linear ? linear_pair(at, side) : nearest_pair(nearest, at, side);
  };
  HostTensor output = zeros(input.dtype, {input.shape[0], input.shape[1], sizes[0], sizes[1]});
  for (int64_t i = 0; i < element_count(output.shape); ++i) {
    const Pair x = pair_of(i % sizes[1], width, sizes[1]);
    const Pair y = pair_of(i / sizes[1] % sizes[0], height, sizes[0]);
    const int64_t plane = i / sizes[1] / sizes[0];
    const auto pixel = [&](int64_t row, int64_t column) {
      return flushed(static_cast<float>(element(input, (plane * height + row) * width + column)));
    };
    const auto along_x = [&](int64_t row) { return between(pixel(row, x.first), pixel(row, x.second), x.weight); };
    const bool is_one = mode == ResizeMode::nearest;
    set_element(
        output, i,
        static_cast<double>(is_one ? pixel(y.first, x.first) : between(along_x(y.first), along_x(y.second), y.weight)));
  }
  return {{"output", std::move(output)}};
}

Tensors resize2d(const Request& request) {
  return resize(request, word_attribute<ResizeMode>(request, "mode", generated::words::kResizeMode));
}
Tensors q8ta_resize2d(const Request& request) { return resize(request, ResizeMode::nearest); }

}  // namespace

std::span<const Row> resize_rows() {
  static constexpr Row kRows[] = {
      {"q8ta_resize2d", q8ta_resize2d},
      {"resize2d", resize2d},
  };
  return kRows;
}

}  // namespace qgen::reference
