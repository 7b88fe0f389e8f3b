// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen-run: runs an operator on NumPy files, times it, or runs conformance cases.
//
//   qgen-run quantize_affine --input input=x.npy --input scale=s.npy --set output_dtype=int8 --output output=q.npy
//   qgen-run quantize_affine --shape input=67108864:f32 --shape scale=1:f32=0.01 --time --all-kernels
//   qgen-run quantize_affine --help            what it takes
//   qgen-run --list                            the operators
//   qgen-run --cases tests/conformance --all-kernels
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "common/files.h"
#include "common/program.h"
#include "common/progress.h"
#include "registry.h"
#include "runtime/operators/shipped.h"
#include "runtime/runner/command.h"
#include "runtime/runner/report.h"
#include "runtime/tensor/npy.h"

namespace qgen::runner {
namespace {

constexpr int kDone = 0;
constexpr int kCasesFailed = 1;
constexpr int kWrongInput = 2;
constexpr int kWrongMachine = 3;

struct Arguments {
  std::string op;
  RequestText request;
  std::vector<std::string> outputs;  // name=file.npy
  std::string cases;
  std::string kernel;
  std::string device;
  std::string json;
  measure::TimingOptions timing;
  bool all_kernels = false;
  bool is_explained = false;
  bool is_timed = false;
  bool is_list = false;
  bool is_help = false;
};

int fail(const Error& error, int exit_code) {
  fmt::print(stderr, "qgen-run: {}\n", to_text(error));
  return exit_code;
}
int fail(const Error& error) {
  const bool is_machine = error.kind == Error::Kind::device || error.kind == Error::Kind::system;
  return fail(error, is_machine ? kWrongMachine : kWrongInput);
}

Done write_json(const Arguments& arguments, const std::string& text) {
  if (arguments.json.empty()) return std::monostate{};
  Outputs outputs;
  if (Done added = outputs.add(arguments.json, text); !added) return added;
  return outputs.commit();
}

// ---- one operator ---------------------------------------------------------------------------------------------------

Expected<PreparedCall> prepare(Context& context, const Arguments& arguments) {
  const OperatorEntry& entry = *find_operator(arguments.op);
  auto parsed = parse_request(entry, arguments.request);
  if (!parsed) return parsed.error();
  const auto request = complete(entry, *std::move(parsed));
  if (!request) return request.error();
  return qgen::prepare(context, entry, *request);
}

// What a call made, in the operator's order.
Expected<std::vector<MadeTensor>> download_made(Context& context, const PreparedCall& prepared, const BoundCall& bound,
                                                const OutputFiles& files) {
  std::vector<MadeTensor> made;
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
                     const MeasuredTimes* times = nullptr) {
  const bool all = arguments.all_kernels;
  return select(prepared.call.problem, context.profile, context.library,
                {.force = arguments.kernel,
                 .all_specializations = all,
                 .all_step_kernels = all,
                 .best_only = !all && !arguments.is_explained,
                 .times = times});
}

int run_operator(Context& context, const Arguments& arguments) {
  const auto files = parse_outputs(*find_operator(arguments.op), arguments.outputs);
  if (!files) return fail(files.error());
  const auto prepared = prepare(context, arguments);
  if (!prepared) return fail(prepared.error());
  const Selection selection = select_for(context, *prepared, arguments);
  if (arguments.is_explained) fmt::print("{}", explain(selection));
  if (selection.ranked.empty()) return fail(no_kernel(selection), kWrongInput);
  const auto report = run_choice(context, *prepared, selection.ranked.front(), *files);
  if (!report) return fail(report.error());
  Outputs saved;
  for (const MadeTensor& made : report->made) {
    if (made.file.empty()) continue;
    if (Done added = add_npy(saved, made.file, made.tensor); !added) return fail(added.error());
  }
  if (Done written = saved.commit(); !written) return fail(written.error());
  fmt::print("{}", to_text(*report));
  return kDone;
}

// ---- timing ---------------------------------------------------------------------------------------------------------

// What was timed, and the selection that it leads to.
struct Timed {
  TimeReport report;
  Selection selection;
};

Expected<Timed> time_choices(Context& context, const PreparedCall& prepared, std::span<const Choice> choices,
                             const Arguments& arguments) {
  Progress progress(::isatty(STDERR_FILENO) != 0);
  measure::TimingOptions options = arguments.timing;
  const uint32_t rounds = measure::rounds_of(options);
  size_t done = 0;
  progress.show_at_once("time", done, rounds);
  options.on_round = [&] { progress.show("time", ++done, rounds); };

  auto clock = measure::clock_of(context);
  if (!clock) return clock.error();
  const uint64_t moved = measure::bytes_moved(prepared);
  const auto copy = measure::copy_moving(context, moved);
  if (!copy) return copy.error();
  std::vector<measure::Contestant> contestants = {copy->contestant()};
  for (const Choice& choice : choices) contestants.push_back({&prepared, &choice});
  const auto times = measure::time_together(context, *clock, contestants, options);
  if (!times) return times.error();

  const MeasuredTimes medians = measure::medians_of(contestants, *times);
  Timed timed{.report = {.device = context.profile.name,
                         .bytes_moved = moved,
                         .copy_us = times->device_us.front(),
                         .clock = times->clock},
              .selection = select_for(context, prepared, arguments, &medians)};
  timed.report.question = timed.selection.question;
  for (const Choice& ranked : timed.selection.ranked) {
    const auto choice = std::ranges::find(choices, ranked.id, &Choice::id);
    if (choice == choices.end()) continue;  // estimated only
    timed.report.kernels.push_back({ranked.id, times->device_us[static_cast<size_t>(choice - choices.begin()) + 1]});
  }
  return timed;
}

int time_operator(Context& context, const Arguments& arguments) {
  const auto prepared = prepare(context, arguments);
  if (!prepared) return fail(prepared.error());
  const Selection selection = select_for(context, *prepared, arguments);
  if (selection.ranked.empty()) return fail(no_kernel(selection), kWrongInput);
  const size_t count = arguments.all_kernels ? selection.ranked.size() : 1;
  const auto timed = time_choices(context, *prepared, std::span(selection.ranked).first(count), arguments);
  if (!timed) return fail(timed.error());
  if (arguments.is_explained) fmt::print("{}", explain(timed->selection));
  fmt::print("{}", to_text(timed->report));
  const Done written = write_json(arguments, to_json(timed->report));
  return written ? kDone : fail(written.error());
}

// ---- cases ----------------------------------------------------------------------------------------------------------

int run_cases(Context& context, const Arguments& arguments) {
  const auto files = find_cases(arguments.cases);
  if (!files) return fail(files.error());
  CaseReport report{.device = context.profile.name, .folder = arguments.cases};
  for (const auto& file : *files) {
    report.results.push_back(
        run_case(context, operators(), file, {.all_kernels = arguments.all_kernels, .kernel = arguments.kernel}));
    fmt::print("{}", lines_of(report.results.back()));
    std::fflush(stdout);
  }
  fmt::print("{}", summary_of(report));
  if (Done written = write_json(arguments, to_json(report)); !written) return fail(written.error());
  if (report.count(CaseResult::Kind::unknown_operator) == report.results.size()) {
    return fail({Error::Kind::not_found, "no case was run: this library has none of the operators that they name",
                 "qgen-run --list prints those it has"});
  }
  return report.count(CaseResult::Kind::failed) == 0 ? kDone : kCasesFailed;
}

// ---- what goes with what -------------------------------------------------------------------------------------------

enum Mode : unsigned { kRun = 1, kTime = 2, kCases = 4, kList = 8 };
constexpr unsigned kOperator = kRun | kTime;

Mode mode_of(const Arguments& arguments) {
  if (arguments.is_list) return kList;
  if (!arguments.cases.empty()) return kCases;
  return arguments.is_timed ? kTime : kRun;
}

std::string_view name(Mode mode) {
  switch (mode) {
    case kRun: return "an operator that is run once";
    case kTime: return "--time";
    case kCases: return "--cases";
    case kList: return "--list";
  }
  return "";
}

struct OptionUse {
  const char* option;
  unsigned modes;
  std::string_view goes_with;
};
constexpr OptionUse kOptionUses[] = {
    {"OPERATOR", kOperator, "neither --cases nor --list"},
    {"--input", kOperator, "an operator"},
    {"--shape", kOperator, "an operator"},
    {"--set", kOperator, "an operator"},
    {"--storage", kOperator, "an operator"},
    {"--layout", kOperator, "an operator"},
    {"--explain", kOperator, "an operator"},
    {"--time", kTime, "an operator"},
    {"--output", kRun, "an operator that is run once"},
    {"--replays", kTime, "--time"},
    {"--all-kernels", kCases | kTime, "--cases or --time"},
    {"--json", kCases | kTime, "--cases or --time"},
    {"--kernel", kOperator | kCases, "an operator or --cases"},
    {"--device", kOperator | kCases, "an operator or --cases"},
    {"--cases", kCases, "nothing else to do"},
};

// What an option asks for is done: none is ignored.
Done check_options(const CLI::App& app, Mode mode) {
  for (const OptionUse& use : kOptionUses) {
    if (app.count(use.option) == 0 || (use.modes & mode) != 0) continue;
    return refused(fmt::format("{} goes with {}, not with {}", use.option, use.goes_with, name(mode)));
  }
  return std::monostate{};
}

// ---- main -----------------------------------------------------------------------------------------------------------

int run_on_device(const KernelLibrary& library, const Arguments& arguments) {
  const char* validation = std::getenv("QGEN_VALIDATION");
  const auto device = Device::open(arguments.device, {.validation = validation && *validation});
  if (!device) return fail(device.error(), kWrongMachine);
  constexpr uint32_t kGuardBytes = 256;
  auto executor = Executor::create(*device, library, {.guard_bytes = arguments.cases.empty() ? 0 : kGuardBytes});
  if (!executor) return fail(executor.error());
  Context context{.profile = device->profile(), .library = library, .executor = *executor};
  const Mode mode = mode_of(arguments);
  const auto work = mode == kCases ? run_cases : mode == kTime ? time_operator : run_operator;
  const int code = work(context, arguments);
  for (const std::string& message : device->validation_messages()) fmt::print(stderr, "validation: {}\n", message);
  return device->validation_messages().empty() ? code : kCasesFailed;
}

int run_program(const Arguments& arguments) {
  if (arguments.is_list) {
    fmt::print("{}", list_text(operators()));
    return kDone;
  }
  const auto library = KernelLibrary::open(generated::library());
  if (!library) return fail(library.error());
  if (!arguments.cases.empty()) return run_on_device(*library, arguments);
  const OperatorEntry* entry = find_operator(arguments.op);
  if (!entry) return fail(unknown_operator(operators(), arguments.op));
  if (!arguments.is_help) return run_on_device(*library, arguments);
  fmt::print("{}", help_of(*entry, kernels_of(*entry, *library)));
  return kDone;
}

constexpr const char* kExamples = R"(
Examples:
  qgen-run quantize_affine --help
  qgen-run quantize_affine -i input=x.npy -i scale=s.npy -s output_dtype=int8 -o output=q.npy --explain
  qgen-run quantize_affine --shape input=4096x4096:f32 --shape scale=1:f32=0.05 -s output_dtype=int8 --time
  qgen-run --cases tests/conformance --all-kernels

An operator that is run once prints which kernel ran and, of each output, its dtype, shape, first values and range.

Exit codes: 0 done, 1 a case failed, 2 the arguments or the cases are wrong, 3 the machine is.)";

void add_options(CLI::App& app, Arguments& arguments) {
  app.get_formatter()->column_width(26);
  app.set_help_flag();
  app.add_flag("-h,--help", arguments.is_help, "print this; after an operator, what it takes");
  app.add_flag("-l,--list", arguments.is_list, "print the operators");
  app.add_option("OPERATOR", arguments.op, "what to compute")->type_name("");
  app.add_option("--cases", arguments.cases, "instead of an operator: run every case.json below a folder")
      ->type_name("DIR");
  const auto named = [&](const char* flag, std::vector<std::string>& values, const char* text) {
    app.add_option(flag, values, text)->allow_extra_args(false)->option_text("NAME=...");
  };
  named("-i,--input", arguments.request.inputs, "an input: name=file.npy");
  named("--shape", arguments.request.shapes,
        "a made-up input: name=4096x4096:f32, name=1:f32=0.05 or name=64x64:i8=-8..7");
  named("-s,--set", arguments.request.attributes, "an attribute: name=value");
  named("-o,--output", arguments.outputs, "where an output goes: name=file.npy");
  named("--storage", arguments.request.storages, "where a tensor lies: name=buffer, name=texture3d");
  named("--layout", arguments.request.layouts, "how it lies there: name=channels_packed");
  app.add_option("--kernel", arguments.kernel, "run this kernel or recipe, whatever would be chosen")->type_name("ID");
  app.add_flag("--all-kernels", arguments.all_kernels,
               "run every kernel: with --cases in every storage and real type, with --time sorted by time");
  app.add_option("-d,--device", arguments.device, "index, UUID or part of the name; qgen-info lists them")
      ->type_name("DEVICE");
  app.add_flag("--explain", arguments.is_explained,
               "print which kernel was chosen, and why not the others; with --time by what was measured");
  app.add_flag("--time", arguments.is_timed, "replay it, and a copy of as many bytes, by the device's clock");
  app.add_option("--replays", arguments.timing.replays, "how often, at least")
      ->check(CLI::Range(1, 1000000))
      ->option_text("N");
  app.add_option("--json", arguments.json, "write the results of --cases or --time to a file too")->type_name("FILE");
  app.footer(kExamples);
}

}  // namespace
}  // namespace qgen::runner

int main(int argc, char** argv) {
  qgen::runner::Arguments arguments;
  CLI::App app{"Runs an operator on NumPy files, times it, or runs conformance cases.", "qgen-run"};
  add_options(app, arguments);
  try {
    app.parse(argc, argv);
    const bool has_nothing_to_do = arguments.op.empty() && arguments.cases.empty() && !arguments.is_list;
    if (has_nothing_to_do && !arguments.is_help) throw CLI::RequiredError("an operator, --cases or --list");
    if (has_nothing_to_do) throw CLI::CallForHelp();
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : qgen::runner::kWrongInput;
  }
  using namespace qgen::runner;
  if (const qgen::Done sound = check_options(app, mode_of(arguments)); !sound) return fail(sound.error());
  // Memory may run out: operands have packed forms and references.
  return qgen::run_program("qgen-run", [&] { return run_program(arguments); });
}
