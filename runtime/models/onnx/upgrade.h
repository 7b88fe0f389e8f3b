// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Converts models of opsets 1 to 6 to opset 7, the first opset in the schema's table. The differences are few: some
// attributes were removed, and operands are broadcast as in NumPy. A second operand that begins at another axis keeps it
// in Node::broadcast_axis, since its shape is not known here.
#pragma once

#include "runtime/models/onnx/model.h"

namespace qgen::onnx {

// Leaves newer models as they are. Errors: a node that trains.
Done upgrade(Model& model);

}  // namespace qgen::onnx
