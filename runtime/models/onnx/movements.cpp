// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "runtime/engine/operators/byte_table.h"
#include "runtime/models/onnx/fold.h"
#include "runtime/models/onnx/importer.h"

namespace qgen::onnx {
namespace {

using Numbers64 = std::vector<int64_t>;
constexpr int64_t kToTheEnd = std::numeric_limits<int64_t>::max();

// As the model says them, from the end too; without: the first ones.
Expected<std::vector<size_t>> axes_of(const Node& node, Arguments arguments, size_t index, size_t count, size_t rank) {
  Numbers64 axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  const bool has_axes = node.find("axes") || (index < arguments.size() && arguments[index]);
  if (has_axes) {
    const auto said = list_at(node, "axes", arguments, index);
    if (!said) return unsupported("its axes are not constant");
    axes = *said;
  }
  std::vector<size_t> result;
  for (const int64_t axis : axes) {
    const int64_t place = axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
    if (place < 0 || place >= static_cast<int64_t>(rank)) return no_axis(axis, rank);
    if (std::ranges::find(result, static_cast<size_t>(place)) != result.end())
      return refused(fmt::format("its axes [{}] name axis {} twice", fmt::join(axes, ", "), place));
    result.push_back(static_cast<size_t>(place));
  }
  if (result.size() != count) return refused(fmt::format("it names {} axes, and {} are needed", result.size(), count));
  return result;
}

// How many elements NumPy takes; docs/movement.md.
int64_t count_of(int64_t side, int64_t start, int64_t end, int64_t step) {
  const int64_t least = step > 0 ? 0 : -1, most = step > 0 ? side : side - 1;
  const auto place = [&](int64_t said) { return std::clamp(said < 0 ? said + side : said, least, most); };
  const int64_t distance = step > 0 ? place(end) - place(start) : place(start) - place(end);
  return distance <= 0 ? 0 : (distance - 1) / std::abs(step) + 1;
}

// The attribute `axis`. Errors: the rank has none of that number.
Expected<size_t> axis_of(const Node& node, int64_t otherwise, size_t rank) {
  const int64_t said = node.integer("axis", otherwise);
  const auto axis = dimension_at(said, rank);
  if (!axis) return no_axis(said, rank);
  return *axis;
}

}  // namespace

Expected<Elements> Importer::elements_of(const Known& input) {
  if (const auto* codes = input.as<Codes>()) return Elements{codes->value, input};
  if (const auto* integers = input.as<Integers>()) return Elements{integers->value, input};
  const TensorPtr constant = input.as<Numbers>() ? constant_of(input) : input.tensor();
  if (constant && !onnx::is_real(constant->type) && !is_nibble(constant->type)) {
    const auto value = element_value(constant->name, input, constant->type);
    if (!value) return value.error();
    return Elements{*value, elements_known(*value, constant->type, input.shape)};
  }
  const auto view = builder_.view_of(input);
  if (view && builder_.fuses) return Elements{view->codes, Known{*view, input.shape}};
  const bool is_half = constant && constant->type == ElementType::f16 && has_half_inputs_;
  const auto real = builder_.real_of(input, is_half ? DType::f16 : DType::f32);
  if (!real) return real.error();
  return Elements{real->value, Known{*real, input.shape}};
}

Known Importer::moved(const std::string& name, const Elements& elements, std::string_view op, Attributes attributes,
                      const Dims& shape) {
  graph::Node node{
      .name = name, .op = std::string(op), .inputs = {{"input", elements.value}}, .attributes = std::move(attributes)};
  return elements.as_known(builder_.add(std::move(node), shape), shape);
}

Expected<Known> Importer::permuted(const std::string& name, const Known& input, const std::vector<int64_t>& order) {
  const auto elements = elements_of(input);
  if (!elements) return elements.error();
  Dims shape;
  for (const int64_t d : order) shape.push_back(input.shape[static_cast<size_t>(d)]);
  return moved(name, *elements, "permute", {{"permutation", order}}, shape);
}

// fold.h has found out that elements move, and that `perm` is in order.
Expected<Known> Importer::transpose(const Node& node, Arguments arguments) {
  return permuted(node.name, *arguments[0], permutation_of(node, arguments[0]->shape.size()));
}

Expected<Known> Importer::slice(const Node& node, Arguments arguments) {
  const Dims& input = arguments[0]->shape;
  const auto starts = list_at(node, "starts", arguments, 1), ends = list_at(node, "ends", arguments, 2);
  if (!starts || !ends) return unsupported("its starts and ends are not constant");
  if (starts->size() != ends->size())
    return refused(fmt::format("it has {} starts and {} ends", starts->size(), ends->size()));
  const auto axes = axes_of(node, arguments, 3, starts->size(), input.size());
  if (!axes) return axes.error();
  Numbers64 steps(starts->size(), 1);
  if (arguments.size() > 4 && arguments[4]) {
    const auto said = list_at(node, "steps", arguments, 4);
    if (!said) return unsupported("its steps are not constant");
    steps = *said;
  }
  if (steps.size() != starts->size())
    return refused(fmt::format("it has {} steps for {} starts", steps.size(), starts->size()));
  Numbers64 first(input.size(), 0), last(input.size(), kToTheEnd), step(input.size(), 1);
  Dims shape = input;
  for (size_t i = 0; i < axes->size(); ++i) {
    const size_t d = (*axes)[i];
    first[d] = (*starts)[i];
    last[d] = (*ends)[i];
    step[d] = steps[i];
    if (step[d] == 0 || step[d] == std::numeric_limits<int64_t>::min())
      return refused(fmt::format("its step along axis {} is {}", d, step[d]));
    const bool is_all = first[d] == 0 && step[d] == 1 && last[d] >= std::numeric_limits<int32_t>::max();
    if (is_all) continue;
    if (input[d].is_symbol) shape[d] = {builder_.symbols.next++, true};
    else shape[d].value = count_of(input[d].value, first[d], last[d], step[d]);
  }
  const bool is_whole = shape == input && std::ranges::all_of(step, [](int64_t n) { return n == 1; });
  if (is_whole) return *arguments[0];
  const auto elements = elements_of(*arguments[0]);
  if (!elements) return elements.error();
  return moved(node.name, *elements, "slice", {{"starts", first}, {"ends", last}, {"steps", step}}, shape);
}

Known Importer::part_of(const std::string& name, const Elements& elements, size_t dimension, int64_t start,
                        int64_t count) {
  Dims shape = elements.like.shape;
  Numbers64 first(shape.size(), 0), last(shape.size(), kToTheEnd);
  first[dimension] = start;
  // -1 is the last position; the end after it has no number.
  if (start + count != 0) last[dimension] = start + count;
  shape[dimension] = {count};
  return moved(name, elements, "slice", {{"starts", first}, {"ends", last}, {"steps", Numbers64(shape.size(), 1)}},
               shape);
}

namespace {

// How many positions each result gets: as given in the model, or equally many.
Expected<Numbers64> sides_of_split(const Node& node, Arguments arguments, int64_t side, bool may_be_smaller) {
  const auto count = std::ssize(node.outputs);
  if (const auto said = list_at(node, "split", arguments, 1)) {
    if (std::ssize(*said) != count)
      return refused(fmt::format("it has sizes for {} parts, and {} outputs", said->size(), count));
    int64_t left = side;
    for (const int64_t one : *said) {
      if (one < 0 || one > left)
        return refused(
            fmt::format("its parts [{}] do not add up to {}, the size along its axis", fmt::join(*said, ", "), side));
      left -= one;
    }
    if (left != 0)
      return refused(
          fmt::format("its parts [{}] do not add up to {}, the size along its axis", fmt::join(*said, ", "), side));
    return *said;
  }
  if (arguments.size() > 1 && arguments[1]) return unsupported("the sizes of its parts are not constant");
  if (const int64_t said = node.integer("num_outputs", count); said != count)
    return refused(fmt::format("its num_outputs is {}, and it has {} outputs", said, count));
  const int64_t each = (side + count - 1) / count;
  Numbers64 sides(node.outputs.size(), each);
  sides.back() = side - each * (count - 1);
  if (sides.back() < 0 || (sides.back() != each && !may_be_smaller))
    return refused(fmt::format("{} elements along its axis cannot be divided into {} equal parts", side, count));
  return sides;
}

// From the first on or from the end, and of sides that there are.
bool follow_each_other(const Numbers64& places) {
  constexpr int64_t kMost = int64_t{1} << 31;
  if (places.empty() || places.front() < -kMost || places.front() > kMost) return false;
  for (size_t i = 1; i < places.size(); ++i) {
    if (places[i - 1] == -1 || places[i] != places[i - 1] + 1) return false;
  }
  return true;
}

}  // namespace

Done Importer::split(const Node& node) {
  const auto arguments = arguments_of(node);
  if (!arguments) return arguments.error();
  if (arguments->empty() || !arguments->front()) return refused("it has no input");
  const Known& input = *arguments->front();
  const auto axis = axis_of(node, 0, input.shape.size());
  if (!axis) return axis.error();
  const size_t dimension = *axis;
  if (input.shape[dimension].is_symbol)
    return unsupported("the dimension that it splits is unknown", kHowToNumberSides);
  const auto sides = sides_of_split(node, *arguments, input.shape[dimension].value, builder_.opset >= 18);
  if (!sides) return sides.error();
  const auto elements = elements_of(input);
  if (!elements) return elements.error();
  int64_t start = 0;
  for (size_t i = 0; i < sides->size(); ++i) {
    if (!node.outputs[i].empty() && order_.uses.contains(node.outputs[i])) {
      known_.insert_or_assign(
          node.outputs[i], part_of(fmt::format("{} part {}", node.name, i), *elements, dimension, start, (*sides)[i]));
    }
    start += (*sides)[i];
  }
  return std::monostate{};
}

Expected<Known> Importer::gathered(const Node& node, std::string_view op, const Known& input, const Known& indices,
                                   size_t axis, const Dims& shape) {
  if (shape.size() > kMaxRank) return unsupported(fmt::format("its output has rank {}", shape.size()));
  const auto elements = elements_of(input);
  if (!elements) return elements.error();
  const auto places = integer_value(indices);
  if (!places) return places.error();
  graph::Node gather{.name = node.name,
                     .op = std::string(op),
                     .inputs = {{"input", elements->value}, {"indices", *places}},
                     .attributes = {{"axis", static_cast<int64_t>(axis)}}};
  return elements->as_known(builder_.add(std::move(gather), shape), shape);
}

Expected<Known> Importer::gather_elements(const Node& node, Arguments arguments) {
  if (arguments.size() != 2 || !arguments[1]) return refused("it has no indices");
  const auto axis = axis_of(node, 0, arguments[0]->shape.size());
  if (!axis) return axis.error();
  return gathered(node, "gather_elements", *arguments[0], *arguments[1], *axis, arguments[1]->shape);
}

Expected<Known> Importer::concat_elements(const Node& node, Arguments arguments) {
  const auto axis = axis_of(node, 1, arguments[0]->shape.size());
  if (!axis) return axis.error();
  std::vector<Known> parts;
  for (const Known* argument : arguments) parts.push_back(*argument);
  return concat_elements_along(node, parts, *axis);
}

Expected<Known> Importer::concat_elements_along(const Node& node, const std::vector<Known>& all, size_t axis) {
  constexpr size_t kMostParts = 4;
  std::vector<Elements> parts;
  for (const Known& one : all) {
    const auto part = elements_of(one);
    if (!part) return part.error();
    parts.push_back(*part);
  }
  const Known parts_like = parts[0].like;
  while (parts.size() > 1) {
    const size_t count = std::min(parts.size(), kMostParts);
    graph::Node joint{.name = node.name, .op = "concat", .attributes = {{"axis", static_cast<int64_t>(axis)}}};
    Dims shape = parts[0].like.shape;
    for (size_t i = 0; i < count; ++i) {
      joint.inputs.push_back({fmt::format("input_{}", i + 1), parts[i].value});
      if (i == 0) continue;
      auto sides = joined(shape, parts[i].like.shape, axis, builder_.symbols.next);
      if (!sides) return sides.error();
      shape = *std::move(sides);
    }
    const ValueId value = builder_.add(std::move(joint), shape);
    parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(count));
    parts.insert(parts.begin(), Elements{value, elements_known(value, element_type_of(parts_like), shape)});
  }
  return parts[0].like;
}

Expected<Known> Importer::gather(const Node& node, Arguments arguments) {
  const Dims& input = arguments[0]->shape;
  const auto axis = axis_of(node, 0, input.size());
  if (!axis) return axis.error();
  const size_t dimension = *axis;
  const auto place_of_axis = static_cast<std::ptrdiff_t>(dimension);
  const auto places = list_at(node, "", arguments, 1);
  if (!places || !follow_each_other(*places) || arguments[1]->shape.size() > 1) {
    Dims shape(input.begin(), input.begin() + place_of_axis);
    shape.insert(shape.end(), arguments[1]->shape.begin(), arguments[1]->shape.end());
    shape.insert(shape.end(), input.begin() + place_of_axis + 1, input.end());
    const Number side = input[dimension];
    for (const int64_t place : places.value_or(Numbers64())) {
      if (!side.is_symbol && (place < -side.value || place >= side.value))
        return refused(fmt::format("one of its indices is {}, in a dimension of {}", place, side.value));
    }
    return gathered(node, "gather", *arguments[0], *arguments[1], dimension, shape);
  }
  const int64_t start = places->front(), count = std::ssize(*places);
  const Number side = input[dimension];
  if (!side.is_symbol && (start < -side.value || start + count > (start < 0 ? 0 : side.value)))
    return refused(fmt::format("its indices are {} to {}, in a dimension of {}", start, places->back(), side.value));
  const auto elements = elements_of(*arguments[0]);
  if (!elements) return elements.error();
  Known part = part_of(node.name, *elements, dimension, start, count);
  if (!arguments[1]->shape.empty()) return part;
  Dims without = part.shape;
  without.erase(without.begin() + place_of_axis);
  return seen_as(node, part, without);
}

Expected<Known> Importer::pad(const Node& node, Arguments arguments) {
  const Known& input = *arguments[0];
  const size_t rank = input.shape.size();
  const std::string mode(node.word("mode", "constant"));
  if (mode != "constant" && mode != "edge" && mode != "reflect")
    return unsupported(fmt::format("its mode is {}, and can be constant, edge or reflect", mode));
  const auto pads = list_at(node, "pads", arguments, 1);
  if (!pads) return unsupported("its pads are not constant");
  const bool has_axes = arguments.size() > 3 && arguments[3];
  if (pads->size() % 2 != 0 || (!has_axes && pads->size() != 2 * rank))
    return refused(fmt::format("it has {} pads, and an input {} needs {}", pads->size(), to_text(input.shape),
                               has_axes ? "give two for each axis" : std::to_string(2 * rank)));
  const size_t count = pads->size() / 2;
  const auto axes = axes_of(node, arguments, 3, count, rank);
  if (!axes) return axes.error();
  double value = node.real("value", 0);
  if (arguments.size() > 2 && arguments[2]) {
    const auto* codes = arguments[2]->as<QuantizedConstant>();
    const TensorPtr tensor = arguments[2]->tensor();
    if (codes && codes->codes->size() == 1) value = dequantized(*codes).as<float>()[0];
    else if (tensor && tensor->size() == 1) value = tensor->real(0);
    else return unsupported("its padding value is not constant");
  }
  Numbers64 before(rank, 0), after(rank, 0);
  Dims shape = input.shape;
  for (size_t i = 0; i < count; ++i) {
    const size_t d = (*axes)[i];
    before[d] = (*pads)[i];
    after[d] = (*pads)[count + i];
    if (before[d] == 0 && after[d] == 0) continue;
    if (shape[d].is_symbol) {
      shape[d].value = builder_.symbols.next++;
    } else if (__builtin_add_overflow(shape[d].value, before[d], &shape[d].value) ||
               __builtin_add_overflow(shape[d].value, after[d], &shape[d].value) || shape[d].value < 0) {
      return refused(
          fmt::format("its pads are [{}], and its input is {}", fmt::join(*pads, ", "), to_text(input.shape)));
    }
  }
  auto elements = elements_of(input);
  if (!elements) return elements.error();
  if (const auto* view = elements->like.as<View>(); view && mode == "constant") {
    const int code = qgen::quantized(static_cast<float>(value), view->quantization);
    if (qgen::dequantized(code, view->quantization) == value) {
      value = code;
    } else {  // no integer stands for it
      const auto real = builder_.real_of(elements->like);
      if (!real) return real.error();
      elements = Elements{real->value, Known{*real, input.shape}};
    }
  } else if (const auto* codes = elements->like.as<Codes>()) {
    value -= shift_of(codes->type);
  }
  return moved(node.name, *elements, "pad", {{"before", before}, {"after", after}, {"mode", mode}, {"value", value}},
               shape);
}

Expected<Known> Importer::expand(const Node& node, Arguments arguments) {
  const Dims& input = arguments[0]->shape;
  const auto target = arguments.size() > 1 && arguments[1] ? numbers_of(*arguments[1]) : std::nullopt;
  if (!target) return unsupported("its shape is computed while the model runs");
  auto shape = broadcast(input, *target);
  if (!shape) return shape.error();
  if (*shape == input) return *arguments[0];
  if (shape->size() > kMaxRank)
    return refused(fmt::format("its output would have rank {}, and the highest is {}", shape->size(), kMaxRank));
  Numbers64 sizes;
  const size_t more = shape->size() - input.size();
  for (size_t d = 0; d < shape->size(); ++d) {
    const Number side = (*shape)[d];
    const bool is_input = d >= more && side == input[d - more];
    if (side.is_symbol && !is_input) return unsupported("a dimension of its shape is unknown");
    sizes.push_back(is_input ? 1 : side.value);
  }
  const auto elements = elements_of(*arguments[0]);
  if (!elements) return elements.error();
  return moved(node.name, *elements, "expand", {{"sizes", sizes}}, *shape);
}

namespace {

// Height and width that an image becomes. ONNX computes positions from scales if it has them, and qgen from lengths.
// Both are the same if a length times its scale is an integer.
Expected<Numbers64> resized_sides(const Node& node, Arguments arguments, size_t scales_at) {
  const Dims& input = arguments[0]->shape;
  const auto known = known_shape({input.end() - 2, input.end()});
  if (!known) return unsupported("its height or width is unknown", kHowToNumberSides);
  if (node.integer("antialias", 0) != 0) return unsupported("it has antialias");
  if (node.find("axes")) return unsupported("it names axes");
  if (arguments.size() > 3 && arguments[3]) {
    if (node.word("keep_aspect_ratio_policy", "stretch") != "stretch") return unsupported("it keeps an aspect ratio");
    const auto sizes = numbers_of(*arguments[3]);
    if (!sizes) return unsupported("its sizes are not constant");
    if (sizes->size() != 4)
      return refused(fmt::format("it has {} sizes for an image {}", sizes->size(), to_text(input)));
    if (!((*sizes)[0] == input[0]) || !((*sizes)[1] == input[1]))
      return unsupported("it changes more than height and width");
    if ((*sizes)[2].is_symbol || (*sizes)[3].is_symbol) return unsupported("its sizes are not constant");
    if ((*sizes)[2].value < 1 || (*sizes)[3].value < 1)
      return unsupported(fmt::format("it has sizes of {} and {}", (*sizes)[2].value, (*sizes)[3].value));
    return Numbers64{(*sizes)[2].value, (*sizes)[3].value};
  }
  const Known* said = scales_at < arguments.size() ? arguments[scales_at] : nullptr;
  std::vector<float> scales;
  if (const TensorPtr tensor = said ? said->tensor() : nullptr;
      tensor && is_real(tensor->type) && tensor->size() == 4) {
    for (int64_t i = 0; i < 4; ++i) scales.push_back(tensor->real(i));
  } else if (const auto* list = node.find("scales"); list && std::holds_alternative<std::vector<float>>(*list)) {
    scales = std::get<std::vector<float>>(*list);
  }
  if (scales.size() != 4) return unsupported("its scales are not constant, or not four");
  if (scales[0] != 1 || scales[1] != 1) return unsupported("it changes more than height and width");
  Numbers64 sides;
  for (size_t i = 0; i < 2; ++i) {
    const double side = static_cast<double>((*known)[i]) * double{scales[i + 2]};
    constexpr double kMost = 1 << 30;
    if (!(side >= 1 && side <= kMost && side == std::floor(side)))
      return unsupported(fmt::format("a dimension of {} with a scale of {} does not give a whole number of pixels",
                                     (*known)[i], scales[i + 2]));
    sides.push_back(static_cast<int64_t>(side));
  }
  return sides;
}

// Up to opset 10 positions are rounded up along a side that shrinks, and else down. nullopt: the sides differ in this.
std::optional<std::string> old_rounding(const Dims& input, const Numbers64& sides) {
  const auto count = [&](auto compare) {
    return static_cast<int>(compare(sides[0], input[2].value)) + static_cast<int>(compare(sides[1], input[3].value));
  };
  const bool shrinks = count(std::less<>()) > 0, grows = count(std::greater<>()) > 0;
  if (shrinks && grows) return std::nullopt;
  return shrinks ? "ceil" : "floor";
}

}  // namespace

Expected<Known> Importer::resize(const Node& node, Arguments arguments) {
  auto result = resize_image(node, arguments);
  if (result || result.error().kind != Error::Kind::unsupported) return result;
  // Of images of unknown sides, the reason of the operator is the better one.
  auto other = resize_along_axes(node, arguments);
  return other || known_shape(arguments[0]->shape) ? other : result;
}

Expected<Known> Importer::resize_image(const Node& node, Arguments arguments) {
  const Dims& input = arguments[0]->shape;
  if (input.size() != 4) return unsupported(fmt::format("its input {} is not an image", to_text(input)));
  const bool is_old = builder_.opset < 11 || node.op == "Upsample";
  const auto sides = resized_sides(node, arguments, is_old ? 1 : 2);
  if (!sides) return sides.error();
  const std::string mode(node.word("mode", "nearest"));
  const bool is_nearest = mode == "nearest", is_linear = mode == "linear" || mode == "bilinear";
  if (!is_nearest && !is_linear) return unsupported(fmt::format("its mode is {}, and can be nearest or linear", mode));
  // Up to opset 10 the position of pixels is undefined.
  std::string places(is_old ? "asymmetric" : node.word("coordinate_transformation_mode", "half_pixel"));
  // A side becomes an integer of pixels (resized_sides), and is then symmetric anyway.
  const bool is_pytorch = places == "pytorch_half_pixel";
  if (is_pytorch || places == "half_pixel_symmetric") places = "half_pixel";
  if (places != "half_pixel" && places != "align_corners" && places != "asymmetric")
    return unsupported(
        fmt::format("its coordinate_transformation_mode is {}, and can be half_pixel, "
                    "half_pixel_symmetric, pytorch_half_pixel, align_corners or asymmetric",
                    places));
  auto elements = elements_of(*arguments[0]);
  if (!elements) return elements.error();
  if (elements->are_integers()) return unsupported("its input is of integers of 32 bits, or of booleans");
  // A side of one pixel is pixel 0 to PyTorch, and the middle to half_pixel.
  for (size_t i = 0; is_pytorch && i < 2; ++i) {
    if ((*sides)[i] != 1 || is_one(input[2 + i])) continue;
    const Known first = part_of(fmt::format("{} first pixel {}", node.name, i), *elements, 2 + i, 0, 1);
    elements = elements_of(first);
    if (!elements) return elements.error();
  }
  const bool are_bytes = elements->are_bytes() && is_nearest;
  if (elements->are_bytes() && !are_bytes) {
    const auto real = builder_.real_of(elements->like);
    if (!real) return real.error();
    elements = Elements{real->value, Known{*real, elements->like.shape}};
  }
  Attributes attributes{{"sizes", *sides}, {"coordinate_mode", places}};
  if (is_nearest) {
    const auto nearest =
        is_old ? old_rounding(input, *sides) : std::string(node.word("nearest_mode", "round_prefer_floor"));
    if (!nearest) return unsupported("one of its sides grows, and the other shrinks");
    attributes.insert_or_assign("nearest_mode", AttributeValue(*nearest));
  }
  if (!are_bytes) attributes.insert_or_assign("mode", AttributeValue(std::string(is_nearest ? "nearest" : "linear")));
  return moved(node.name, *elements, are_bytes ? "q8ta_resize2d" : "resize2d", std::move(attributes),
               {input[0], input[1], {(*sides)[0]}, {(*sides)[1]}});
}

Expected<std::optional<Known>> Importer::turned_softmax(const Node& node, Arguments arguments) {
  const auto rank = std::ssize(arguments[0]->shape);
  const int64_t said = node.integer("axis", -1), axis = said < 0 ? said + rank : said;
  // Up to opset 12 rows are everything after the axis: patterns.h.
  if (builder_.opset < 13 || axis < 0 || axis >= rank - 1) return std::optional<Known>();
  Numbers64 order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<size_t>(axis)], order.back());
  const auto turned = permuted(node.name + " turned", *arguments[0], order);
  if (!turned) return turned.error();
  Node stand_in = node;
  stand_in.attributes.insert_or_assign("axis", int64_t{-1});
  const Known* operands[] = {&*turned};
  const auto result = operation(node.op, stand_in, operands);
  if (!result) return result.error();
  auto back = permuted(node.name + " turned back", *result, order);
  if (!back) return back.error();
  return std::optional(*std::move(back));
}

Expected<std::optional<Known>> Importer::move(const Node& node, Arguments arguments) {
  struct Row {
    std::string_view op;
    Expected<Known> (Importer::*move)(const Node& node, Arguments arguments);
  };
  constexpr Row kRows[] = {{"Transpose", &Importer::transpose},
                           {"Slice", &Importer::slice},
                           {"Pad", &Importer::pad},
                           {"Expand", &Importer::expand},
                           {"Resize", &Importer::resize},
                           {"Upsample", &Importer::resize},
                           {"Gather", &Importer::gather},
                           {"GatherElements", &Importer::gather_elements}};
  const auto row = std::ranges::find(kRows, node.op, &Row::op);
  const bool turns = node.op == "Softmax";
  if (row == std::end(kRows) && !turns) return std::optional<Known>();
  if (arguments.empty() || !arguments[0]) return refused("it has no input");
  if (turns) return turned_softmax(node, arguments);
  auto result = (this->*row->move)(node, arguments);
  if (!result) return result.error();
  return std::optional(*std::move(result));
}

}  // namespace qgen::onnx
