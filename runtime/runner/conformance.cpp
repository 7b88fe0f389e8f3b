// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/runner/conformance.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runtime/operators/attributes.h"
#include "runtime/runner/trial.h"
#include "runtime/runner/ways.h"
#include "tests/reference/references.h"

namespace qgen::runner {
namespace {

// What a way's results are held against.
struct Judge {
  Tensors expected;
  std::map<std::string, Tolerance, std::less<>> tolerances;
};

HostTensor as_float(const HostTensor& tensor) {
  HostTensor result = zeros(DType::f32, tensor.shape);
  for (int64_t i = 0; i < element_count(tensor.shape); ++i) set_element(result, i, element(tensor, i));
  return result;
}

// Halves are widened where floats were expected.
Comparison judged(const HostTensor& got, const HostTensor& expected, Tolerance tolerance) {
  const bool is_half = got.dtype == DType::f16 && expected.dtype == DType::f32;
  return compare(is_half ? as_float(got) : got, expected, tolerance);
}

class CaseRun {
 public:
  CaseRun(Context& context, const ConformanceCase& tested, const CaseOptions& options)
      : context_(&context), tested_(&tested), options_(&options), entry_(*find_operator(tested.op)) {
    result_.name = tested.name;
  }

  CaseResult run() {
    const OperatorInfo* op = context_->library.find(tested_->op);
    if (!op) {
      fail("", fmt::format("the library has no operator '{}'", tested_->op));
      return result_;
    }
    run_way({}, *op);
    if (options_->all_kernels) {
      const auto ways = ways_of(entry_, *op, tested_->request, ranks());
      for (size_t i = 1; i < ways.size(); ++i) run_way(ways[i], *op);
    }
    if (result_.runs == 0 && result_.faults == 0) fail(options_->kernel, "no way to run it takes this kernel");
    result_.kernels = kernels_.size();
    result_.kind = result_.faults == 0 ? CaseResult::Kind::passed : CaseResult::Kind::failed;
    return result_;
  }

 private:
  std::map<std::string, size_t, std::less<>> ranks() const {
    std::map<std::string, size_t, std::less<>> result;
    for (const auto& [operand, tensor] : tested_->request.inputs) result[operand] = tensor.shape.size();
    for (const auto& [operand, tensor] : tested_->expected) result[operand] = tensor.shape.size();
    return result;
  }

  void run_way(const Way& way, const OperatorInfo& op) {
    const auto request = complete(entry_, in_way(tested_->request, way, entry_, op));
    if (!request) return fail("", to_text(request.error()));
    const auto judge = judge_of(way, *request);
    if (!judge) return;
    const auto prepared = entry_.prepare(*context_, *request);
    if (!prepared) return fail("", fmt::format("{}: {}", to_text(way), to_text(prepared.error())));
    const SelectOptions options{.force = options_->kernel,
                                .all_specializations = options_->all_kernels,
                                .all_step_kernels = options_->all_kernels,
                                .best_only = !options_->all_kernels};
    const Selection selection = select(prepared->call.problem, context_->profile, context_->library, options);
    const bool must_run = way.places.empty() && !way.is_half && options_->kernel.empty();
    if (selection.ranked.empty() && must_run) return fail("", explain(selection));
    for (const Choice& choice : selection.ranked) run_choice(*prepared, choice, *judge);
  }

  // nullopt: nothing says what this way should give.
  std::optional<Judge> judge_of(const Way& way, const Request& request) const {
    Judge judge{tested_->expected, tested_->tolerances};
    if (!way.is_half) return judge;
    if (tested_->f16_rel) {
      for (auto& [output, tolerance] : judge.tolerances) tolerance.rel = *tested_->f16_rel;
      return judge;
    }
    const auto reference = reference::find(tested_->op);
    if (!reference) return std::nullopt;
    judge.expected = reference(request);
    return judge;
  }

  void run_choice(const PreparedCall& prepared, const Choice& choice, const Judge& judge) {
    ++result_.runs;
    kernels_.insert(choice.id.substr(0, choice.id.find_first_of("/(")));
    const auto outputs = run_trial(*context_, prepared, choice);
    if (!outputs) return fail(choice.id, to_text(outputs.error()));
    for (const auto& [name, expected] : judge.expected) {
      const auto got = outputs->find(name);
      if (got == outputs->end()) return fail(choice.id, fmt::format("there is no output '{}'", name));
      const Comparison comparison = judged(got->second, expected, judge.tolerances.at(name));
      result_.largest_error = std::max(result_.largest_error, comparison.largest_error);
      if (!comparison.fault.empty()) fail(choice.id, fmt::format("{}: {}", name, comparison.fault));
    }
  }

  void fail(const std::string& kernel, std::string fault) {
    if (result_.faults++ > 0) return;
    result_.failed_kernel = kernel;
    result_.fault = std::move(fault);
  }

  Context* context_;
  const ConformanceCase* tested_;
  const CaseOptions* options_;
  const OperatorEntry& entry_;
  CaseResult result_;
  std::set<std::string> kernels_;
};

}  // namespace

CaseResult run_case(Context& context, const std::filesystem::path& file, const CaseOptions& options) {
  const auto tested = load_case(file);
  if (!tested) return {.name = case_name(file), .fault = to_text(tested.error()), .faults = 1};
  if (!find_operator(tested->op)) return {.name = tested->name, .kind = CaseResult::Kind::unknown_operator};
  return CaseRun(context, *tested, options).run();
}

}  // namespace qgen::runner
