// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Operators on 8-bit integers without a DequantizeLinear. They are imported with a scale of 1, with which sums and
// products of two integers are exact in f32. Results outside the range of the type saturate, as everywhere in qgen;
// ONNX does not define this case.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/models/onnx/importer.h"

namespace qgen::onnx {
namespace {

// As they are, of a scale of 1.
PerTensor of_scale_one(ElementType type) { return {1, -shift_of(type)}; }

// Halves have every byte.
Real halves(Builder& builder, const std::string& name, const Codes& codes) {
  const PerTensor one = of_scale_one(codes.type);
  const auto parameter = [&](std::string_view port, HostTensor data) {
    return graph::Port{std::string(port), builder.constant(fmt::format("{} {}", name, port), std::move(data))};
  };
  graph::Node node{
      .name = name,
      .op = "dequantize_affine",
      .inputs = {{"input", codes.value},
                 parameter("scale", make_tensor<float>(DType::f32, {1}, std::span(&one.scale, 1))),
                 parameter("zero_point", make_tensor<int32_t>(DType::i32, {1}, std::span(&one.zero_point, 1)))},
      .attributes = {{"output_dtype", std::string("f16")}}};
  const Dims shape = builder.shapes[codes.value];
  return Real{builder.add(std::move(node), shape), DType::f16};
}

// To types that hold each of the integers: floats, and integers with more bits.
std::optional<Known> cast_of_codes(Builder& builder, const Node& node, const Known& input) {
  const Codes& codes = *input.as<Codes>();
  const ElementType to = element_type(node.integer("to", 0));
  if (to == ElementType::f32) return Known{View{codes.value, of_scale_one(codes.type)}, input.shape};
  if (to == ElementType::f16) return Known{halves(builder, node.name, codes), input.shape};
  const auto range = range_of(codes.type), wide = range_of(to);
  if (!is_code(to) || range->min < wide->min || range->max > wide->max) return std::nullopt;
  const ValueId value = builder.requantized(codes.value, of_scale_one(codes.type), of_scale_one(to), node.name);
  return Known{Codes{value, to}, input.shape};
}

}  // namespace

Expected<std::optional<Known>> Importer::of_codes(const Node& node, Arguments arguments) {
  constexpr std::string_view kOperators[] = {"Add", "Sub", "Mul", "Max", "Min", "Clip", "Cast"};
  if (!node.domain.empty() || std::ranges::find(kOperators, node.op) == std::end(kOperators))
    return std::optional<Known>();
  const auto codes = std::ranges::find_if(arguments, [](const Known* it) { return it && it->as<Codes>(); });
  if (codes == arguments.end()) return std::optional<Known>();
  const ElementType type = type_of(**codes);
  if (node.op == "Cast") return cast_of_codes(builder_, node, **codes);
  if (!is_byte(type)) return unsupported(fmt::format("it computes with integers of type {}", name(type)));

  const Parameters parameters{.shape = {}, .scales = {1}, .zero_points = {0}, .type = type};
  std::vector<Known> operands;
  for (const Known* argument : arguments) {
    if (!argument) continue;
    if ((!argument->as<Codes>() && !argument->tensor()) || type_of(*argument) != type)
      return unsupported(fmt::format("some of its inputs are {}, and others are not", name(type)));
    auto operand = view_of(*argument, parameters, type);
    if (!operand) return operand.error();
    operands.push_back(*std::move(operand));
    if (node.op == "Clip") break;  // its bounds are constants
  }
  auto result = Expected<Known>(operands.front());
  if (node.op == "Clip") {
    const auto function = function_at(node, arguments);
    if (!function) return function.error();
    result = apply(node, operands.front(), **function);
  } else if (node.op == "Max" || node.op == "Min") {
    result = greatest_or_least(node, operands, of_scale_one(type));
  } else {
    if (operands.size() != 2) return refused("it does not have two inputs");
    const Known* pair[] = {&operands[0], &operands[1]};
    builder_.note(node.name, "integers outside the range of a byte saturate; ONNX does not define this case");
    result = operation(node.op, node, pair);
  }
  if (!result) return result.error();
  auto bytes = quantized_to(node, *result, parameters);
  if (!bytes) return bytes.error();
  return std::optional(*std::move(bytes));
}

// The greater of a and b is a + relu(b - a), the lesser a - relu(a - b): of integers both are exact.
Expected<Known> Importer::greatest_or_least(const Node& node, const std::vector<Known>& operands,
                                            const PerTensor& output) {
  const bool is_max = node.op == "Max";
  Known result = operands.front();
  for (size_t i = 1; i < operands.size(); ++i) {
    const Known* difference[] = {is_max ? &operands[i] : &result, is_max ? &result : &operands[i]};
    auto excess = operation("Sub", node, difference);
    if (!excess) return excess;
    excess = apply(node, *excess, bounded({.low = 0}));
    if (!excess) return excess;
    const Known* sum[] = {&result, &*excess};
    auto next = operation(is_max ? "Add" : "Sub", node, sum);
    if (!next) return next;
    const auto codes = builder_.quantized(*next, output, node.name);
    if (!codes) return codes.error();
    result = Known{View{*codes, output}, next->shape};
  }
  return result;
}

}  // namespace qgen::onnx
