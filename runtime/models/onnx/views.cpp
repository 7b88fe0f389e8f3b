// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>

#include <algorithm>

#include "runtime/models/onnx/importer.h"

namespace qgen::onnx {

Known Elements::as_known(ValueId moved, Dims shape) const {
  Known result = like;
  if (auto* view = std::get_if<View>(&result.what)) view->codes = moved;
  if (auto* it = std::get_if<Codes>(&result.what)) it->value = moved;
  if (auto* real = std::get_if<Real>(&result.what)) real->value = moved;
  if (auto* it = std::get_if<Integers>(&result.what)) it->value = moved;
  result.shape = std::move(shape);
  return result;
}

Expected<Known> Importer::seen_as(const Node& node, const Known& input, const Dims& shape) {
  if (const auto* pending = input.as<PendingPtr>()) {
    auto seen = std::make_shared<Pending>(**pending);
    seen->reshaped = shape;
    return Known{std::move(seen), shape};
  }
  Known result{input.what, shape};
  if (const TensorPtr tensor = input.tensor()) {
    const auto sides = known_shape(shape);
    if (!sides || element_count(*sides) != tensor->size())
      return refused(fmt::format("{} cannot be reshaped to {}", to_text(input.shape), to_text(shape)));
    Tensor seen = *tensor;
    seen.shape = *sides;
    result.what = std::make_shared<const Tensor>(std::move(seen));
    return result;
  }
  if (!builder_.fuses && input.as<View>()) {
    const auto reals = builder_.real_of(input);
    if (!reals) return reals.error();
    result.what = *reals;
  }
  const auto see = [&](ValueId& value) -> Done {
    const auto seen = builder_.reshape(node.name, value, shape);
    if (!seen) return seen.error();
    value = *seen;
    return std::monostate{};
  };
  Done done = std::monostate{};
  if (auto* view = std::get_if<View>(&result.what)) done = see(view->codes);
  else if (auto* codes = std::get_if<Codes>(&result.what)) done = see(codes->value);
  else if (auto* real = std::get_if<Real>(&result.what)) done = see(real->value);
  else if (auto* it = std::get_if<Integers>(&result.what)) done = see(it->value);
  if (!done) return done.error();
  return result;
}

Expected<std::optional<Function>> Importer::function_at(const Node& node, Arguments arguments) {
  if (node.op == "Silu") return std::optional(silu());  // join_functions.h
  std::vector<TensorPtr> constants;
  for (size_t i = 0; i < node.inputs.size(); ++i) constants.push_back(tensor_at(arguments, i));
  return function_of(node, constants);
}

Expected<Known> Importer::apply(const Node& node, const Known& input, const Function& function) {
  Pending pending;
  if (const auto* waiting = input.as<PendingPtr>()) {
    pending = **waiting;
  } else if (const auto view = builder_.view_of(input)) {
    pending = identity(*view, input.shape);
  } else if (input.as<Real>()) {
    const auto real = builder_.applied(node.name, node.op, function, *input.as<Real>());
    if (!real) return real.error();
    return Known{*real, input.shape};
  } else {
    return unsupported("it is a function of a constant, or of integers without a DequantizeLinear");
  }
  constexpr size_t kMostFunctions = 16;
  if (pending.functions.size() == kMostFunctions)
    return unsupported(fmt::format("it is the {}th function of one value in a row, and qgen fuses at most {}",
                                   kMostFunctions + 1, kMostFunctions));
  pending.name += (pending.name.empty() ? "" : " + ") + node.name;
  pending.functions.push_back({node.name, node.op, function});
  return Known{std::make_shared<Pending>(std::move(pending)), input.shape};
}

std::optional<Known> Importer::add_bias(const Node& node, Arguments arguments) {
  for (size_t i = 0; i < 2 && arguments.size() == 2; ++i) {
    const auto* waiting = arguments[i] ? arguments[i]->as<PendingPtr>() : nullptr;
    const Known* other = arguments[1 - i];
    if (!waiting || !other) continue;
    const Pending& layer = **waiting;
    const bool has_bias = std::ranges::find(layer.constants, "bias", &graph::Port::operand) != layer.constants.end();
    if (!layer.takes_bias || has_bias || !layer.functions.empty() || layer.reshaped) continue;
    const auto reals = of_channels(layer, *other);
    if (!reals) continue;
    auto biased = std::make_shared<Pending>(layer);
    biased->name += " + " + node.name;
    biased->constants.push_back(
        {"bias", builder_.constant(node.name + " bias", make_tensor<float>(DType::f32, {std::ssize(*reals)}, *reals))});
    return Known{std::move(biased), arguments[i]->shape};
  }
  return std::nullopt;
}

Expected<Known> Importer::max_pool(const Node& node, Arguments arguments) {
  if (arguments.empty() || !arguments[0]) return refused("it has no input");
  const auto elements = elements_of(*arguments[0]);
  if (!elements) return elements.error();
  if (elements->are_integers()) return unsupported("its input is of integers of 32 bits, or of booleans");
  const Dims& input = arguments[0]->shape;
  if (input.size() != 3 && input.size() != 4)
    return unsupported(
        fmt::format("its input {} is neither an image [N, C, H, W] nor a row [N, C, L]", to_text(input)));
  Attributes attributes;
  Dims shape = input;
  std::fill(shape.begin() + 2, shape.end(), Number{1});
  if (node.op == "MaxPool") {
    const auto window = window_of(node, node.integers("kernel_shape"), input);
    if (!window) return window.error();
    auto output = places(*window, input, builder_.symbols);
    if (!output) return output.error();
    shape = *std::move(output);
    attributes = {{"kernel_size", window->kernel},
                  {"stride", window->strides},
                  {"padding", window->padding()},
                  {"dilation", window->dilations},
                  {"ceil_mode", window->ceil}};
  }
  return moved(node.name, *elements, elements->are_bytes() ? "q8ta_max_pool2d" : "max_pool2d", std::move(attributes),
               shape);
}

Expected<Known> Importer::depth_to_space(const Node& node, Arguments arguments) {
  if (arguments.empty() || !arguments[0]) return refused("it has no input");
  const auto bytes = elements_of(*arguments[0]);
  if (!bytes) return bytes.error();
  if (!bytes->are_bytes())
    return unsupported(
        "its input is not quantized, and qgen has no floating-point operator "
        "for this");
  if (node.word("mode", "DCR") != "CRD")
    return unsupported("its mode is DCR, and qgen moves channels only in the order of CRD");
  const int64_t r = node.integer("blocksize", 0);
  const Dims& input = arguments[0]->shape;
  if (r < 1 || r > 32768 || input.size() != 4 || input[1].is_symbol || input[1].value % (r * r) != 0)
    return refused(fmt::format("its blocksize is {}, and its input is {}", r, to_text(input)));
  Dims shape{input[0], {input[1].value / (r * r)}, input[2], input[3]};
  for (size_t d = 2; d < 4; ++d) {
    if (shape[d].is_symbol) shape[d].value = builder_.symbols.next++;
    else if (__builtin_mul_overflow(shape[d].value, r, &shape[d].value)) return refused("its output is too large");
  }
  // Of one scale on both sides, which bytes do not show.
  graph::Node shuffle{.name = node.name,
                      .op = "q8ta_pixel_shuffle",
                      .inputs = {{"input", bytes->value}},
                      .attributes = {{"input_scale", 1.0}, {"output_scale", 1.0}, {"upscale_factor", r}}};
  return bytes->as_known(builder_.add(std::move(shuffle), shape), shape);
}

}  // namespace qgen::onnx
