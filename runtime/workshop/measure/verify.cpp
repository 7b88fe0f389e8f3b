// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/measure/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/workshop/measure/trial.h"
#include "runtime/workshop/reference/linear.h"

namespace qgen::measure {
namespace {

// The fault of the outputs; empty: none.
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
          .with_rarely_best = options.all_kernels,
          .all_step_kernels = options.all_kernels && options.all_step_kernels,
          .best_only = !options.all_kernels};
}

// Whether the device can hold the outputs in their representations. Inputs were uploaded, so they fit.
Done check_outputs_fit(Context& context, const PreparedCall& prepared) {
  for (size_t i = 0; i < prepared.call.operands.size(); ++i) {
    const auto& desc = prepared.call.operands[i];
    if (!desc || !std::holds_alternative<std::monostate>(prepared.arguments[i])) continue;
    const auto made = context.executor.allocate(desc->dtype, desc->shape, desc->storage, desc->layout);
    if (!made) return made.error();
  }
  return std::monostate{};
}

bool is_as_it_stands(const RequestFormats& formats) { return formats.representations.empty() && !formats.is_half; }

// Whether the sample has anything of the next formats.
bool begin_formats(const OperatorInfo& op, const VerifyOptions& options, Verdict& verdict) {
  const bool is_ours = !options.sample || options.sample->begin_formats(op.name);
  if (!is_ours) ++verdict.left_out;
  return is_ours;
}

// The choices that the options select, for the call as it is.
std::vector<Choice> choices_of(Context& context, const Problem& problem, const VerifyOptions& options, bool is_as_asked,
                               Verdict& verdict) {
  std::vector<Choice> ranked =
      std::move(select(problem, context.profile, context.library, select_options(options)).ranked);
  if (!options.sample) return ranked;
  const size_t all = ranked.size();
  ranked = options.sample->of(std::move(ranked), is_as_asked);
  verdict.left_out += all - ranked.size();
  return ranked;
}

void run_choices(Context& context, const PreparedCall& prepared, std::span<const Choice> choices,
                 std::span<const Expectation> expected, const std::string& formats, Verdict& verdict) {
  context.executor.make_pipelines(choices);
  for (const Choice& choice : choices) {
    ++verdict.runs;
    verdict.kernels.insert(choice.id.substr(0, choice.id.find_first_of("/(")));
    const auto trial = run_trial(context, prepared, choice);
    const auto outputs = trial ? elements_of(*trial) : trial.error();
    std::string fault = outputs ? fault_of(*outputs, expected, verdict.largest_error) : to_text(outputs.error());
    if (!fault.empty()) verdict.findings.push_back({choice.id, formats, std::move(fault)});
  }
}

void verify_in_formats(Context& context, const OperatorEntry& entry, const Request& request,
                       const RequestFormats& formats, const Judge& judge, const VerifyOptions& options,
                       Verdict& verdict) {
  const auto add = [&](const Error& error) { verdict.findings.push_back({"", to_text(formats), to_text(error)}); };
  if (!begin_formats(*entry.op, options, verdict)) return;
  const auto completed = complete(entry, request);
  if (!completed) return add(completed.error());
  const auto prepared = prepare(context, entry, *completed);
  const Done held = prepared ? check_outputs_fit(context, *prepared) : Done(prepared.error());
  // A place that cannot hold the tensor (an image too wide) is no place for it.
  const bool is_skipped = !held && held.error().kind == Error::Kind::unsupported && !is_as_it_stands(formats);
  if (is_skipped) return verdict.skipped.push_back({to_text(formats), held.error().message});
  std::vector<Choice> choices;
  if (held) {
    const size_t left_out = verdict.left_out;
    choices = choices_of(context, prepared->call.problem, options, is_as_it_stands(formats), verdict);
    if (choices.empty() && verdict.left_out != left_out) return;
  }
  const std::vector<Expectation> expected = judge(formats, *completed);
  if (expected.empty()) return;
  if (!held) return add(held.error());
  run_choices(context, *prepared, choices, expected, to_text(formats), verdict);
  if (choices.empty() && is_as_it_stands(formats) && options.kernel.empty()) {
    add(no_kernel(select(prepared->call.problem, context.profile, context.library)));
  }
}

std::map<std::string, size_t, std::less<>> ranks_of(const Request& request, const Call& call) {
  std::map<std::string, size_t, std::less<>> ranks;
  for (const auto& [operand, tensor] : request.inputs) ranks[operand] = tensor.shape.size();
  for (size_t i = 0; i < call.operands.size(); ++i) {
    if (call.operands[i]) ranks.emplace(call.problem.op->operands[i].name, call.operands[i]->shape.size());
  }
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
            const VerifyOptions& options, const std::string& formats, Verdict& verdict) {
  if (!begin_formats(*prepared.call.problem.op, options, verdict)) return;
  const auto choices = choices_of(context, prepared.call.problem, options, true, verdict);
  run_choices(context, prepared, choices, expected, formats, verdict);
}

Verdict verify(Context& context, const OperatorEntry& entry, const Request& request, const Judge& judge,
               const VerifyOptions& options) {
  Verdict verdict;
  const OperatorInfo* op = kernels_of(entry, context.library);
  if (!op) {
    verdict.findings.push_back({"", "", fmt::format("the library has no operator '{}'", entry.name)});
    return verdict;
  }
  std::vector<RequestFormats> all_formats = {RequestFormats{}};
  if (options.all_kernels && options.in_all_ways) {
    const auto completed = complete(entry, request);
    const auto call = completed ? infer_call(entry, *completed) : completed.error();
    if (call) all_formats = formats_of(entry, *op, request, ranks_of(request, *call));
  }
  for (const RequestFormats& formats : all_formats) {
    verify_in_formats(context, entry, in_formats(request, formats, entry, *op), formats, judge, options, verdict);
  }
  if (verdict.runs + verdict.left_out == 0 && verdict.findings.empty()) {
    verdict.findings.push_back({options.kernel, "", "it accepts none of the formats in which this request can run"});
  }
  return verdict;
}

}  // namespace qgen::measure
