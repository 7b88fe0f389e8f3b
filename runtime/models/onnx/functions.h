// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Functions of one value between an operation and the quantization of its result. Bounds of the floating-point value
// are bounds of the integer, since quantization is monotonic. Some functions are an attribute of an operator; any other
// function is a lookup table of 256 bytes.
//
//   const auto clip = function_of(node, inputs);             // Clip(0, 6)
//   word_of(*clip)                                           // "relu6"
//   integer_bounds(*clip->bounds, {0.05f, -128})             // -128 to -8
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/engine/operators/byte_table.h"
#include "runtime/engine/operators/pointwise/chain.h"
#include "runtime/models/onnx/model.h"

namespace qgen::onnx {

struct RealBounds {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

// Adds the function's steps to a formula that has x as a value; returns the result's value.
using WrittenFunction = std::function<uint32_t(chains::Formula& formula, uint32_t x)>;

struct Function {
  std::optional<RealBounds> bounds = {};  // it is only that
  std::function<double(double)> of = {};
  std::string_view word = {};  // an operator's `activation`; empty: none has one
  std::string_view q8ta = {};  // the operator that is this function of an int8 tensor; empty: none
  std::string_view real = {};  // the operator for a floating-point tensor; empty: none
  bool is_gate = false;        // what `real` gives is a factor of the tensor
  std::optional<double> slope = {};
  WrittenFunction written = {};  // as steps of `pointwise`, for a floating-point tensor

  bool has_real() const { return !real.empty() || written; }
};

Function bounded(RealBounds bounds);
// Relu, Clip, HardSwish and others; nullopt: the node's operator is no function of one value. `constants` are its
// inputs, null where one is no constant. Errors: a Clip whose bounds are no constants.
Expected<std::optional<Function>> function_of(const Node& node, std::span<const TensorPtr> constants);
// x * sigmoid(x), which models write with two nodes: join_functions.h.
Function silu();

// Whether it is one of these operators.
inline bool is_one_of(std::string_view op, std::span<const std::string_view> names) {
  return std::ranges::find(names, op) != names.end();
}
// Whether such nodes are functions of one value; with it, function_of() knows them.
bool is_function(std::string_view op);
// As one: of two bounds their common ones.
Function then(const Function& first, const Function& second);

// The least and greatest integer of the bounds.
IntegerRange integer_bounds(const RealBounds& bounds, const PerTensor& output);

// A table, and the quantization of its input.
struct FunctionTable {
  PerTensor input;
  ByteTable table;
};
// Of bounds: exact, with `output` for the input. For another function, the input's integers cover the range in which
// the output's integers change. nullopt: the input's rounding could change a result by more than one.
std::optional<FunctionTable> table_of(const Function& function, const PerTensor& output);

}  // namespace qgen::onnx
