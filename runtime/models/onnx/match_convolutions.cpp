// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>

#include <algorithm>

#include "runtime/models/onnx/match.h"

namespace qgen::onnx::matching {
namespace {

// The weight, which has a side for each of the input's.
Expected<const QuantizedConstant*> taps_at(Builder& builder, Arguments arguments) {
  const auto constant = constant_at(builder, arguments, 1);
  if (!constant) return constant;
  const Dims& input = arguments[0]->shape;
  const Shape& taps = (*constant)->codes->shape;
  if (is_image(input) && taps.size() == input.size()) return constant;
  return unsupported(fmt::format("an input {} and a weight {} are neither images [N, C, H, W] nor rows [N, C, L]",
                                 to_text(input), to_text(taps)));
}

// A convolution of an image with a weight of these dimensions, as far as the node describes it: shape, window and
// groups.
Expected<Pending> forward(Builder& builder, const Node& node, const Dims& input, const Shape& taps) {
  const int64_t groups = node.integer("group", 1);
  if (groups < 1 || groups > taps[0] || taps[0] % groups != 0 ||
      (!input[1].is_symbol && input[1].value != taps[1] * groups))
    return refused(
        fmt::format("an input {}, a weight {} and {} groups do not match", to_text(input), to_text(taps), groups));
  const auto window = window_of(node, {taps.begin() + 2, taps.end()}, input);
  if (!window) return window.error();
  auto shape = places(*window, input, builder.symbols);
  if (!shape) return shape.error();
  (*shape)[1] = {taps[0]};
  Pending pending{.name = node.name, .shape = *std::move(shape)};
  set_window(pending.attributes, *window);
  pending.attributes.insert_or_assign("dilation", AttributeValue(window->dilations));
  pending.attributes.insert_or_assign("groups", AttributeValue(groups));
  return pending;
}

Expected<Pending> convolution(Builder& builder, const Node& node, Arguments arguments, Pending::Operand input) {
  const auto constant = taps_at(builder, arguments);
  if (!constant) return constant.error();
  const Shape& taps = (*constant)->codes->shape;
  auto weight = symmetric_along(**constant, 0);
  if (!weight) return unsupported(weight.error().message);
  auto pending = forward(builder, node, input.shape, taps);
  if (!pending) return pending;
  if (const auto* view = std::get_if<View>(&input.value))
    check_bias_scale(builder, node, at(arguments, 2), view->quantization.scale, weight->scales);
  pending->operands.push_back(std::move(input));
  add_weight(builder, **constant, *pending, *std::move(weight), "");
  if (Done biased = add_bias(builder, node, arguments, 2, taps[0], *pending); !biased) return biased.error();
  return pending;
}

}  // namespace

Expected<Pending> conv(Builder& builder, const Node& node, Arguments arguments) {
  const auto view = view_at(builder, arguments, 0);
  if (!view) return view.error();
  return convolution(builder, node, arguments, {"input", *view, arguments[0]->shape});
}

Expected<Pending> conv_of_reals(Builder& builder, const Node& node, Arguments arguments) {
  const auto real = real_at(builder, arguments, 0);
  if (!real) return real.error();
  return convolution(builder, node, arguments, {"input", *real, arguments[0]->shape});
}

// The weight's integers and their zero points, if a difference exceeds int8; else the differences.
Expected<Pending> conv_of_computed(Builder& builder, const Node& node, Arguments arguments) {
  const auto view = view_at(builder, arguments, 0);
  if (!view) return view.error();
  const auto constant = taps_at(builder, arguments);
  if (!constant) return constant.error();
  const TensorPtr& codes = (*constant)->codes;
  auto pending = forward(builder, node, arguments[0]->shape, codes->shape);
  if (!pending) return pending;
  pending->operands.push_back({"input", *view, arguments[0]->shape});
  if (auto symmetric = symmetric_along(**constant, 0)) {
    add_weight(builder, **constant, *pending, *std::move(symmetric), "");
    return pending;
  }
  if (node.integer("group", 1) != 1) return unsupported("its weight exceeds int8 without its zero point, in groups");
  if (!is_byte(codes->type)) return unsupported("its weight does not have 8 bits");
  const std::vector<float> ones(static_cast<size_t>(codes->shape[0]), 1.0f);
  std::vector<int32_t> zero_points = (*constant)->parameters.zero_points;
  if (zero_points.size() == 1) zero_points.resize(ones.size(), zero_points.front());
  for (int32_t& zero_point : zero_points) zero_point -= shift_of(codes->type);
  add_weight(builder, **constant, *pending,
             {signed_codes(*codes), make_tensor<float>(DType::f32, {std::ssize(ones)}, ones)}, " as it is signed",
             ZeroPoints::kept);
  pending->constants.push_back(
      {"weight_zero_points", builder.constant(node.name + " weight_zero_points",
                                              make_tensor<int32_t>(DType::i32, {std::ssize(ones)}, zero_points))});
  return pending;
}

// An integer weight that exceeds int8 without its zero points. It becomes a sum of int8 weights, for an input that is
// repeated along its channels.
Expected<Pending> conv_of_copies(Builder& builder, const Node& node, Arguments arguments) {
  const auto view = view_at(builder, arguments, 0);
  if (!view) return view.error();
  const auto constant = taps_at(builder, arguments);
  if (!constant) return constant.error();
  const Dims& input = arguments[0]->shape;
  const Shape& taps = (*constant)->codes->shape;
  if (node.integer("group", 1) != 1) return unsupported("it has groups");
  if (symmetric_along(**constant, 0)) return unsupported("its weight fits into bytes");
  auto repeated = symmetric_in_copies(**constant);
  if (!repeated) return unsupported(repeated.error().message);
  constexpr std::string_view kPorts[] = {"input_1", "input_2", "input_3"};
  if (repeated->copies > std::ssize(kPorts)) return unsupported("its weight is too far from its zero point");
  auto pending = forward(builder, node, input, taps);
  if (!pending) return pending;
  check_bias_scale(builder, node, at(arguments, 2), view->quantization.scale, repeated->weight.scales);
  Dims wide = input;
  wide[1] = {taps[1] * repeated->copies};
  graph::Node join{.name = node.name + " input", .op = "q8ta_concat", .attributes = {{"axis", int64_t{1}}}};
  for (int64_t i = 0; i < repeated->copies; ++i) {
    const std::string port(kPorts[static_cast<size_t>(i)]);
    join.inputs.push_back({port, view->codes});
    join.attributes.emplace(port + "_scale", 1.0);
  }
  join.attributes.emplace("output_scale", 1.0);
  pending->operands.push_back({"input", View{builder.add(std::move(join), wide), view->quantization}, wide});
  add_weight(builder, **constant, *pending, std::move(repeated->weight), " repeated");
  if (Done biased = add_bias(builder, node, arguments, 2, taps[0], *pending); !biased) return biased.error();
  return pending;
}

// One tap, at each pixel: a product of the weight with the pixels, in which both sides may have zero points.
Expected<Pending> conv_of_pixels(Builder& builder, const Node& node, Arguments arguments) {
  const auto view = view_at(builder, arguments, 0);
  if (!view) return view.error();
  const auto constant = taps_at(builder, arguments);
  if (!constant) return constant.error();
  const Dims& input = arguments[0]->shape;
  const Shape& taps = (*constant)->codes->shape;
  const auto window = window_of(node, {taps.begin() + 2, taps.end()}, input);
  if (!window) return window.error();
  const auto are = [](const std::vector<int64_t>& list, int64_t n) {
    return std::ranges::count(list, n) == std::ssize(list);
  };
  if (!are(window->kernel, 1) || !are(window->strides, 1) || !are(window->padding(), 0) ||
      node.integer("group", 1) != 1)
    return unsupported("its window has more than one tap, or a stride, padding or groups");
  if (at(arguments, 2)) return unsupported("it has a bias");
  if (!is_byte((*constant)->codes->type)) return unsupported("its weight does not have 8 bits");
  if (!(input[1] == Number{taps[1]}))
    return refused(fmt::format("an input {} and a weight {} have different channels", to_text(input), to_text(taps)));
  auto weight = reshaped(**constant, {1, taps[0], taps[1]});
  if (!weight) return unsupported(weight.error().message);
  if (Done one = check_one_scale_along(*weight, 2); !one) return one.error();
  auto flat = reshaped(input, {input[0], input[1], {-1}}, false, builder.symbols.next);
  if (!flat) return flat.error();
  const auto pixels = builder.reshape(node.name + " pixels", view->codes, *flat);
  if (!pixels) return pixels.error();
  Pending pending{.name = node.name, .shape = *flat, .reshaped = input};
  pending.shape[1] = {taps[0]};
  (*pending.reshaped)[1] = {taps[0]};
  pending.operands.push_back({"input", *std::move(weight), dims_of({1, taps[0], taps[1]})});
  pending.operands.push_back({"other", View{*pixels, view->quantization}, *flat});
  return pending;
}

namespace {

// A transposed convolution, as far as the node describes it; its outputs are a group's outputs times the groups.
Expected<Pending> transposed_forward(Builder& builder, const Node& node, const Dims& input, const Shape& taps) {
  const int64_t groups = node.integer("group", 1);
  if (groups < 1 || groups > taps[0] || taps[0] % groups != 0 || (!input[1].is_symbol && input[1].value != taps[0]))
    return refused(
        fmt::format("an input {}, a weight {} and {} groups do not match", to_text(input), to_text(taps), groups));
  const auto window = transposed_window_of(node, {taps.begin() + 2, taps.end()}, input, builder.opset);
  if (!window) return window.error();
  Pending pending{.name = node.name, .shape = {input[0], {taps[1] * groups}}};
  for (size_t i = 0; i < window->more.size(); ++i) {
    const Number side = input[i + 2];
    pending.shape.push_back(side.is_symbol ? Number{builder.symbols.next++, true}
                                           : Number{window->made(i, side.value)});
  }
  set_window(pending.attributes, *window);
  pending.attributes.insert_or_assign("dilation", AttributeValue(window->dilations));
  pending.attributes.insert_or_assign("groups", AttributeValue(groups));
  pending.attributes.insert_or_assign("output_padding", AttributeValue(window->more));
  return pending;
}

}  // namespace

Expected<Pending> conv_transposed(Builder& builder, const Node& node, Arguments arguments) {
  const auto view = view_at(builder, arguments, 0);
  if (!view) return view.error();
  const auto constant = taps_at(builder, arguments);
  if (!constant) return constant.error();
  const Shape& taps = (*constant)->codes->shape;
  auto weight = symmetric_along(**constant, 1);
  if (!weight) return unsupported(weight.error().message);
  auto pending = transposed_forward(builder, node, arguments[0]->shape, taps);
  if (!pending) return pending;
  // Scales go along the outputs of a group, and are the same in all groups.
  const auto of_group = weight->scales.as<float>();
  std::vector<float> scales;
  const auto groups = std::get<int64_t>(pending->attributes.find("groups")->second);
  for (int64_t g = 0; g < groups; ++g) scales.insert(scales.end(), of_group.begin(), of_group.end());
  weight->scales = make_tensor<float>(DType::f32, {std::ssize(scales)}, scales);
  check_bias_scale(builder, node, at(arguments, 2), view->quantization.scale, weight->scales);
  pending->operands.push_back({"input", *view, arguments[0]->shape});
  add_weight(builder, **constant, *pending, *std::move(weight), "");
  if (Done biased = add_bias(builder, node, arguments, 2, std::ssize(scales), *pending); !biased) return biased.error();
  return pending;
}

// ---- with a weight of reals -----------------------------------------------------------------------------------------

namespace {

Expected<Pending> of_real_weight(Builder& builder, const Node& node, Arguments arguments,
                                 Expected<Pending> (*shaped)(Builder&, const Node&, const Dims&, const Shape&)) {
  for (size_t i = 0; i < 2; ++i) {
    if (const auto known = needed(arguments, i); !known) return known.error();
  }
  const Dims& input = arguments[0]->shape;
  const auto taps = known_shape(arguments[1]->shape);
  if (!taps) return unsupported("its weight has an unknown dimension");
  if (!is_image(input) || taps->size() != input.size())
    return unsupported(fmt::format("an input {} and a weight {} are neither images [N, C, H, W] nor rows [N, C, L]",
                                   to_text(input), to_text(*taps)));
  if (element_count(*taps) == 0) return refused("its weight has no elements");
  auto pending = shaped(builder, node, input, *taps);
  if (!pending) return pending;
  const auto real = real_at(builder, arguments, 0);
  if (!real) return real.error();
  // A constant has the dtype of its factor.
  const auto weight = builder.real_of(*arguments[1], real->dtype);
  if (!weight) return weight.error();
  if (weight->dtype != real->dtype) return unsupported("its input and its weight are f16 and f32");
  pending->operands.push_back({"input", *real, input});
  const bool is_constant = arguments[1]->tensor() || arguments[1]->as<QuantizedConstant>();
  if (is_constant) pending->constants.push_back({"weight", weight->value});
  else pending->operands.push_back({"weight", *weight, arguments[1]->shape});
  pending->takes_bias = true;
  if (Done biased = add_bias(builder, node, arguments, 2, pending->shape[1].value, *pending); !biased)
    return biased.error();
  return pending;
}

}  // namespace

Expected<Pending> conv_of_real_weight(Builder& builder, const Node& node, Arguments arguments) {
  return of_real_weight(builder, node, arguments, forward);
}

Expected<Pending> conv_transposed_of_reals(Builder& builder, const Node& node, Arguments arguments) {
  return of_real_weight(builder, node, arguments, transposed_forward);
}

}  // namespace qgen::onnx::matching
