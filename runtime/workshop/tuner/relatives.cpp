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

namespace {

double elements_of(const ShapeText& tensor) {
  double elements = 1;
  for (const int64_t side : tensor.sides) elements *= static_cast<double>(side);
  return elements;
}

double bytes_of(const ShapeText& tensor) {
  const std::string_view dtype = std::string_view(tensor.kind).substr(0, tensor.kind.find('='));
  const double each = dtype == ":f32" || dtype == ":i32" ? 4 : (dtype == ":f16" ? 2 : 1);
  return each * elements_of(tensor);
}

bool is_weight(const ShapeText& tensor) {
  return tensor.name.starts_with("weight") || tensor.name.starts_with("source") ||
         (tensor.name == "other=" && tensor.sides.size() == 2);
}

// Of an image the channels, else the last side.
int64_t summed_side(const ShapeText& input) { return input.sides.size() == 4 ? input.sides[1] : input.sides.back(); }

double operations_of(const std::vector<ShapeText>& tensors) {
  const ShapeText& first = tensors.front();
  if (first.sides.empty()) return 0;
  for (const ShapeText& tensor : tensors) {
    const double rows = elements_of(first) / static_cast<double>(std::max<int64_t>(summed_side(first), 1));
    if (tensor.name == "weight=" && tensor.sides.size() > 1) return 2 * rows * elements_of(tensor);
    if (tensor.name == "other=" && tensor.sides.size() == 2) return 2 * rows * elements_of(tensor);
    if (tensor.name == "other=" && tensor.sides.size() == 3) {
      return 2 * rows * elements_of(tensor) / static_cast<double>(tensor.sides[0]);
    }
    if (tensor.name == "key=") return 4 * elements_of(first) * static_cast<double>(tensor.sides[1]);
  }
  return 0;
}

std::vector<ShapeText> parsed(const runner::RequestText& request) {
  std::vector<ShapeText> tensors;
  for (const std::string& shape : request.shapes) tensors.push_back(parsed(shape));
  return tensors;
}

// "block_size=8192,1" of a tensor whose first side is no longer 8192: lists with a number for each side follow it.
void follow(std::string& attribute, size_t axis, size_t rank, int64_t from, int64_t to) {
  const size_t begin = attribute.find('=') + 1;
  std::vector<std::string> numbers = {""};
  for (const char c : attribute.substr(begin)) {
    if (c == ',') numbers.emplace_back();
    else numbers.back() += c;
  }
  if (numbers.size() != rank || numbers[axis] != fmt::format("{}", from)) return;
  numbers[axis] = fmt::format("{}", to);
  attribute = fmt::format("{}{}", attribute.substr(0, begin), fmt::join(numbers, ","));
}

// Halves the first tensor's side, and the same side of all that have it too, weights excepted.
bool halve(runner::RequestText& request, size_t axis) {
  std::vector<ShapeText> tensors = parsed(request);
  const ShapeText first = tensors.front();
  if (axis >= first.sides.size() || first.sides[axis] % 2 != 0 || is_weight(first)) return false;
  const int64_t side = first.sides[axis];
  for (ShapeText& tensor : tensors) {
    const bool has_side = tensor.sides.size() == first.sides.size() && tensor.sides[axis] == side;
    if (has_side && !is_weight(tensor)) tensor.sides[axis] /= 2;
  }
  for (size_t i = 0; i < tensors.size(); ++i) request.shapes[i] = text_of(tensors[i]);
  for (std::string& attribute : request.attributes) follow(attribute, axis, first.sides.size(), side, side / 2);
  return true;
}

// Rows or images first; then height and width together, or the length of sequences.
bool shrink(runner::RequestText& request) {
  if (halve(request, 0)) return true;
  const ShapeText first = parsed(request.shapes.front());
  if (first.sides.size() != 4) return false;
  const bool is_sequence = std::ranges::any_of(
      request.shapes, [](const std::string& shape) { return shape.starts_with("key=") || shape.starts_with("cos="); });
  if (is_sequence) return halve(request, 1);
  if (first.sides[2] % 2 != 0 || first.sides[3] % 2 != 0) return false;
  return halve(request, 2) && halve(request, 3);
}

}  // namespace

double elements_of(const runner::RequestText& request) {
  double all = 0;
  for (const ShapeText& tensor : parsed(request)) all += elements_of(tensor);
  return all;
}

double expected_us(const runner::RequestText& request, const DeviceRates& rates) {
  if (request.shapes.empty()) return 0;
  const std::vector<ShapeText> tensors = parsed(request);
  // Of quantizing or of softmax, about.
  constexpr double kOperationsOfAnElement = 20;
  double bytes = 0;
  for (const ShapeText& tensor : tensors) bytes += bytes_of(tensor);
  return std::max({bytes / rates.bytes_per_us,
                   kOperationsOfAnElement * elements_of(tensors.front()) / rates.operations_per_us,
                   operations_of(tensors) / rates.products_per_us});
}

runner::RequestText fitted(const runner::RequestText& request, const DeviceRates& rates, double most_us) {
  runner::RequestText fit = request;
  // Indices are within the sides of what they choose from.
  const bool has_indices =
      std::ranges::any_of(request.shapes, [](const std::string& shape) { return shape.starts_with("indices="); });
  while (!has_indices && expected_us(fit, rates) > most_us && shrink(fit)) {
  }
  return fit;
}

}  // namespace qgen::tuner
