// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What is made better of a graph that is complete. Nothing here knows ONNX.
#pragma once

#include <vector>

#include "runtime/graph/graph.h"
#include "runtime/onnx/dims.h"

namespace qgen::onnx {

// A sum that only adds a convolution's or a linear layer's result to something becomes the layer's `residual`, to the
// bit (docs/linear.md): of q8ta_add with alpha 1, of two tensors of one shape, where nothing else reads the layer's
// result. Relu in the sum is what its output's zero point does; where it is not, the sum stays. `shapes` is by value.
void join_residuals(graph::Graph& graph, const std::vector<Dims>& shapes);

// Nodes and constants that no output needs.
void drop_unused(graph::Graph& graph);

}  // namespace qgen::onnx
