// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/runner/run_operator.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <span>

#include "common/files.h"
#include "common/progress.h"
#include "common/text.h"
#include "runtime/engine/tensor/npy.h"
#include "runtime/workshop/runner/report.h"

namespace qgen::runner {
namespace {

Expected<PreparedCall> prepare(Context& context, const OperatorEntry& entry, const Arguments& arguments) {
  const auto request = read_request(entry, arguments.request, context.profile);
  if (!request) return request.error();
  return qgen::prepare(context, entry, *request);
}

// The outputs of a call, in the operator's order.
Expected<std::vector<OutputTensor>> download_made(Context& context, const PreparedCall& prepared,
                                                  const BoundCall& bound, const OutputFiles& files) {
  std::vector<OutputTensor> made;
  for (size_t i = 0; i < bound.operands.size(); ++i) {
    const bool is_made = bound.operands[i] && std::holds_alternative<std::monostate>(prepared.arguments[i]);
    if (!is_made) continue;
    auto tensor = context.executor.download(*bound.operands[i]);
    if (!tensor) return tensor.error();
    const std::string name(prepared.call.problem.op->operands[i].name);
    const auto file = files.find(name);
    made.push_back({name, *std::move(tensor), file == files.end() ? "" : file->second});
  }
  return made;
}

Expected<RunReport> run_choice(Context& context, const PreparedCall& prepared, const Choice& choice,
                               const OutputFiles& files) {
  const auto bound = bind(context, prepared.call, choice, prepared.arguments);
  if (!bound) return bound.error();
  const Work work{&choice, bound->operands};
  auto recording = context.executor.record({&work, 1});
  if (!recording) return recording.error();
  if (Done ran = context.executor.run(*recording); !ran) return ran.error();
  auto made = download_made(context, prepared, *bound, files);
  if (!made) return made.error();
  return RunReport{context.profile.name, choice.id, *std::move(made)};
}

Selection select_for(const Context& context, const PreparedCall& prepared, const Arguments& arguments,
                     const KernelTimes* times = nullptr) {
  const bool all = arguments.all_kernels;
  const bool is_known = !times && context.times;
  const auto known = is_known ? context.times->of(prepared.call.problem, context.profile) : nullptr;
  Selection selection = select(prepared.call.problem, context.profile, context.library,
                               {.force = arguments.kernel,
                                .all_specializations = all,
                                .with_rarely_best = all,
                                .all_step_kernels = all,
                                .best_only = !all && !arguments.is_explained(),
                                .times = times ? times : known.get()});
  selection.question = question_of(prepared.call, context.profile);
  return selection;
}

ExplainOptions explain_options(const Arguments& arguments) { return {.has_all = arguments.explained == "all"}; }

// Prints the choice and its reasons, and with --statistics the driver's statistics. A driver without any is no error.
void print_explanation(Context& context, const Selection& selection, const Arguments& arguments) {
  if (!arguments.is_explained()) return;
  fmt::print("{}", explain(selection, explain_options(arguments)));
  if (!arguments.has_statistics || selection.ranked.empty()) return;
  const Choice& choice = selection.ranked.front();
  const auto statistics = context.executor.statistics(choice);
  fmt::print("{}", statistics ? to_text(choice, *statistics) : printable_lines(to_text(statistics.error())) + "\n");
}

Done save(const RunReport& report) {
  Outputs saved;
  for (const OutputTensor& made : report.made) {
    if (made.file.empty()) continue;
    if (Done added = add_npy(saved, made.file, made.tensor); !added) return added;
  }
  return saved.commit();
}

// ---- timing ---------------------------------------------------------------------------------------------------------

// The times, and the selection that follows from them.
struct Timed {
  TimeReport report;
  Selection selection;
};

Expected<Timed> time_choices(Context& context, Context& shipped, const PreparedCall& prepared,
                             std::span<const Choice> choices, const Arguments& arguments) {
  Progress progress(::isatty(STDERR_FILENO) != 0);
  measure::TimingOptions options = arguments.timing;
  progress.show_at_once("time", 0, measure::turns_of(options, 1 + choices.size()));  // a copy takes part
  options.on_turn = [&](size_t done, size_t all) { progress.show("time", done, all); };

  auto clock = measure::clock_of(shipped);
  if (!clock) return clock.error();
  const uint64_t moved = measure::bytes_moved(prepared.call);
  const auto copy = measure::copy_moving(shipped, moved);
  if (!copy) return copy.error();
  std::vector<measure::Contestant> contestants = {copy->contestant()};
  for (const Choice& choice : choices) contestants.push_back({&context, &prepared, &choice});
  const auto times = measure::time_together(*clock, contestants, options);
  if (!times) return times.error();

  const KernelTimes medians = measure::medians_of(contestants, *times);
  Timed timed{.report = {.device = context.profile.name,
                         .bytes_moved = moved,
                         .copy_us = times->device_us.front(),
                         .clock = times->clock,
                         .is_cold = options.is_cold},
              .selection = select_for(context, prepared, arguments, &medians)};
  timed.report.question = timed.selection.question;
  for (const Choice& ranked : timed.selection.ranked) {
    const auto choice = std::ranges::find(choices, ranked.id, &Choice::id);
    if (choice == choices.end()) continue;  // estimated only
    timed.report.kernels.push_back({ranked.id, times->device_us[static_cast<size_t>(choice - choices.begin()) + 1]});
  }
  return timed;
}

}  // namespace

Expected<int> run_operator(Context& context, const OperatorEntry& entry, const Arguments& arguments) {
  const auto files = parse_outputs(entry, arguments.outputs, arguments.request.inputs);
  if (!files) return files.error();
  const auto prepared = prepare(context, entry, arguments);
  if (!prepared) return prepared.error();
  const Selection selection = select_for(context, *prepared, arguments);
  print_explanation(context, selection, arguments);
  if (selection.ranked.empty()) return no_kernel(selection);
  const auto report = run_choice(context, *prepared, selection.ranked.front(), *files);
  if (!report) return report.error();
  if (Done saved = save(*report); !saved) return saved.error();
  fmt::print("{}", to_text(*report));
  return kDone;
}

Expected<int> time_operator(Context& context, Context& shipped, const OperatorEntry& entry,
                            const Arguments& arguments) {
  if (Done may = check_can_write_json(arguments.json); !may) return may.error();
  const auto prepared = prepare(context, entry, arguments);
  if (!prepared) return prepared.error();
  const Selection selection = select_for(context, *prepared, arguments);
  if (selection.ranked.empty()) return no_kernel(selection);
  const size_t count = arguments.all_kernels ? selection.ranked.size() : 1;
  const auto timed = time_choices(context, shipped, *prepared, std::span(selection.ranked).first(count), arguments);
  if (!timed) return timed.error();
  print_explanation(context, timed->selection, arguments);
  fmt::print("{}", to_text(timed->report));
  if (Done written = write_json(arguments.json, to_json(timed->report)); !written) return written.error();
  return kDone;
}

Expected<int> explain_operator(const KernelLibrary& library, const DeviceProfile& device, const OperatorEntry& entry,
                               const Arguments& arguments) {
  const auto request = read_request(entry, arguments.request, device);
  if (!request) return request.error();
  const auto call = infer_call(entry, *request);
  if (!call) return call.error();
  Selection selection = select(call->problem, device, library, {.force = arguments.kernel});
  selection.question = question_of(*call, device);
  if (selection.ranked.empty()) return no_kernel(selection);
  fmt::print("{}", explain(selection, explain_options(arguments)));
  return kDone;
}

}  // namespace qgen::runner
