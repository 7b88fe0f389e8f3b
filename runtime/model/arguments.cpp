// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/model/arguments.h"

#include <CLI/CLI.hpp>

#include "runtime/runner/arguments.h"

namespace qgen::model {
namespace {

constexpr std::string_view kNotes = R"(
Examples:
  qgen-model run resnet50.onnx --input x.npy --output y.npy
  qgen-model run resnet50.onnx --batch 32 --time
  qgen-model run resnet50.onnx --explain                    which kernel runs each layer, and in which layouts
  qgen-model run resnet50.onnx --explain conv1              and why, for the layers of this name
  qgen-model run resnet50.onnx --explain --device-file devices/adreno-740.yaml
  qgen-model run resnet50.onnx --profile trace.json         for ui.perfetto.dev or chrome://tracing
  qgen-model run resnet50.onnx --trace layers.yaml          for qgen-tune --from-trace layers.yaml
  qgen-model check resnet50.onnx --input x.npy              beside the definitions of its operators
  qgen-model check resnet50.onnx --unfused                  beside those of its nodes, each by itself
  qgen-model compile resnet50.onnx -o resnet50.qgen         prepared for this device; `run` loads it in milliseconds

Exit codes: 0 done, 1 a check failed, 2 the arguments or the model are wrong, 3 the machine is.)";

void add_common(CLI::App& app, Arguments& arguments) {
  app.add_option("MODEL", arguments.model, "an ONNX file, or what `compile` made of one (.qgen)")
      ->required()
      ->type_name("");
  const auto typed = [&](const char* flag, std::vector<std::string>& values, const char* text) {
    app.add_option(flag, values, text)->allow_extra_args(false)->option_text("[NAME=]...");
  };
  typed("-i,--input", arguments.inputs, "a NumPy file; with the input's name, where there are several");
  typed("--shape", arguments.shapes, "a made-up input: name=1x3x224x224:f32, name=1x8:i8=-8..7");
  app.add_option("--batch", arguments.batch, "of inputs that are not given, which are made up (1)")
      ->check(CLI::Range(1, 1 << 20))
      ->option_text("N");
  app.add_option("-d,--device", arguments.device, "index, UUID or part of the name; qgen-info lists them")
      ->type_name("DEVICE");
  app.add_flag("--untuned", arguments.is_untuned,
               "choose by estimates, whatever qgen-tune has measured on this machine");
}

CLI::App* add_run(CLI::App& app, Arguments& arguments) {
  CLI::App* run = app.add_subcommand("run", "run it, time it, or tell how it runs");
  add_common(*run, arguments);
  run->add_option("-o,--output", arguments.outputs, "where an output goes, as a NumPy file")
      ->allow_extra_args(false)
      ->option_text("[NAME=]FILE");
  run->add_flag("--time", arguments.is_timed, "replay it, by the device's clock and by the host's");
  run->add_option("--replays", arguments.replays, "how often, at least (200)")
      ->check(CLI::Range(1, 1000000))
      ->option_text("N");
  run->add_option("--explain", arguments.explained,
                  "the kernel and the layouts of each layer; of named ones the reasons")
      ->expected(0, 1)
      ->default_str("")
      ->option_text("[LAYER]");
  CLI::Option* device_file =
      run->add_option(
             "--device-file", arguments.device_file,
             "with --explain: choose for the device that this file describes; none is opened, and nothing runs")
          ->type_name("FILE");
  run->add_option("--profile", arguments.profile, "times of each layer: a table, and a trace in this file")
      ->type_name("FILE");
  run->add_option("--json", arguments.json, "the same as JSON, with trtexec's keys")->type_name("FILE");
  run->add_option(
         "--plot", arguments.plot,
         "draws the graph with layouts, kernels and times: .svg, .png or .pdf where Graphviz is installed, or .dot")
      ->type_name("FILE");
  run->add_option("--trace", arguments.trace, "writes its layers as problems for qgen-tune --from-trace")
      ->type_name("FILE");
  for (const char* of_a_run : {"--device", "--output", "--time", "--profile", "--json", "--plot", "--trace"})
    device_file->excludes(run->get_option(of_a_run));
  run->callback([&] { arguments.command = Command::run; });
  return run;
}

void add_check(CLI::App& app, Arguments& arguments) {
  CLI::App* check = app.add_subcommand("check", "compare its outputs with files, or with its operators' definitions");
  add_common(*check, arguments);
  check
      ->add_option("--expect", arguments.expected,
                   "what an output should be; else the definitions are computed, slowly")
      ->allow_extra_args(false)
      ->option_text("[NAME=]FILE");
  check->add_option("--tolerance", arguments.tolerance, "by which an element may differ (0)")
      ->check(CLI::Range(0.0, 1e30))
      ->option_text("NUMBER");
  check
      ->add_flag("--unfused", arguments.is_unfused,
                 "by the definitions of its nodes, each by itself: what is fused is checked with them")
      ->excludes("--expect");
  check->callback([&] { arguments.command = Command::check; });
}

void add_compile(CLI::App& app, Arguments& arguments) {
  CLI::App* compile = app.add_subcommand("compile", "store it prepared: weights packed, kernels and layouts chosen");
  add_common(*compile, arguments);
  compile->add_option("-o,--output", arguments.compiled, "a file that ends in .qgen")->required()->type_name("FILE");
  compile->callback([&] { arguments.command = Command::compile; });
}

}  // namespace

std::variant<Arguments, int> parse_arguments(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"Runs a quantized model on a device.", "qgen-model"};
  app.get_formatter()->column_width(26);
  app.set_help_flag("-h,--help", "print this and exit; after a command, its own");
  app.require_subcommand(1);
  app.footer(std::string(kNotes));
  const CLI::App* run = add_run(app, arguments);
  add_check(app, arguments);
  add_compile(app, arguments);
  try {
    app.parse(argc, argv);
    if (run->count("--explain") > 0 && !arguments.explained) arguments.explained = "";
    if (!arguments.device_file.empty() && !arguments.explained)
      throw CLI::ValidationError("--device-file", "goes with --explain");
    if (arguments.command == Command::compile && !arguments.compiled.ends_with(".qgen"))
      throw CLI::ValidationError("--output", "is to end in .qgen");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? runner::kDone : runner::kWrongInput;
  }
  return arguments;
}

}  // namespace qgen::model
