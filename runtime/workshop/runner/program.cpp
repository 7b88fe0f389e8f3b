// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/runner/program.h"

#include <fmt/format.h>

#include <cstdio>

#include "common/log.h"
#include "common/program.h"
#include "registry.h"
#include "runtime/engine/device/choose_device.h"
#include "runtime/engine/operators/pointwise/chain_file.h"
#include "runtime/engine/profiles/device_file.h"
#include "runtime/workshop/runner/arguments.h"
#include "runtime/workshop/runner/opened.h"
#include "runtime/workshop/runner/report.h"
#include "runtime/workshop/runner/run_operator.h"

namespace qgen::runner {
namespace {

int fail(const Program& program, const Error& error, int exit_code) {
  print_log("{}: {}\n", program.name, to_text(error));
  return exit_code;
}

// Each case has its own pipelines: those of hundreds of cases together take gigabytes.
Expected<int> run_cases(const Device& device, const Context& context, const Program& program,
                        const Arguments& arguments) {
  if (Done may = check_can_write_json(arguments.json); !may) return may.error();
  const auto files = find_cases(arguments.cases);
  if (!files) return files.error();
  CaseReport report{
      .device = context.profile.name, .folder = arguments.cases, .has_references = program.answers != nullptr};
  measure::KernelSample sample({.share = arguments.sample, .seed = arguments.sample_seed});
  const CaseOptions options{.all_kernels = arguments.all_kernels,
                            .kernel = arguments.kernel,
                            .answers = program.answers,
                            .sample = arguments.sample < 1 ? &sample : nullptr};
  for (const auto& file : *files) {
    auto executor = Executor::create(device, context.library, context.executor.options());
    if (!executor) return executor.error();
    Context of_case{.profile = context.profile, .library = context.library, .executor = *executor};
    report.results.push_back(run_case(of_case, program.operators, file, options));
    fmt::print("{}", lines_of(report.results.back(), program.name));
    std::fflush(stdout);
  }
  fmt::print("{}", summary_of(report));
  if (Done written = write_json(arguments.json, to_json(report)); !written) return written.error();
  if (report.count(CaseResult::Kind::unknown_operator) == report.results.size()) {
    return Error{Error::Kind::not_found, "no case was run: this library has none of their operators",
                 fmt::format("{} --list prints those it has", program.name)};
  }
  return report.count(CaseResult::Kind::failed) == 0 ? kDone : kCasesFailed;
}

// Also loads the shipped kernels: two of them measure how fast the device copies and calculates.
Expected<int> time_beside_shipped(const Device& device, Context& context, const OperatorEntry& entry,
                                  const Arguments& arguments) {
  const auto library = KernelLibrary::open(generated::library());
  if (!library) return library.error();
  auto executor = Executor::create(device, *library, {});
  if (!executor) return executor.error();
  Context shipped{.profile = context.profile, .library = *library, .executor = *executor};
  return time_operator(context, shipped, entry, arguments);
}

// `entry`: null with --cases.
Expected<int> run_in_mode(const Device& device, Context& context, const Program& program, const OperatorEntry* entry,
                          const Arguments& arguments) {
  if (!entry) return run_cases(device, context, program, arguments);
  if (arguments.mode() == Mode::time) return time_beside_shipped(device, context, *entry, arguments);
  return run_operator(context, *entry, arguments);
}

int run_on_device(const Program& program, const KernelLibrary& library, const OperatorEntry* entry,
                  const Arguments& arguments) {
  const bool runs_cases = !entry;  // they are tests, and run as the project's own do
  const auto opened = Opened::open(library, arguments.device,
                                   {.is_guarded = runs_cases,
                                    .is_robust = runs_cases,
                                    .is_untuned = runs_cases || arguments.is_untuned,
                                    .has_statistics = arguments.has_statistics,
                                    .mask = arguments.mask});
  if (!opened) return fail(program, opened.error());
  for (const std::string& warning : (*opened)->warnings()) print_log("{}: warning: {}\n", program.name, warning);
  const Device& device = (*opened)->device();
  const auto done = run_in_mode(device, (*opened)->context(), program, entry, arguments);
  const int code = done ? *done : fail(program, done.error());
  for (const std::string& message : device.validation_messages()) print_log("validation: {}\n", message);
  return device.validation_messages().empty() ? code : kCasesFailed;
}

int explain_on_file(const Program& program, const KernelLibrary& library, const OperatorEntry& entry,
                    const Arguments& arguments) {
  const auto device = profiles::load_device(arguments.device_file);
  if (!device) return fail(program, device.error());
  if (const Done checked = check_vulkan_version(*device); !checked) return fail(program, checked.error());
  const auto done = explain_operator(library, *device, entry, arguments);
  return done ? *done : fail(program, done.error());
}

int run(const Program& program, const Arguments& arguments) {
  if (arguments.is_list) {
    fmt::print("{}", list_text(program.operators));
    return kDone;
  }
  const auto chains = chains::load_chains(arguments.chains, program.kernels);
  if (!chains) return fail(program, chains.error());
  const auto library = KernelLibrary::open(*chains ? (*chains)->library() : program.kernels);
  if (!library) return fail(program, library.error());
  if (arguments.mode() == Mode::cases) return run_on_device(program, *library, nullptr, arguments);
  const OperatorEntry* entry = find_operator(program.operators, arguments.op);
  if (!entry) return fail(program, unknown_operator(program.operators, arguments.op));
  if (arguments.is_help) {
    fmt::print("{}", help_of(*entry, kernels_of(*entry, *library)));
    return kDone;
  }
  if (arguments.mode() == Mode::explain) return explain_on_file(program, *library, *entry, arguments);
  return run_on_device(program, *library, entry, arguments);
}

}  // namespace

int fail(const Program& program, const Error& error) {
  const bool is_machine = error.kind == Error::Kind::device || error.kind == Error::Kind::system;
  return fail(program, error, is_machine ? kWrongMachine : kWrongInput);
}

int run_program(int argc, char** argv, const Program& program) {
  // Memory may run out: operands have packed forms and references.
  return qgen::run_program(program.name, [&] {
    const auto parsed = parse_arguments(argc, argv, program);
    const int* exit_code = std::get_if<int>(&parsed);
    return exit_code ? *exit_code : run(program, std::get<Arguments>(parsed));
  });
}

}  // namespace qgen::runner
