// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Small int8 networks with seeded weights, of the parts of residual networks, depthwise networks, U-Nets and attention.
#pragma once

#include <cmath>

#include "runtime/models/graph/graph.h"
#include "tests/support/tensors.h"

namespace qgen::testing {

// Layers with separate weights, one after the other.
class Network {
 public:
  explicit Network(uint32_t seed) : random_(seed) {}

  graph::ValueId input(Shape shape) { return graph.add_input("image", DType::f32, std::move(shape)); }
  graph::ValueId quantized(graph::ValueId x) {
    return graph.add({.op = "q8ta_quantize", .inputs = {{"input", x}}, .attributes = {{"output_scale", kScale}}});
  }
  graph::ValueId convolution(graph::ValueId x, int64_t channels, int64_t outputs, int64_t taps, int64_t stride,
                             int64_t groups = 1, std::optional<graph::ValueId> residual = {}) {
    graph::Node node{.op = "q8ta_conv2d", .inputs = {{"input", x}}, .attributes = scales()};
    add_weight(node, {outputs, channels / groups, taps, taps}, outputs);
    node.attributes.emplace("stride", std::vector<int64_t>{stride});
    node.attributes.emplace("padding", std::vector<int64_t>{taps / 2});
    node.attributes.emplace("groups", groups);
    node.attributes.emplace("activation", "relu");
    if (residual) {
      node.inputs.push_back({"residual", *residual});
      node.attributes.emplace("residual_scale", kScale);
      node.attributes.emplace("result_scale", kScale);
    }
    return graph.add(std::move(node));
  }
  graph::ValueId unary(graph::ValueId x, std::string_view op) {
    return graph.add({.op = std::string(op), .inputs = {{"input", x}}, .attributes = scales()});
  }
  graph::ValueId sum(graph::ValueId a, graph::ValueId b) {
    graph::Node node{.op = "q8ta_add", .inputs = {{"input", a}, {"other", b}}, .attributes = scales()};
    node.attributes.emplace("other_scale", kScale);
    return graph.add(std::move(node));
  }
  // Twice as large.
  graph::ValueId transposed_convolution(graph::ValueId x, int64_t channels, int64_t outputs) {
    graph::Node node{.op = "q8ta_conv2d_transposed", .inputs = {{"input", x}}, .attributes = scales()};
    add_weight(node, {channels, outputs, 2, 2}, outputs);
    node.attributes.emplace("stride", std::vector<int64_t>{2});
    return graph.add(std::move(node));
  }
  graph::ValueId joined(graph::ValueId a, graph::ValueId b) {
    return graph.add({.op = "q8ta_concat",
                      .inputs = {{"input_1", a}, {"input_2", b}},
                      .attributes = {{"input_1_scale", kScale}, {"input_2_scale", kScale}, {"output_scale", kScale}}});
  }
  graph::ValueId pooled(graph::ValueId x, std::string_view op) {
    Attributes attributes;
    if (op == "q8ta_avg_pool2d") attributes = scales();
    return graph.add({.op = std::string(op), .inputs = {{"input", x}}, .attributes = attributes});
  }
  graph::ValueId reshaped(graph::ValueId x, std::vector<int64_t> shape) {
    return graph.add({.op = "reshape", .inputs = {{"input", x}}, .attributes = {{"shape", std::move(shape)}}});
  }
  graph::ValueId linear(graph::ValueId x, int64_t from, int64_t to) {
    graph::Node node{.op = "q8ta_linear", .inputs = {{"input", x}}, .attributes = scales()};
    add_weight(node, {to, from}, to);
    return graph.add(std::move(node));
  }
  graph::ValueId real(graph::ValueId x) {
    return graph.add({.op = "q8ta_dequantize", .inputs = {{"input", x}}, .attributes = {{"input_scale", kScale}}});
  }

  graph::Graph graph;

 private:
  static constexpr double kScale = 0.0625;
  static Attributes scales() { return {{"input_scale", kScale}, {"output_scale", kScale}}; }

  void add_weight(graph::Node& node, const Shape& shape, int64_t outputs) {
    const std::string name = "weight" + std::to_string(graph.nodes.size());
    const int64_t k = element_count(shape) / outputs;
    const double scale = 0.02 / std::sqrt(static_cast<double>(k));
    node.inputs.push_back({"weight", graph.add_constant(name, random_.integers(DType::i8, shape, -127, 127))});
    node.inputs.push_back({"weight_scales", graph.add_constant(name + "_scales", random_.reals(DType::f32, {outputs},
                                                                                               scale / 2, scale))});
    node.inputs.push_back(
        {"bias", graph.add_constant(name + "_bias", random_.reals(DType::f32, {outputs}, -0.5, 0.5))});
  }

  Random random_;
};

// The parts of ResNets: a stem, a residual block with a projection, one without, a head.
inline graph::Graph residual_network(int64_t batch) {
  Network net(1);
  const graph::ValueId stem = net.convolution(net.quantized(net.input({batch, 3, 20, 20})), 3, 16, 7, 2);
  const graph::ValueId projection = net.convolution(stem, 16, 32, 1, 2);
  const graph::ValueId a = net.convolution(net.convolution(stem, 16, 16, 3, 2), 16, 32, 1, 1, 1, projection);
  const graph::ValueId b = net.convolution(net.convolution(a, 32, 8, 3, 1), 8, 32, 1, 1, 1, a);
  const graph::ValueId flat = net.reshaped(net.pooled(b, "q8ta_avg_pool2d"), {0, -1});
  net.graph.add_output("scores", net.real(net.linear(flat, 32, 10)));
  return std::move(net.graph);
}

// Widened, filtered channel by channel, narrowed, with channel counts that fill no word.
inline graph::Graph depthwise_network() {
  Network net(2);
  const graph::ValueId x = net.quantized(net.input({graph::kAnySide, 5, 9, 7}));
  const graph::ValueId wide = net.convolution(x, 5, 18, 1, 1);
  const graph::ValueId filtered = net.convolution(wide, 18, 18, 3, 1, 18);
  const graph::ValueId narrow = net.convolution(filtered, 18, 5, 1, 1, 1, x);
  net.graph.add_output("features", narrow);
  net.graph.add_output("widest", net.pooled(wide, "q8ta_max_pool2d"));
  return std::move(net.graph);
}

// Down, up by a transposed convolution, and both concatenated.
inline graph::Graph joined_network(int64_t batch) {
  Network net(3);
  const graph::ValueId top = net.convolution(net.quantized(net.input({batch, 3, 8, 12})), 3, 8, 3, 1);
  const graph::ValueId bottom = net.convolution(top, 8, 12, 3, 2);
  const graph::ValueId both = net.joined(net.transposed_convolution(bottom, 12, 6), top);
  net.graph.add_output("classes", net.real(net.convolution(both, 14, 4, 1, 1)));
  return std::move(net.graph);
}

// Functions of elements, one after the other, of values that are needed again and of those that are not.
inline graph::Graph elementwise_network(int64_t batch) {
  Network net(4);
  const graph::ValueId image = net.graph.add_input("image", DType::i8, {batch, 3, 8, 5});
  const graph::ValueId once = net.unary(image, "q8ta_hardswish");
  const graph::ValueId twice = net.unary(once, "q8ta_sigmoid");
  const graph::ValueId sum = net.sum(twice, once);
  const graph::ValueId doubled = net.sum(sum, sum);
  const graph::ValueId kept = net.unary(net.reshaped(doubled, {0, 8, 15}), "q8ta_relu");
  net.graph.add_output("kept", kept);
  net.graph.add_output("last", net.unary(kept, "q8ta_hardswish"));
  return std::move(net.graph);
}

}  // namespace qgen::testing
