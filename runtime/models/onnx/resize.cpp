// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Resize along any axes, in any mode, as ONNX defines it: where the operator `resize2d` does not do it (movements.cpp).
// Each axis separately: positions of the nearest elements are a Gather, and weights of neighbours a product with a
// constant matrix. The formulas come from the operator's definition, Resize-19:
// https://onnx.ai/onnx/operators/onnx__Resize.html
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/models/onnx/fold.h"
#include "runtime/models/onnx/written_out.h"

namespace qgen::onnx {
namespace {

constexpr int64_t kMostPlaces = int64_t{1} << 24;  // of an axis: output side times input side

// Up to opset 10: up along an axis that shrinks, and else down.
constexpr std::string_view kOldNearest = "up where it shrinks";

enum class Mode : uint8_t { nearest, linear, cubic };

// The resampling along one axis. `scale` is that which the model gives, or the ratio of the sides.
struct Axis {
  int64_t from = 1, to = 1;
  double scale = 1;
  double begin = 0, end = 1;  // of tf_crop_and_resize, as parts of the input

  bool is_same() const { return from == to && scale == 1 && begin == 0 && end == 1; }
};

struct Resizing {
  Mode mode = Mode::nearest;
  std::string places, nearest;
  double cubic_coefficient = -0.75;
  bool excludes_outside = false, antialiases = false;

  // The position of output element `i` on the input's axis. Scales are floats, and so are quotients: 3 / 0.6f is 5, and
  // in double less than 5.
  double place(const Axis& axis, int64_t i) const {
    const double from = static_cast<double>(axis.from), to = from * axis.scale, x = static_cast<double>(i);
    const auto scaled = [&](double pixels) {
      return double{static_cast<float>(pixels) / static_cast<float>(axis.scale)};
    };
    if (places == "align_corners") return to == 1 ? 0 : x * (from - 1) / (to - 1);
    if (places == "asymmetric") return scaled(x);
    if (places == "tf_half_pixel_for_nn") return scaled(x + 0.5);
    if (places == "pytorch_half_pixel") return axis.to == 1 ? 0 : scaled(x + 0.5) - 0.5;
    if (places == "tf_crop_and_resize") {
      if (axis.to == 1) return 0.5 * (axis.begin + axis.end) * (from - 1);
      return axis.begin * (from - 1) + x * (axis.end - axis.begin) * (from - 1) / (static_cast<double>(axis.to) - 1);
    }
    const double half = scaled(x + 0.5) - 0.5;
    if (places == "half_pixel_symmetric") return from / 2 * (1 - static_cast<double>(axis.to) / to) + half;
    return half;
  }

  int64_t nearest_of(const Axis& axis, double place) const {
    if (nearest == "floor" || (nearest == kOldNearest && axis.scale >= 1))
      return static_cast<int64_t>(std::floor(place));
    if (nearest == "ceil" || nearest == kOldNearest) return static_cast<int64_t>(std::ceil(place));
    if (nearest == "round_prefer_ceil") return static_cast<int64_t>(std::floor(place + 0.5));
    return static_cast<int64_t>(std::ceil(place - 0.5));
  }

  double weight(double distance) const {
    const double x = std::abs(distance), a = cubic_coefficient;
    if (mode == Mode::linear) return std::max(1 - x, 0.0);
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
  }

  // Row `i` of the matrix: the weights of the input's elements.
  void add_row(const Axis& axis, int64_t i, std::span<double> row) const {
    const double at = place(axis, i), base = std::ceil(at) - 1;  // the neighbour to the left
    const double narrowing = antialiases ? std::min(axis.scale, 1.0) : 1;
    const auto reach = static_cast<int64_t>(-std::floor((mode == Mode::linear ? -1 : -2) / narrowing));
    double sum = 0;
    for (int64_t k = 1 - reach; k <= reach; ++k) {
      const int64_t element = static_cast<int64_t>(base) + k;
      const bool is_outside = element < 0 || element >= axis.from;
      if (is_outside && excludes_outside) continue;
      const double w = weight((static_cast<double>(element) - at) * narrowing);
      row[static_cast<size_t>(std::clamp<int64_t>(element, 0, axis.from - 1))] += w;
      sum += w;
    }
    if (!antialiases && !excludes_outside) return;
    for (double& w : row) w /= sum;
  }
};

Expected<std::vector<size_t>> axes_of(const Node& node, size_t rank) {
  std::vector<size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), size_t{0});
  const auto said = list_at(node, "axes", {}, 0);
  if (!said) return axes;
  axes.clear();
  for (const int64_t axis : *said) {
    const auto d = dimension_at(axis, rank);
    if (!d || std::ranges::find(axes, *d) != axes.end()) return no_axis(axis, rank);
    axes.push_back(*d);
  }
  return axes;
}

std::optional<std::vector<double>> reals_of(const Known* known) {
  const TensorPtr tensor = known ? known->tensor() : nullptr;
  if (!tensor || !is_real(tensor->type)) return std::nullopt;
  std::vector<double> values;
  for (int64_t i = 0; i < tensor->size(); ++i) values.push_back(tensor->real(i));
  return values;
}

// Scales of `axes`: given, or those that give the sizes.
Done set_sides(const Node& node, Arguments arguments, bool is_old, std::span<const size_t> axes,
               std::vector<Axis>& sides) {
  const auto at = [&](size_t i) { return i < arguments.size() ? arguments[i] : nullptr; };
  const auto sizes = !is_old && at(3) ? numbers_of(*at(3)) : std::nullopt;
  if (!is_old && at(3) && !sizes) return unsupported("its sizes are not constant");
  if (!sizes) {
    auto scales = reals_of(at(is_old ? 1 : 2));
    if (const auto* list = node.find("scales"); !scales && list && std::holds_alternative<std::vector<float>>(*list)) {
      const auto& said = std::get<std::vector<float>>(*list);
      scales.emplace(said.begin(), said.end());
    }
    if (!scales || scales->size() != axes.size())
      return unsupported(fmt::format("its scales are not constant, or not {}", axes.size()));
    for (size_t i = 0; i < axes.size(); ++i) {
      Axis& axis = sides[axes[i]];
      axis.scale = (*scales)[i];
      const double to = std::floor(static_cast<double>(axis.from) * axis.scale);
      if (!(axis.scale > 0) || !(to >= 0 && to <= double{1 << 30}))
        return unsupported(
            fmt::format("a dimension of {} with a scale of {} would have {} elements", axis.from, axis.scale, to));
      axis.to = static_cast<int64_t>(to);
    }
    return std::monostate{};
  }
  if (sizes->size() != axes.size())
    return refused(fmt::format("it has {} sizes for {} axes", sizes->size(), axes.size()));
  for (size_t i = 0; i < axes.size(); ++i) {
    if ((*sizes)[i].is_symbol) return unsupported("its sizes are not constant");
    Axis& axis = sides[axes[i]];
    axis.to = (*sizes)[i].value;
    if (axis.to < 0 || axis.to > 1 << 30) return refused(fmt::format("it has a size of {}", axis.to));
    axis.scale = static_cast<double>(axis.to) / static_cast<double>(axis.from);
  }
  const auto policy = node.word("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch") return std::monostate{};
  if (policy != "not_larger" && policy != "not_smaller")
    return refused(fmt::format("its keep_aspect_ratio_policy is '{}'", policy));
  double scale = sides[axes.front()].scale;
  for (const size_t d : axes)
    scale = policy == "not_larger" ? std::min(scale, sides[d].scale) : std::max(scale, sides[d].scale);
  for (const size_t d : axes) {
    sides[d].scale = scale;
    sides[d].to = std::max<int64_t>(scale > 0,
                                    static_cast<int64_t>(std::floor(scale * static_cast<double>(sides[d].from) + 0.5)));
  }
  return std::monostate{};
}

Expected<Resizing> resizing_of(const Node& node, bool is_old) {
  Resizing how;
  const std::string mode(node.word("mode", "nearest"));
  if (mode != "nearest" && mode != "linear" && mode != "bilinear" && mode != "cubic")
    return refused(fmt::format("its mode is '{}', and can be nearest, linear or cubic", mode));
  how.mode = mode == "nearest" ? Mode::nearest : mode == "cubic" ? Mode::cubic : Mode::linear;
  how.places = is_old ? "asymmetric" : node.word("coordinate_transformation_mode", "half_pixel");
  constexpr std::string_view kPlaces[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                          "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
  if (std::ranges::find(kPlaces, how.places) == std::end(kPlaces))
    return refused(fmt::format("its coordinate_transformation_mode is '{}'", how.places));
  how.nearest = is_old ? kOldNearest : node.word("nearest_mode", "round_prefer_floor");
  how.cubic_coefficient = node.real("cubic_coeff_a", -0.75f);
  how.excludes_outside = node.integer("exclude_outside", 0) != 0;
  how.antialiases = node.integer("antialias", 0) != 0 && how.mode != Mode::nearest;
  return how;
}

// A side of 0 leaves no elements, so that the result is a constant, as in ONNX's reference.
Known empty_of(const Node& node, ElementType type, std::span<const Axis> sides) {
  Shape shape;
  for (const Axis& axis : sides) shape.push_back(axis.to);
  return {std::make_shared<const Tensor>(Tensor{node.name + " empty", type, shape, {}}), dims_of(shape)};
}

// The part of the input that tf_crop_and_resize takes of each axis.
Done set_parts(Arguments arguments, std::span<const size_t> axes, std::vector<Axis>& sides) {
  const auto region = reals_of(arguments.size() > 1 ? arguments[1] : nullptr);
  if (!region || region->size() != 2 * axes.size()) return unsupported("its roi is not constant, or of other axes");
  for (size_t i = 0; i < axes.size(); ++i) {
    sides[axes[i]].begin = (*region)[i];
    sides[axes[i]].end = (*region)[i + axes.size()];
  }
  return std::monostate{};
}

// For each output element of an axis, the input element that is nearest.
std::vector<int64_t> nearest_elements(const Resizing& how, const Axis& axis) {
  std::vector<int64_t> elements;
  for (int64_t i = 0; i < axis.to; ++i)
    elements.push_back(std::clamp<int64_t>(how.nearest_of(axis, how.place(axis, i)), 0, axis.from - 1));
  return elements;
}

// The matrix [from, to] whose columns are the weights of the output elements.
std::vector<float> weights_of(const Resizing& how, const Axis& axis) {
  std::vector<float> matrix(static_cast<size_t>(axis.from * axis.to));
  std::vector<double> row(static_cast<size_t>(axis.from));
  for (int64_t i = 0; i < axis.to; ++i) {
    std::ranges::fill(row, 0);
    how.add_row(axis, i, row);
    for (int64_t k = 0; k < axis.from; ++k)
      matrix[static_cast<size_t>(k * axis.to + i)] = static_cast<float>(row[static_cast<size_t>(k)]);
  }
  return matrix;
}

// Which output elements of an axis are inside of the input; nullopt: all are.
std::optional<Tensor> inside_of(const Resizing& how, const Axis& axis, std::string name, Shape shape) {
  Tensor inside{std::move(name), ElementType::boolean, std::move(shape), {}};
  for (int64_t i = 0; i < axis.to; ++i) {
    const double at = how.place(axis, i);
    inside.data.push_back(std::byte{at >= 0 && at <= static_cast<double>(axis.from - 1)});
  }
  if (std::ranges::count(inside.data, std::byte{0}) == 0) return std::nullopt;
  return inside;
}

}  // namespace

Expected<Known> Importer::resize_along_axes(const Node& node, Arguments arguments) {
  const Dims input = arguments[0]->shape;
  const auto shape = known_shape(input);
  if (!shape) return unsupported("a side of its input is unknown", kHowToNumberSides);
  if (shape->empty() || std::ranges::count(*shape, 0) > 0) return unsupported("its input is empty, or a number");
  const bool is_old = builder_.opset < 11 || node.op == "Upsample";
  const auto how = resizing_of(node, is_old);
  if (!how) return how.error();
  const auto axes = axes_of(node, shape->size());
  if (!axes) return axes.error();
  std::vector<Axis> sides(shape->size());
  for (size_t d = 0; d < sides.size(); ++d) sides[d].from = sides[d].to = (*shape)[d];
  if (Done set = set_sides(node, arguments, is_old, *axes, sides); !set) return set.error();
  if (std::ranges::count(sides, 0, &Axis::to) > 0) return empty_of(node, element_type_of(*arguments[0]), sides);
  const bool crops = how->places == "tf_crop_and_resize";
  if (crops) {
    if (Done set = set_parts(arguments, *axes, sides); !set) return set.error();
  }
  auto result = how->mode == Mode::nearest ? Expected<Known>(*arguments[0]) : computed(*arguments[0]);
  for (size_t d = 0; result && d < sides.size(); ++d) {
    const Axis& axis = sides[d];
    if (axis.is_same()) continue;
    if (how->mode == Mode::nearest) {
      const Known places =
          constant_of(fmt::format("{} places {}", node.name, d), {axis.to}, nearest_elements(*how, axis));
      result = computed(node, "Gather", {*result, places}, {{"axis", static_cast<int64_t>(d)}});
      continue;
    }
    if (axis.from > kMostPlaces / axis.to)
      return unsupported(fmt::format("it computes {} positions of {} along an axis", axis.to, axis.from));
    const Known matrix =
        constant_of(fmt::format("{} weights {}", node.name, d), {axis.from, axis.to}, weights_of(*how, axis));
    result = product_along(node, *result, d, matrix);
  }
  // Elements outside of the input have one value.
  for (size_t d = 0; crops && result && d < sides.size(); ++d) {
    Shape lies(sides.size() - d, 1);
    lies[0] = sides[d].to;
    auto inside = inside_of(*how, sides[d], fmt::format("{} inside {}", node.name, d), lies);
    if (!inside) continue;
    const Known mask{std::make_shared<const Tensor>(*std::move(inside)), dims_of(lies)};
    result =
        computed(node, "Where", {mask, *result, number(node.name + " outside", node.real("extrapolation_value", 0))});
  }
  return result;
}

Expected<Known> Importer::product_along(const Node& node, const Known& input, size_t axis, const Known& matrix) {
  const size_t rank = input.shape.size();
  std::vector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[axis], order.back());
  const bool turns = axis != rank - 1;
  Expected<Known> result = input;
  if (rank == 1) result = seen_as(node, input, {{1}, input.shape[0]});
  else if (turns) result = written(node, "Transpose", {input}, {{"perm", order}});
  if (result) result = computed(node, "MatMul", {*result, matrix});
  if (result && rank == 1) return seen_as(node, *result, {result->shape[1]});
  return result && turns ? written(node, "Transpose", {*result}, {{"perm", order}}) : result;
}

}  // namespace qgen::onnx
