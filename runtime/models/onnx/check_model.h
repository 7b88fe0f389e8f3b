// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Checks that a model is valid ONNX before it is imported. Each node that the outputs need is compared with the schema
// (schema.h), and with the ranges and words that ONNX describes in text. The length of some lists depends on the
// inputs' shapes; the code that reads such a list checks it.
//
//   if (Done sound = check_model(model); !sound) return sound.error();
//   // "node 'Conv_3' (Conv): it has an attribute 'pad', which Conv does not have", "did you mean 'pads'?"
#pragma once

#include "runtime/models/onnx/model.h"
#include "runtime/models/onnx/schema.h"

namespace qgen::onnx {

// Attributes, and how many inputs and outputs there are. Nodes that the schema does not have pass.
Done check_node(const Node& node, int64_t opset);
// The opset, the nodes, the types of their inputs, and the types that the outputs of the model are declared with.
Done check_model(const Model& model);

// "node 'Conv_3' (Conv): message".
Error about_node(const Node& node, Error error);

}  // namespace qgen::onnx
