// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Operators by their public names, on tensors in host memory: what qgen-run and the conformance cases speak. Programs
// that know their operator call its typed function instead.
//
//   const OperatorEntry* entry = find_operator("quantize_affine");
//   Expected<Request> request = complete(*entry, {.inputs = {{"input", x}, {"scale", s}}});
//   Expected<PreparedCall> prepared = entry->prepare(context, *request);
//   Selection selection = select(prepared->call.problem, profile, library);
//
// A family's entries stand in its own source file (affine_entries.cpp); registry.cpp lists the families.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/operators/call.h"

namespace qgen {

// A word is a string; a dtype is a word by NumPy's name or ours.
using AttributeValue = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>>;

struct AttributeInfo {
  std::string_view name;
  enum class Kind : uint8_t { boolean, integer, real, word, integers } kind;  // in AttributeValue's order
  // The value it has when it is not given, as a person types it. In parentheses: what the operator then does, "(that of
  // the scale's shape)", and prepare() sees none. Empty: it must be given.
  std::string_view otherwise;
  std::string_view summary;                 // "the least integer"
  std::span<const std::string_view> words;  // of a word: what it can be; empty: a dtype
};

struct TensorInfo {
  std::string_view name;  // the operand's in the spec
  bool is_optional = false;
  std::string_view summary;  // "f32 or f16, [..., K]"
  bool is_weight = false;    // the chosen kernel says in which form it lies on the device: it has no place of its own
};

using Tensors = std::map<std::string, HostTensor, std::less<>>;  // by operand

struct Request {
  Tensors inputs;
  std::map<std::string, AttributeValue, std::less<>> attributes;
  std::map<std::string, Place, std::less<>> places;  // of inputs and outputs; without: the operator's default
};

// A call with its inputs on the device.
struct PreparedCall {
  Call call;
  std::vector<Argument> arguments;  // those that are to be made are std::monostate
  // What the arguments point at.
  std::vector<std::unique_ptr<DeviceTensor>> tensors;
  std::vector<std::unique_ptr<Weight>> weights;
};

struct OperatorEntry {
  std::string_view name;
  std::string_view summary;
  std::span<const TensorInfo> inputs;
  std::span<const TensorInfo> outputs;
  std::span<const AttributeInfo> attributes;
  // `request` comes from complete(). Errors say what was given and what is possible.
  Expected<PreparedCall> (*prepare)(Context& context, const Request& request);
  // Of the library: the operator whose kernels compute it. Empty: the one of its name.
  std::string_view computed_by = {};
};

// Null: the library lacks them.
const OperatorInfo* kernels_of(const OperatorEntry& entry, const KernelLibrary& library);

// Another name of an operator, by which other systems know a part of what it does.
struct OperatorAlias {
  std::string_view name;
  std::string_view op;
  std::string_view part;  // "with weight_scales [N]"
};

std::span<const OperatorEntry> operators();                 // sorted by name
std::span<const OperatorAlias> operator_aliases();          // sorted by name
const OperatorEntry* find_operator(std::string_view name);  // by its name or another; null: none
Error unknown_operator(std::string_view name);              // says which was meant

// The request, checked, with the defaults of what it left out. Errors: names that the operator does not know, inputs
// and attributes that are missing, values of another kind.
Expected<Request> complete(const OperatorEntry& entry, Request request);

}  // namespace qgen
