// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The functions that match nodes for the rows of patterns.h: one for each kind of operands, grouped by families.
#pragma once

#include "runtime/models/onnx/builder.h"

namespace qgen::onnx::matching {

using Match = Expected<Pending>(Builder& builder, const Node& node, Arguments arguments);

// match_convolutions.cpp
Match conv, conv_of_copies, conv_of_reals, conv_of_pixels, conv_transposed;
// Of bytes whose scale and zero point the model computes.
Match conv_of_computed;
Match conv_of_real_weight, conv_transposed_of_reals;
// match_products.cpp
Match linear_of_bytes, linear_of_nibbles, linear_of_reals, bmm, matmul, bmm_of_reals;
// match_elements.cpp
Match both_bytes, of_any, difference_of_bytes, difference_of_any, parts;
// match_rows.cpp
Match softmax, layer_norm, rms_norm;
// match_means.cpp
Match mean_of_all, mean_along, mean_of_windows;
Match mean_of_all_reals, mean_of_reals_along, mean_of_windows_of_reals;

// ---- what they share ------------------------------------------------------------------------------------------------

const Known* at(Arguments arguments, size_t index);  // nullptr: left out
Expected<const Known*> needed(Arguments arguments, size_t index);
Expected<View> view_at(Builder& builder, Arguments arguments, size_t index);
Expected<const QuantizedConstant*> constant_at(Builder& builder, Arguments arguments, size_t index);
// In floating point, whatever it is.
Expected<Real> real_at(Builder& builder, Arguments arguments, size_t index);

// Operands weight and weight_scales of a layer that takes a bias; `form`: what the integers of `source` become, less
// their zero points or as they are.
enum class ZeroPoints : uint8_t { subtracted, kept };
void add_weight(Builder& builder, const QuantizedConstant& source, Pending& pending, SymmetricWeight weight,
                const std::string& form, ZeroPoints zero_points = ZeroPoints::subtracted);
// The operand bias, if input `index` is there: `count` floating-point numbers. Operators add floating-point numbers, so
// an integer bias needs no particular scale: it is dequantized.
Done add_bias(Builder& builder, const Node& node, Arguments arguments, size_t index, int64_t count, Pending& pending,
              float factor = 1);
// ONNX wants a bias of integers to have the scale of the sums; where a model does not, somebody may be wrong: a note.
void check_bias_scale(Builder& builder, const Node& node, const Known* bias, double input_scale,
                      const HostTensor& weight_scales);
// `bmm` sums integers over K, the given axis of a matrix, and so takes one scale along it.
Done check_one_scale_along(const QuantizedConstant& matrix, size_t axis);
// Of rank 4, or a row, of rank 3.
bool is_image(const Dims& shape);
void set_window(Attributes& attributes, const Window& window);

}  // namespace qgen::onnx::matching
