// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Graphs whose operands and attributes the compiler checks: the generated graph_nodes.h has a function for each
// operator, with the structs of operators.h. A swapped operand of another kind, one that is left out, or a misspelt
// attribute does not compile; shapes are graph::infer()'s to check.
//
//   using namespace generated::operators;
//   graph::Builder net;
//   const auto x = net.input("x", DType::i8, {graph::kAnySide, 64});
//   const auto y = q8ta_linear(net, {.input = x, .weight = net.constant(weight), .weight_scales = net.constant(scales)},
//                              {.input_scale = 0.02, .output_scale = 0.05});
//   net.output("y", y);
//   Model model = Model::create(context, entries(), std::move(net).graph(), {});
//
// This file depends on no operator.
#pragma once

#include <initializer_list>

#include "runtime/models/graph/graph.h"

namespace qgen::graph {

// A value of the graph of one Builder.
class Var {
 public:
  ValueId id() const { return id_; }

 private:
  friend class Builder;
  explicit Var(ValueId id) : id_(id) {}
  ValueId id_;
};

// A constant. Weights must be constants.
class Constant : public Var {
 private:
  friend class Builder;
  using Var::Var;
};

// The `As` of the inputs of operators.h, for values of a graph.
struct InGraph {
  using Tensor = Required<Var>;
  using View = Required<Var>;
  using Weight = Required<Constant>;
  using Optional = std::optional<Var>;
  struct Output {};  // a node makes its own
};

// ---- attributes of a struct as a node's; nullopt: not given ---------------------------------------------------------

template <typename T>
std::optional<AttributeValue> to_value(const T& value) {
  if constexpr (std::is_same_v<T, DType> || std::is_same_v<T, Layout>) return std::string(name(value));
  else return AttributeValue(value);
}
template <typename Word, size_t kCount>
std::optional<AttributeValue> to_value(const std::string_view (&spellings)[kCount], Word word) {
  const auto number = static_cast<size_t>(word);
  return AttributeValue(std::string(number < kCount ? spellings[number] : "?"));  // which infer() refuses
}
template <typename T>
std::optional<AttributeValue> to_value(const Required<T>& value) {
  return to_value(value.get());
}
template <typename T>
std::optional<AttributeValue> to_value(const std::optional<T>& value) {
  return value ? to_value(*value) : std::nullopt;
}
template <size_t kCount, typename T>
std::optional<AttributeValue> to_value(const std::string_view (&spellings)[kCount], const std::optional<T>& word) {
  return word ? to_value(spellings, *word) : std::nullopt;
}
template <size_t kCount, typename T>
std::optional<AttributeValue> to_value(const std::string_view (&spellings)[kCount], const Required<T>& word) {
  return to_value(spellings, word.get());
}

// A node that the generated functions build.
class NodeOf {
 public:
  explicit NodeOf(std::string op) { node_.op = std::move(op); }

  struct Input {
    std::string_view operand;
    std::optional<Var> value;
  };
  void inputs(std::initializer_list<Input> all) {
    for (const Input& input : all) {
      if (input.value) node_.inputs.push_back({std::string(input.operand), input.value->id()});
    }
  }

  struct NamedAttribute {
    std::string_view name;
    std::optional<AttributeValue> value;
  };
  void attributes(std::initializer_list<NamedAttribute> all) {
    for (const NamedAttribute& attribute : all) {
      if (attribute.value) node_.attributes.emplace(attribute.name, *attribute.value);
    }
  }

 private:
  friend class Builder;
  Node node_;
};

class Builder {
 public:
  // kAnySide is a side that is known when the graph is prepared.
  Var input(std::string name, DType dtype, Shape shape) {
    return Var(graph_.add_input(std::move(name), dtype, std::move(shape)));
  }
  Constant constant(HostTensor data) {
    return Constant(graph_.add_constant("constant " + std::to_string(graph_.values.size()), std::move(data)));
  }
  void output(std::string name, Var value) { graph_.add_output(std::move(name), value.id()); }

  // The same elements: 0 keeps a dimension, -1 takes the remaining elements.
  Var reshape(Var value, std::vector<int64_t> shape) {
    return Var(graph_.add(
        {.op = std::string(kReshape), .inputs = {{"input", value.id()}}, .attributes = {{"shape", std::move(shape)}}}));
  }

  Var add(const NodeOf& node, std::string_view output) { return Var(graph_.add(node.node_, output)); }
  std::vector<Var> add(const NodeOf& node, std::initializer_list<std::string_view> outputs) {
    std::vector<Var> values;
    for (const ValueId id : graph_.add(node.node_, std::span(outputs.begin(), outputs.size())))
      values.push_back(Var(id));
    return values;
  }

  Graph graph() && { return std::move(graph_); }

 private:
  Graph graph_;
};

}  // namespace qgen::graph
