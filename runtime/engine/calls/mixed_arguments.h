// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A request with some tensors already on the device. Bindings of other languages call an operator by name with it.
//
//   MixedArguments arguments{.request = {.inputs = {{"weight_scales", scales}}, .attributes = {{"input_scale", 0.5}}}};
//   arguments.tensors = {{"input", &x}, {"output", &y}};
//   arguments.weights = {{"weight", &w}};
//   auto prepared = prepare(context, *entry, std::move(arguments));
//   auto outputs = run(context, *entry, prepared->call, prepared->arguments);
#pragma once

#include "runtime/engine/calls/registry.h"

namespace qgen {

struct MixedArguments {
  Request request;  // the tensors in host memory, and the attributes; it need not be complete
  // Inputs, and outputs that are written, by name.
  std::map<std::string, const DeviceTensor*, std::less<>> tensors = {};
  std::map<std::string, Weight*, std::less<>> weights = {};
};

// Errors: the errors of complete() and of prepare(); a name that appears twice, a weight that is given as a plain
// tensor, host tensors with missing data.
Expected<PreparedCall> prepare(Context& context, const OperatorEntry& entry, MixedArguments arguments);
// The same without a device; host tensors may lack their data.
Expected<Call> infer_call(const OperatorEntry& entry, MixedArguments arguments);

// The error of a name that appears twice.
Error given_twice(std::string_view name);

}  // namespace qgen
