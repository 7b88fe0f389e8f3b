// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Converts models of opsets 1 to 6 to opset 7, the first opset in the schema's table. The differences are few: some
// attributes were removed, and operands are broadcast as in NumPy.
#pragma once

#include "runtime/models/onnx/model.h"

namespace qgen::onnx {

// Leaves newer models as they are. Errors: an operand that is broadcast along an axis in the middle.
Done upgrade(Model& model);

}  // namespace qgen::onnx
