// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// operators_bench: how long operators take on the device, each as it is chosen and, beside it, the plain way.
//
//   operators_bench --short --benchmark_out=times.json
//   operators_bench --benchmark_filter='q8ta_add/.*'
//   q8ta_add/1x64x128x128.packed_4w4c.packed_4w4c.packed_4w4c/chosen ...  q8ta_binary.packed_4w4c.packed_4w4c.packed_4w4c.flat1/...
//   q8ta_add/1x64x128x128.packed_4w4c.packed_4w4c.packed_4w4c/plain ...   q8ta_binary.strided.strided.strided.flat1/...
//
// Times are medians by the device's clock (runtime/runner/measure.h), and stand under Time; low and high are tenths, in
// microseconds. of_copy: what share of a plain copy's bytes a second it moves, the copy being of as many bytes, and
// timed right after it. The operators' inputs are made when their turn comes, so a filter keeps a run short.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "bench/operator_rows.h"
#include "registry.h"
#include "runtime/runner/measure.h"

namespace {

using namespace qgen;
using bench::Row;
using bench::Way;

constexpr runner::MeasureOptions kMeasure{.replays = 30};

Expected<PreparedCall> prepare(Context& context, const OperatorEntry& entry, const Way& way) {
  auto parsed = runner::parse_request(entry, way.request);
  if (!parsed) return parsed.error();
  const auto request = complete(entry, *std::move(parsed));
  if (!request) return request.error();
  return qgen::prepare(context, entry, *request);
}

// The best of those that the way asks for.
Expected<Choice> choose(const Context& context, const PreparedCall& prepared, const Way& way) {
  const bool any = way.kernel.empty();
  const Selection selection = select(prepared.call.problem, context.profile, context.library,
                                     {.all_specializations = !any, .all_step_kernels = !any, .best_only = any});
  const auto found = std::ranges::find_if(
      selection.ranked, [&](const Choice& choice) { return choice.id.find(way.kernel) != std::string::npos; });
  if (found != selection.ranked.end()) return *found;
  return Error{Error::Kind::unsupported, fmt::format("no kernel '{}' applies", way.kernel), ""};
}

Done time_way(benchmark::State& state, Context& context, const Row& row, const Way& way) {
  const auto prepared = prepare(context, *find_operator(row.op), way);
  if (!prepared) return prepared.error();
  const auto choice = choose(context, *prepared, way);
  if (!choice) return choice.error();
  const auto measured = runner::measure(context, *prepared, *choice, kMeasure);
  if (!measured) return measured.error();
  const double moved = row.bytes > 0 ? row.bytes : static_cast<double>(runner::bytes_moved(*prepared));
  const auto copy = runner::measure_copy(context, static_cast<uint64_t>(moved), kMeasure);
  if (!copy) return copy.error();

  const double us = measured->device_us.median;
  state.SetIterationTime(us * 1e-6);
  state.SetLabel(measured->kernel);
  state.counters["low"] = measured->device_us.low;
  state.counters["high"] = measured->device_us.high;
  state.counters["of_copy"] = copy->median / us;
  state.counters["bytes/s"] = moved / us * 1e6;
  if (row.operations > 0) state.counters["op/s"] = row.operations / us * 1e6;
  return std::monostate{};
}

using Seconds = std::chrono::duration<double>;

void add(Context& context, Seconds pause, const Row& row, const char* name, const Way& way, bool& has_failed) {
  const auto run = [&context, pause, row, way, &has_failed](benchmark::State& state) {
    for ([[maybe_unused]] auto _ : state) {
      std::this_thread::sleep_for(pause);
      if (Done timed = time_way(state, context, row, way); !timed) {
        has_failed = true;
        return state.SkipWithError(to_text(timed.error()).c_str());
      }
    }
  };
  benchmark::RegisterBenchmark(fmt::format("{}/{}/{}", row.op, row.size, name).c_str(), run)
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

struct Arguments {
  std::string device;
  double pause_s = 0.5;
  bool is_short = false;
};

void add_options(CLI::App& app, Arguments& arguments) {
  app.name("operators_bench");
  app.get_formatter()->column_width(30);
  app.set_help_flag("-h,--help", "print this");
  app.add_flag("--short", arguments.is_short, "only some rows: every operator at the sizes that fill a large GPU");
  app.add_option("-d,--device", arguments.device, "index, UUID or part of the name; qgen-info lists them")
      ->type_name("DEVICE");
  app.add_option("--pause", arguments.pause_s, "rest before each: a GPU that is never idle may lower its clock by half")
      ->check(CLI::Range(0.0, 60.0))
      ->option_text("SECONDS [0.5]");
}

// Google Benchmark takes --help for itself, and then asks for this.
void print_help() {
  Arguments arguments;
  CLI::App app{"Times operators on the device, each as it is chosen and beside its plain rival."};
  add_options(app, arguments);
  app.footer("Exit codes: 0 done, 1 a row could not be run, 2 the arguments are wrong, 3 the machine is.");
  fmt::print("{}\nOf Google Benchmark:\n", app.help());
  benchmark::PrintDefaultHelp();
}

int fail(const Error& error) {
  fmt::print(stderr, "operators_bench: {}\n", to_text(error));
  return 3;
}

int time_rows(const Arguments& arguments) {
  const auto library = KernelLibrary::open(generated::library());
  if (!library) return fail(library.error());
  const auto device = Device::open(arguments.device, {});
  if (!device) return fail(device.error());
  auto executor = Executor::create(*device, *library, {});
  if (!executor) return fail(executor.error());
  Context context{.profile = device->profile(), .library = *library, .executor = *executor};
  benchmark::AddCustomContext("device", device->profile().name);
  const Seconds pause(arguments.pause_s);
  bool has_failed = false;
  for (const Row& row : arguments.is_short ? bench::short_rows() : bench::operator_rows()) {
    add(context, pause, row, "chosen", row.chosen, has_failed);
    if (row.plain) add(context, pause, row, "plain", *row.plain, has_failed);
  }
  benchmark::RunSpecifiedBenchmarks();
  return has_failed ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv, print_help);
  Arguments arguments;
  CLI::App app;
  add_options(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    print_help();
    return 0;
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "operators_bench: {}\n", error.what());
    return 2;
  }
  return time_rows(arguments);
}
