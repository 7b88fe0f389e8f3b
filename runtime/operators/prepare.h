// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What the prepare() functions of families share: inputs of a request, on the device, kept by the PreparedCall.
//
//   PreparedCall prepared;
//   const auto input = upload_input(context, request, "input", prepared);
//   if (!input) return input.error();
#pragma once

#include "runtime/operators/attributes.h"
#include "runtime/operators/registry.h"

namespace qgen {

// An input where the request places it. Null: it is left out.
Expected<const DeviceTensor*> upload_input(Context& context, const Request& request, std::string_view name,
                                           PreparedCall& prepared);
// The same for parameters that kernels read as `dtype`: halves become floats and narrow integers wide ones, which is
// exact.
Expected<const DeviceTensor*> upload_widened(Context& context, const Request& request, std::string_view name,
                                             DType dtype, PreparedCall& prepared);

// `prepared` with its call; where there is none, the reason.
Expected<PreparedCall> finished(PreparedCall prepared, const Expected<Call>& call, std::vector<Argument> arguments);

}  // namespace qgen
