// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Functions of one value that models write in several nodes become one node:
//
//   x * sigmoid(x)            Silu, which is a name of ours
//   relu6(x + 3) / 6          HardSigmoid
//   x * hardsigmoid(x)        HardSwish, and so is x * relu6(x + 3) / 6
//
// No other node may read the values between them.
#pragma once

#include "runtime/models/onnx/model.h"

namespace qgen::onnx {

void join_functions(ModelGraph& graph);
// LayerNormalization, as exporters write it with nine nodes.
void join_layers(ModelGraph& graph);

}  // namespace qgen::onnx
