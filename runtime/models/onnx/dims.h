// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Shapes during import: a dimension is a number, or a symbol for one that becomes known when the graph is prepared.
// Values that a model computes from shapes (Shape, Gather, Concat ... Reshape) consist of the same numbers and symbols,
// so both are computed in the same manner.
//
//   [batch, 3, 224, 224]  ->  Shape  ->  Gather(0)  ->  Concat with -1  ->  [batch, -1]
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/models/onnx/model.h"

namespace qgen::onnx {

struct Number {
  int64_t value = 0;  // of a symbol: which
  bool is_symbol = false;

  friend bool operator==(const Number&, const Number&) = default;
};
using Dims = std::vector<Number>;

// Sides that nobody knows yet.
struct Symbols {
  int64_t next = 0;
  // The output size of a window: equal inputs have equal outputs. By side, change and stride.
  std::map<std::tuple<int64_t, int64_t, int64_t>, int64_t> of_windows;
  std::set<int64_t> perhaps_negative;  // computed numbers; a dimension is none

  Number fresh() { return {next++, true}; }
  // (side + change) / stride + 1, rounded down.
  Number windowed(const Number& side, int64_t change, int64_t stride);
};

// A hint for errors about an unknown dimension.
constexpr const char* kHowToNumberSides =
    "give the shapes of its inputs: with --input or --shape of qgen-model, or ImportOptions::shapes";

Dims dims_of(const Shape& shape);
std::optional<Shape> known_shape(const Dims& dims);  // nullopt: it has a symbol
using qgen::to_text;
std::string to_text(const Number& number);  // "?"
std::string to_text(const Dims& dims);      // "[?, 3, 224, 224]"
bool is_one(const Number& number);

// An axis, where numbers below 0 count from the end; nullopt: the rank has none of that number.
std::optional<size_t> dimension_at(int64_t axis, size_t rank);
Error no_axis(int64_t axis, size_t rank);  // of an axis that dimension_at() does not find

// As NumPy broadcasts. A symbol counts as the length that it meets: whoever prepares the graph knows both, and compares
// them. Errors: sides that differ.
Expected<Dims> broadcast(const Dims& a, const Dims& b);

// Concatenated along an axis; a sum with a symbol is a new symbol. Errors: other sides that differ.
Expected<Dims> joined(const Dims& a, const Dims& b, size_t axis, int64_t& next_symbol);

// A target has lengths, symbols, one -1 for the remaining elements, and with `zero_copies` 0 for the input's length.
// Errors: lists that cannot be a shape of the same elements.
Expected<Dims> reshaped(const Dims& input, const Dims& target, bool zero_copies, int64_t& next_symbol);
// The target in the form of graph::kReshape. nullopt: two symbols or sides of 0 stand elsewhere than in the input.
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
// Of a transposed convolution: the padding is removed from what the input makes, and `more` is added at its end.
struct TransposedWindow : Window {
  std::vector<int64_t> more;  // ONNX's output_padding

  int64_t made(size_t axis, int64_t side) const;  // of a side of the input
};
// Also with output_shape. `opset`: until 10, the odd pixel that it leaves over is at the other end.
Expected<TransposedWindow> transposed_window_of(const Node& node, std::vector<int64_t> kernel, const Dims& input,
                                                int64_t opset);
// The places of a window along each axis of an image [N, C, ...]; a symbol's are a symbol.
Expected<Dims> places(const Window& window, const Dims& input, Symbols& symbols);

}  // namespace qgen::onnx
