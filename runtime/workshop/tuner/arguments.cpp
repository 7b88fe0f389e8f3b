// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/tuner/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>

#include "common/date.h"
#include "common/manual/command_line.h"
#include "common/manual/help.h"
#include "common/number_option.h"
#include "common/text.h"
#include "common/version.h"
#include "runtime/engine/tuning/store.h"

namespace qgen::tuner {
namespace {

const std::map<std::string, Strategy> kStrategies = {
    {"auto", Strategy::automatic}, {"exhaustive", Strategy::exhaustive}, {"batches", Strategy::batches}};

// "2026-11-23" as it stands, "30" as the date of thirty days ago.
std::string date_of(const std::string& text) {
  constexpr int kMostDays = 36500;
  if (const auto days = NumberRange<int>{0, kMostDays}.read(text)) return days_ago(*days);
  if (is_date(text)) return text;
  throw CLI::ValidationError(  // CLI11 puts the option's name before it
      fmt::format("'{}' is neither a date, such as 2026-11-23, nor a number of days", printable(text)));
}

void add_common(CLI::App& app, Arguments& arguments) {
  app.add_option("--store", arguments.store,
                 "the tuning store; default: $QGEN_TUNING_STORE, or a file in the user's "
                 "cache")
      ->type_name("FILE");
  app.add_option("-d,--device", arguments.device, "index, UUID or part of the name; qgen-info lists them")
      ->type_name("DEVICE");
  app.add_option("--chains", arguments.chains, "for pointwise: also the kernels of this file, from 'qgen-model chains'")
      ->type_name("FILE");
}

void add_tune_options(CLI::App& app, Arguments& arguments) {
  profiles::add_mask_options(app, arguments.mask);
  app.add_option("--operator", arguments.operators,
                 "tune this operator; may be given several times; default: all that have problems")
      ->allow_extra_args(false)
      ->type_name("OP");
  app.add_option("--problems,--from-trace", arguments.problems,
                 "the problems to tune, or a trace that a program recorded; default: the built-in problems")
      ->type_name("FILE");
  const auto typed = [&](const char* flag, std::vector<std::string>& values, const char* text) {
    app.add_option(flag, values, text)->allow_extra_args(false)->option_text("NAME=...");
  };
  typed("--shape", arguments.request.shapes,
        "with one --operator: an input of the problem, as for qgen-run: "
        "name=4096x4096:f32");
  typed("-s,--set", arguments.request.attributes, "with one --operator: an attribute, name=value");
  typed("--storage", arguments.request.storages, "with one --operator: the storage of a tensor, name=texture3d");
  typed("--layout", arguments.request.layouts, "with one --operator: the layout of a tensor, name=channels_packed");
  add_number(app, "--budget", arguments.budget_s, {1, 1e7, "seconds"},
             "the time for all problems together; default: "
             "60 for each");
  app.add_option("--strategy", arguments.search.strategy,
                 "exhaustive: measure every kernel, without a budget; batches: search in batches; auto (default): "
                 "exhaustive if the budget allows it, else batches")
      ->transform(CLI::Transformer(kStrategies))
      ->transform(one_of_words({"auto", "exhaustive", "batches"}))  // the later transform() is applied first
      // The older word for batches, which scripts may have.
      ->transform([](const std::string& word) { return word == "halving" ? std::string("batches") : word; })
      ->option_text("WORD");
  add_number(app, "--hang", arguments.hang_s, {0.1, 3600, "seconds"},
             "a kernel that takes longer is ended and quarantined (default 10)");
  add_number(app, "--cool", arguments.cool_s, {0, 3600, "seconds"},
             "the longest wait, before each measurement, for a GPU that is too hot to keep its clock (default 0)");
  app.add_option_function<std::string>(
         "--shard",
         [&](const std::string& text) {
           const auto shard = shard_of(text);
           if (!shard) throw CLI::ValidationError("--shard", to_text(shard.error()));
           arguments.shard = *shard;
         },
         "tune this part of the problems: the third of eight is 3/8. Needs --out")
      ->option_text("I/N");
  app.add_option("--out", arguments.result,
                 "write the times of this run, with base times of the device, to a file for `merge`. Without --store, "
                 "times are kept beside it until the run is complete")
      ->type_name("FILE");
  app.add_flag("--cold", arguments.is_cold,
               "time with a cold cache: each replay reads another copy of the weights. If a problem has such times, "
               "only they count. In a file of problems, `cold: true` or `cold: false` decides for one problem");
  app.add_flag("--again", arguments.is_anew,
               "measure again the kernels that the store has, and try quarantined "
               "kernels again");
}

// A subcommand with the options of the program, which may stand after it too.
CLI::App* add_command(CLI::App& app, Arguments& arguments, const char* name, const char* text, Command command) {
  CLI::App* made = app.add_subcommand(name, text);
  made->fallthrough();
  made->callback([&arguments, command] { arguments.command = command; });
  return made;
}

void add_show(CLI::App& app, Arguments& arguments) {
  CLI::App* show = add_command(app, arguments, "show",
                               "print the best kernels, and their gain over the untuned choices", Command::show);
  show->add_option("OP", arguments.operators, "only these operators")->type_name("");
}

void add_export_and_import(CLI::App& app, Arguments& arguments) {
  CLI::App* exported =
      add_command(app, arguments, "export", "write a device's times to a tuning file", Command::export_);
  exported
      ->add_option("-o,--output", arguments.output,
                   "a file; or a folder, in which the file is named after the device; default: standard output")
      ->type_name("FILE");
  CLI::App* imported = add_command(app, arguments, "import", "add tuning files to the store", Command::import);
  imported->add_option("FILE", arguments.files, "tuning files")->required()->type_name("");
}

void add_merge(CLI::App& app, Arguments& arguments) {
  CLI::App* merge =
      add_command(app, arguments, "merge",
                  "merge tuning files of one device and driver, the newer of equal rows; or results of many devices "
                  "(--out). Into a folder: of any devices and drivers",
                  Command::merge);
  merge->add_option("FILE", arguments.files, "tuning files, or results")->required()->type_name("");
  merge
      ->add_option("-o,--output", arguments.output,
                   "a file; or a folder, which gets a file for each device model and driver; default: standard output")
      ->type_name("FILE");
  merge
      ->add_option("--decisions", arguments.decisions,
                   "of results: write, for each row, how many answers there are and how many were left out")
      ->type_name("FILE");
  merge->add_flag("--current", arguments.is_current,
                  "leave out times of kernels that this program lacks, or that changed since they were measured");
}

void add_forget(CLI::App& app, Arguments& arguments) {
  CLI::App* forget = add_command(app, arguments, "forget", "remove times and quarantined kernels", Command::forget);
  forget->add_option("OP", arguments.operators, "only of these operators")->type_name("");
  forget->add_flag("--all", arguments.is_all, "of all operators");
  forget
      ->add_option("--older", arguments.older_than,
                   "only those measured before a date, or more than so many days "
                   "ago")
      ->transform(date_of)
      ->option_text("DATE or DAYS");
}

void add_fit(CLI::App& app, Arguments& arguments) {
  CLI::App* fit =
      add_command(app, arguments, "fit", "fit the cost constants of specs (under 'fit') to tuning files", Command::fit);
  fit->add_option("FILE", arguments.fit.files, "tuning files, of one device or several")->required()->type_name("");
  fit->add_option("--only", arguments.fit.only,
                  "only constants of this spec or fragment; may be given several "
                  "times; default: all")
      ->allow_extra_args(false)
      ->type_name("SPEC ...");
  fit->add_option("--specs", arguments.fit.specs, "the folder of specs (specs); only the numbers of 'fit:' change")
      ->type_name("DIR");
  fit->add_flag("--dry-run", arguments.fit.is_dry_run, "print the changes, and write nothing");
}

void add_report(CLI::App& app, Arguments& arguments) {
  CLI::App* report = add_command(
      app, arguments, "report", "draw the times of one device: one HTML file, which needs no network", Command::report);
  report->add_option("FILE", arguments.files, "tuning files of one device; default: the store")->type_name("");
  report->add_option("-o,--output", arguments.output, "the file to write (report.html)")->type_name("FILE");
}

// Options that only some others allow.
void check_together(const Arguments& arguments) {
  const bool is_typed = !arguments.request.shapes.empty() || !arguments.request.attributes.empty() ||
                        !arguments.request.layouts.empty() || !arguments.request.storages.empty();
  if (is_typed && arguments.operators.size() != 1)
    throw CLI::ValidationError("--shape", "needs exactly one --operator");
  if (is_typed && !arguments.problems.empty())
    throw CLI::ValidationError("--shape", "cannot be given together with --problems");
  if (!arguments.shard.is_whole() && arguments.result.empty())
    throw CLI::ValidationError("--shard", "needs --out, which names the file of its result");
  if (arguments.command == Command::forget && arguments.operators.empty() != arguments.is_all &&
      !(arguments.operators.empty() && !arguments.older_than.empty())) {
    throw CLI::ValidationError("forget", "give operators, or --all, or --older");
  }
}

constexpr std::string_view kNotes = R"(
Examples:
  qgen-tune --operator q8ta_linear          tune one operator on its built-in problems
  qgen-tune --operator q8ta_linear --shape input=8x4096:i8 --shape weight=4096x4096:i8 ...
  qgen-tune show                            best kernels, and their gain over untuned ones
  qgen-tune report -o report.html           the same as charts and tables, for a browser
  qgen-tune export -o tuning/               a file for this device, for qgen specs/ --tuning tuning/
  qgen-tune forget --older 90               remove times measured more than 90 days ago
  qgen-tune fit tuning/nvidia-h200.yaml     better estimates for problems that nobody tunes
  qgen-tune --shard 3/8 --out 3.yaml        a part of the problems, on one machine of many
  qgen-tune merge *.yaml -o table.yaml      the parts of all machines, as one table

Every kernel is verified before it is timed, in a separate process. One that is wrong, hangs or
crashes is quarantined and never chosen. Times are stored at once: after an interruption, the same
command continues.

Exit codes: 0 done, 1 a problem could not be tuned, 2 the arguments are wrong, 3 the machine failed.)";

}  // namespace

std::filesystem::path store_path(const Arguments& arguments) {
  if (!arguments.store.empty()) return arguments.store;
  return arguments.result.empty() ? tuning::Store::default_path()
                                  : std::filesystem::path(arguments.result + ".part.sqlite");
}

std::variant<Arguments, int> parse_arguments(int argc, char** argv, const Program& program) {
  Arguments arguments;
  CLI::App app{"Finds the fastest kernel for each problem on a device, by measuring.",
               std::string(program.library.name)};
  wrap_help(app);
  app.set_help_flag("-h,--help", "print this and exit; after a command, the help of the command");
  add_version_flag(app, program.library.name);
  app.require_subcommand(0, 1);
  add_common(app, arguments);
  add_tune_options(app, arguments);
  add_show(app, arguments);
  add_export_and_import(app, arguments);
  add_merge(app, arguments);
  add_forget(app, arguments);
  add_fit(app, arguments);
  add_report(app, arguments);
  app.footer(std::string(kNotes));
  try {
    parse_command_line(app, argc, argv);
    check_together(arguments);
  } catch (const CLI::ParseError& error) {
    return print_help_or_misuse(app, error) ? kDone : kWrongInput;
  }
  arguments.fit.operators = arguments.operators;
  return arguments;
}

}  // namespace qgen::tuner
