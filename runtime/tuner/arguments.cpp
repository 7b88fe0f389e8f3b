// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/tuner/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>

#include "runtime/tuning/store.h"

namespace qgen::tuner {
namespace {

const std::map<std::string, Strategy> kStrategies = {
    {"auto", Strategy::automatic}, {"exhaustive", Strategy::exhaustive}, {"halving", Strategy::halving}};

void add_common(CLI::App& app, Arguments& arguments) {
  app.add_option("--store", arguments.store, "where times are kept; else $QGEN_TUNING_STORE, else the user's cache")
      ->type_name("FILE");
  app.add_option("-d,--device", arguments.device, "index, UUID or part of the name; qgen-info lists them")
      ->type_name("DEVICE");
}

void add_tune_options(CLI::App& app, Arguments& arguments) {
  app.add_option("--operator", arguments.operators,
                 "tune this operator; may be given often. Else all that have problems")
      ->allow_extra_args(false)
      ->type_name("OP");
  app.add_option("--problems,--from-trace", arguments.problems,
                 "the problems to tune, or a trace that a program recorded; else those that are built in")
      ->type_name("FILE");
  const auto typed = [&](const char* flag, std::vector<std::string>& values, const char* text) {
    app.add_option(flag, values, text)->allow_extra_args(false)->option_text("NAME=...");
  };
  typed("--shape", arguments.request.shapes, "of one problem of one operator, as for qgen-run: name=4096x4096:f32");
  typed("-s,--set", arguments.request.attributes, "the same: name=value");
  typed("--storage", arguments.request.storages, "the same: name=texture3d");
  typed("--layout", arguments.request.layouts, "the same: name=channels_packed");
  app.add_option("--budget", arguments.budget_s, "of all problems together; else 60 for each")
      ->check(CLI::Range(1.0, 1e7))
      ->option_text("SECONDS");
  app.add_option("--strategy", arguments.search.strategy,
                 "exhaustive: every kernel, whatever the budget; halving: the cheapest by estimate and what is near "
                 "the best; auto: the first where it fits into the budget")
      ->transform(CLI::CheckedTransformer(kStrategies))
      ->option_text("WORD");
  app.add_option("--hang", arguments.hang_s, "a kernel that takes longer is given up (10)")
      ->check(CLI::Range(0.1, 3600.0))
      ->option_text("SECONDS");
  app.add_flag("--cold", arguments.is_cold,
               "with the weights out of the cache: each replay reads another copy. Such times stand alone. A problem "
               "of a file may say so for itself (cold: true, or false)");
  app.add_flag("--again", arguments.is_anew, "measure again what the store has, and try again what was quarantined");
}

constexpr std::string_view kNotes = R"(
Examples:
  qgen-tune --operator q8ta_linear          tune one operator on its built-in problems
  qgen-tune --operator q8ta_linear --shape input=8x4096:i8 --shape weight=4096x4096:i8 ...
  qgen-tune show                            what was gained
  qgen-tune report -o report.html           the same as charts and tables, for a browser
  qgen-tune export -o tuning/               a file for this device, to commit and ship: qgen specs/ --tuning tuning/
  qgen-tune fit tuning/nvidia-h200.yaml     better estimates for problems and devices that nobody tunes

Every kernel is verified before it is timed, in a process of its own: one that is wrong, hangs or crashes is quarantined
and never chosen. Times are kept at once; interrupted, the same command goes on where it was.

Exit codes: 0 done, 1 a problem could not be tuned, 2 the arguments are wrong, 3 the machine is.)";

}  // namespace

std::filesystem::path store_path(const Arguments& arguments) {
  return arguments.store.empty() ? tuning::Store::default_path() : std::filesystem::path(arguments.store);
}

std::variant<Arguments, int> parse_arguments(int argc, char** argv, const Program& program) {
  Arguments arguments;
  CLI::App app{"Finds the fastest kernel for each problem on a device, by measuring.",
               std::string(program.library.name)};
  app.get_formatter()->column_width(26);
  app.set_help_flag("-h,--help", "print this and exit; after a command, its own");
  app.require_subcommand(0, 1);
  add_common(app, arguments);
  add_tune_options(app, arguments);

  const auto command = [&](const char* name, const char* text, Command what) {
    CLI::App* made = app.add_subcommand(name, text);
    made->fallthrough();
    made->callback([&arguments, what] { arguments.command = what; });
    return made;
  };
  CLI::App* show = command("show", "print the best kernels that are known, and what they gain", Command::show);
  show->add_option("OP", arguments.operators, "of these operators alone")->type_name("");
  CLI::App* exported = command("export", "write what is known of a device to a tuning file", Command::export_);
  exported
      ->add_option("-o,--output", arguments.output,
                   "a file, or a folder, where it is named like the device; else standard output")
      ->type_name("FILE");
  CLI::App* imported = command("import", "add what tuning files say to the store", Command::import);
  imported->add_option("FILE", arguments.files, "tuning files")->required()->type_name("");
  CLI::App* merge =
      command("merge", "make one tuning file of several of one device; the newer row counts", Command::merge);
  merge->add_option("FILE", arguments.files, "tuning files")->required()->expected(-2)->type_name("");
  merge->add_option("-o,--output", arguments.output, "else standard output")->type_name("FILE");
  CLI::App* forget = command("forget", "remove times, and what is quarantined", Command::forget);
  forget->add_option("OP", arguments.operators, "of these operators")->type_name("");
  forget->add_flag("--all", arguments.is_all, "of all operators");
  CLI::App* fit = command(
      "fit", "find the constants of costs (fit: of specs) from tuning files, and write them into specs", Command::fit);
  fit->add_option("FILE", arguments.fit.files, "tuning files, of one device or several")->required()->type_name("");
  fit->add_option("--only", arguments.fit.only, "constants of this spec or fragment; may be given often. Else all")
      ->allow_extra_args(false)
      ->type_name("SPEC ...");
  fit->add_option("--specs", arguments.fit.specs, "the folder of specs (specs); only numbers of 'fit:' change")
      ->type_name("DIR");
  fit->add_flag("--dry-run", arguments.fit.is_dry_run, "print what would be written");
  CLI::App* report =
      command("report", "draw what is known of one device: one HTML file, which needs no network", Command::report);
  report->add_option("FILE", arguments.files, "tuning files of one device; else the store")->type_name("");
  report->add_option("-o,--output", arguments.output, "report.html where none is named")->type_name("FILE");
  app.footer(std::string(kNotes));
  try {
    app.parse(argc, argv);
    const bool is_typed = !arguments.request.shapes.empty() || !arguments.request.attributes.empty() ||
                          !arguments.request.layouts.empty() || !arguments.request.storages.empty();
    if (is_typed && arguments.operators.size() != 1) throw CLI::ValidationError("--shape", "of one --operator");
    if (is_typed && !arguments.problems.empty()) throw CLI::ValidationError("--shape", "goes without --problems");
    arguments.fit.operators = arguments.operators;
    if (arguments.command == Command::forget && arguments.operators.empty() != arguments.is_all) {
      throw CLI::ValidationError("forget", "either operators or --all");
    }
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kWrongInput;
  }
  return arguments;
}

}  // namespace qgen::tuner
