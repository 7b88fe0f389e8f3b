// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>

#include <algorithm>

#include "runtime/models/onnx/written_out.h"

namespace qgen::onnx {

Expected<Parameters> Importer::parameters_at(const Node& node, Arguments arguments, ElementType type) {
  if (arguments.size() < 2 || !arguments[0]) return refused("it has no input or no scale");
  const bool has_zero = arguments.size() > 2 && arguments[2];
  const TensorPtr scale = tensor_at(arguments, 1), zero = tensor_at(arguments, 2);
  if (!scale || (has_zero && !zero))
    return unsupported("its scale or zero point is not constant",
                       "for scales that are computed while the model runs, qgen imports DynamicQuantizeLinear before "
                       "MatMulInteger and ConvInteger");
  return parameters_of(node, scale, zero, type, known_shape(arguments[0]->shape));
}

ElementType Importer::type_of(const Known& integers) {
  const auto* codes = integers.as<Codes>();
  return integers.tensor() ? integers.tensor()->type : codes ? codes->type : ElementType::i8;
}

Expected<Known> Importer::quantize_as_defined(const Node& node, Arguments arguments, ElementType type) {
  const bool is_signed = type == ElementType::i8;
  if (!is_signed && type != ElementType::u8)
    return unsupported(fmt::format("its scale is computed, and its integers are {}", name(type)));
  builder_.note(node.name, "its scale is computed, so it is a quotient in floating point");
  const auto x = computed(*arguments[0]), scale = computed(*arguments[1]);
  if (!x || !scale) return x ? scale.error() : x.error();
  auto result = written(node, "Div", {*x, *scale});
  if (result) result = written(node, "Round", {*result});
  if (result && arguments.size() > 2 && arguments[2]) {
    const auto zero = as_type(node, *arguments[2], ElementType::f32);
    if (!zero) return zero.error();
    result = written(node, "Add", {*result, *zero});
  }
  if (result) result = computed(*result);
  if (!result) return result;
  chains::Formula bounded;
  const auto above = bounded.step(chains::Step::maximum, bounded.input(0), bounded.real(is_signed ? -128 : 0));
  bounded.step(chains::Step::minimum, above, bounded.real(is_signed ? 127 : 255));
  result = chain_of(node, bounded, {&*result});
  if (!result) return result;
  return as_type(node, *result, type);
}

Expected<Known> Importer::quantize(const Node& node, Arguments arguments) {
  if (const int64_t precision = node.integer("precision", 0);
      precision != 0 && element_type(precision) != ElementType::f32)
    return unsupported(fmt::format("its precision is {}, and can be float32", name(element_type(precision))));
  const int64_t said = node.integer("output_dtype", 0);
  const ElementType type = said == 0 ? ElementType::u8 : element_type(said);
  const bool has_scale = arguments.size() > 1 && arguments[0] && arguments[1];
  const auto is_one_real = [](const Known& it) {
    return is_real(element_type_of(it)) && std::ranges::all_of(it.shape, is_one);
  };
  if (has_scale && !arguments[1]->tensor() && is_one_real(*arguments[1])) {
    const bool has_zero = arguments.size() > 2 && arguments[2];
    return quantize_as_defined(node, arguments, has_zero ? element_type_of(*arguments[2]) : type);
  }
  auto parameters = parameters_at(node, arguments, type);
  if (!parameters) return parameters.error();
  const Known& input = *arguments[0];
  if (const TensorPtr reals = input.tensor(); reals && is_real(reals->type)) {
    if (Done spent = builder_.spend(reals->size()); !spent) return spent.error();
    auto codes = quantized(*reals, *parameters);
    if (!codes) return codes.error();
    return Known{*std::move(codes), input.shape};
  }
  if (!parameters->is_per_tensor() && is_code(parameters->type)) return quantize_channels(node, input, *parameters);
  return quantized_to(node, input, *parameters);
}

Expected<Known> Importer::quantized_to(const Node& node, const Known& input, const Parameters& parameters) {
  const auto output = per_tensor_of(parameters);
  if (!output) return unsupported(output.error().message);
  auto codes = builder_.quantized(input, *output, node.name);
  if (!codes) return codes.error();
  if (is_nibble(parameters.type))
    codes = builder_.requantized(*codes, *output, *output, node.name + " bounds", range_of(parameters.type));
  return Known{Codes{*codes, parameters.type}, builder_.shapes[*codes]};
}

Expected<Known> Importer::quantize_channels(const Node& node, const Known& input, const Parameters& parameters) {
  const auto real = builder_.real_of(input);
  if (!real) return real.error();
  graph::Node quantize{.name = node.name, .op = "quantize_linear", .inputs = {{"input", real->value}}};
  for (graph::Port& port : channel_parameters(node.name, parameters)) quantize.inputs.push_back(std::move(port));
  if (is_nibble(parameters.type)) set_bounds(quantize, *range_of(parameters.type));
  return Known{Codes{builder_.add(std::move(quantize), input.shape), parameters.type}, input.shape};
}

std::vector<graph::Port> Importer::channel_parameters(const std::string& name, const Parameters& parameters) {
  std::vector<int32_t> zeros = parameters.zero_points;
  for (int32_t& zero : zeros) zero -= shift_of(parameters.type);
  const std::span<const float> scales = parameters.scales;
  return {{"scale", builder_.constant(name + " scale", make_tensor(DType::f32, parameters.shape, scales))},
          {"zero_point",
           builder_.constant(name + " zero_point", make_tensor<int32_t>(DType::i32, parameters.shape, zeros))}};
}

Expected<Known> Importer::dequantize(const Node& node, Arguments arguments) {
  if (arguments.empty() || !arguments[0]) return refused("it has no input");
  if (const int64_t dtype = node.integer("output_dtype", 0); dtype != 0 && element_type(dtype) != ElementType::f32)
    return unsupported(fmt::format("its output_dtype is {}, and can be float32", name(element_type(dtype))));
  const auto* codes = arguments[0]->as<Codes>();
  const auto* scale = arguments.size() > 1 && arguments[1] ? arguments[1]->as<Real>() : nullptr;
  const auto* zero_point = arguments.size() > 2 && arguments[2] ? arguments[2]->as<DynamicZeroPoint>() : nullptr;
  if (codes && scale && zero_point) return dequantized_dynamically(node, *codes, scale->value, *zero_point);
  // The scale alone is computed.
  const TensorPtr fixed = tensor_at(arguments, 2);
  if (codes && scale && arguments[1]->shape.empty() && fixed && fixed->type == codes->type && fixed->size() == 1) {
    const auto zero = static_cast<int32_t>(fixed->integer(0)) - shift_of(fixed->type);
    const ValueId value =
        builder_.constant(node.name + " zero_point", make_tensor<int32_t>(DType::i32, {1}, std::span(&zero, 1)));
    return dequantized_dynamically(node, *codes, scale->value, DynamicZeroPoint{value});
  }
  const bool are_wide = arguments[0]->as<Integers>() || are_sums(*arguments[0]);
  const ElementType type = are_wide ? element_type_of(*arguments[0]) : type_of(*arguments[0]);
  auto parameters = parameters_at(node, arguments, type);
  if (!parameters) return parameters.error();
  if (are_wide) return dequantize_wide(node, *arguments[0], *parameters);
  return view_of(*arguments[0], *std::move(parameters), type);
}

Expected<Known> Importer::dequantize_wide(const Node& node, const Known& input, const Parameters& parameters) {
  for (size_t d = 0; d < parameters.shape.size(); ++d) {
    if (parameters.shape[d] != 1 && input.shape[d] != Number{parameters.shape[d]})
      return unsupported(fmt::format("its scales are of blocks, and its integers {}", name(element_type_of(input))));
  }
  auto result = Expected<Known>(input);
  if (are_sums(input)) {
    auto sums = builder_.real_of(input);
    if (!sums) return sums.error();
    result = Known{Real{sums->value, sums->dtype}, input.shape};
  } else {
    result = as_type(node, input, ElementType::f32);
  }
  const bool has_zero = std::ranges::any_of(parameters.zero_points, [](int32_t zero) { return zero != 0; });
  if (result && has_zero) {
    const std::vector<float> zeros(parameters.zero_points.begin(), parameters.zero_points.end());
    result = written(node, "Sub", {*result, constant_of(node.name + " zero_point", parameters.shape, zeros)});
  }
  if (!result) return result;
  return written(node, "Mul", {*result, constant_of(node.name + " scale", parameters.shape, parameters.scales)});
}

Expected<Known> Importer::view_of(const Known& input, Parameters parameters, ElementType type) {
  if (parameters.type != type)
    return refused(fmt::format("its integers are {} and its zero point is {}", name(type), name(parameters.type)));
  if (const TensorPtr constant = input.tensor())
    return Known{QuantizedConstant{constant, std::move(parameters)}, input.shape};
  const auto* codes = input.as<Codes>();
  if (!codes) return refused("its input has no integers");
  if (!parameters.is_per_tensor()) return dequantize_channels(input, *codes, parameters);
  const auto quantization = per_tensor_of(parameters);
  if (!quantization) return unsupported(quantization.error().message);
  return Known{View{codes->value, *quantization}, input.shape};
}

Known Importer::dequantize_channels(const Known& input, const Codes& codes, const Parameters& parameters) {
  const std::string name = fmt::format("dequantize {}", builder_.graph.values[codes.value].name);
  builder_.note(name,
                "its readers run in floating point: it has several scales, and int8 activations have a single "
                "one");
  graph::Node dequantize{.name = name, .op = "dequantize_affine", .inputs = {{"input", codes.value}}};
  for (graph::Port& port : channel_parameters(name, parameters)) dequantize.inputs.push_back(std::move(port));
  return Known{Real{builder_.add(std::move(dequantize), input.shape)}, input.shape};
}

Importer::Computed Importer::quantized_image(const std::string& name, const Real& real) {
  constexpr std::string_view kOutputs[] = {"output", "scale", "zero_point", "channel_sums"};
  const Dims shape = builder_.shapes[real.value];
  const auto values =
      builder_.graph.add({.name = name, .op = "dynamic_quantize_image", .inputs = {{"input", real.value}}}, kOutputs);
  Dims sums = shape;
  sums[1] = {1};
  builder_.shapes.resize(builder_.graph.values.size(), {Number{1}});
  builder_.shapes[values[0]] = shape;
  builder_.shapes[values[3]] = sums;
  channel_sums_[values[0]] = values[3];
  return {values[0], values[1], values[2]};
}

Importer::Computed Importer::quantized_block(const std::string& name, const Real& real) {
  constexpr std::string_view kOutputs[] = {"scale", "zero_point"};
  const auto parameters = builder_.graph.add({.name = name + " parameters",
                                              .op = "choose_qparams_affine",
                                              .inputs = {{"input", real.value}},
                                              .attributes = {{"keepdim", true}}},
                                             kOutputs);
  const Dims shape = builder_.shapes[real.value];
  builder_.shapes.resize(builder_.graph.values.size(), Dims(shape.size(), Number{1}));
  const ValueId codes =
      builder_.add({.name = name,
                    .op = "quantize_linear",
                    .inputs = {{"input", real.value}, {"scale", parameters[0]}, {"zero_point", parameters[1]}}},
                   shape);
  return {codes, parameters[0], parameters[1]};
}

Done Importer::quantize_dynamically(const Node& node) {
  const auto arguments = arguments_of(node);
  if (!arguments) return arguments.error();
  if (arguments->empty() || !arguments->front()) return refused("it has no input");
  const auto real = builder_.real_of(*arguments->front());
  if (!real) return real.error();
  if (real->dtype != DType::f32) return unsupported("its input is not float32");
  const Dims shape = builder_.shapes[real->value];
  const bool is_convolved = convolved_.contains(node.outputs[0]) && shape.size() == 4 && builder_.fuses;
  const Computed made = is_convolved ? quantized_image(node.name, *real) : quantized_block(node.name, *real);
  // A scalar to the model, and one element to the operator.
  const auto scale = builder_.reshape(node.name + " scale", made.scale, {});
  if (!scale) return scale.error();
  if (node.outputs.size() > 1) computed_scales_[node.outputs[1]] = {made.scale};
  const Known results[] = {
      {Codes{made.codes, ElementType::u8}, shape}, {Real{*scale}, {}}, {DynamicZeroPoint{made.zero_point}, {}}};
  for (size_t i = 0; i < std::min(std::size(results), node.outputs.size()); ++i) {
    if (!node.outputs[i].empty()) known_.insert_or_assign(node.outputs[i], results[i]);
  }
  return std::monostate{};
}

}  // namespace qgen::onnx
