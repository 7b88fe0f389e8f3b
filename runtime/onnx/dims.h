// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Shapes as an importer knows them: a side is a number, or a symbol for one that is known when the graph is prepared.
// What a model computes of shapes (Shape, Gather, Concat ... Reshape) consists of the same numbers, so that both are
// followed alike, through sides that nobody knows yet.
//
//   [batch, 3, 224, 224]  ->  Shape  ->  Gather(0)  ->  Concat with -1  ->  [batch, -1]
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/onnx/model.h"

namespace qgen::onnx {

struct Number {
  int64_t value = 0;  // of a symbol: which
  bool is_symbol = false;

  friend bool operator==(const Number&, const Number&) = default;
};
using Dims = std::vector<Number>;

Dims dims_of(const Shape& shape);
std::optional<Shape> known_shape(const Dims& dims);  // nullopt: it has a symbol
using qgen::to_text;
std::string to_text(const Dims& dims);  // "[?, 3, 224, 224]"
bool is_one(const Number& number);

// As NumPy broadcasts; a symbol goes with itself and with 1. Errors: sides that differ.
Expected<Dims> broadcast(const Dims& a, const Dims& b);

// One behind the other along an axis; a sum with a symbol is a new symbol. Errors: other sides that differ.
Expected<Dims> joined(const Dims& a, const Dims& b, size_t axis, int64_t& next_symbol);

// A target has sides, symbols, one -1 for what is left over, and with `zero_copies` 0 for the side of the input.
// Errors: what cannot be a shape of the same elements.
Expected<Dims> reshaped(const Dims& input, const Dims& target, bool zero_copies, int64_t& next_symbol);
// The target as graph::kReshape says it. nullopt: two symbols stand elsewhere than in the input.
std::optional<std::vector<int64_t>> reshape_list(const Dims& input, const Dims& output);

// The window of a convolution or a pool along all axes of an image.
struct Window {
  std::vector<int64_t> kernel, strides, dilations, before, after;
  bool ceil = false;

  std::vector<int64_t> padding() const;  // as operators have it: before, then after
};
// Attributes strides, dilations, pads, auto_pad and ceil_mode. Errors: lists of other lengths, numbers below 1, padding
// that depends on a side which is not known (auto_pad).
Expected<Window> window_of(const Node& node, std::vector<int64_t> kernel, const Dims& input);
// The places of a window along each axis of an image [N, C, ...]; a symbol's are a new symbol.
Expected<Dims> places(const Window& window, const Dims& input, int64_t& next_symbol);

}  // namespace qgen::onnx
