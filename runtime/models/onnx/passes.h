// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Optimisations of the complete graph. Nothing here knows ONNX.
#pragma once

#include <map>
#include <vector>

#include "runtime/engine/operators/byte_table.h"
#include "runtime/models/graph/graph.h"
#include "runtime/models/onnx/dims.h"

namespace qgen::onnx {

// Nodes that no output needs. Values keep their numbers.
void drop_unread_nodes(graph::Graph& graph);

// Bytes that are a function of other bytes, element by element, with ONNX's rounding.
struct BytesOf {
  graph::ValueId root = 0;  // the other bytes
  ByteTable table = {};
  PerTensor output = {};  // what the bytes stand for
};
using BytesOfBytes = std::map<graph::ValueId, BytesOf>;

// A function of bytes, such as q8ta_table or q8ta_hardswish, that alone reads the result of a convolution or a linear
// layer becomes the layer's `table` (docs/linear.md). The integers are ONNX's.
void join_tables(graph::Graph& graph, std::vector<Dims>& shapes, const BytesOfBytes& functions);

// A sum that only adds a convolution's or a linear layer's result to something becomes the layer's `residual`,
// bit-exact (docs/linear.md). It is a q8ta_add with alpha 1, of two tensors of one shape, and nothing else reads the
// layer's result. The output's zero point acts as the sum's Relu; if it does not, the sum stays. `shapes` is by value.
void join_residuals(graph::Graph& graph, const std::vector<Dims>& shapes);

// The product x * sigmoid(x) * y of floating-point tensors of one shape, which a gated layer has, becomes one chain
// instead of three nodes, if nothing else reads what is in between.
void join_gates(graph::Graph& graph, const std::vector<Dims>& shapes);

// A chain of element-wise steps with only one reader, another chain of its shape, becomes a part of that one: one
// launch, and no stored values in between. Chains that convert, and chains on int8, stay separate.
void join_chains(graph::Graph& graph, const std::vector<Dims>& shapes);

// A dynamic_quantize_image that one dq8ta_conv2d alone reads, and that convolution, become a conv2d_dq8ta_q8csw. A concat
// of channels that only the dynamic_quantize_image reads becomes part of it too: its inputs are quantized from where they
// are. No bit changes. Call it after drop_unused: nodes without a reader count as readers.
void join_input_quantizers(graph::Graph& graph);

// Products of one input become one product where one operator reads all of them: query, key and value before
// `rotary_cache_write`, and both sides of a gate, which becomes `silu_mul`. Each element stays the same sum. Appends to
// `shapes`.
void join_products(graph::Graph& graph, std::vector<Dims>& shapes);

// A skip_rms_norm of f16 whose result one linear_q4gsw alone reads, and that product, become a rms_norm_linear_q4gsw, if
// something reads the sum: of the last normalization of a model no one does, and its product may need few rows only. A
// silu_mul that alone reads the product becomes part of it too, as a rms_norm_gated_q4gsw. No bit changes by that.
void join_norms(graph::Graph& graph);

// Nodes and constants that no output needs.
void drop_unused(graph::Graph& graph);

}  // namespace qgen::onnx
