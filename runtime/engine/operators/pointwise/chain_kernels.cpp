// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The table of `pointwise` with more kernels. Its functions ask those of the original table, which get the parameters
// of the kernel that interprets chains of the same dtypes.
#include "runtime/engine/operators/pointwise/chain_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "pointwise.h"
#include "runtime/engine/library/blob.h"
#include "runtime/engine/library/blob_join.h"

namespace qgen::chains {

// What KernelInfo::parameters of a kernel points to.
struct ChainKernels::Row {
  const OperatorInfo* interpreter;  // the original table
  const void* parameters;           // in it
  const TypedChain* chain;          // null: of a kernel that interprets
  std::array<uint32_t, kMostSteps> steps{};
  std::array<uint32_t, kMostConstants> constants{};

  static const Row& of(const void* parameters) { return *static_cast<const Row*>(parameters); }
  static SelectionScope original(SelectionScope scope) {
    if (scope.parameters) scope.parameters = of(scope.parameters).parameters;
    return scope;
  }
  bool is_for(const void* problem) const {
    const auto& fields = *static_cast<const generated::pointwise::Problem*>(problem);
    const std::array<uint32_t, kMostSteps> their_steps = fields.steps;
    const std::array<uint32_t, kMostConstants> their_constants = fields.constants;
    return chain->chain.steps.size() == size_t{4} * fields.step_count && their_steps == steps &&
           std::equal(constants.begin(), constants.begin() + std::ssize(chain->chain.constants),
                      their_constants.begin());
  }

  // The functions of the table.
  static OperandForm form(const void* parameters, size_t operand) {
    return of(parameters).interpreter->form(of(parameters).parameters, operand);
  }
  static Integer value(size_t name, const SelectionScope& scope) {
    return generated::pointwise::op.value(name, original(scope));
  }
  static int first_failing(const SelectionScope& scope) {
    const OperatorInfo& table = generated::pointwise::op;
    const int failing = table.first_failing(original(scope));
    if (failing != kAllHold || !scope.parameters || !of(scope.parameters).chain) return failing;
    return of(scope.parameters).is_for(scope.problem) ? kAllHold : static_cast<int>(table.conditions.size());
  }
  static void grid(const SelectionScope& scope, Integer groups[3]) {
    generated::pointwise::op.grid(original(scope), groups);
  }
  static Real cost(const SelectionScope& scope);
};

namespace {

// The share of the interpreter's operations for a step that remains: the step's function, without reading the step.
constexpr double kStepShare = 0.25;
// Of equal estimates, such as those of chains that wait for memory, the compiled kernel's has to be the lower one: it
// never does more.
constexpr double kPreference = 0.99;

constexpr std::string_view kOperator = "pointwise", kStepOps = "pointwise.step_ops";

const KernelInfo* interpreter_of(const OperatorInfo& op, const TypedChain& chain) {
  const auto found = std::ranges::find_if(op.kernels, [&](const KernelInfo& kernel) {
    const auto& parameters = *static_cast<const generated::pointwise::Parameters*>(kernel.parameters);
    return parameters.dtype == chain.dtype && parameters.output_dtype == chain.output_dtype;
  });
  return found == op.kernels.end() ? nullptr : &*found;
}

}  // namespace

Real ChainKernels::Row::cost(const SelectionScope& scope) {
  const OperatorInfo& table = generated::pointwise::op;
  if (!scope.parameters || !of(scope.parameters).chain) return table.cost(original(scope));
  const double* values = scope.fit ? scope.fit : table.fit_values.data();
  std::array<double, 8> fit{};
  const size_t count = std::min(fit.size(), table.fit_names.size());
  for (size_t i = 0; i < count; ++i) fit[i] = values[i] * (table.fit_names[i] == kStepOps ? kStepShare : 1);
  SelectionScope cheaper = original(scope);
  cheaper.fit = fit.data();
  return Real(kPreference) * table.cost(cheaper);
}

std::string kernel_id(const TypedChain& chain) {
  return fmt::format("{}.{}.{}.chain_{:016x}", kOperator, name(chain.dtype), name(chain.output_dtype),
                     digest_of(chain));
}

ChainKernels::~ChainKernels() = default;

void ChainKernels::add(const KernelInfo& interpreter, const TypedChain* chain, uint32_t module) {
  Row row{&generated::pointwise::op, interpreter.parameters, chain};
  if (chain) {
    row.steps = packed_steps(chain->chain.steps);
    row.constants = packed_constants(chain->chain.constants);
  }
  rows_.push_back(std::make_unique<Row>(row));
  ids_.push_back(chain ? kernel_id(*chain) : std::string(interpreter.id));
  kernels_.push_back({ids_.back(), rows_.back().get(), interpreter.interface, module});
}

ChainKernels::ChainKernels(const LibraryInfo& library, const OperatorInfo& interpreter, std::vector<TypedChain> chains,
                           std::vector<std::byte> blob, uint32_t first_module)
    : chains_(std::move(chains)),
      blob_(std::move(blob)),
      conditions_(interpreter.conditions.begin(), interpreter.conditions.end()),
      op_(interpreter),
      operators_(library.operators.begin(), library.operators.end()),
      library_(library) {
  for (const KernelInfo& kernel : interpreter.kernels) add(kernel, nullptr, kernel.module);
  for (const TypedChain& chain : chains_) add(*interpreter_of(interpreter, chain), &chain, first_module++);
  std::ranges::sort(kernels_, {}, &KernelInfo::id);
  conditions_.push_back({"the kernel was compiled for this chain", {}});
  op_.kernels = kernels_;
  op_.conditions = conditions_;
  op_.form = Row::form;
  op_.value = Row::value;
  op_.first_failing = Row::first_failing;
  op_.grid = Row::grid;
  op_.cost = Row::cost;
  std::ranges::replace(operators_, &interpreter, &op_);
  library_.operators = operators_;
  library_.blob = blob_;
}

Expected<std::shared_ptr<const ChainKernels>> ChainKernels::create(const LibraryInfo& library,
                                                                   std::vector<TypedChain> chains,
                                                                   std::span<const std::byte> blob) {
  const OperatorInfo& op = generated::pointwise::op;
  if (std::ranges::find(library.operators, &op) == library.operators.end())
    return refused("the program has no operator 'pointwise', whose chains these kernels are for");
  std::set<std::string> ids;
  for (const TypedChain& chain : chains) {
    if (!interpreter_of(op, chain))
      return refused(fmt::format("no kernel of 'pointwise' has {} inputs and an output of {}", name(chain.dtype),
                                 name(chain.output_dtype)));
    if (!ids.insert(kernel_id(chain)).second) return refused(fmt::format("'{}' is there twice", kernel_id(chain)));
  }
  const auto modules = Blob::open(blob);
  if (!modules) return modules.error();
  if (modules->module_count() != chains.size())
    return refused(fmt::format("there are {} modules for {} chains", modules->module_count(), chains.size()));
  const auto own = Blob::open(library.blob);
  if (!own) return own.error();
  auto joined = joined_blob(library.blob, blob);
  if (!joined) return joined.error();
  return std::shared_ptr<const ChainKernels>(
      new ChainKernels(library, op, std::move(chains), *std::move(joined), static_cast<uint32_t>(own->module_count())));
}

}  // namespace qgen::chains
