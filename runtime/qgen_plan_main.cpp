// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen-plan: which representation each tensor of a graph gets, which kernel runs each operator, where conversions go.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "common/files.h"
#include "common/program.h"
#include "runtime/device/device.h"
#include "runtime/planner/graph_text.h"
#include "runtime/profiles/stored.h"

namespace {

using namespace qgen;

constexpr int kDone = 0;
constexpr int kNoPlan = 1;
constexpr int kWrongInput = 2;
constexpr int kWrongMachine = 3;

constexpr const char* kFooter = R"(
A graph:
  device: {bytes_per_us: 4.0e6, launch_us: 2}
  tensors:
    x: {shape: [1, 64, 56, 56], dtype: f32, arrives_as: buffer.strided}
    y: {shape: [1, 64, 56, 56], dtype: i8, leaves_as: [buffer.packed_4w, buffer.packed_4c]}
  operators:
    quantize:
      op: q8ta_quantize
      reads: [x]
      writes: [y]
      kernels:
        blocks: {takes: [buffer.strided, buffer.packed_4w4c], cost_us: 3.5}
        words: {takes: [buffer.strided, buffer.packed_*], cost_us: 6}
  conversions:
    - {from: texture3d.*, to: buffer.packed_*, cost_us: none}

Examples:
  qgen-plan net.yaml                      the kernels, and what is converted
  qgen-plan net.yaml --explain            and why: who reads it, and what going without would cost
  qgen-plan net.yaml --device llvmpipe    within the limits, and at the rates, of this device
  qgen-plan net.yaml --json | jq .cost_us
  generate_net | qgen-plan -              from standard input

Exit codes: 0 done, 1 no plan runs every operator, 2 the input is wrong, 3 there is no such device or file.)";

struct Arguments {
  std::string graph, device;
  bool is_explained = false, is_json = false, is_yaml = false;
  size_t reasons = 20;
};

int fail(const Error& error, int exit_code) {
  fmt::print(stderr, "qgen-plan: {}\n", to_text(error));
  return exit_code;
}

constexpr size_t kMostGraphBytes = size_t{256} << 20;

Expected<std::string> read_text(const std::string& path) {
  auto text = read_file(path == "-" ? "/dev/stdin" : path, kMostGraphBytes);
  if (text) return text;
  Error error = text.error();
  if (error.hint.empty()) error.hint = "name a graph in YAML, or - for standard input";
  return error;
}

int show(const Arguments& arguments, const planner::GraphText& text) {
  const planner::PlanOptions options = plan_options(text);
  const auto plan = planner::plan(text.graph, options);
  if (!plan) return fail(plan.error(), plan.error().kind == Error::Kind::invalid_argument ? kWrongInput : kNoPlan);
  if (arguments.is_json) {
    fmt::print("{}", to_json(*plan));
  } else if (arguments.is_explained) {
    fmt::print("{}", explain(text.graph, options, *plan, arguments.reasons));
  } else {
    fmt::print("{}", to_text(text.graph, *plan));
  }
  return kDone;
}

int run(const Arguments& arguments) {
  const auto yaml = read_text(arguments.graph);
  if (!yaml) {
    return fail(yaml.error(), yaml.error().kind == Error::Kind::invalid_argument ? kWrongInput : kWrongMachine);
  }
  auto text = planner::read_graph(*yaml, arguments.graph == "-" ? "standard input" : arguments.graph);
  if (!text) {
    fmt::print(stderr, "{}\n", to_text(text.error()));
    return kWrongInput;
  }
  if (!arguments.device.empty()) {
    const auto device = Device::open(arguments.device);
    if (!device) return fail(device.error(), kWrongMachine);
    const profiles::StoredNumbers numbers = profiles::with_stored_numbers(device->profile());
    if (!numbers.warning.empty()) fmt::print(stderr, "qgen-plan: warning: {}\n", numbers.warning);
    text->device = planner::device_model(numbers.profile.numbers);
  }
  if (!arguments.is_yaml) return show(arguments, *text);
  fmt::print("{}", to_yaml(*text));
  return kDone;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{
      "Plans a graph: one representation (storage and layout) for each tensor and one kernel for each operator, so\n"
      "that the estimated time of kernels and conversions together is least.",
      "qgen-plan"};
  app.get_formatter()->column_width(26);
  app.set_help_flag("-h,--help", "print this and exit");
  app.set_version_flag("--version", "qgen-plan " QGEN_VERSION, "print the version and exit");
  app.footer(kFooter);
  app.add_option("GRAPH", arguments.graph, "a graph in YAML; - for standard input")->required()->type_name("");
  app.add_option("--device,-d", arguments.device,
                 "plan for a device of this machine (its index, its UUID, or a part of its name)\n"
                 "instead of the one that the graph describes")
      ->type_name("DEVICE");
  app.add_flag("--explain,-e", arguments.is_explained,
               "say of each conversion why it is there: who reads it, and what going without costs");
  app.add_option("--reasons", arguments.reasons, "explain no more conversions than this (default 20)")->type_name("N");
  app.add_flag("--json", arguments.is_json, "the plan, for programs");
  app.add_flag("--yaml", arguments.is_yaml, "the graph as it was read, with its device, instead of a plan");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kWrongInput;
  }
  if (arguments.is_explained + arguments.is_json + arguments.is_yaml > 1) {
    fmt::print(stderr, "qgen-plan: --explain, --json and --yaml are three ways to answer: give one\n");
    return kWrongInput;
  }
  return run_program("qgen-plan", [&] { return run(arguments); });
}
