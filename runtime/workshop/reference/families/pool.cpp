// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// docs/pool.md as plain loops. Host floats are IEEE 754 and round to nearest even: each operator of C++ on floats below
// is one RN of that page.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "runtime/engine/calls/attributes.h"
#include "runtime/workshop/reference/affine.h"
#include "runtime/workshop/reference/float32.h"
#include "runtime/workshop/reference/rows.h"

namespace qgen::reference {
namespace {

using List = std::vector<int64_t>;

// One side of the image, and the window along it.
struct Axis {
  int64_t side, taps, stride, before, after, dilation, places;
};

int64_t places_of(const Axis& axis, bool ceil_mode) {
  const int64_t room = axis.side + axis.before + axis.after - (axis.dilation * (axis.taps - 1) + 1);
  if (!ceil_mode) return room / axis.stride + 1;
  const int64_t last = (room + axis.stride - 1) / axis.stride;
  const bool begins_inside = last * axis.stride < axis.side + axis.before;
  return begins_inside ? last + 1 : last;
}

// The number of a list for the axis, 0 the height of an image, or for the one of a row.
int64_t number(const List& list, size_t axis) { return list[std::min(axis, list.size() - 1)]; }

std::vector<Axis> axes_of(const Request& request) {
  const Shape& shape = request.inputs.at("input").shape;
  const size_t rank = shape.size() - 2;
  const auto list = [&](std::string_view name, const List& otherwise) {
    return find_attribute<List>(request, name).value_or(otherwise);
  };
  const List kernel = list("kernel_size", List(shape.begin() + 2, shape.end()));
  const List stride = list("stride", kernel), padding = list("padding", {0}), dilation = list("dilation", {1});
  const bool says_ends = padding.size() == 2 * rank;
  std::vector<Axis> axes;
  for (size_t i = 0; i < rank; ++i) {
    Axis axis{shape[2 + i],
              number(kernel, i),
              number(stride, i),
              number(padding, i),
              number(padding, i),
              number(dilation, i),
              0};
    if (says_ends) axis.after = padding[rank + i];
    axis.places = places_of(axis, attribute<bool>(request, "ceil_mode"));
    axes.push_back(axis);
  }
  return axes;
}

// The window's taps at a position that are inside the input.
std::vector<int64_t> taps_inside(const Axis& axis, int64_t place) {
  std::vector<int64_t> inside;
  for (int64_t tap = 0; tap < axis.taps; ++tap) {
    const int64_t at = place * axis.stride - axis.before + tap * axis.dilation;
    if (at >= 0 && at < axis.side) inside.push_back(at);
  }
  return inside;
}

// At every position, the result of `of` for the elements under the window, row by row. `of` also gets the position
// along each axis.
using OfElements = std::function<double(const std::vector<double>& elements, int64_t y, int64_t x)>;
Tensors pooled(const Request& request, const OfElements& of) {
  const HostTensor& input = request.inputs.at("input");
  const std::vector<Axis> axes = axes_of(request);
  constexpr Axis kNoAxis{1, 1, 1, 0, 0, 1, 1};
  const Axis &height = axes.size() == 2 ? axes[0] : kNoAxis, &width = axes.back();
  Shape shape(input.shape.begin(), input.shape.begin() + 2);
  for (const Axis& axis : axes) shape.push_back(axis.places);
  HostTensor output = zeros(input.dtype, shape);
  for (int64_t index = 0; index < element_count(shape); ++index) {
    const int64_t x = index % width.places, y = index / width.places % height.places;
    const int64_t plane = index / width.places / height.places;
    std::vector<double> elements;
    for (const int64_t row : taps_inside(height, y)) {
      for (const int64_t column : taps_inside(width, x))
        elements.push_back(element(input, (plane * height.side + row) * width.side + column));
    }
    set_element(output, index, of(elements, y, x));
  }
  return {{"output", std::move(output)}};
}

Tensors q8ta_max_pool2d(const Request& request) {
  return pooled(request, [](const std::vector<double>& elements, int64_t, int64_t) {
    return *std::ranges::max_element(elements);
  });
}

// The window's taps that are inside the input or its padding.
int64_t taps_in_padded(const Axis& axis, int64_t place) {
  return std::min(axis.taps, axis.side + axis.before + axis.after - place * axis.stride);
}

// The divisor of a mean.
class Divisor {
 public:
  explicit Divisor(const Request& request)
      : axes_(axes_of(request)),
        counts_padding_(attribute<bool>(request, "count_include_pad")),
        given_(find_attribute<int64_t>(request, "divisor_override")) {}

  float at(size_t taps_inside, int64_t y, int64_t x) const {
    if (given_) return static_cast<float>(*given_);
    if (!counts_padding_) return static_cast<float>(taps_inside);
    return static_cast<float>(taps_in_padded(axes_.back(), x) * (axes_.size() == 2 ? taps_in_padded(axes_[0], y) : 1));
  }

 private:
  std::vector<Axis> axes_;
  bool counts_padding_;
  std::optional<int64_t> given_;
};

Tensors q8ta_avg_pool2d(const Request& request) {
  const auto input_scale = static_cast<float>(attribute<double>(request, "input_scale"));
  const auto output_scale = static_cast<float>(attribute<double>(request, "output_scale"));
  const int64_t input_zero_point = attribute<int64_t>(request, "input_zero_point");
  const auto output_zero_point = static_cast<int32_t>(attribute<int64_t>(request, "output_zero_point"));
  const Divisor divisor(request);
  return pooled(request, [&](const std::vector<double>& elements, int64_t y, int64_t x) {
    int64_t sum = 0;
    for (const double element : elements) sum += static_cast<int64_t>(element) - input_zero_point;
    const float mean = static_cast<float>(sum) * (1.0f / divisor.at(elements.size(), y, x));
    return quantize(mean * input_scale, output_scale, output_zero_point, IntegerBounds{-128, 127});
  });
}

Tensors max_pool2d(const Request& request) {
  return pooled(request, [](const std::vector<double>& elements, int64_t, int64_t) {
    float greatest = -std::numeric_limits<float>::infinity();
    for (const double element : elements) {
      const float x = flushed(static_cast<float>(element));
      if (std::isnan(x) || x > greatest) greatest = x;
    }
    return static_cast<double>(greatest);
  });
}

Tensors avg_pool2d(const Request& request) {
  const Divisor divisor(request);
  return pooled(request, [&](const std::vector<double>& elements, int64_t y, int64_t x) {
    float sum = 0;
    for (const double element : elements) sum = flushed(sum + flushed(static_cast<float>(element)));
    return static_cast<double>(product(sum, 1.0f / divisor.at(elements.size(), y, x)));
  });
}

}  // namespace

std::span<const Row> pool_rows() {
  static constexpr Row kRows[] = {
      {"avg_pool2d", avg_pool2d},
      {"max_pool2d", max_pool2d},
      {"q8ta_avg_pool2d", q8ta_avg_pool2d},
      {"q8ta_max_pool2d", q8ta_max_pool2d},
  };
  return kRows;
}

}  // namespace qgen::reference
