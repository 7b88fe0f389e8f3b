// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/tuner/relatives.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>
#include <string_view>

namespace qgen::tuner {
namespace {

constexpr int64_t kSmall = 16;  // a side up to this stays: a window, a group, a handful of rows

// "input=4096x64:i8=-8..7" in parts.
struct ShapeText {
  std::string name;  // "input="
  std::vector<int64_t> sides;
  std::string kind;  // ":i8=-8..7"
};

ShapeText parsed(std::string_view text) {
  const size_t equals = text.find('=') + 1;
  const size_t colon = std::min(text.find(':', equals), text.size());
  ShapeText made{std::string(text.substr(0, equals)), {}, std::string(text.substr(colon))};
  const char* at = text.data() + equals;
  const char* end = text.data() + colon;
  while (at < end) {
    int64_t side = 0;
    const auto [next, error] = std::from_chars(at, end, side);
    if (error != std::errc()) break;
    made.sides.push_back(side);
    at = next == end ? end : next + 1;
  }
  return made;
}

std::string text_of(const ShapeText& made) {
  return fmt::format("{}{}{}", made.name, fmt::join(made.sides, "x"), made.kind);
}

runner::RequestText with_sides(const runner::RequestText& request, const std::function<int64_t(int64_t)>& side_for) {
  runner::RequestText relative = request;
  for (std::string& shape : relative.shapes) {
    ShapeText made = parsed(shape);
    std::ranges::transform(made.sides, made.sides.begin(), side_for);
    shape = text_of(made);
  }
  return relative;
}

int64_t odd(int64_t side) { return side <= kSmall ? side : 9 + side * 5 % 7 * 2; }

// Divided by the same powers of two, as far as vectors, packed blocks and tiles go.
int64_t as_divisible(int64_t side) {
  for (const int64_t unit : {64, 16, 4}) {
    if (side > 3 * unit && side % unit == 0) return 3 * unit;
  }
  return side <= 4 * kSmall ? side : 4 * kSmall + side % 4 + 1;
}

// All that is as long along the first side as the first input, weights excepted (their first side is the result's
// channels), becomes short.
runner::RequestText with_few_rows(const runner::RequestText& request) {
  runner::RequestText relative = request;
  const ShapeText first = parsed(relative.shapes.front());
  if (first.sides.empty()) return relative;
  for (std::string& shape : relative.shapes) {
    ShapeText made = parsed(shape);
    const bool is_like_it = made.sides.size() == first.sides.size() && made.sides.front() == first.sides.front();
    if (is_like_it && !made.name.starts_with("weight")) made.sides.front() = std::min<int64_t>(made.sides.front(), 3);
    shape = text_of(made);
  }
  return relative;
}

int64_t quarter(int64_t side) { return (side + 3) / 4; }

// Of a convolution only its images shrink: channels that are grouped fit each other and nothing else. Where a residual
// has other sides than the input, by a stride, those stay in proportion.
runner::RequestText with_small_images(const runner::RequestText& request) {
  runner::RequestText relative = with_few_rows(request);
  const auto is_image = [](const ShapeText& made) {
    return made.sides.size() == 4 && !made.name.starts_with("weight");
  };
  std::set<int64_t> heights;
  for (const std::string& shape : relative.shapes) {
    if (const ShapeText made = parsed(shape); is_image(made)) heights.insert(made.sides[2]);
  }
  for (std::string& shape : relative.shapes) {
    ShapeText made = parsed(shape);
    if (!is_image(made)) continue;
    std::transform(made.sides.begin() + 2, made.sides.end(), made.sides.begin() + 2,
                   heights.size() == 1 ? odd : quarter);
    shape = text_of(made);
  }
  return relative;
}

}  // namespace

std::vector<runner::RequestText> relatives_of(const runner::RequestText& request) {
  if (request.shapes.empty()) return {};
  std::vector<runner::RequestText> relatives;
  for (auto&& relative : {with_sides(request, odd), with_sides(request, as_divisible), with_few_rows(request),
                          with_small_images(request)}) {
    const bool is_known = relative.shapes == request.shapes || std::ranges::any_of(relatives, [&](const auto& other) {
                            return other.shapes == relative.shapes;
                          });
    if (!is_known) relatives.push_back(relative);
  }
  return relatives;
}

double elements_of(const runner::RequestText& request) {
  double all = 0;
  for (const std::string& shape : request.shapes) {
    double elements = 1;
    for (const int64_t side : parsed(shape).sides) elements *= static_cast<double>(side);
    all += elements;
  }
  return all;
}

}  // namespace qgen::tuner
