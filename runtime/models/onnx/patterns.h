// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The table of ONNX operations and the operators that they become. The rows of an operation are tried in order, and
// each refuses with a reason. If no row fits, the user reads these reasons. For a new operator of qgen, add a row. If
// no existing function can read the node's inputs and attributes, add a function too.
//
//   of the model   operands            before a QuantizeLinear    otherwise
//   Conv           int8, int8 weight   q8ta_conv2d                q8ta_conv2d_dequantize
//   Conv           real, int8 weight                              conv2d_q8csw
#pragma once

#include <span>

#include "runtime/models/onnx/known.h"

namespace qgen::onnx {

class Builder;

// How an operator of qgen receives its operands.
enum class Style : uint8_t {
  none,      // there is no such operator
  q8ta,      // int8 operands; attributes input_scale, input_zero_point
  fused,     // operands that may be quantized; further operands input_scale, input_zero_point
  joins,     // any number of operands, int8 or floating-point, which are joined four at a time
  real,      // floating-point
  computed,  // int8 operands; operands scale, zero_point and channel_sums of the device
  weighted,  // the same with a floating-point weight, if the operands are integers with scales
};

struct Form {
  std::string_view op = {};
  Style style = Style::none;
  bool has_activation = false;  // the attribute
  bool has_table = false;       // the operand

  explicit operator bool() const { return style != Style::none; }
};

// The node's inputs; of one that is left out, nullptr.
using Arguments = std::span<const Known* const>;

struct Pattern {
  std::string_view op;
  std::string_view operands;  // for people
  Form quantized;
  Form real;
  // Everything but pattern and name. Error::Kind::unsupported: this row does not fit, and why.
  Expected<Pending> (*match)(Builder& builder, const Node& node, Arguments arguments);
};

std::span<const Pattern> patterns();

// For an operator without a row in the table: the needed operator, and a hint.
Error lacking(std::string_view op);

// The operation as the first row that fits has it. `op` is a float operation: the node's, or the one that an
// operator-oriented node represents.
Expected<Pending> match(Builder& builder, std::string_view op, const Node& node, Arguments arguments);
// Whether its rows go through a matrix: channels are then last.
inline bool is_linear(const Pending& pending) {
  return pending.pattern->op == "MatMul" || pending.pattern->op == "Gemm";
}
// Which channel of the result an element of the weight is of. The weight is [channels, I, taps...], of a linear layer
// without taps, or of a transposed convolution [groups * I, channels / groups, taps...].
class ChannelOf {
 public:
  ChannelOf(const Shape& weight, int64_t groups, bool is_transposed)
      : side_(weight[1]),
        taps_(element_count(Shape(weight.begin() + 2, weight.end()))),
        rows_(is_transposed ? weight[0] / groups : 1),
        is_transposed_(is_transposed) {}

  size_t operator()(size_t element) const {
    const auto i = static_cast<int64_t>(element);
    const int64_t group = i / (rows_ * side_ * taps_), column = i / taps_ % side_;
    return static_cast<size_t>(is_transposed_ ? group * side_ + column : group);
  }

 private:
  int64_t side_, taps_, rows_;
  bool is_transposed_;
};

ChannelOf channels_of(const Pending& layer, const Shape& weight);
// The view itself, as an operation that does nothing.
Pending identity(const View& view, const Dims& shape);
bool is_identity(const Pending& pending);

}  // namespace qgen::onnx
