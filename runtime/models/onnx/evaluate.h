// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Computes nodes whose inputs are constants of any type, such as results of weights, of shapes and of settings.
//
//   ConstantOfShape([2, 3])  ->  a tensor of zeros        Equal(sr, 16000)  ->  true
//
// Floating-point numbers are computed in double and rounded once. For sums, products, quotients and roots this gives
// the bits of float arithmetic. Integers wrap, as in C.
#pragma once

#include <span>

#include "runtime/models/onnx/model.h"

namespace qgen::onnx {

// Whether such nodes are evaluated at all.
bool is_evaluated(std::string_view op);

// The node's outputs; for an omitted input, null. nullopt: it is not evaluated with these types. `most`: the elements
// that it may have. Errors: shapes that do not go together, numbers outside their range, too many elements.
Expected<std::optional<Tensor>> evaluate(const Node& node, std::span<const TensorPtr> inputs, int64_t opset,
                                         int64_t most);

}  // namespace qgen::onnx
