// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The nodes of a model, gone through once, each behind what it reads. What a node gives is known at once, folded or as
// a view, or it is a pending operation; that is put into the graph when a QuantizeLinear reads it, or as reals when
// something else does. import.h is the door.
//
//   importer.cpp               inputs, outputs, and which way a node goes
//   quantize_nodes.cpp         QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear
//   quantized_operators.cpp    QLinearConv and others, which say their own quantization
//   integers.cpp               what computes with integers that stand for no reals
//   views.cpp                  what waits with an operation, and pools
//   normalization.cpp          BatchNormalization
//   movements.cpp              what puts elements elsewhere
#pragma once

#include "runtime/onnx/import.h"
#include "runtime/onnx/order.h"
#include "runtime/onnx/quantized_operators.h"

namespace qgen::onnx {

// Codes as they are, a view of them, or reals: what moves elements does not care what they stand for.
struct Elements {
  ValueId value = 0;
  Known like;

  bool are_bytes() const { return !like.as<Real>(); }
  Known as_known(ValueId moved, Dims shape) const;
};

class Importer {
 public:
  Importer(const Model& model, bool fuses) : model_(model) { builder_.fuses = fuses; }

  Expected<Imported> run();

 private:
  // ---- inputs, outputs and nodes ------------------------------------------------------------------------------------

  // As many as may be gone through. A weight of a layer is gone through five times, one of MatMulNBits, which has two
  // integers in an element, up to thirteen.
  int64_t constant_elements() const;
  static Error about(const Node& node, Error error);
  Done add_input(const ValueInfo& input);
  // Unsigned bytes as signed ones that are `shift` less, or the reverse: of a scale of 1 either way.
  ValueId shifted(ValueId value, const std::string& name, DType from, int32_t shift);
  Done add_output(const ValueInfo& output);
  // Reals that are integers, as those.
  ValueId as_integers(ValueId value, const std::string& name);
  // Initializers become known when something reads them.
  Expected<const Known*> find(const std::string& name);
  Expected<std::vector<const Known*>> arguments_of(const Node& node);
  Done lower(const Node& node);
  // What several read would be computed several times, unless all of them quantize it.
  bool may_wait(const Pending&, const Uses& uses) const;
  Expected<Known> result_of(const Node& node, Arguments arguments);
  Expected<Known> operation(std::string_view op, const Node& node, Arguments arguments);
  // Where no operator of a product has a place for the bias, a sum behind it.
  Expected<Known> gemm(const Node& node, Arguments arguments);
  static Error missing(const Node& node);
  static TensorPtr tensor_at(Arguments arguments, size_t index);

  // ---- quantization -------------------------------------------------------------------------------------------------

  // Of a constant, or of codes; of another value any.
  static ElementType type_of(const Known& integers);
  Expected<Parameters> parameters_at(const Node& node, Arguments arguments, ElementType type);
  Expected<Known> quantize(const Node& node, Arguments arguments);
  Expected<Known> quantized_to(const Node& node, const Known& input, const Parameters& parameters);
  Expected<Known> quantize_channels(const Node& node, const Known& input, const Parameters& parameters);
  // Activations with a scale for each channel: no operator of bytes takes them, but those that quantize do.
  std::vector<graph::Port> channel_parameters(const std::string& name, const Parameters& parameters);
  Expected<Known> dequantize(const Node& node, Arguments arguments);
  // The integers of `input` as the reals that they stand for.
  Expected<Known> view_of(const Known& input, Parameters parameters, ElementType type);
  Known dequantize_channels(const Known& input, const Codes& codes, const Parameters& parameters);
  // Scale and zero point of all of the input; as ONNX has them for uint8, 128 less.
  Done quantize_dynamically(const Node& node);

  // ---- operators that say their own quantization --------------------------------------------------------------------

  // The triple that begins at input `first`.
  Expected<Known> operand_of(const QuantizedOperator& row, size_t first, bool may_be_weight, const Node& node,
                             Arguments arguments);
  // The bias of integers as reals: its scale is that of the sums.
  Expected<Known> bias_of(const TensorPtr& bias, const Known& input, const Known& weight, const Node& node);
  Expected<Known> quantized_operator(const QuantizedOperator& row, const Node& node, Arguments arguments);
  // Integers of 4 or 8 bits; groups of neighbours along K have a scale and a zero point each.
  Expected<Known> matmul_nbits(const Node& node, Arguments arguments);
  // Integers as the reals of a scale of 1; a Dynamic operand, if the zero point is found while the model runs.
  Expected<Known> whole(const Node& node, Arguments arguments, size_t index);
  Expected<Known> of_integers(const Node& node, Arguments arguments);
  Known less_zero_point(const Node& node, const Codes& codes, const DynamicZeroPoint& zero_point);

  // ---- integers that nothing dequantizes ----------------------------------------------------------------------------

  // Add, Sub, Mul, Max, Min, Clip and Cast, as the reals of a scale of 1, which are exact; nullopt: the node does
  // something else, or its inputs are no such integers.
  Expected<std::optional<Known>> of_codes(const Node& node, Arguments arguments);
  Expected<Known> greatest_or_least(const Node& node, const std::vector<Known>& operands, const PerTensor& output);

  // ---- views, functions and pools --------------------------------------------------------------------------

  Expected<Known> seen_as(const Node& node, const Known& input, const Dims& shape);
  Expected<std::optional<Function>> function_at(const Node& node, Arguments arguments);
  Expected<Known> apply(const Node& node, const Known& input, const Function& function);
  // The sum of a layer without a bias and a constant is the layer with one; nullopt: it is something else.
  std::optional<Known> add_bias(const Node& node, Arguments arguments);
  // Of a constant that has one element for each channel of a layer, or one for all, its elements, one for each.
  // Channels are second in images and last in rows of a linear layer. nullopt: it is something else.
  static std::optional<std::vector<float>> of_channels(const Pending& layer, const Known& constant);
  // A Mul, Add or Sub of a layer that waits for it and such a constant, or a Div by one, is the layer with another
  // weight and bias; nullopt: it is something else.
  Expected<std::optional<Known>> scaled_or_shifted(const Node& node, Arguments arguments);
  // By a constant: the product with its reciprocal, which is rounded once more.
  Expected<Known> divided(const Node& node, Arguments arguments);
  // Of a layer that waits for it a part, else a product and a sum with a constant for each channel.
  Expected<Known> batch_normalization(const Node& node, Arguments arguments);
  Expected<Known> max_pool(const Node& node, Arguments arguments);
  Expected<Known> depth_to_space(const Node& node, Arguments arguments);

  // ---- elements that move: bytes as they are, else reals ------------------------------------------------------------

  Expected<Elements> elements_of(const Known& input);
  Known moved(const std::string& name, const Elements& elements, std::string_view op, Attributes attributes,
              const Dims& shape);
  // nullopt: the node does something else.
  Expected<std::optional<Known>> move(const Node& node, Arguments arguments);
  Expected<Known> permuted(const std::string& name, const Known& input, const std::vector<int64_t>& order);
  Expected<Known> transpose(const Node& node, Arguments arguments);
  Expected<Known> slice(const Node& node, Arguments arguments);
  // Places from `start` on along one dimension, as many as `count`; their side may be a symbol.
  Known part_of(const std::string& name, const Elements& elements, size_t dimension, int64_t start, int64_t count);
  // Has several results.
  Done split(const Node& node);
  // Of one place, or of places that follow each other.
  Expected<Known> gather(const Node& node, Arguments arguments);
  Expected<Known> pad(const Node& node, Arguments arguments);
  Expected<Known> expand(const Node& node, Arguments arguments);
  Expected<Known> resize(const Node& node, Arguments arguments);
  // Along another axis than the last: of dimensions in another order, and back.
  Expected<std::optional<Known>> turned_softmax(const Node& node, Arguments arguments);

  const Model& model_;
  Order order_;
  Builder builder_;
  std::map<std::string, Known, std::less<>> known_;
  std::map<std::string, int64_t, std::less<>> symbols_;
};

}  // namespace qgen::onnx
