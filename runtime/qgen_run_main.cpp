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

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "common/files.h"
#include "common/program.h"
#include "registry.h"
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
  MeasureOptions measure;
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
  return entry.prepare(context, *request);
}

// What run() made, by the operands' names.
std::map<std::string, const DeviceTensor*, std::less<>> outputs_of(const PreparedCall& prepared,
                                                                   const std::vector<DeviceTensor>& made) {
  std::map<std::string, const DeviceTensor*, std::less<>> outputs;
  size_t next = 0;
  for (size_t i = 0; i < prepared.call.operands.size(); ++i) {
    const bool is_made = prepared.call.operands[i] && std::holds_alternative<std::monostate>(prepared.arguments[i]);
    if (is_made) outputs.emplace(prepared.call.problem.op->operands[i].name, &made[next++]);
  }
  return outputs;
}

Done add_output(Outputs& files, Context& context,
                const std::map<std::string, const DeviceTensor*, std::less<>>& outputs, const Arguments& arguments,
                const std::string& output) {
  const auto named = split_named("--output", output);
  if (!named) return named.error();
  const auto tensor = outputs.find(named->name);
  if (tensor == outputs.end()) return no_output(*find_operator(arguments.op), named->name);
  const auto host = context.executor.download(*tensor->second);
  if (!host) return host.error();
  return add_npy(files, named->value, *host);
}

int run_operator(Context& context, const Arguments& arguments) {
  const auto prepared = prepare(context, arguments);
  if (!prepared) return fail(prepared.error());
  if (arguments.is_explained) {
    context.on_selection = [](const Selection& selection) { fmt::print("{}", explain(selection)); };
  }
  context.force_kernel = arguments.kernel;
  const auto made = run(context, prepared->call, prepared->arguments);
  if (!made) return fail(made.error());
  const auto outputs = outputs_of(*prepared, *made);
  Outputs files;
  for (const std::string& output : arguments.outputs) {
    if (Done added = add_output(files, context, outputs, arguments, output); !added) return fail(added.error());
  }
  const Done written = files.commit();
  return written ? kDone : fail(written.error());
}

// ---- timing ---------------------------------------------------------------------------------------------------------

Expected<TimeReport> time_choices(Context& context, const PreparedCall& prepared, const Selection& selection,
                                  const MeasureOptions& options) {
  TimeReport report{
      .device = context.profile.name, .question = selection.question, .bytes_moved = bytes_moved(prepared)};
  for (const Choice& choice : selection.ranked) {
    auto measured = measure(context, prepared, choice, options);
    if (!measured) return measured.error();
    report.kernels.push_back(*std::move(measured));
  }
  std::ranges::stable_sort(report.kernels, {}, [](const Measurement& kernel) { return kernel.device_us.median; });
  const auto copy = measure_copy(context, report.bytes_moved, options);
  if (!copy) return copy.error();
  report.copy_us = *copy;
  return report;
}

int time_operator(Context& context, const Arguments& arguments) {
  const auto prepared = prepare(context, arguments);
  if (!prepared) return fail(prepared.error());
  const bool all = arguments.all_kernels;
  const Selection selection =
      select(prepared->call.problem, context.profile, context.library,
             {.force = arguments.kernel, .all_specializations = all, .all_step_kernels = all, .best_only = !all});
  if (arguments.is_explained || selection.ranked.empty()) fmt::print("{}", explain(selection));
  if (selection.ranked.empty()) return kWrongInput;
  const auto report = time_choices(context, *prepared, selection, arguments.measure);
  if (!report) return fail(report.error());
  fmt::print("{}", to_text(*report));
  const Done written = write_json(arguments, to_json(*report));
  return written ? kDone : fail(written.error());
}

// ---- cases ----------------------------------------------------------------------------------------------------------

int run_cases(Context& context, const Arguments& arguments) {
  const auto files = find_cases(arguments.cases);
  if (files.empty()) {
    return fail({Error::Kind::not_found, fmt::format("there is no case.json below '{}'", arguments.cases), ""});
  }
  CaseReport report{.device = context.profile.name, .folder = arguments.cases};
  for (const auto& file : files) {
    report.results.push_back(
        run_case(context, file, {.all_kernels = arguments.all_kernels, .kernel = arguments.kernel}));
    fmt::print("{}", lines_of(report.results.back()));
    std::fflush(stdout);
  }
  fmt::print("{}", summary_of(report));
  if (Done written = write_json(arguments, to_json(report)); !written) return fail(written.error());
  return report.count(CaseResult::Kind::failed) == 0 ? kDone : kCasesFailed;
}

// What an option asks for must be something that is done: no option is ignored.
Done check_options(const Arguments& arguments) {
  const bool is_case = !arguments.cases.empty(), is_case_or_time = is_case || arguments.is_timed;
  const bool is_run = !is_case && !arguments.is_timed;
  struct Row {
    bool is_given, is_possible;
    std::string_view option, goes_with;
  };
  const Row rows[] = {
      {arguments.all_kernels, is_case_or_time, "--all-kernels", "--cases or --time"},
      {!arguments.json.empty(), is_case_or_time, "--json", "--cases or --time"},
      {arguments.measure.replays != MeasureOptions{}.replays, arguments.is_timed && !is_case, "--replays", "--time"},
      {arguments.is_timed, !is_case, "--time", "an operator"},
      {arguments.is_explained, !is_case, "--explain", "an operator"},
      {!arguments.outputs.empty(), is_run, "--output", "an operator that is run once"},
  };
  for (const Row& row : rows) {
    if (row.is_given && !row.is_possible) return refused(fmt::format("{} goes with {}", row.option, row.goes_with));
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
  const auto work = !arguments.cases.empty() ? run_cases : arguments.is_timed ? time_operator : run_operator;
  const int code = work(context, arguments);
  for (const std::string& message : device->validation_messages()) fmt::print(stderr, "validation: {}\n", message);
  return device->validation_messages().empty() ? code : kCasesFailed;
}

int run_program(const Arguments& arguments) {
  if (arguments.is_list) {
    fmt::print("{}", list_text());
    return kDone;
  }
  if (const Done sound = check_options(arguments); !sound) return fail(sound.error());
  const auto library = KernelLibrary::open(generated::library());
  if (!library) return fail(library.error());
  if (!arguments.cases.empty()) return run_on_device(*library, arguments);
  const OperatorEntry* entry = find_operator(arguments.op);
  if (!entry) return fail(unknown_operator(arguments.op));
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

Exit codes: 0 done, 1 a case failed, 2 the arguments are wrong, 3 the machine is.)";

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
  app.add_flag("--explain", arguments.is_explained, "print which kernel was chosen, and why not the others");
  app.add_flag("--time", arguments.is_timed, "replay it, and a copy of as many bytes, by the device's clock");
  app.add_option("--replays", arguments.measure.replays, "how often, at least")
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
    if (!arguments.op.empty() && !arguments.cases.empty()) throw CLI::ExcludesError("an operator", "--cases");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : qgen::runner::kWrongInput;
  }
  // Memory may run out: operands have packed forms and references.
  return qgen::run_program("qgen-run", [&] { return qgen::runner::run_program(arguments); });
}
