// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Computes values that are known before the model runs: constants, results that depend only on shapes, and the new
// shape of nodes that only reshape their input.
//
//   Shape -> Gather(0) -> Unsqueeze -> Concat(-1)         Numbers [batch, -1]
//   Transpose, Reshape of a constant, quantized or not    the same constant, turned
#pragma once

#include "runtime/models/onnx/builder.h"

namespace qgen::onnx {

// The node's outputs, if they are known; nullopt: they must be computed. Errors: a node that is wrong.
Expected<std::optional<Known>> fold(Builder& builder, const Node& node, Arguments arguments);

// Of Reshape, Flatten, Squeeze, Unsqueeze and others that leave the elements in their order: the shape of the output;
// nullopt: the node does something else.
Expected<std::optional<Dims>> output_shape_of_view(Builder& builder, const Node& node, Arguments arguments);

// A constant, or numbers that are all known, as a tensor; null: it is neither.
TensorPtr constant_of(const Known& known);
// A constant or a shape as integers of rank 0 or 1; nullopt: it is neither.
std::optional<std::vector<Number>> numbers_of(const Known& known);
// Integers that an attribute says until some opset, and an input since; nullopt: neither, or not known.
std::optional<std::vector<int64_t>> list_at(const Node& node, std::string_view attribute, Arguments arguments,
                                            size_t index);

}  // namespace qgen::onnx
