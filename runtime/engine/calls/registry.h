// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Operators by their public names, on tensors in host memory, for qgen-run and the conformance cases. Programs that
// know their operator call its typed function instead.
//
//   const OperatorEntry* entry = find_operator(generated::operators::entries(), "quantize_affine");
//   Expected<Request> request = complete(*entry, {.inputs = {{"input", x}, {"scale", s}}});
//   Expected<PreparedCall> prepared = prepare(context, *entry, *request);
//   Selection selection = select(prepared->call.problem, profile, library);
//
// The names, inputs and outputs of an operator are generated from its spec. Only infer(), in its family's source file,
// is written by hand.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/engine/calls/infer_arguments.h"

namespace qgen {

using Tensors = std::map<std::string, HostTensor, std::less<>>;  // by operand

using Attributes = std::map<std::string, AttributeValue, std::less<>>;

struct Request {
  Tensors inputs;
  Attributes attributes = {};
  std::map<std::string, Representation, std::less<>> representations =
      {};  // of inputs and outputs; without: the operator's default
};

// A call with its inputs on the device.
struct PreparedCall {
  Call call;
  ArgumentList arguments;  // those that are to be made are std::monostate
  // The objects that the arguments point to.
  std::vector<std::unique_ptr<DeviceTensor>> tensors;
  std::vector<std::unique_ptr<Weight>> weights;
};

// In the order of its operands. Inputs: given by callers; weights are among them.
std::vector<TensorInfo> inputs_of(const SignatureInfo& signature);
std::vector<TensorInfo> outputs_of(const SignatureInfo& signature);
const TensorInfo* find_tensor(const SignatureInfo& signature, std::string_view name);  // null: none
std::string summary_of(const TensorInfo& info);                                        // "f32, f16 [..., K]; one a row"

// Null: the library lacks them.
const OperatorInfo* kernels_of(const OperatorEntry& entry, const KernelLibrary& library);

// Another name of an operator (AliasInfo), and whose.
struct OperatorAlias {
  std::string_view name;
  std::string_view op;
  std::string_view part;  // "with weight_scales [N]"
};

// A library's operators, sorted by name: entries() of its generated operators.h.
using OperatorEntries = std::span<const OperatorEntry>;
std::vector<OperatorAlias> aliases_of(OperatorEntries operators);  // sorted by name
const OperatorEntry* find_operator(OperatorEntries operators,
                                   std::string_view name);                 // by its name or another; null: none
Error unknown_operator(OperatorEntries operators, std::string_view name);  // says which was meant

// The request, checked and completed with defaults. Errors: names that the operator does not know, inputs and
// attributes that are missing, values of another kind, tensors that lack some of their data. One that is described has
// inputs without any data, for infer_call() alone.
enum class Data : uint8_t { whole, described };
Expected<Request> complete(const OperatorEntry& entry, Request request, Data data = Data::whole);
Expected<Attributes> complete_attributes(const SignatureInfo& signature, Attributes attributes);
// Of attributes that are complete.
void set_attributes(InferArguments& arguments, const Attributes& attributes);

// The Call of a complete request; no device is needed. Inputs may lack their data. Only the forms of a weight depend on
// them: it then counts as having all.
Expected<Call> infer_call(const OperatorEntry& entry, const Request& request);

// The same with its inputs on the device: parameters in the dtype that kernels read, weights in the required forms,
// derived tensors made. Nothing is uploaded for a request that is refused.
Expected<PreparedCall> prepare(Context& context, const OperatorEntry& entry, const Request& request);

}  // namespace qgen
