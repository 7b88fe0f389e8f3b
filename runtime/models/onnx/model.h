// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// An ONNX model as plain structs. reader.h makes them from a file, and the rest of this room reads only them.
//
//   Model model;
//   model.opsets[""] = 13;
//   model.graph.nodes.push_back({.name = "Relu_1", .op = "Relu", .inputs = {"x"}, .outputs = {"y"}});
//
// Names connect nodes. An empty name means that an input is left out.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/engine/tensor/tensor.h"

namespace qgen::onnx {

// The element types of an ONNX tensor; `other`: types that no operator here supports: strings, complex numbers, floats
// of 8 and 4 bits.
enum class ElementType : uint8_t { f32, f64, f16, bf16, boolean, i4, u4, i8, u8, i16, u16, i32, u32, i64, u64, other };

// Of a number of TensorProto.DataType.
ElementType element_type(int64_t number);
std::string_view name(ElementType type);
int64_t bytes(ElementType type);  // as Tensor::data has it: 1 of i4 and u4
bool is_real(ElementType type);
bool is_nibble(ElementType type);
// Of two a byte, the first in the low half, one a byte, as Tensor::data has them.
std::vector<std::byte> spread_nibbles(std::span<const std::byte> packed, int64_t count, ElementType type);
// Whether qgen has such a dtype; it has none for f64, boolean, 64 bits and 4 bits.
std::optional<DType> dtype_of(ElementType type);

// Row-major. Integers of four bits are one a byte, sign-extended.
struct Tensor {
  std::string name;
  ElementType type = ElementType::f32;
  Shape shape;
  std::vector<std::byte> data;

  int64_t size() const { return element_count(shape); }
  // Of a tensor of integers, or booleans; u64 saturates.
  int64_t integer(int64_t index) const;
  // Of any, as the nearest f32.
  float real(int64_t index) const;
};
using TensorPtr = std::shared_ptr<const Tensor>;

template <typename T>
Tensor tensor_of(ElementType type, Shape shape, std::span<const T> values, std::string name = {}) {
  const auto raw = std::as_bytes(values);
  return {std::move(name), type, std::move(shape), {raw.begin(), raw.end()}};
}

struct ModelGraph;
// A branch of an If, or the body of a Loop or a Scan.
struct Subgraph {
  std::shared_ptr<const ModelGraph> graph;
};
using AttributeData = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
                                   std::vector<std::string>, TensorPtr, Subgraph>;

struct Node {
  std::string name;  // as the file has it; empty: the reader names it "Conv_5"
  std::string op;
  std::string domain;  // empty: ONNX's own
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::map<std::string, AttributeData, std::less<>> attributes;
  bool is_old = false;                         // of an opset before 7: upgrade.h
  std::optional<int64_t> broadcast_axis = {};  // of such a node: along which the second operand begins

  bool has_input(size_t index) const { return index < inputs.size() && !inputs[index].empty(); }
  const AttributeData* find(std::string_view attribute) const;
  // Of an attribute of that kind; of another kind or left out: `otherwise`..
  int64_t integer(std::string_view attribute, int64_t otherwise) const;
  float real(std::string_view attribute, float otherwise) const;
  std::string_view word(std::string_view attribute, std::string_view otherwise) const;
  std::vector<int64_t> integers(std::string_view attribute) const;
};

// An attribute of Transpose that no file has: spell_out() writes it where a rank is not known yet. kSwapsLast swaps the
// last two axes. kMovesFirst puts the first axis before the last one, ahead of the swap.
inline constexpr std::string_view kOfProduct = "of_product";
inline constexpr int64_t kSwapsLast = 1, kMovesFirst = 2;

// A side of an input: a number, or the name of one that is not known yet.
struct InputSide {
  int64_t side = 0;
  std::string symbol;  // not empty: `side` means nothing
};

struct ValueInfo {
  std::string name;
  ElementType type = ElementType::other;
  std::optional<std::vector<InputSide>> shape;  // nullopt: not even its rank is known
  int64_t declared_type = 0;                    // the number of its type in the file; 0: none is declared
};

struct ModelGraph {
  std::vector<Node> nodes;
  std::map<std::string, TensorPtr, std::less<>> initializers;
  std::vector<ValueInfo> inputs;  // without those that have an initializer
  std::vector<ValueInfo> outputs;
  std::vector<ValueInfo> values;  // the file's declarations of others: value_info
};

struct Model {
  std::map<std::string, int64_t, std::less<>> opsets;  // by domain
  ModelGraph graph;
};

// Of a Transpose: which axis of the input each axis of the output is.
std::vector<int64_t> permutation_of(const Node& node, size_t rank);

// A part that is not imported, in a valid model.
Error unsupported(std::string message, std::string hint = {});

}  // namespace qgen::onnx
