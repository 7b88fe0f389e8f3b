// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A call of an operator, in two steps: make a Call from checked arguments, then run it.
//
//   Expected<Call> call = quantize_affine_call(inputs, attributes);     // pure: shapes, dtypes, the Problem; no device
//   Expected<std::vector<DeviceTensor>> made = run(context, *call, arguments);
//
// A Call contains the operator's Problem and the format of every operand, outputs included. select() ranks kernels for
// it. run() runs the best one, and allocates and returns the outputs.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/engine/calls/weight.h"
#include "runtime/engine/dispatch/commands.h"
#include "runtime/engine/dispatch/executor.h"
#include "runtime/engine/selector/decision_cache.h"

namespace qgen {

struct InferArguments;  // infer_arguments.h
class OnlineTuning;     // online_tuning.h

// A tensor without its memory.
struct TensorDesc {
  DType dtype = DType::f32;
  Shape shape;
  Storage storage = Storage::buffer;
  Layout layout = Layout::strided;
  uint32_t other_layouts = 0;  // OperandDesc::other_layouts
  bool is_moved_from = false;  // of a tensor or a weight that was moved from: every call refuses it
};
TensorDesc desc_of(const DeviceTensor& tensor);
TensorDesc desc_of(const Weight& weight);
std::optional<TensorDesc> desc_of(const DeviceTensor* tensor);  // null: an optional operand that is left out

// The representation of an operator's output; each function documents its default.
struct Representation {
  Storage storage = Storage::buffer;
  Layout layout = Layout::strided;
  friend bool operator==(const Representation&, const Representation&) = default;
};

OperandDesc operand_of(const TensorDesc& tensor);

struct Call {
  Problem problem;
  // One for each operand of problem.op, outputs included; nullopt: an optional one that is left out.
  std::vector<std::optional<TensorDesc>> operands;
  // For an operand that contains sums along a weight's rows: the neighbours in each sum. 0: the whole row.
  int64_t row_sum_run = 0;
  // For a weight: kernels read it turned, as Weight::turned() with this many groups; the operand has that shape. 0: not
  // turned.
  int64_t turned_groups = 0;
  std::shared_ptr<const InferArguments> arguments =
      nullptr;  // the arguments from which it was inferred; null: it was made by hand
};

// A Call of the operator whose generated Problem is `fields`.
template <typename Fields>
Call make_call(const Fields& fields, const typename Fields::template Operands<std::optional<TensorDesc>>& operands) {
  Call call{{}, in_order(operands)};
  std::vector<OperandDesc> descs;
  for (const auto& operand : call.operands) {
    descs.push_back(operand ? operand_of(*operand) : OperandDesc::left_out());
  }
  call.problem = make_problem(*Fields::kOperator, std::as_bytes(std::span(&fields, 1)), std::move(descs));
  return call;
}

// The same, of the operands that callers give, which `inputs` has, and of those that the call makes.
template <typename Fields>
Call make_call(const Fields& fields, const auto& inputs,
               const typename Fields::template MadeOperands<std::optional<TensorDesc>>& made) {
  return make_call(fields, with_inputs(inputs, made));
}

// The call in its caller's terms, for Selection::question: the operator's public name, inputs and outputs, and the
// attributes that do not have their defaults.
//
//   q8ta_relu of input i8 [2, 3] -> output i8 [2, 3] with input_scale 0.5, output_scale 1 on "llvmpipe"
std::string question_of(const Call& call, const DeviceProfile& device);

// The argument at an operand: a tensor; a weight, whose form for the chosen kernel is made on demand; or nothing, for
// an operand that is left out or that run() allocates.
using Argument = std::variant<std::monostate, const DeviceTensor*, Weight*>;
Argument argument_of(const DeviceTensor* tensor);  // null: left out

// One for each operand of a Call: by name, or in the operator's order where the operator is known from tables only.
//
//   run(context, call, generated::q8ta_unary::Operands<Argument>{.input = &x, .output = Argument()});
class ArgumentList {
 public:
  ArgumentList() = default;
  template <typename Operands>
  requires requires(const Operands& operands) {
    { in_order(operands) } -> std::same_as<std::vector<Argument>>;
  }
  ArgumentList(const Operands& operands) : all_(in_order(operands)) {}
  explicit ArgumentList(std::vector<Argument> all) : all_(std::move(all)) {}

  size_t size() const { return all_.size(); }
  Argument& operator[](size_t operand) { return all_[operand]; }
  const Argument& operator[](size_t operand) const { return all_[operand]; }

 private:
  std::vector<Argument> all_;
};

// The layout in which a choice reads an operand of the whole: the first that one of its kernels names there.
Layout layout_read(const Choice& choice, size_t operand, Layout otherwise);

// The sums of the weight's rows that the Call reads, made once.
Expected<const DeviceTensor*> row_sums(Executor& executor, const Call& call, Weight& weight);

// The device, its kernels and their executor; and how to choose.
struct Context {
  const DeviceProfile& profile;
  const KernelLibrary& library;
  Executor& executor;
  std::string force_kernel = {};       // SelectOptions::force; empty: the best
  const TimeBook* times = nullptr;     // measured times; null: choices are by estimates
  DecisionCache* decisions = nullptr;  // keeps choices between calls; null: each call chooses
  // Calls are recorded there, and their tensors belong to that frame; null: each call runs at once and is waited for.
  Commands* commands = nullptr;
  OnlineTuning* online = nullptr;                           // measures kernels while calls run; null: does not
  std::function<void(const Selection&)> on_selection = {};  // sees each decision; may be empty
  std::function<void(const Call&)> on_call = {};            // sees each problem that is run; may be empty
};

// Selects a kernel, runs it, and waits for the device; with Context::commands, it records the kernel instead. Returns
// the allocated tensors in the operator's order. Errors: no kernel fits (with a sentence for each), the errors of
// bind(), and those of Executor or Commands.
Expected<std::vector<DeviceTensor>> run(Context& context, const Call& call, const ArgumentList& arguments);
// The same with the kept choice, if takes_kept_choices().
Expected<std::vector<DeviceTensor>> run(Context& context, const KeptCall& call, const ArgumentList& arguments);
// Whether calls may run what Context::decisions keeps: no kernel is forced, watched or measured.
bool takes_kept_choices(const Context& context);

// The same in two steps, to run a choice many times: its operands, and the tensors that were allocated for it.
struct BoundCall {
  std::vector<const DeviceTensor*> operands;  // of Work
  std::vector<DeviceTensor> made;             // the allocated ones of `operands`, in order
};
// Errors: too few or too many arguments, null arguments, arguments that differ from the Call's descriptions, an input
// without one; and the errors of allocating and of Weight::form().
Expected<BoundCall> bind(Context& context, const Call& call, const Choice& choice, const ArgumentList& arguments);

}  // namespace qgen
