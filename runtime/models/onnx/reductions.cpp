// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Sums, extremes and others along axes, by the operator `reduce` (docs/reduction.md), and the nodes built from them.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "runtime/models/onnx/written_out.h"

namespace qgen::onnx {
namespace {

Expected<int64_t> axis_of(const Node& node, int64_t otherwise, size_t rank) {
  const int64_t said = node.integer("axis", otherwise);
  const auto axis = dimension_at(said, rank);
  if (!axis) return no_axis(said, rank);
  return static_cast<int64_t>(*axis);
}

bool is_empty(const Dims& shape) {
  return std::ranges::any_of(shape, [](const Number& side) { return !side.is_symbol && side.value == 0; });
}

// Up to opset 12 Softmax and its kin work on everything after their axis.
std::vector<int64_t> softmax_axes(int64_t axis, size_t rank, int64_t opset) {
  if (opset >= 13) return {axis};
  std::vector<int64_t> axes(rank - static_cast<size_t>(axis));
  std::iota(axes.begin(), axes.end(), axis);
  return axes;
}

}  // namespace

Expected<Known> Importer::reduced(const Node& node, std::string_view operation, const Known& input,
                                  std::vector<int64_t> axes, bool keeps) {
  const bool gives_place = operation.starts_with("arg_");
  const ElementType own = element_type_of(input);
  const bool is_of_reals = is_real(own);
  // All kinds of integers as 32-bit integers.
  const auto elements =
      is_of_reals || input.as<Integers>() ? Expected<Known>(input) : as_type(node, input, ElementType::i32);
  if (!elements) return elements;
  const ElementType type = is_of_reals ? own : ElementType::i32;
  const auto value = element_value(node.name, *elements, type == ElementType::f64 ? ElementType::f32 : type);
  if (!value) return value.error();
  Dims shape;
  for (size_t d = 0; d < input.shape.size(); ++d) {
    const bool goes = std::ranges::find(axes, static_cast<int64_t>(d)) != axes.end();
    if (!goes) shape.push_back(input.shape[d]);
    else if (keeps) shape.push_back({1});
  }
  Attributes attributes{{"operation", std::string(operation)}, {"axes", std::move(axes)}, {"keepdims", keeps}};
  if (gives_place) attributes.emplace("takes_last", AttributeValue(node.integer("select_last_index", 0) != 0));
  graph::Node reduce{
      .name = node.name, .op = "reduce", .inputs = {{"input", *value}}, .attributes = std::move(attributes)};
  const ValueId result = builder_.add(std::move(reduce), shape);
  if (gives_place) return Known{Integers{result, ElementType::i64}, shape};
  if (is_of_reals) return elements_known(result, type == ElementType::f64 ? ElementType::f32 : type, shape);
  return as_type(node, Known{Integers{result, ElementType::i32}, shape}, own);
}

Rewritten Importer::arg_extreme(const Node& node, Arguments arguments) {
  const auto axis = axis_of(node, 0, arguments[0]->shape.size());
  if (!axis) return axis.error();
  const bool keeps = node.integer("keepdims", 1) != 0;
  auto place = reduced(node, node.op == "ArgMax" ? "arg_max" : "arg_min", *arguments[0], {*axis}, keeps);
  return as_other(std::move(place));
}

// x - log(sum of exp(x)).
Rewritten Importer::log_softmax(const Node& node, Arguments arguments) {
  const size_t rank = arguments[0]->shape.size();
  const auto axis = axis_of(node, builder_.opset < 13 ? 1 : -1, rank);
  if (!axis) return axis.error();
  if (is_empty(arguments[0]->shape)) return as_other(*arguments[0]);
  const auto x = computed(*arguments[0]);
  if (!x) return x.error();
  const auto sum = reduced(node, "log_sum_exp", *x, softmax_axes(*axis, rank, builder_.opset), true);
  if (!sum) return sum.error();
  return as_other(written(node, "Sub", {*x, *sum}));
}

// 1 at the first greatest element, else 0.
Rewritten Importer::hardmax(const Node& node, Arguments arguments) {
  const Dims shape = arguments[0]->shape;
  const auto axis = axis_of(node, builder_.opset < 13 ? 1 : -1, shape.size());
  if (!axis) return axis.error();
  if (is_empty(shape)) return as_other(*arguments[0]);
  const auto axes = softmax_axes(*axis, shape.size(), builder_.opset);
  const auto sides = known_shape({shape.begin() + *axis, shape.begin() + *axis + std::ssize(axes)});
  if (!sides) return unsupported("a side along its axis is not known before the model runs", kHowToNumberSides);
  const auto place = reduced(node, "arg_max", *arguments[0], axes, true);
  if (!place) return place.error();
  std::vector<int64_t> places(static_cast<size_t>(element_count(*sides)));
  std::iota(places.begin(), places.end(), 0);
  Shape lies = *sides;
  lies.resize(shape.size() - static_cast<size_t>(*axis), 1);
  const auto is_it = written(node, "Equal", {constant_of(node.name, lies, places), *place});
  if (!is_it) return is_it.error();
  return as_other(as_type(node, *is_it, element_type_of(*arguments[0])));
}

}  // namespace qgen::onnx
