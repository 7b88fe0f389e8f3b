// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A model may contain functions. Each node that calls one is replaced by the function's nodes. Some exporters write
// layers as functions.
//
//   if (Done done = inline_functions(proto, limits); !done) return done.error();
#pragma once

#include "common/error.h"
#include "runtime/models/onnx/read_limits.h"

namespace onnx {
class ModelProto;
}

namespace qgen::onnx {

// The name of the call becomes a prefix of the names in the function. Errors: two functions of one name, a function
// that calls itself or calls that are nested too deep, more nodes or bytes than the limits allow, a call with more
// inputs or outputs than the function has, and a function of another opset than the model.
Done inline_functions(::onnx::ModelProto& model, const ReadLimits& limits);

}  // namespace qgen::onnx
