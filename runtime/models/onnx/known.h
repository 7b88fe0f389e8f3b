// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The importer's knowledge about a value while it visits the nodes in order. A node is added to the graph as late as
// possible. A DequantizeLinear is a view of integers (View), and a floating-point operation waits for its readers
// (Pending). If the reader is a QuantizeLinear, the result is computed in integers; otherwise in floating point.
//
//   x -> QuantizeLinear -> DequantizeLinear -> Conv -> Relu -> QuantizeLinear -> DequantizeLinear -> ...
//   Real   Codes             View              Pending Pending   Codes (here one node is added)  View
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/models/graph/graph.h"
#include "runtime/models/onnx/dims.h"
#include "runtime/models/onnx/functions.h"
#include "runtime/models/onnx/quantized.h"

namespace qgen::onnx {

using graph::ValueId;

// Bytes in the graph, i8 always.
struct Codes {
  ValueId value = 0;
  ElementType type = ElementType::i8;  // to the model, whose integers are shift_of(type) more
};
// int8 values, dequantized.
struct View {
  ValueId codes = 0;
  PerTensor quantization;
};
struct Real {
  ValueId value = 0;
  DType dtype = DType::f32;
  bool is_integer = false;  // to the model they are integers of 32 bits, which ConvInteger and MatMulInteger give
};
// Integers, or booleans, as they are: i32 in the graph, and booleans u8.
struct Integers {
  ValueId value = 0;
  ElementType type = ElementType::i32;  // to the model, which may have more bits

  bool are_booleans() const { return type == ElementType::boolean; }
};
// DynamicQuantizeLinear's zero point at run time: one i32 in the graph, for signed bytes.
struct DynamicZeroPoint {
  ValueId value = 0;
};
// A shape, or a value computed from one: rank 0 or 1.
struct Numbers {
  std::vector<Number> numbers;
};

struct Pattern;

// A floating-point operation that is not in the graph yet. The parts that depend on the desired form of its result are
// missing.
struct Pending {
  // Bytes whose zero point is a value of the graph, and their scale too, if it is given; else it is 1.
  struct Dynamic {
    ValueId codes = 0;
    ValueId zero_point = 0;
    std::optional<ValueId> scale = {};
    std::optional<ValueId> channel_sums = {};  // of images: of the bytes less the zero point
  };
  struct Operand {
    std::string_view port;
    std::variant<View, Real, QuantizedConstant, Dynamic> value;
    Dims shape = {};
  };
  // A node whose function the result goes through.
  struct Applied {
    std::string node, op;
    Function function;
  };
  struct Key {
    float scale;
    int32_t zero_point;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  const Pattern* pattern = nullptr;
  std::string name;  // of all nodes that are in it: "Conv_5 + Relu_6"
  std::vector<Operand> operands = {};
  std::vector<graph::Port> constants = {};  // weight, scales, bias
  Attributes attributes = {};
  bool takes_bias = false;                // an operand `bias`, a real for each output
  bool is_integer = false;                // as Real::is_integer
  Dims shape = {};                        // of the operation's result
  std::vector<Applied> functions = {};    // of the result, the first one first
  std::optional<Dims> reshaped = {};      // its present shape
  std::map<Key, ValueId> quantized = {};  // the value in the graph
  std::optional<Real> real = {};
};
using PendingPtr = std::shared_ptr<Pending>;

struct Known {
  std::variant<TensorPtr, Numbers, QuantizedConstant, Codes, View, Real, Integers, DynamicZeroPoint, PendingPtr> what;
  Dims shape = {};

  template <typename T>
  const T* as() const {
    return std::get_if<T>(&what);
  }
  // Of a constant.
  TensorPtr tensor() const { return as<TensorPtr>() ? *as<TensorPtr>() : nullptr; }
};

}  // namespace qgen::onnx
