// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/measure/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/measure/trial.h"
#include "runtime/reference/linear.h"

namespace qgen::measure {
namespace {

// What is wrong with the outputs; empty: nothing.
std::string fault_of(const Tensors& outputs, const Expectation& expected, double& largest_error) {
  for (const auto& [name, wanted] : expected.outputs) {
    const auto got = outputs.find(name);
    if (got == outputs.end()) return fmt::format("there is no output '{}'", name);
    const Comparison comparison = compare(got->second, expected, name);
    largest_error = std::max(largest_error, comparison.largest_error);
    if (!comparison.fault.empty()) return fmt::format("{}: {}", name, comparison.fault);
  }
  return "";
}

std::string fault_of(const Tensors& outputs, std::span<const Expectation> expected, double& largest_error) {
  for (const Expectation& one : expected) {
    if (std::string fault = fault_of(outputs, one, largest_error); !fault.empty()) return fault;
  }
  return "";
}

SelectOptions select_options(const VerifyOptions& options) {
  return {.force = options.kernel,
          .all_specializations = options.all_kernels && options.all_specializations,
          .all_step_kernels = options.all_kernels && options.all_step_kernels,
          .best_only = !options.all_kernels};
}

// Whether the device can hold what the call makes where the call puts it: inputs were uploaded and are known to fit.
Done check_outputs_fit(Context& context, const PreparedCall& prepared) {
  for (size_t i = 0; i < prepared.call.operands.size(); ++i) {
    const auto& desc = prepared.call.operands[i];
    if (!desc || !std::holds_alternative<std::monostate>(prepared.arguments[i])) continue;
    const auto made = context.executor.allocate(desc->dtype, desc->shape, desc->storage, desc->layout);
    if (!made) return made.error();
  }
  return std::monostate{};
}

bool is_as_it_stands(const Way& way) { return way.places.empty() && !way.is_half; }

void verify_in_way(Context& context, const OperatorEntry& entry, const Request& request, const Way& way,
                   const Judge& judge, const VerifyOptions& options, Verdict& verdict) {
  const auto add = [&](const Error& error) { verdict.findings.push_back({"", to_text(way), to_text(error)}); };
  const auto completed = complete(entry, request);
  if (!completed) return add(completed.error());
  const std::vector<Expectation> expected = judge(way, *completed);
  if (expected.empty()) return;
  const auto prepared = prepare(context, entry, *completed);
  const Done held = prepared ? check_outputs_fit(context, *prepared) : Done(prepared.error());
  // A place that cannot hold the tensor (an image too wide) is no place for it.
  const bool is_skipped = !held && held.error().kind == Error::Kind::unsupported && !is_as_it_stands(way);
  if (is_skipped) return verdict.skipped.push_back({to_text(way), held.error().message});
  if (!held) return add(held.error());
  const size_t runs = verdict.runs;
  verify(context, *prepared, expected, options, to_text(way), verdict);
  if (verdict.runs == runs && is_as_it_stands(way) && options.kernel.empty()) {
    add(no_kernel(select(prepared->call.problem, context.profile, context.library)));
  }
}

std::map<std::string, size_t, std::less<>> ranks_of(const Request& request, const Expectation& expected) {
  std::map<std::string, size_t, std::less<>> ranks;
  for (const auto& [operand, tensor] : request.inputs) ranks[operand] = tensor.shape.size();
  for (const auto& [operand, tensor] : expected.outputs) ranks[operand] = tensor.shape.size();
  return ranks;
}

}  // namespace

Expectation expectation_of(const OperatorInfo& op, Tensors outputs) {
  Expectation expected{std::move(outputs), {}, {}};
  for (const auto& [name, tensor] : expected.outputs) expected.tolerances.emplace(name, op.tolerance.of(tensor.dtype));
  return expected;
}

std::optional<Expectation> expectation_by_reference(const OperatorEntry& entry, const Request& request,
                                                    reference::Answers answers) {
  auto answer = answers ? answers(entry.name, request) : std::nullopt;
  if (!answer) return std::nullopt;
  Expectation expected = expectation_of(*entry.op, std::move(answer->outputs));
  if (entry.op->tolerance.is_computed) expected.exact = std::move(answer->exact);
  return expected;
}

Comparison compare(const HostTensor& got, const Expectation& expected, std::string_view output) {
  const HostTensor& wanted = expected.outputs.find(output)->second;
  const auto tolerance = expected.tolerances.find(output);
  const auto exact = expected.exact.find(output);
  const bool is_widened = got.dtype == DType::f16 && wanted.dtype == DType::f32;
  return compare(is_widened ? reference::rounded_to(DType::f32, got) : got, wanted,
                 tolerance == expected.tolerances.end() ? Tolerance{} : tolerance->second,
                 exact == expected.exact.end() ? nullptr : &exact->second);
}

void verify(Context& context, const PreparedCall& prepared, std::span<const Expectation> expected,
            const VerifyOptions& options, const std::string& way, Verdict& verdict) {
  const Selection selection = select(prepared.call.problem, context.profile, context.library, select_options(options));
  context.executor.make_pipelines(selection.ranked);
  for (const Choice& choice : selection.ranked) {
    ++verdict.runs;
    verdict.kernels.insert(choice.id.substr(0, choice.id.find_first_of("/(")));
    const auto trial = run_trial(context, prepared, choice);
    const auto outputs = trial ? elements_of(*trial) : trial.error();
    std::string fault = outputs ? fault_of(*outputs, expected, verdict.largest_error) : to_text(outputs.error());
    if (!fault.empty()) verdict.findings.push_back({choice.id, way, std::move(fault)});
  }
}

Verdict verify(Context& context, const OperatorEntry& entry, const Request& request, const Judge& judge,
               const VerifyOptions& options) {
  Verdict verdict;
  const OperatorInfo* op = kernels_of(entry, context.library);
  if (!op) {
    verdict.findings.push_back({"", "", fmt::format("the library has no operator '{}'", entry.name)});
    return verdict;
  }
  std::vector<Way> ways = {Way{}};
  if (options.all_kernels && options.in_all_ways) {
    // Ranks of outputs come from what is expected of the request as it stands.
    const auto completed = complete(entry, request);
    const auto expected = completed ? judge(ways.front(), *completed) : std::vector<Expectation>();
    if (!expected.empty()) ways = ways_of(entry, *op, request, ranks_of(request, expected.front()));
  }
  for (const Way& way : ways) {
    verify_in_way(context, entry, in_way(request, way, entry, *op), way, judge, options, verdict);
  }
  if (verdict.runs == 0 && verdict.findings.empty()) {
    verdict.findings.push_back({options.kernel, "", "it applies in none of the ways to run this"});
  }
  return verdict;
}

}  // namespace qgen::measure
