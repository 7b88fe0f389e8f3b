// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Nodes that ONNX Runtime's optimizations join become ONNX's own nodes again, so that everything that reads those also
// reads these models. They are nodes of `com.microsoft`:
//
//   BiasGelu, FastGelu, Gelu, QuickGelu      Add and Gelu, or x * sigmoid(alpha * x)
//   FusedMatMul                              Transpose, MatMul, and Mul by alpha
//   MatMulIntegerToFloat                     MatMulInteger, Cast, Mul by both scales, and Add
//   DynamicQuantizeMatMul                    the same after DynamicQuantizeLinear
//   EmbedLayerNormalization                  Gather of each table, Add, and LayerNormalization
//
// The definitions are those of ONNX Runtime's docs/ContribOperators.md. A Concat of one value along
// the rows of a cache becomes Identity.
#pragma once

#include "runtime/models/onnx/model.h"

namespace qgen::onnx {

// Bodies of If, Loop and Scan too. Nodes that break their schema stay, for the importer to refuse.
void spell_out(Model& model);

}  // namespace qgen::onnx
