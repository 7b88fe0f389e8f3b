// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A model may contain functions: nodes that call one are replaced by the function's nodes. Exporters write layers so.
//
//   if (Done done = inline_functions(proto, limits); !done) return done.error();
#pragma once

#include "common/error.h"
#include "runtime/models/onnx/read_limits.h"

namespace onnx {
class ModelProto;
}

namespace qgen::onnx {

// Names in functions get the name of the call before them. Errors: a function that calls itself, more nodes or bytes than
// the limits allow, a call with more inputs or outputs than the function has, and a function of another opset than the
// model.
Done inline_functions(::onnx::ModelProto& model, const ReadLimits& limits);

}  // namespace qgen::onnx
