// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Builds the graph: known values become operands, pending operations become nodes.
#pragma once

#include <map>
#include <set>
#include <string>

#include "runtime/engine/operators/byte_table.h"
#include "runtime/models/onnx/note.h"
#include "runtime/models/onnx/passes.h"
#include "runtime/models/onnx/patterns.h"

namespace qgen::onnx {

// Of the floating-point value that it becomes. nullopt: a constant, or bytes with a scale: they take the dtype of the
// operand next to them.
std::optional<DType> computed_dtype(const Known& known);
// That of the first argument that has one, else f32: the dtype for constants among the arguments.
DType dtype_of_constants(Arguments arguments);
// Integers that are floating-point values in the graph: Real::is_integer.
bool are_sums(const Known& known);

// Attributes quant_min and quant_max.
void set_bounds(graph::Node& node, const IntegerRange& range);

class Builder {
 public:
  graph::Graph graph;
  std::vector<Dims> shapes;     // by value of the graph
  std::vector<Note> notes;      // each once
  BytesOfBytes bytes_of_bytes;  // results of functions of bytes
  Symbols symbols;
  int64_t opset = 0;  // of ONNX's own operators
  bool fuses = true;  // ImportOptions
  // How many elements of constants may still be transposed, dequantized or packed. A model that reads one large
  // constant from many nodes would take for ever otherwise.
  int64_t budget = 0;

  // Error: the budget is spent.
  Done spend(int64_t elements);
  void note(const std::string& node, std::string reason);
  // A constant of more bits than the operator takes it with.
  void note_if_narrowed(const Tensor& tensor, DType dtype);

  ValueId input(const std::string& name, DType dtype, const Dims& shape);
  ValueId constant(const std::string& name, HostTensor data);
  // One for all that make the same of a tensor; `form` says what, with `parameters` if it depends on them.
  template <typename Make>
  ValueId constant_of(const TensorPtr& tensor, const std::string& form, Make make, const std::string& parameters = {}) {
    const std::pair key{tensor.get(), form + parameters};
    const auto found = constants_.find(key);
    if (found != constants_.end()) return found->second.value;
    const ValueId value = constant(tensor->name + form, make());
    constants_.emplace(key, Shared{tensor, value});
    return value;
  }
  ValueId add(graph::Node node, const Dims& shape);
  // The same elements in another shape; the value itself where that is the same.
  Expected<ValueId> reshape(const std::string& name, ValueId value, const Dims& shape);

  // Bytes with one scale; nullopt: it is something else.
  std::optional<View> view_of(const Known& known);
  // A pending operation is computed in floating point.
  Expected<Real> real_of(const Known& known, DType constants_are = DType::f32);
  Expected<Pending::Operand> operand_of(std::string_view port, const Known& known, DType constants_are = DType::f32);

  // Errors: no operator does it.
  Expected<ValueId> quantized(Pending& pending, const PerTensor& output);
  Expected<Real> real(Pending& pending);
  // One node for all nodes that quantize the same value in the same way.
  ValueId quantized(const Real& reals, const PerTensor& output, const std::string& name);
  Expected<Real> applied(const std::string& name, const std::string& op, const Function& function, Real input);
  // The formula's inputs, element by element; of the inputs' dtype, or as `output_dtype` says.
  ValueId pointwise(const std::string& name, const chains::Formula& formula, const std::vector<ValueId>& inputs,
                    const Dims& shape, std::optional<DType> output_dtype = {}, std::optional<ValueId> mask = {});
  Expected<ValueId> quantized(const Known& known, const PerTensor& output, const std::string& name);
  // The same values in another floating-point dtype.
  ValueId converted(const std::string& name, ValueId value, DType to);
  ValueId requantized(ValueId codes, const PerTensor& from, const PerTensor& to, const std::string& name,
                      std::optional<IntegerRange> bounds = {});
  // The bytes that these are a function of; themselves, if they are none.
  BytesOf bytes_of(ValueId codes) const;

 private:
  struct Shared {
    TensorPtr keeps;  // its address stays its own
    ValueId value = 0;
  };

  ValueId dequantized(const View& view);
  // q8ta_table of the bytes that `codes` is a function of.
  ValueId tabled(ValueId codes, const ByteTable& table, const PerTensor& output, const std::string& name);
  // The function as an activation, a table or bounds of the node. Returns the bounds of a node that cannot have them.
  std::optional<IntegerRange> add_function(graph::Node& node, const Function& function, const Form& form,
                                           const std::optional<FunctionTable>& table, const PerTensor& output,
                                           const std::string& name);
  Expected<graph::Node> node_of(const Pending& pending, const Form& form);
  Done add_operand(graph::Node& node, Style style, const Pending::Operand& operand);
  // One element of any shape, as an operand next to these bytes.
  Expected<ValueId> parameter_of(const std::string& name, ValueId value, const Pending::Dynamic& bytes, Style style);
  Done add_dynamic(graph::Node& node, Style style, const std::string& port, const Pending::Dynamic& operand);
  void add_view(graph::Node& node, Style style, const std::string& port, const View& view);
  void add_quantized_constant(graph::Node& node, const std::string& port, const QuantizedConstant& operand);
  // For Style::weighted: the weight of an int8 layer, dequantized.
  Expected<ValueId> real_weight(const Pending& layer);
  // For Style::joins: the last of the nodes that join the operands. The operands are floating-point, or int8 and
  // converted to the output's quantization.
  Expected<graph::Node> joined_node(const Pending& pending, const Form& form, const std::optional<PerTensor>& output);
  Expected<graph::Node> joined_bytes(Pending parts, const PerTensor& output);
  Expected<Real> joined_reals(Pending parts);
  void add_parameters(graph::Node& node, std::string_view port, const PerTensor& parameters);

  std::map<std::pair<const Tensor*, std::string>, Shared> constants_;
  std::map<std::string, ValueId> made_;  // nodes that several others need: by their operation
  std::set<std::pair<std::string, std::string>> told_;
};

}  // namespace qgen::onnx
