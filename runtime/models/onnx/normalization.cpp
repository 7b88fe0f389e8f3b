// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// BatchNormalization with constants is factor * x + offset, with both for each channel, and so is a product or a sum
// with a constant. If nothing else reads a convolution or a linear layer, it becomes a part of it. The factor goes into
// the scales of its weight, or into its floating-point weight; a sign into the integers; the offset into the bias. Else
// it is a product and a sum.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "runtime/models/onnx/importer.h"

namespace qgen::onnx {
namespace {

// An element of channel c becomes factors[c] * x + offsets[c].
struct Channelwise {
  std::vector<double> factors, offsets;
};

Expected<Channelwise> channelwise_of(const Node& node, Arguments arguments) {
  if (node.integer("training_mode", 0) != 0 || node.integer("spatial", 1) != 1)
    return unsupported("it computes mean and variance while it runs (training_mode), or for each pixel (spatial)");
  if (arguments.size() != 5 || !arguments[0] || arguments[0]->shape.size() < 2)
    return refused(
        "it does not have "
        "five inputs");
  const Dims& input = arguments[0]->shape;
  std::array<TensorPtr, 4> given;
  for (size_t i = 0; i < given.size(); ++i) {
    given[i] = arguments[i + 1] ? arguments[i + 1]->tensor() : nullptr;
    if (!given[i] || !is_real(given[i]->type))
      return unsupported(fmt::format("input {} is not a floating-point constant", i + 1));
    if (dims_of(given[i]->shape) != Dims{input[1]})
      return refused(fmt::format("input {} is {}, and the normalized input is {}", i + 1, to_text(given[i]->shape),
                                 to_text(input)));
  }
  const auto& [factors, offsets, means, variances] = given;
  Channelwise result;
  for (int64_t c = 0; c < factors->size(); ++c) {
    const double factor = factors->real(c) / std::sqrt(double{variances->real(c)} + node.real("epsilon", 1e-5f));
    result.factors.push_back(factor);
    result.offsets.push_back(offsets->real(c) - means->real(c) * factor);
  }
  return result;
}

std::vector<float> rounded(const std::vector<double>& values) { return {values.begin(), values.end()}; }

// ---- of a layer -----------------------------------------------------------------------------------------------------

// Integers with the signs of the factors; nullopt: there is a -128, and 128 is no byte.
std::optional<HostTensor> with_signs(HostTensor codes, const std::vector<double>& factors,
                                     const ChannelOf& channel_of) {
  const auto bytes = codes.as<int8_t>();
  for (size_t i = 0; i < bytes.size(); ++i) {
    const double factor = factors[channel_of(i)];
    if (factor > 0) continue;
    if (factor < 0 && bytes[i] == -128) return std::nullopt;
    bytes[i] = static_cast<int8_t>(factor < 0 ? -bytes[i] : 0);
  }
  return codes;
}

// Floating-point numbers times the factors; nullopt: one would not be finite.
std::optional<HostTensor> with_products(HostTensor weight, const std::vector<double>& factors,
                                        const ChannelOf& channel_of) {
  const auto reals = weight.as<float>();
  for (size_t i = 0; i < reals.size(); ++i) {
    reals[i] = static_cast<float>(reals[i] * factors[channel_of(i)]);
    if (!std::isfinite(reals[i])) return std::nullopt;
  }
  return weight;
}

// A factor of 0 leaves the scale: the integers are 0 then. nullopt: a scale would not be a normal float.
std::optional<HostTensor> with_factors(HostTensor scales, const std::vector<double>& factors) {
  for (size_t c = 0; c < factors.size(); ++c) {
    float& scale = scales.as<float>()[c];
    if (factors[c] != 0) scale = static_cast<float>(scale * std::abs(factors[c]));
    if (!std::isnormal(scale)) return std::nullopt;
  }
  return scales;
}

// `bias` may be none. nullopt: one would not be finite.
std::optional<HostTensor> with_offsets(const HostTensor* bias, const Channelwise& channelwise) {
  HostTensor result = zeros(DType::f32, {std::ssize(channelwise.offsets)});
  for (size_t c = 0; c < channelwise.offsets.size(); ++c) {
    const double before = bias ? bias->as<float>()[c] : 0;
    result.as<float>()[c] = static_cast<float>(before * channelwise.factors[c] + channelwise.offsets[c]);
    if (!std::isfinite(result.as<float>()[c])) return std::nullopt;
  }
  return result;
}

// The layer with them; nullopt: it is none, or has no place for them.
Expected<std::optional<Pending>> folded(Builder& builder, const Pending& layer, const Channelwise& channelwise,
                                        const std::string& name) {
  const bool is_layer = layer.pattern->op == "ConvTranspose" || layer.pattern->op == "Conv" || is_linear(layer);
  if (!is_layer || !layer.functions.empty() || layer.reshaped) return std::optional<Pending>();
  const auto constant_at = [&](std::string_view operand) -> const HostTensor* {
    const auto found = std::ranges::find(layer.constants, operand, &graph::Port::operand);
    return found == layer.constants.end() ? nullptr : builder.graph.values[found->value].data.get();
  };
  const HostTensor *weight = constant_at("weight"), *scales = constant_at("weight_scales");
  const bool is_real = weight && !scales;
  if (!weight || (is_real && weight->dtype != DType::f32)) return std::optional<Pending>();  // halves would lose bits
  // Scales of groups of a channel go with 4-bit integers, whose signs may not change as int8's may.
  if (scales && scales->shape != Shape{std::ssize(channelwise.factors)}) return std::optional<Pending>();
  if (Done spent = builder.spend(element_count(weight->shape)); !spent) return spent.error();
  const auto& factors = channelwise.factors;
  const ChannelOf channel_of = channels_of(layer, weight->shape);
  auto made = is_real ? with_products(*weight, factors, channel_of) : with_signs(*weight, factors, channel_of);
  auto factored = is_real ? std::optional<HostTensor>() : with_factors(*scales, factors);
  const HostTensor* bias_before = constant_at("bias");
  const bool has_bias =
      bias_before || std::ranges::any_of(channelwise.offsets, [](double offset) { return offset != 0; });
  auto bias = with_offsets(bias_before, channelwise);
  if (!made || (!is_real && !factored) || !bias) return std::optional<Pending>();

  Pending result = layer;
  result.name += " + " + name;
  std::erase_if(result.constants, [](const graph::Port& port) { return port.operand != "weight"; });
  if (made->data != weight->data) result.constants.front().value = builder.constant(name + " weight", *std::move(made));
  if (factored)
    result.constants.push_back({"weight_scales", builder.constant(name + " weight_scales", *std::move(factored))});
  if (has_bias) result.constants.push_back({"bias", builder.constant(name + " bias", *std::move(bias))});
  return std::optional(std::move(result));
}

// nullopt: it is none, or not in floating point.
std::optional<HostTensor> reals_of_constant(const Known& known) {
  const TensorPtr tensor = known.tensor();
  if (tensor && is_real(tensor->type)) return reals_of(*tensor, DType::f32);
  const auto* integers = known.as<QuantizedConstant>();
  return integers ? std::optional(dequantized(*integers)) : std::nullopt;
}

double reciprocal(float value) { return 1 / double{value}; }

}  // namespace

std::optional<std::vector<float>> Importer::of_channels(const Pending& layer, const Known& constant) {
  if (layer.shape.empty()) return std::nullopt;
  const size_t from_end = is_linear(layer) ? 1 : layer.shape.size() - 1;
  const auto shape = known_shape(constant.shape);
  if (!shape || shape->size() > layer.shape.size() || from_end == 0) return std::nullopt;
  const Number channels = layer.shape[layer.shape.size() - from_end];
  const int64_t count = element_count(*shape);
  const bool is_one_each =
      shape->size() >= from_end && Number{(*shape)[shape->size() - from_end]} == channels && count == channels.value;
  if (channels.is_symbol || (!is_one_each && count != 1)) return std::nullopt;
  const auto reals = reals_of_constant(constant);
  if (!reals) return std::nullopt;
  const auto values = reals->as<float>();
  if (is_one_each) return std::vector<float>(values.begin(), values.end());
  return std::vector<float>(static_cast<size_t>(channels.value), values[0]);
}

Expected<std::optional<Known>> Importer::scaled_or_shifted(const Node& node, Arguments arguments) {
  const size_t places = node.op == "Div" ? 1 : 2;  // where the layer may be
  for (size_t i = 0; i < places && arguments.size() == 2; ++i) {
    const auto* waiting = arguments[i] ? arguments[i]->as<PendingPtr>() : nullptr;
    const auto constants = waiting && arguments[1 - i] ? of_channels(**waiting, *arguments[1 - i]) : std::nullopt;
    if (!constants) continue;
    Channelwise channelwise{std::vector<double>(constants->size(), 1), std::vector<double>(constants->size(), 0)};
    const bool is_factor = node.op == "Mul" || node.op == "Div";
    (is_factor ? channelwise.factors : channelwise.offsets).assign(constants->begin(), constants->end());
    if (node.op == "Div") std::ranges::transform(*constants, channelwise.factors.begin(), reciprocal);
    if (node.op == "Sub" && i == 0) std::ranges::transform(*constants, channelwise.offsets.begin(), std::negate());
    if (node.op == "Sub" && i == 1) std::ranges::fill(channelwise.factors, -1.0);
    auto layer = folded(builder_, **waiting, channelwise, node.name);
    if (!layer) return layer.error();
    if (*layer) return std::optional(Known{std::make_shared<Pending>(**std::move(layer)), arguments[i]->shape});
  }
  return std::optional<Known>();
}

Expected<Known> Importer::divided(const Node& node, Arguments arguments) {
  const Known* divisor = arguments.size() == 2 ? arguments[1] : nullptr;
  const auto reals = divisor ? reals_of_constant(*divisor) : std::nullopt;
  if (!reals) return lacking(node.op);
  if (Done spent = builder_.spend(element_count(reals->shape)); !spent) return spent.error();
  std::vector<float> factors;
  for (const float value : reals->as<float>()) {
    factors.push_back(static_cast<float>(reciprocal(value)));
    if (!std::isnormal(factors.back()))
      return unsupported(fmt::format("it divides by {}, whose reciprocal is not a normal float", value));
  }
  const Known factor{std::make_shared<const Tensor>(
                         tensor_of<float>(ElementType::f32, reals->shape, factors, node.name + " reciprocals")),
                     divisor->shape};
  const Known* product[] = {arguments[0], &factor};
  return operation("Mul", node, product);
}

Expected<Known> Importer::batch_normalization(const Node& node, Arguments arguments) {
  constexpr int64_t kWithMode = 14;
  if (builder_.opset < kWithMode && node.outputs.size() > 1)
    return unsupported("it trains: before opset 14, a node with more than one output does",
                       "export the model for inference");
  const auto channelwise = channelwise_of(node, arguments);
  if (!channelwise) return channelwise.error();
  const Known& input = *arguments[0];
  if (const auto* waiting = input.as<PendingPtr>()) {
    auto layer = folded(builder_, **waiting, *channelwise, node.name);
    if (!layer) return layer.error();
    if (*layer) return Known{std::make_shared<Pending>(**std::move(layer)), input.shape};
  }
  Shape channels(input.shape.size() - 1, 1);
  channels[0] = std::ssize(channelwise->factors);
  const auto constant = [&](const std::vector<double>& values, const char* what) {
    return Known{std::make_shared<const Tensor>(tensor_of<float>(ElementType::f32, channels, rounded(values),
                                                                 fmt::format("{} {}", node.name, what))),
                 dims_of(channels)};
  };
  const Known factor = constant(channelwise->factors, "factors"), offset = constant(channelwise->offsets, "offsets");
  const Known* product[] = {&input, &factor};
  const auto scaled = operation("Mul", node, product);
  if (!scaled) return scaled;
  const Known* sum[] = {&*scaled, &offset};
  return operation("Add", node, sum);
}

}  // namespace qgen::onnx
