// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Models for tests, a node a call; each gives the name of its result.
//
//   ModelBuilder m;
//   const std::string x = m.view(m.input("x", {-1, 3, 8, 8}), 0.05f, 3);       // quantized and dequantized
//   m.output(m.view(m.node("Relu", {m.conv(x, {4, 3, 3, 3})}), 0.1f, -128));
#pragma once

#include <fmt/format.h>

#include "runtime/models/onnx/import.h"
#include "runtime/models/onnx/reader.h"
#include "tests/support/tensors.h"

namespace qgen::onnx::testing {

using qgen::testing::Random;

class ModelBuilder {
 public:
  Model model;
  Random random{7};

  explicit ModelBuilder(int64_t opset = 13) {
    model.opsets[""] = opset;
    model.opsets["com.microsoft"] = 1;
  }

  std::string input(const std::string& name, const Shape& sides, ElementType type = ElementType::f32) {
    ValueInfo info{name, type, std::vector<InputSide>()};
    for (const int64_t side : sides) info.shape->push_back(side < 0 ? InputSide{0, "batch"} : InputSide{side, {}});
    model.graph.inputs.push_back(std::move(info));
    return name;
  }
  void output(const std::string& name) { model.graph.outputs.push_back({.name = name}); }

  std::string constant(Tensor tensor) {
    if (tensor.name.empty()) tensor.name = fmt::format("constant_{}", model.graph.initializers.size());
    const std::string name = tensor.name;
    model.graph.initializers.emplace(name, std::make_shared<const Tensor>(std::move(tensor)));
    return name;
  }
  std::string reals(const Shape& shape, std::vector<float> values) {
    return constant(tensor_of<float>(ElementType::f32, shape, values));
  }
  std::string random_reals(const Shape& shape, double low, double high) {
    std::vector<float> values;
    for (int64_t i = 0; i < element_count(shape); ++i) values.push_back(static_cast<float>(random.real(low, high)));
    return reals(shape, std::move(values));
  }
  std::string scalar(float value) { return reals({}, {value}); }
  std::string integers(ElementType type, const Shape& shape, const std::vector<int64_t>& values) {
    Tensor tensor{.type = type, .shape = shape};
    for (const int64_t value : values) {
      for (int64_t b = 0; b < bytes(type); ++b) tensor.data.push_back(static_cast<std::byte>(value >> (8 * b)));
    }
    return constant(std::move(tensor));
  }
  std::string list(const std::vector<int64_t>& values) {
    return integers(ElementType::i64, {std::ssize(values)}, values);
  }
  std::string random_integers(ElementType type, const Shape& shape, int64_t low, int64_t high) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < element_count(shape); ++i) values.push_back(random.integer(low, high));
    return integers(type, shape, values);
  }

  std::string node(const std::string& op, std::vector<std::string> inputs,
                   std::map<std::string, AttributeData, std::less<>> attributes = {}, const std::string& domain = "") {
    Node made{.name = fmt::format("{}_{}", op, model.graph.nodes.size()),
              .op = op,
              .domain = domain,
              .inputs = std::move(inputs),
              .attributes = std::move(attributes)};
    made.outputs = {made.name + "_result"};
    model.graph.nodes.push_back(made);
    return made.outputs.front();
  }

  std::string zero(int64_t zero_point, ElementType type) { return integers(type, {}, {zero_point}); }
  std::string quantize(const std::string& x, float scale, int64_t zero_point, ElementType type = ElementType::i8) {
    return node("QuantizeLinear", {x, scalar(scale), zero(zero_point, type)});
  }
  std::string dequantize(const std::string& x, float scale, int64_t zero_point, ElementType type = ElementType::i8) {
    return node("DequantizeLinear", {x, scalar(scale), zero(zero_point, type)});
  }
  std::string view(const std::string& x, float scale, int64_t zero_point, ElementType type = ElementType::i8) {
    return dequantize(quantize(x, scale, zero_point, type), scale, zero_point, type);
  }
  // A weight of int8 with a scale for each side of `axis`.
  std::string weight(const Shape& shape, int64_t axis = 0) {
    const int64_t side = shape[static_cast<size_t>(axis)];
    std::vector<float> scales;
    for (int64_t i = 0; i < side; ++i) scales.push_back(static_cast<float>(random.real(0.01, 0.03)));
    const std::string codes = random_integers(ElementType::i8, shape, -127, 127);
    const std::string zeros = integers(ElementType::i8, {side}, std::vector<int64_t>(static_cast<size_t>(side), 0));
    return node("DequantizeLinear", {codes, reals({side}, scales), zeros}, {{"axis", axis}});
  }
  std::string conv(const std::string& x, const Shape& taps,
                   std::map<std::string, AttributeData, std::less<>> attributes = {}) {
    return node("Conv", {x, weight(taps)}, std::move(attributes));
  }

  Expected<Imported> import() const { return import_model(model); }
};

// "q8ta_quantize_linear q8ta_conv2d": the operators of a graph, in order.
inline std::string operators_of(const graph::Graph& graph) {
  std::string list;
  for (const graph::Node& node : graph.nodes) list += (list.empty() ? "" : " ") + node.op;
  return list;
}
inline std::string imported_operators(const ModelBuilder& builder) {
  const auto imported = builder.import();
  return imported ? operators_of(imported->graph) : imported.error().message;
}

// "node 'Conv_3' (Conv): its bias is [2]\nfor conv2d: ..." -> "its bias is [2]"
inline std::string first_reason(const std::string& message) {
  const std::string line = message.substr(0, message.find('\n'));
  const size_t node = line.find("): ");
  return node == line.npos ? line : line.substr(node + 3);
}

}  // namespace qgen::onnx::testing
