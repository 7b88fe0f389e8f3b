// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What every operator function has in common: it turns checked arguments into a Call, and the Call is run.
//
//   Expected<Call> call = quantize_affine_call(inputs, attributes);     // pure: shapes, dtypes, the Problem; no device
//   Expected<std::vector<DeviceTensor>> made = run(context, *call, arguments);
//
// A Call knows the operator's Problem and every operand's form, those that it writes included. select() ranks kernels
// for it; run() takes the best one, allocates what is to be written, and returns it.
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

#include "runtime/calls/weight.h"
#include "runtime/dispatch/executor.h"
#include "runtime/selector/decision_cache.h"

namespace qgen {

struct Given;        // given.h
class OnlineTuning;  // online_tuning.h

// A tensor without its memory.
struct TensorDesc {
  DType dtype = DType::f32;
  Shape shape;
  Storage storage = Storage::buffer;
  Layout layout = Layout::strided;
  uint32_t other_layouts = 0;  // OperandDesc::other_layouts
};
TensorDesc desc_of(const DeviceTensor& tensor);
TensorDesc desc_of(const Weight& weight);
std::optional<TensorDesc> desc_of(const DeviceTensor* tensor);  // null: an optional operand that is left out

// Where an operator puts what it makes; each function says what it does without.
struct Place {
  Storage storage = Storage::buffer;
  Layout layout = Layout::strided;
  friend bool operator==(const Place&, const Place&) = default;
};

OperandDesc operand_of(const TensorDesc& tensor);

struct Call {
  Problem problem;
  // One an operand of problem.op, also those that are written; nullopt: an optional one that is left out.
  std::vector<std::optional<TensorDesc>> operands;
  // Of an operand that is sums along a weight's rows: how many neighbours each sums. 0: the whole row.
  int64_t row_sum_run = 0;
  // Of a weight: kernels read it turned, as Weight::turned() of so many groups, whose shape the operand has. 0: as it
  // is.
  int64_t turned_groups = 0;
  std::shared_ptr<const Given> given = nullptr;  // what it was inferred from; null: it was made by hand
};

// A Call of the operator whose generated Problem is `fields`.
template <typename Fields>
Call make_call(const Fields& fields, const typename Fields::template Operands<std::optional<TensorDesc>>& operands) {
  Call call{{}, in_order(operands)};
  std::vector<OperandDesc> descs;
  for (const auto& operand : call.operands) {
    descs.push_back(operand ? operand_of(*operand) : OperandDesc{.is_present = false});
  }
  call.problem = make_problem(*Fields::kOperator, std::as_bytes(std::span(&fields, 1)), std::move(descs));
  return call;
}

// What stands at an operand: a tensor, a weight (the form that the chosen kernel reads is made on demand), or nothing:
// an operand that is left out, or one that run() allocates.
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

// The sums of the weight's rows that the Call reads, made once.
Expected<const DeviceTensor*> row_sums(Executor& executor, const Call& call, Weight& weight);

// The device, its kernels and their executor; and how to choose.
struct Context {
  const DeviceProfile& profile;
  const KernelLibrary& library;
  Executor& executor;
  std::string force_kernel;                            // SelectOptions::force; empty: the best
  const TimeBook* times = nullptr;                     // what was measured; null: choices go by estimates
  DecisionCache* decisions = nullptr;                  // keeps choices between calls; null: each call chooses
  OnlineTuning* online = nullptr;                      // finds times while calls run; null: none are taken
  std::function<void(const Selection&)> on_selection;  // sees each decision; may be empty
  std::function<void(const Call&)> on_call;            // sees each problem that is run; may be empty
};

// Selects and runs, and waits for the device. The result: what was allocated, in the operator's order. Errors: no
// kernel fits (with a sentence for each), those of bind(), and those of Executor.
Expected<std::vector<DeviceTensor>> run(Context& context, const Call& call, const ArgumentList& arguments);

// The same in two steps, for those who run again and again: operands of one choice, and what was allocated for it.
struct BoundCall {
  std::vector<const DeviceTensor*> operands;  // of Work
  std::vector<DeviceTensor> made;             // those of `operands` that were allocated, in their order
};
// Errors: arguments that are too few, too many, null, or other than the Call was made for; an input without one; and
// those of allocating and of Weight::form().
Expected<BoundCall> bind(Context& context, const Call& call, const Choice& choice, const ArgumentList& arguments);

}  // namespace qgen
