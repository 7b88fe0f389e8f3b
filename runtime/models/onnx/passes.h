// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Optimisations of the complete graph. Nothing here knows ONNX.
#pragma once

#include <vector>

#include "runtime/models/graph/graph.h"
#include "runtime/models/onnx/dims.h"

namespace qgen::onnx {

// A sum that only adds a convolution's or a linear layer's result to something becomes the layer's `residual`, to the
// bit (docs/linear.md): of q8ta_add with alpha 1, of two tensors of one shape, where nothing else reads the layer's
// result. Relu in the sum is what its output's zero point does; where it is not, the sum stays. `shapes` is by value.
void join_residuals(graph::Graph& graph, const std::vector<Dims>& shapes);

// A chain of element-wise steps that only one other chain of its shape reads becomes a part of that one: one launch, and
// nothing is stored between them. Chains that convert, and those of bytes, stay by themselves.
void join_chains(graph::Graph& graph, const std::vector<Dims>& shapes);

// Nodes and constants that no output needs.
void drop_unused(graph::Graph& graph);

}  // namespace qgen::onnx
