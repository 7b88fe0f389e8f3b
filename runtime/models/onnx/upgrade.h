// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Models of opsets 1 to 6 as models of opset 7, from which on the schema's table begins. What changed is little: some
// attributes went, and operands are broadcast as NumPy does.
#pragma once

#include "runtime/models/onnx/model.h"

namespace qgen::onnx {

// Leaves newer models as they are. Errors: an operand that is broadcast along an axis in the middle.
Done upgrade(Model& model);

}  // namespace qgen::onnx
