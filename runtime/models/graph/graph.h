// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A model: nodes, which are operators by name, and the values between them. A value has a dtype and a shape. Its
// quantization is in the attributes of the operators. Its layout, its memory and the kernel that writes it are found
// when the graph is prepared (prepared.h).
//
//   Graph graph;
//   const ValueId image = graph.add_input("image", DType::f32, {kAnySide, 3, 224, 224});
//   const ValueId weight = graph.add_constant("weight", codes);            // i8 [64, 3, 7, 7]
//   const ValueId scales = graph.add_constant("weight_scales", per_channel);
//   const ValueId x = graph.add({.op = "q8ta_quantize", .inputs = {{"input", image}},
//                                .attributes = {{"output_scale", 0.02}}});
//   const ValueId y = graph.add({.op = "q8ta_conv2d",
//                                .inputs = {{"input", x}, {"weight", weight}, {"weight_scales", scales}},
//                                .attributes = {{"input_scale", 0.02}, {"output_scale", 0.1}}});
//   graph.add_output("features", y);
//
// Nodes are stored in the order in which they run. The graph knows only the signatures and infer() of operators, so a
// new operator needs no change here. One kind of node is not an operator:
//
//   reshape     input -> output, `shape` [0, -1]: the same elements in the same order. 0 is the input's side, -1 what is
//               left over. Nothing is computed; where both lie row-major they share their memory.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/calls/registry.h"

namespace qgen::graph {

using ValueId = uint32_t;

// A side of a graph input that is known when the graph is prepared only: the batch.
constexpr int64_t kAnySide = -1;
constexpr std::string_view kReshape = "reshape";

struct Value {
  std::string name;
  DType dtype = DType::f32;  // of inputs and constants; infer() finds the others
  Shape shape;               // likewise; kAnySide only of inputs
  bool is_constant = false;
  std::shared_ptr<const HostTensor> data = nullptr;  // of a constant; null: it is on the device alone
};

struct Port {
  std::string operand;  // the operator's name for it
  ValueId value = 0;
};

// Of a node's inputs or outputs; nothing if the operand is left out.
std::optional<ValueId> value_of(std::span<const Port> ports, std::string_view operand);

struct Node {
  std::string name = {};  // "Conv_5 + Relu_6"; empty: add() makes one of the operator and a number
  std::string op;
  std::vector<Port> inputs = {};  // without those that are left out
  Attributes attributes = {};
  std::vector<Port> outputs = {};  // add() makes the values
};

struct Named {
  std::string name;
  ValueId value = 0;
};

// A tensor that stays on the device between runs: what a run leaves in it, the next one finds.
struct State {
  ValueId input = 0;   // an input of the graph: the tensor before a run
  ValueId output = 0;  // an output of the graph: the tensor after it. A node writes it in place of the input
};

struct Graph {
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs;
  std::vector<Named> outputs;  // a value may be several
  std::vector<State> states = {};
  // Inputs that the caller keeps on the device (PrepareOptions::kept). No run writes them.
  std::vector<ValueId> kept = {};
  // Of a language model: that it was taken from a choice of a decoder for prompts and one for further tokens, as the
  // second one. This may have no causal mask, since it gets one token.
  bool is_for_further_tokens = false;

  ValueId add_input(std::string name, DType dtype, Shape shape);
  ValueId add_constant(std::string name, HostTensor data);
  ValueId add_constant(std::string name, std::shared_ptr<const HostTensor> data);
  // Of a node with one output: its value. `output`: its name in the operator.
  ValueId add(Node node, std::string_view output = "output");
  // Of one with several: a value each, in this order.
  std::vector<ValueId> add(Node node, std::span<const std::string_view> outputs);
  void add_output(std::string name, ValueId value);

  bool is_state_input(ValueId value) const;   // whether a state is in it before a run
  bool is_state_output(ValueId value) const;  // whether a state is in it after a run
  bool is_kept(ValueId value) const;
};

// A graph with its inputs' shapes bound. No device is needed.
struct Inferred {
  struct Operation {
    const OperatorEntry* entry = nullptr;  // null: a reshape
    std::optional<InferArguments> arguments =
        {};  // of an operator: its attributes complete, all tensors in plain buffers
  };
  std::vector<TensorDesc> values;     // by ValueId: dtype and shape, in plain buffers
  std::vector<Operation> operations;  // by node
};

// A shape for each input that has an open dimension (kAnySide). Others may be given too, and must then equal the
// graph's.
using InputShapes = std::map<std::string, Shape, std::less<>>;

InputShapes shapes_of(const Tensors& inputs);

// Errors, with the node's name: an unknown operator or operand, a value that is used before it is written or written
// twice, refusals of infer(); inputs without a shape; two inputs, or two outputs, with one name; a state whose input and
// output differ.
Expected<Inferred> infer(const Graph& graph, OperatorEntries operators, const InputShapes& shapes);

// "[any, 3, 256, 384]"
std::string sides_text(const Shape& shape);

// The shape that a reshape gives. Errors: the elements do not fit, two sides of -1.
Expected<Shape> reshaped(const Shape& input, std::span<const int64_t> shape);

}  // namespace qgen::graph
