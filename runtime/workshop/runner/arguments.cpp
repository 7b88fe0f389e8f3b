// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/runner/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>

#include "common/manual/command_line.h"
#include "common/manual/help.h"
#include "common/number_option.h"
#include "common/version.h"

namespace qgen::runner {
namespace {

// ---- the options ----------------------------------------------------------------------------------------------------

void add_options(CLI::App& app, Arguments& arguments) {
  wrap_help(app);
  app.set_help_flag();
  app.add_flag("-h,--help", arguments.is_help, "print this; after an operator, its inputs and attributes");
  add_version_flag(app, app.get_name());
  app.add_flag("-l,--list", arguments.is_list, "print the operators");
  app.add_option("OPERATOR", arguments.op, "the operator to run")->type_name("");
  app.add_option("--cases", arguments.cases, "instead of an operator: run every case.json below a folder")
      ->type_name("DIR");
  const auto named = [&](const char* flag, std::vector<std::string>& values, const char* text) {
    app.add_option(flag, values, text)->allow_extra_args(false)->option_text("NAME=...");
  };
  named("-i,--input", arguments.request.inputs, "an input: name=file.npy");
  named("--shape", arguments.request.shapes,
        "a random input: name=4096x4096:f32, name=1:f32=0.05 or name=64x64:i8=-8..7");
  named("-s,--set", arguments.request.attributes, "an attribute: name=value");
  named("-o,--output", arguments.outputs, "write an output: name=file.npy");
  named("--storage", arguments.request.storages, "the storage of a tensor: name=buffer, name=texture3d");
  named("--layout", arguments.request.layouts, "the layout of a tensor: name=channels_packed");
  app.add_option("--kernel", arguments.kernel, "run this kernel or recipe instead of the chosen one")->type_name("ID");
  app.add_option("--chains", arguments.chains,
                 "for pointwise: also choose among the kernels of this file, from 'qgen-model chains'")
      ->type_name("FILE");
  app.add_flag("--all-kernels", arguments.all_kernels,
               "run every kernel: with --cases in every storage, layout and floating-point type; with --time sorted "
               "by time");
  add_number(app, "--sample", arguments.sample, {0, 1},
             "with --cases --all-kernels: run only kernels with a trait that no kernel had before, and this random "
             "share of the others")
      ->option_text("SHARE");
  add_number(app, "--seed", arguments.sample_seed, {0, std::numeric_limits<decltype(arguments.sample_seed)>::max()},
             "the seed of the sample (0)");
  app.add_option("-d,--device", arguments.device, "index, UUID or part of the name; qgen-info lists them")
      ->type_name("DEVICE");
  profiles::add_mask_options(app, arguments.mask);
  app.add_option("--device-file", arguments.device_file,
                 "with --explain: choose for the device that this file describes, without running anything")
      ->type_name("FILE");
  app.add_flag("--explain", arguments.explained,
               "print the ranking, and why each other kernel was refused; with --time by the measured times. "
               "--explain=all shortens no list, and prints the problem's fields");
  app.add_flag("--statistics", arguments.has_statistics,
               "with --explain: print the driver's statistics of the chosen kernel: registers, spills, code size");
  app.add_flag("--untuned", arguments.is_untuned, "choose by estimates only, and ignore times that qgen-tune measured");
  app.add_flag("--time", arguments.is_timed,
               "print the time of a replay by the device's clock, and of a copy of as "
               "many bytes");
  add_number(app, "--replays", arguments.timing.replays, {1, 1000000}, "the least number of replays");
  app.add_flag(
      "--cold", arguments.timing.is_cold,
      "time with a cold cache: each replay reads another copy of the weights, or of the inputs if there are no "
      "weights");
  app.add_option("--json", arguments.json, "also write the results of --cases or --time to a JSON file")
      ->type_name("FILE");
}

constexpr std::string_view kNotes = R"(
An operator that is run once prints which kernel ran and, of each output, its dtype, shape, first
values and range.

Exit codes: 0 done, 1 a case failed, 2 the arguments or the cases are wrong, 3 the machine failed.)";

// ---- what goes with what --------------------------------------------------------------------------------------------

constexpr unsigned bit(Mode mode) { return static_cast<unsigned>(mode); }
constexpr unsigned kTime = bit(Mode::time), kCases = bit(Mode::cases), kRun = bit(Mode::run),
                   kExplain = bit(Mode::explain), kOnDevice = kRun | kTime, kOperator = kOnDevice | kExplain;

std::string_view name(Mode mode) {
  switch (mode) {
    case Mode::run: return "an operator that is run once";
    case Mode::time: return "--time";
    case Mode::cases: return "--cases";
    case Mode::list: return "--list";
    case Mode::explain: return "--device-file";
  }
  return "";
}

struct OptionUse {
  const char* option;
  unsigned modes;
  std::string_view goes_with;
};
constexpr OptionUse kOptionUses[] = {
    {"OPERATOR", kOperator, "options of an operator"},
    {"--input", kOperator, "an operator"},
    {"--shape", kOperator, "an operator"},
    {"--set", kOperator, "an operator"},
    {"--storage", kOperator, "an operator"},
    {"--layout", kOperator, "an operator"},
    {"--explain", kOperator, "an operator"},
    {"--chains", kOperator, "an operator"},
    {"--statistics", kOnDevice, "an operator that is run"},
    {"--untuned", kOperator, "an operator"},
    {"--time", kTime, "an operator that is run"},
    {"--output", kRun, "an operator that is run once"},
    {"--replays", kTime, "--time"},
    {"--cold", kTime, "--time"},
    {"--all-kernels", kCases | kTime, "--cases or --time"},
    {"--sample", kCases, "--cases and --all-kernels"},
    {"--seed", kCases, "--sample"},
    {"--json", kCases | kTime, "--cases or --time"},
    {"--kernel", kOperator | kCases, "an operator or --cases"},
    {"--device", kOnDevice | kCases, "an operator that is run or --cases"},
    {"--as", kOnDevice | kCases, "an operator that is run or --cases"},
    {"--without", kOnDevice | kCases, "an operator that is run or --cases"},
    {"--limit", kOnDevice | kCases, "an operator that is run or --cases"},
    {"--trust-driver", kOnDevice | kCases, "an operator that is run or --cases"},
    {"--device-file", kExplain, "an operator and --explain"},
    {"--cases", kCases, "nothing else to do"},
};

Done check_options(const CLI::App& app, Mode mode) {
  for (const OptionUse& use : kOptionUses) {
    if (app.count(use.option) == 0 || (use.modes & bit(mode)) != 0) continue;
    if (use.option == std::string_view("OPERATOR"))
      return refused(fmt::format("an operator cannot be combined with {}", name(mode)));
    return refused(fmt::format("{} goes with {}, not with {}", use.option, use.goes_with, name(mode)));
  }
  if (app.count("--sample") != 0 && app.count("--all-kernels") == 0) {
    return refused("--sample goes with --all-kernels, which was not given");
  }
  if (app.count("--seed") != 0 && app.count("--sample") == 0) {
    return refused("--seed goes with --sample, which was not given");
  }
  if (mode == Mode::explain && app.count("--explain") == 0) {
    return refused("--device-file runs nothing: it goes with --explain, which was not given");
  }
  if (const std::string word = app.count("--explain") == 0 ? "true" : app["--explain"]->as<std::string>();
      word != "true" && word != "all") {
    return refused(fmt::format("--explain is '{}', and can be 'all' or nothing", word));
  }
  if (app.count("--statistics") != 0 && app.count("--explain") == 0) {
    return refused("--statistics goes with --explain, which was not given");
  }
  return std::monostate{};
}

bool has_nothing_to_do(const Arguments& arguments) {
  return arguments.op.empty() && arguments.cases.empty() && !arguments.is_list;
}

}  // namespace

Mode Arguments::mode() const {
  if (is_list) return Mode::list;
  if (!cases.empty()) return Mode::cases;
  if (!device_file.empty()) return Mode::explain;
  return is_timed ? Mode::time : Mode::run;
}

std::variant<Arguments, int> parse_arguments(int argc, char** argv, const Program& program) {
  Arguments arguments;
  CLI::App app{"Runs an operator on NumPy files, times it, or runs conformance cases.", std::string(program.name)};
  add_options(app, arguments);
  app.footer(std::string(program.examples) + std::string(kNotes));
  try {
    parse_command_line(app, argc, argv);
    const bool is_idle = has_nothing_to_do(arguments);
    if (is_idle && !arguments.is_help) throw CLI::RequiredError("an operator, --cases or --list");
    if (is_idle) throw CLI::CallForHelp();
  } catch (const CLI::ParseError& error) {
    return print_help_or_misuse(app, error) ? kDone : kWrongInput;
  }
  if (const Done sound = check_options(app, arguments.mode()); !sound) return fail(program, sound.error());
  return arguments;
}

}  // namespace qgen::runner
