// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/model/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <limits>
#include <map>

#include "common/manual/command_line.h"
#include "common/manual/file_places.h"
#include "common/manual/help.h"
#include "common/number_option.h"
#include "common/text.h"
#include "common/version.h"
#include "runtime/workshop/runner/arguments.h"

namespace qgen::model {
namespace {

constexpr std::string_view kNotes = R"(
Examples:
  qgen-model run resnet50.onnx --input x.npy --output y.npy
  qgen-model run resnet50.onnx --batch 32 --time
  qgen-model run resnet50.onnx --explain           which kernel runs each layer, in which layouts
  qgen-model run resnet50.onnx --explain conv1     and why, for the layers of this name
  qgen-model run resnet50.onnx --explain --device-file devices/adreno-740.yaml
  qgen-model run resnet50.onnx --profile t.json    for ui.perfetto.dev or chrome://tracing
  qgen-model run resnet50.onnx --html t.html       the times, as charts for a browser
  qgen-model run resnet50.onnx --trace t.yaml      for qgen-tune --from-trace t.yaml
  qgen-model check resnet50.onnx --input x.npy     compare with the definitions of its operators
  qgen-model check resnet50.onnx --unfused         with the definitions of its ONNX nodes
  qgen-model check-support resnet50.onnx           which nodes have no operator
  qgen-model compile resnet50.onnx -o net.qgen     for this device; `run` loads it in milliseconds
  qgen-model compile a.onnx -o a.qgen --for x.yaml --for y.yaml   for these devices, in one file
  qgen-model chains resnet50.onnx -o net.chains    kernels of its element-wise chains
  qgen-model compile resnet50.onnx -o net.qgen --chains net.chains
  qgen-model generate llm.onnx --tokens 1,2,3 --max 64             tokens of a language model
  qgen-model quantize net.onnx -o int8.onnx --calibrate samples/   a float model, to int8

Exit codes: 0 done, 1 a check failed or a node has no operator, 2 the arguments or the model are
wrong, 3 the machine failed.)";

void add_model(CLI::App& app, Arguments& arguments, const char* text) {
  app.add_option("MODEL", arguments.model, text)->required()->type_name("");
  const auto typed = [&](const char* flag, std::vector<std::string>& values, const char* help) {
    app.add_option(flag, values, help)->allow_extra_args(false)->option_text("[NAME=]...");
  };
  typed("-i,--input", arguments.inputs, "a NumPy file; with the input's name, if there are several inputs");
  typed("--shape", arguments.shapes, "a random input: name=1x3x224x224:f32, name=1x8:i8=-8..7");
  typed("--constant", arguments.constants, "an input that becomes a constant of the model: name=16000, name=1,2,3");
  add_number(app, "--batch", arguments.batch, {1, 1 << 20},
             "the batch of inputs that are not given; these are "
             "random (1)");
}

void add_chain_kernels(CLI::App& app, Arguments& arguments) {
  app.add_option("--chains", arguments.chains.file,
                 "also choose among the kernels of this file, from 'qgen-model chains'")
      ->type_name("FILE");
}

void add_common(CLI::App& app, Arguments& arguments) {
  add_model(app, arguments, "an ONNX file, or a compiled model (.qgen)");
  app.add_option("-d,--device", arguments.device, "index, UUID or part of the name; qgen-info lists them")
      ->type_name("DEVICE");
  profiles::add_mask_options(app, arguments.mask);
  app.add_flag("--untuned", arguments.is_untuned, "choose by estimates only, and ignore times that qgen-tune measured");
}

CLI::App* add_run(CLI::App& app, Arguments& arguments) {
  CLI::App* run = app.add_subcommand("run", "run a model, time it, or explain its kernels");
  add_common(*run, arguments);
  add_chain_kernels(*run, arguments);
  run->add_option("-o,--output", arguments.outputs, "write an output to this NumPy file")
      ->allow_extra_args(false)
      ->option_text("[NAME=]FILE");
  run->add_flag("--time", arguments.is_timed, "print the time of a replay, by the device's clock and the host's");
  add_number(*run, "--replays", arguments.replays, {1, 1000000},
             "how many replays to time (200, or as many as take ten seconds)");
  run->add_option("--explain", arguments.explained,
                  "print the kernel and the layouts of each layer; for LAYER also the reasons")
      ->expected(0, 1)
      ->default_str("")
      ->option_text("[LAYER]");
  CLI::Option* device_file =
      run->add_option("--device-file", arguments.device_file,
                      "with --explain: choose for the device that this file describes, without running anything")
          ->type_name("FILE");
  run->add_option("--profile", arguments.profile, "print a table of all layers' times, and write a trace to this file")
      ->type_name("FILE");
  run->add_option("--json", arguments.json, "write the same times as JSON, with trtexec's keys")->type_name("FILE");
  run->add_option("--html", arguments.html,
                  "write a page for a browser: roofline, layers as bars, and memory over the layers")
      ->type_name("FILE");
  run->add_option("--plot", arguments.plot,
                  "draw the graph with layouts, kernels and times: .dot; or .svg, .png, .pdf, which need Graphviz")
      ->type_name("FILE");
  run->add_option("--trace", arguments.trace, "write the layers as problems for qgen-tune --from-trace")
      ->type_name("FILE");
  for (const char* of_a_run : {"--device", "--as", "--without", "--limit", "--trust-driver", "--output", "--time",
                               "--profile", "--json", "--html", "--plot", "--trace"})
    device_file->excludes(run->get_option(of_a_run));
  run->callback([&] { arguments.command = Command::run; });
  return run;
}

void add_check(CLI::App& app, Arguments& arguments) {
  CLI::App* check = app.add_subcommand("check",
                                       "compare a model's outputs with files, or with the references of its "
                                       "operators");
  add_common(*check, arguments);
  add_chain_kernels(*check, arguments);
  check
      ->add_option("--expect", arguments.expected,
                   "the expected output; without it the references are computed, slowly")
      ->allow_extra_args(false)
      ->option_text("[NAME=]FILE");
  add_number(*check, "--tolerance", arguments.tolerance, {0, 1e30}, "how far an element may differ (0)");
  check
      ->add_flag("--unfused", arguments.is_unfused,
                 "compare with the references of its ONNX nodes, imported without fusion: this checks the fusion too")
      ->excludes("--expect");
  check->callback([&] { arguments.command = Command::check; });
}

// The devices that a command plans for, without opening one.
void add_named_devices(CLI::App& app, Arguments& arguments, const char* text) {
  CLI::Option* named =
      app.add_option("--for", arguments.devices_for, text)->allow_extra_args(false)->option_text("FILE ...");
  for (const char* of_a_device : {"--device", "--as", "--without", "--limit", "--trust-driver"})
    named->excludes(app.get_option(of_a_device));
}

void add_compile(CLI::App& app, Arguments& arguments) {
  CLI::App* compile = app.add_subcommand("compile", "store a model with packed weights and chosen kernels and layouts");
  add_common(*compile, arguments);
  add_chain_kernels(*compile, arguments);
  compile->add_option("-o,--output", arguments.compiled, "the file to write; its name ends in .qgen")
      ->required()
      ->type_name("FILE");
  add_named_devices(*compile, arguments,
                    "compile for the device that this file describes, without opening one; may be repeated: one file "
                    "for all of them");
  compile->add_flag("--cpp", arguments.is_cpp,
                    "also write NAME.h, NAME.cpp and NAME.S beside the file: a class that embeds it (qgen_add_model)");
  compile->callback([&] { arguments.command = Command::compile; });
}

void add_chains(CLI::App& app, Arguments& arguments) {
  CLI::App* chains =
      app.add_subcommand("chains", "compile a model's element-wise chains to kernels, which --chains then offers");
  add_common(*chains, arguments);
  chains->add_option("-o,--output", arguments.compiled, "the file to write; its name ends in .chains")
      ->required()
      ->type_name("FILE");
  add_number(*chains, "--most", arguments.chains.most, {0, 4096},
             "how many chains become kernels: those that take the longest by estimate (16)");
  add_named_devices(*chains, arguments, "estimate for the device that this file describes; may be repeated");
  chains->add_option("--qgen", arguments.chains.generator, "the generator (the qgen beside this program, or in PATH)")
      ->type_name("PROGRAM");
  chains
      ->add_option("--operators", arguments.chains.operators,
                   "the folder with qgen's specs and templates (of the installation, or the current folder)")
      ->type_name("FOLDER");
  chains->callback([&] { arguments.command = Command::chains; });
}

void add_check_support(CLI::App& app, Arguments& arguments) {
  CLI::App* support =
      app.add_subcommand("check-support", "list the nodes of a model that have no operator; no device is opened");
  add_model(*support, arguments, "an ONNX file");
  support->add_flag("--json", arguments.is_json, "as JSON");
  support->callback([&] { arguments.command = Command::check_support; });
}

void add_caches(CLI::App& generate, Arguments::Generation& generation) {
  generate
      .add_option("--cache", generation.cache,
                  "the caches: of the model's type, int8, paged: of the model's type in blocks, or paged_int8: of "
                  "int8 in blocks (model)")
      ->transform(CLI::Transformer(std::map<std::string, graph::Cache>{{"model", graph::Cache::of_model},
                                                                       {"int8", graph::Cache::int8},
                                                                       {"paged", graph::Cache::paged},
                                                                       {"paged_int8", graph::Cache::paged_int8}}))
      ->transform(one_of_words({"model", "int8", "paged", "paged_int8"}))
      ->option_text("TYPE");
  add_number(generate, "--block-size", generation.blocks.size, {1, 1 << 24, "tokens"},
             "with paged caches: the room of a block, a power of two (16)");
  add_number(generate, "--blocks", generation.blocks.count, {0, 1 << 24, "blocks"},
             "with paged caches: how many blocks the sequences share; 0: as many as the capacity needs (0)");
}

void add_sampling(CLI::App& generate, graph::Sampling& sampling) {
  add_number(generate, "--top-k", sampling.top_k, {0, 1 << 24},
             "draw one of the K most likely tokens; 0: of all; 1: the most likely one (1)");
  add_number(generate, "--temperature", sampling.temperature, {graph::kLeastTemperature, graph::kMostTemperature},
             "with --top-k: logits are divided by it (1)");
  add_number(generate, "--seed", sampling.seed, {0, std::numeric_limits<uint64_t>::max()},
             "with --top-k: the seed of the random numbers (0)");
}

CLI::App* add_generate(CLI::App& app, Arguments& arguments) {
  CLI::App* generate =
      app.add_subcommand("generate", "generate tokens with a language model, whose caches stay on the device");
  Arguments::Generation& generation = arguments.generation;
  generate->add_option("MODEL", arguments.model, "an ONNX file")->required()->type_name("");
  generate->add_option("--tokens", generation.prompts, "a prompt, as 1,2,3; may be repeated: one for each sequence")
      ->required()
      ->allow_extra_args(false)
      ->option_text("TOKENS ...");
  generate
      ->add_option("-i,--input", arguments.inputs,
                   "a NumPy file of an input that stays the same for all tokens, such as an encoder's result")
      ->allow_extra_args(false)
      ->option_text("NAME=FILE ...");
  add_number(*generate, "--max", generation.most_tokens, {1, 1 << 24, "tokens"},
             "the most new tokens of each sequence (64)");
  add_number(*generate, "--capacity", generation.capacity, {1, 1 << 24, "tokens"},
             "the room of the caches for each sequence; else what the prompts and the new tokens need");
  add_caches(*generate, generation);
  generate->add_option("--end", generation.end_tokens, "a token that ends a sequence, or several: 1,2")
      ->allow_extra_args(false)
      ->option_text("TOKENS ...");
  add_sampling(*generate, generation.sampling);
  add_number(*generate, "--prompt-rows", generation.prompt_rows, {0, 1 << 24, "tokens"},
             "how many tokens of a prompt run at once; 0: all (0)");
  generate
      ->add_option("--state", generation.states,
                   "an input that stays on the device, and the output that is its next value; without it, inputs "
                   "past_... and outputs present_...")
      ->allow_extra_args(false)
      ->option_text("INPUT=OUTPUT ...");
  generate->add_option("--constant", arguments.constants, "an input that becomes a constant of the model: name=16000")
      ->allow_extra_args(false)
      ->option_text("[NAME=]...");
  generate->add_flag("--json", arguments.is_json, "print tokens and rates as JSON, at the end");
  generate->add_flag("--time", arguments.is_timed,
                     "at the end, also time the run of the first prompt and of a further token, and their layers");
  add_number(*generate, "--replays", arguments.replays, {1, 1000000},
             "with --time: how many replays to time (200, or as many as take ten seconds)");
  generate->add_option("-d,--device", arguments.device, "index, UUID or part of the name; qgen-info lists them")
      ->type_name("DEVICE");
  profiles::add_mask_options(*generate, arguments.mask);
  add_chain_kernels(*generate, arguments);
  generate->add_flag("--untuned", arguments.is_untuned,
                     "choose by estimates only, and ignore times that qgen-tune measured");
  generate->get_option("--time")->excludes("--json");
  generate->callback([&] { arguments.command = Command::generate; });
  return generate;
}

void add_quantize(CLI::App& app, Arguments& arguments) {
  CLI::App* quantize = app.add_subcommand("quantize", "write a floating-point ONNX model as an int8 one (QDQ)");
  Arguments::Calibration& calibration = arguments.calibration;
  quantize->add_option("MODEL", arguments.model, "an ONNX file of float32")->required()->type_name("");
  quantize->add_option("-o,--output", arguments.compiled, "the ONNX file to write")->required()->type_name("FILE");
  quantize
      ->add_option("--calibrate", calibration.folder,
                   "samples of the input: .npy files; of several inputs, a folder for each sample with NAME.npy")
      ->required()
      ->type_name("FOLDER");
  const std::map<std::string, CalibrationMethod> methods{{"minmax", CalibrationMethod::minmax},
                                                         {"percentile", CalibrationMethod::percentile},
                                                         {"entropy", CalibrationMethod::entropy}};
  quantize
      ->add_option("--method", calibration.method.method,
                   "how ranges of activations are chosen: minmax (the default), percentile or entropy")
      ->transform(CLI::Transformer(methods))
      ->transform(one_of_words({"minmax", "percentile", "entropy"}))  // the later transform() is applied first
      ->option_text("METHOD");
  add_number(*quantize, "--percentile", calibration.method.percentile, {50, 100},
             "with --method percentile: how many of 100 elements are within the range (99.99)");
  quantize
      ->add_option("--weights", calibration.weight_bits,
                   "of Gemm and MatMul: int8 (the default), or int4 with a scale for 32 elements (MatMulNBits)")
      ->transform(CLI::Transformer(std::map<std::string, int>{{"int8", 8}, {"int4", 4}}))
      ->transform(one_of_words({"int8", "int4"}))
      ->option_text("TYPE");
  quantize->add_option("--plot", arguments.plot, "also draw the noise of each layer, as .svg")->type_name("FILE");
  quantize->add_option("--keep", calibration.kept, "a node that stays in floating point; may be repeated")
      ->allow_extra_args(false)
      ->option_text("NODE ...");
  quantize->add_flag("--layers-only", calibration.layers_only,
                     "quantize only Conv, Gemm and MatMul, and leave the nodes between them in floating point");
  quantize->add_option("--constant", arguments.constants, "an input that becomes a constant of the model: name=16000")
      ->allow_extra_args(false)
      ->option_text("[NAME=]...");
  quantize->add_option("-d,--device", arguments.device, "index, UUID or part of the name; qgen-info lists them")
      ->type_name("DEVICE");
  profiles::add_mask_options(*quantize, arguments.mask);
  quantize->callback([&] { arguments.command = Command::quantize; });
}

}  // namespace

namespace {

// No file that a command writes replaces its model, or another file that it writes. A compiled model may be compiled
// again into its own file.
void check_places(const Arguments& arguments) {
  FilePlaces places;
  if (arguments.command != Command::compile) places.read(arguments.model, "the model");
  const auto take = [&](const std::string& flag, const std::string& file) {
    if (std::string fault = places.fault_of(flag, file); !fault.empty()) throw CLI::ValidationError(flag, fault);
  };
  for (const std::string& output : arguments.outputs) take("--output", output.substr(output.find('=') + 1));
  take("--output", arguments.compiled);
  take("--profile", arguments.profile);
  take("--json", arguments.json);
  take("--html", arguments.html);
  take("--plot", arguments.plot);
  take("--trace", arguments.trace);
}

// An option that has no effect without another one.
void check_company(const CLI::App& generate, const Arguments::Generation& generation) {
  const auto needs = [&](std::initializer_list<const char*> flags, bool has_effect, const char* company) {
    for (const char* flag : flags) {
      if (!has_effect && generate.count(flag) > 0)
        throw CLI::ValidationError(flag, fmt::format("goes with {}", company));
    }
  };
  needs({"--block-size", "--blocks"}, graph::is_paged(generation.cache), "--cache paged or paged_int8");
  needs({"--temperature", "--seed"}, generate.count("--top-k") > 0, "--top-k");
  needs({"--replays"}, generate.count("--time") > 0, "--time");
}

}  // namespace

std::variant<Arguments, int> parse_arguments(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"Runs a quantized model on a device.", "qgen-model"};
  wrap_help(app);
  app.set_help_flag("-h,--help", "print this and exit; after a command, the help of the command");
  add_version_flag(app, "qgen-model");
  app.require_subcommand(1);
  app.footer(std::string(kNotes));
  const CLI::App* run = add_run(app, arguments);
  add_check(app, arguments);
  add_compile(app, arguments);
  add_chains(app, arguments);
  add_check_support(app, arguments);
  const CLI::App* generate = add_generate(app, arguments);
  add_quantize(app, arguments);
  try {
    parse_command_line(app, argc, argv);
    if (run->count("--explain") > 0 && !arguments.explained) arguments.explained = "";
    if (!arguments.device_file.empty() && !arguments.explained)
      throw CLI::ValidationError("--device-file", "goes with --explain");
    if (arguments.command == Command::compile && !arguments.compiled.ends_with(".qgen"))
      throw CLI::ValidationError("--output", "must end in .qgen");
    if (arguments.command == Command::chains && !arguments.compiled.ends_with(".chains"))
      throw CLI::ValidationError("--output", "must end in .chains");
    check_places(arguments);
    if (arguments.command == Command::generate) check_company(*generate, arguments.generation);
  } catch (const CLI::ParseError& error) {
    return print_help_or_misuse(app, error) ? runner::kDone : runner::kWrongInput;
  }
  return arguments;
}

}  // namespace qgen::model
