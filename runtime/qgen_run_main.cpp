// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen-run: runs an operator on NumPy files, or conformance cases.
//
//   qgen-run quantize_affine --input input=x.npy --input scale=s.npy --set output_dtype=int8 --output output=q.npy
//   qgen-run quantize_affine --help            what it takes
//   qgen-run --list                            the operators
//   qgen-run --cases tests/conformance --all-kernels
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "registry.h"
#include "runtime/runner/command.h"
#include "runtime/runner/conformance.h"
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
  bool all_kernels = false;
  bool is_explained = false;
  bool is_list = false;
  bool is_help = false;
};

int exit_code_of(const Error& error) {
  const bool is_machine = error.kind == Error::Kind::device || error.kind == Error::Kind::system;
  return is_machine ? kWrongMachine : kWrongInput;
}

int fail(const Error& error) {
  fmt::print(stderr, "qgen-run: {}\n", to_text(error));
  return exit_code_of(error);
}

// ---- one operator --------------------------------------------------------------------------------------------------------

Done save_outputs(Context& context, const OperatorEntry& entry, const Call& call, const std::vector<DeviceTensor>& made,
                  const std::vector<std::string>& outputs) {
  std::map<std::string, const DeviceTensor*> by_name;
  size_t next = 0;
  for (const OperandInfo& operand : call.problem.op->operands) {
    if (operand.access == Access::write) by_name.emplace(operand.name, &made[next++]);
  }
  for (const std::string& output : outputs) {
    const auto named = split_named("--output", output);
    if (!named) return named.error();
    const auto tensor = by_name.find(named->name);
    if (tensor == by_name.end()) return no_output(entry, named->name);
    const auto host = context.executor.download(*tensor->second);
    if (!host) return host.error();
    if (Done saved = save_npy(named->value, *host); !saved) return saved;
  }
  return std::monostate{};
}

int run_operator(Context& context, const Arguments& arguments) {
  const OperatorEntry& entry = *find_operator(arguments.op);
  auto parsed = parse_request(entry, arguments.request);
  if (!parsed) return fail(parsed.error());
  const auto request = complete(entry, *std::move(parsed));
  if (!request) return fail(request.error());
  const auto prepared = entry.prepare(context, *request);
  if (!prepared) return fail(prepared.error());
  if (arguments.is_explained) {
    context.on_selection = [](const Selection& selection) { fmt::print("{}", explain(selection)); };
  }
  context.force_kernel = arguments.kernel;
  const auto made = run(context, prepared->call, prepared->arguments);
  if (!made) return fail(made.error());
  const Done saved = save_outputs(context, entry, prepared->call, *made, arguments.outputs);
  return saved ? kDone : fail(saved.error());
}

// ---- cases ---------------------------------------------------------------------------------------------------------------

void print_result(const CaseResult& result, const Arguments& arguments) {
  switch (result.kind) {
    case CaseResult::Kind::passed:
      fmt::print("ok    {}: {} runs of {} kernels, largest error {:.3g}\n", result.name, result.runs, result.kernels,
                 result.largest_error);
      return;
    case CaseResult::Kind::unknown_operator: fmt::print("--    {}: unknown operator\n", result.name); return;
    case CaseResult::Kind::failed: break;
  }
  fmt::print("FAIL  {}: {}\n", result.name, result.fault);
  if (result.faults > 1) fmt::print("      and {} more of {} runs\n", result.faults - 1, result.runs);
  if (result.failed_kernel.empty()) return;
  fmt::print("      again: qgen-run --cases {}/{} --all-kernels --kernel '{}'\n", arguments.cases, result.name,
             result.failed_kernel);
}

int run_cases(Context& context, const Arguments& arguments) {
  const auto files = find_cases(arguments.cases);
  if (files.empty()) {
    return fail({Error::Kind::not_found, fmt::format("there is no case.json below '{}'", arguments.cases), ""});
  }
  size_t counts[3] = {};
  for (const auto& file : files) {
    const CaseResult result =
        run_case(context, file, {.all_kernels = arguments.all_kernels, .kernel = arguments.kernel});
    print_result(result, arguments);
    ++counts[static_cast<size_t>(result.kind)];
  }
  fmt::print("{} passed, {} failed, {} of unknown operators, on \"{}\"\n", counts[0], counts[1], counts[2],
             context.profile.name);
  return counts[1] == 0 ? kDone : kCasesFailed;
}

// ---- main ----------------------------------------------------------------------------------------------------------------

int run_on_device(const KernelLibrary& library, const Arguments& arguments) {
  const char* validation = std::getenv("QGEN_VALIDATION");
  const auto device = Device::open(arguments.device, {.validation = validation && *validation});
  if (!device) return fail(device.error());
  constexpr uint32_t kGuardBytes = 256;
  auto executor = Executor::create(*device, library, {.guard_bytes = arguments.cases.empty() ? 0 : kGuardBytes});
  if (!executor) return fail(executor.error());
  Context context{.profile = device->profile(), .library = library, .executor = *executor};
  const int code = arguments.cases.empty() ? run_operator(context, arguments) : run_cases(context, arguments);
  for (const std::string& message : device->validation_messages()) fmt::print(stderr, "validation: {}\n", message);
  return device->validation_messages().empty() ? code : kCasesFailed;
}

int run_program(const Arguments& arguments) {
  if (arguments.is_list) {
    fmt::print("{}", list_text());
    return kDone;
  }
  const auto library = KernelLibrary::open(generated::library());
  if (!library) return fail(library.error());
  if (arguments.cases.empty()) {
    const OperatorEntry* entry = find_operator(arguments.op);
    if (!entry) return fail(unknown_operator(arguments.op));
    if (arguments.is_help) {
      fmt::print("{}", help_of(*entry, library->find(entry->name)));
      return kDone;
    }
  }
  return run_on_device(*library, arguments);
}

}  // namespace
}  // namespace qgen::runner

int main(int argc, char** argv) {
  qgen::runner::Arguments arguments;
  CLI::App app{"Runs an operator on NumPy files, or conformance cases.", "qgen-run"};
  app.set_help_flag();
  app.add_flag("--help,-h", arguments.is_help, "this; after an operator: what it takes");
  app.add_option("operator", arguments.op, "what to compute; --list names them");
  const auto named = [&](const char* flag, std::vector<std::string>& values, const char* text) {
    return app.add_option(flag, values, text)->allow_extra_args(false)->type_name("NAME=...");
  };
  named("--input,-i", arguments.request.inputs, "an input: name=file.npy");
  named("--set,-s", arguments.request.attributes, "an attribute: name=value");
  named("--output,-o", arguments.outputs, "where an output goes: name=file.npy");
  named("--storage", arguments.request.storages, "where a tensor lies: name=buffer, name=texture3d");
  named("--layout", arguments.request.layouts, "how it lies there: name=channels_packed");
  app.add_option("--cases", arguments.cases, "runs every case.json below a folder")->excludes("operator");
  app.add_flag("--all-kernels", arguments.all_kernels, "with --cases: every kernel, in every storage and real type");
  app.add_option("--kernel", arguments.kernel, "only this kernel or recipe, by its id");
  app.add_option("--device,-d", arguments.device, "index, UUID or part of the name; qgen-info lists them");
  app.add_flag("--explain", arguments.is_explained, "says which kernel was chosen, and why not the others");
  app.add_flag("--list,-l", arguments.is_list, "the operators");
  app.footer("Exit code: 0 done, 1 a case failed, 2 the arguments are wrong, 3 the machine is.");
  try {
    app.parse(argc, argv);
    const bool has_nothing_to_do = arguments.op.empty() && arguments.cases.empty() && !arguments.is_list;
    if (has_nothing_to_do && !arguments.is_help) throw CLI::RequiredError("an operator, --cases or --list");
    if (has_nothing_to_do) throw CLI::CallForHelp();
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : qgen::runner::kWrongInput;
  }
  return qgen::runner::run_program(arguments);
}
