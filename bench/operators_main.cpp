// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// operators_bench: the times of operators on the device, each with the chosen and with the plain kernel.
//
//   operators_bench --short --benchmark_out=times.json
//   operators_bench --benchmark_filter='q8ta_add/.*'
//   q8ta_add/1x64x128x128.packed_4w4c.packed_4w4c.packed_4w4c/chosen ...  q8ta_binary.packed_4w4c.packed_4w4c.packed_4w4c.flat1/...
//   q8ta_add/1x64x128x128.packed_4w4c.packed_4w4c.packed_4w4c/plain ...   q8ta_binary.strided.strided.strided.flat1/...
//
// Times are medians by the device's clock (runtime/workshop/measure/timing.h), and stand under Time; low and high are
// tenths, in microseconds. The chosen kernel, the plain one and a copy of as many bytes are timed in turn, round by
// round, with the clock raised (runtime/workshop/measure/clock.h) and watched. A row below the plateau is marked.
// of_copy: its throughput, relative to the copy's. A row's inputs are made when its turn comes, so a filter keeps a run
// short.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include "bench/operator_rows.h"
#include "common/log.h"
#include "registry.h"
#include "runtime/engine/operators/shipped.h"
#include "runtime/engine/profiles/mask_text.h"
#include "runtime/engine/profiles/stored.h"
#include "runtime/workshop/measure/timing.h"

namespace {

using namespace qgen;
using bench::Row;
using bench::TimedRequest;

const measure::TimingOptions kTiming{.replays = 30};

Expected<PreparedCall> prepare(Context& context, const OperatorEntry& entry, const TimedRequest& way) {
  auto parsed = runner::parse_request(entry, way.request);
  if (!parsed) return parsed.error();
  const auto request = complete(entry, *std::move(parsed));
  if (!request) return request.error();
  return qgen::prepare(context, entry, *request);
}

// The best of the choices that the alternative allows.
Expected<Choice> choose(const Context& context, const PreparedCall& prepared, const TimedRequest& way) {
  const bool any = way.kernel.empty();
  const Selection selection =
      select(prepared.call.problem, context.profile, context.library,
             {.all_specializations = !any, .with_rarely_best = !any, .all_step_kernels = !any, .best_only = any});
  const auto found = std::ranges::find_if(
      selection.ranked, [&](const Choice& choice) { return choice.id.find(way.kernel) != std::string::npos; });
  if (found != selection.ranked.end()) return *found;
  return Error{Error::Kind::unsupported, fmt::format("no kernel '{}' applies", way.kernel), ""};
}

struct Bench {
  Context context;
  measure::SteadyClock clock;
  bool has_failed = false;
};

// One alternative for a row: its choice, and its time compared with the copy.
struct Figure {
  std::string kernel;
  measure::Spread us, copy_us;
  double bytes = 0;
  measure::ClockLevel clock;
};

// A row's ways, timed together. Errors: of either.
Expected<std::vector<Figure>> time_row(Bench& bench, const Row& row) {
  std::vector<const TimedRequest*> ways = {&row.chosen};
  if (row.plain) ways.push_back(&*row.plain);
  std::vector<PreparedCall> calls;
  std::vector<Choice> choices;
  std::vector<measure::CopyRival> copies;
  std::vector<Figure> figures;
  for (const TimedRequest* way : ways) {
    auto prepared = prepare(bench.context, *find_operator(row.op), *way);
    if (!prepared) return prepared.error();
    auto choice = choose(bench.context, *prepared, *way);
    if (!choice) return choice.error();
    const double bytes = row.bytes > 0 ? row.bytes : static_cast<double>(measure::bytes_moved(prepared->call));
    auto copy = measure::copy_moving(bench.context, static_cast<uint64_t>(bytes));
    if (!copy) return copy.error();
    figures.push_back({.kernel = choice->id, .bytes = bytes});
    calls.push_back(*std::move(prepared));
    choices.push_back(*std::move(choice));
    copies.push_back(*std::move(copy));
  }
  std::vector<measure::Contestant> contestants;
  for (size_t i = 0; i < calls.size(); ++i) {
    contestants.push_back({&bench.context, &calls[i], &choices[i]});
    contestants.push_back(copies[i].contestant());
  }
  const auto times = measure::time_together(bench.clock, contestants, kTiming);
  if (!times) return times.error();
  for (size_t i = 0; i < figures.size(); ++i) {
    figures[i].us = times->device_us[2 * i];
    figures[i].copy_us = times->device_us[2 * i + 1];
    figures[i].clock = times->clock;
  }
  return figures;
}

void report(benchmark::State& state, const Row& row, const Figure& figure) {
  const double us = figure.us.median;
  state.SetIterationTime(us * 1e-6);
  state.SetLabel(figure.clock.is_steady() ? figure.kernel
                                          : fmt::format("{} BELOW THE PLATEAU: {:.0f} % of the device's best clock",
                                                        figure.kernel, 100 * figure.clock.of_plateau));
  state.counters["low"] = figure.us.low;
  state.counters["high"] = figure.us.high;
  state.counters["of_copy"] = figure.copy_us.median / us;
  state.counters["of_plateau"] = figure.clock.of_plateau;
  state.counters["bytes/s"] = figure.bytes / us * 1e6;
  if (row.operations > 0) state.counters["op/s"] = row.operations / us * 1e6;
}

// One line for each way of the row; the first of them that is run times all.
void add(Bench& bench, const Row& row) {
  const auto figures = std::make_shared<std::optional<Expected<std::vector<Figure>>>>();
  const auto add_line = [&](const char* name, size_t way) {
    const auto run = [&bench, row, figures, way](benchmark::State& state) {
      for ([[maybe_unused]] auto _ : state) {
        if (!*figures) *figures = time_row(bench, row);
        if (**figures) {
          report(state, row, (***figures)[way]);
          continue;
        }
        bench.has_failed = true;
        return state.SkipWithError(to_text((*figures)->error()).c_str());
      }
    };
    benchmark::RegisterBenchmark(fmt::format("{}/{}/{}", row.op, row.size, name).c_str(), run)
        ->Iterations(1)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  };
  add_line("chosen", 0);
  if (row.plain) add_line("plain", 1);
}

// The row's chosen way, as a person types it.
std::string command_of(const Row& row) {
  std::string text = "qgen-run " + row.op;
  const auto add_all = [&](std::string_view flag, const std::vector<std::string>& values) {
    for (const std::string& value : values) text += fmt::format(" {} '{}'", flag, value);
  };
  const runner::RequestText& request = row.chosen.request;
  add_all("--input", request.inputs);
  add_all("--shape", request.shapes);
  add_all("--set", request.attributes);
  add_all("--storage", request.storages);
  add_all("--layout", request.layouts);
  if (!row.chosen.kernel.empty()) add_all("--kernel", {row.chosen.kernel});
  return text + " --time";
}

struct Arguments {
  std::string device;
  profiles::MaskText mask;
  bool is_short = false;
  bool has_commands = false;
  bool has_problems = false;
};

void add_options(CLI::App& app, Arguments& arguments) {
  app.name("operators_bench");
  app.get_formatter()->column_width(30);
  app.set_help_flag("-h,--help", "print this");
  app.add_flag("--short", arguments.is_short, "only some rows: every operator at the sizes that fill a large GPU");
  app.add_flag("--commands", arguments.has_commands,
               "time nothing: print each row's name and the qgen-run that times it");
  app.add_flag("--problems", arguments.has_problems,
               "time nothing: print the rows as a file of problems for qgen-tune");
  app.add_option("-d,--device", arguments.device, "index, UUID or part of the name; qgen-info lists them")
      ->type_name("DEVICE");
  profiles::add_mask_options(app, arguments.mask);
}

// Google Benchmark handles --help itself, and then calls this.
void print_help() {
  Arguments arguments;
  CLI::App app{"Times operators on the device, each as it is chosen and beside its plain rival."};
  add_options(app, arguments);
  app.footer("Exit codes: 0 done, 1 a row could not be run, 2 the arguments are wrong, 3 the machine failed.");
  fmt::print("{}\nOf Google Benchmark:\n", app.help());
  benchmark::PrintDefaultHelp();
}

int fail(const Error& error) {
  print_log("operators_bench: {}\n", to_text(error));
  return 3;
}

int print_commands(const std::vector<Row>& rows) {
  for (const Row& row : rows) fmt::print("{}/{}\t{}\n", row.op, row.size, command_of(row));
  return 0;
}

int print_problems(const std::vector<Row>& rows) {
  fmt::print("{}", bench::problems_text(rows));
  return 0;
}

int time_rows(const Arguments& arguments) {
  const std::vector<Row> rows = arguments.is_short ? bench::short_rows() : bench::operator_rows();
  if (arguments.has_commands) return print_commands(rows);
  if (arguments.has_problems) return print_problems(rows);
  const auto library = KernelLibrary::open(generated::library());
  if (!library) return fail(library.error());
  auto mask = profiles::read_mask(arguments.mask);
  if (!mask) return fail(mask.error());
  const auto device =
      Device::open(arguments.device, {.trusts_driver = arguments.mask.trusts_driver, .mask = *std::move(mask)});
  if (!device) return fail(device.error());
  auto executor = Executor::create(*device, *library, {});
  if (!executor) return fail(executor.error());
  const auto stored = profiles::with_all_that_is_stored(device->profile(), arguments.mask.trusts_driver);
  for (const std::string& warning : stored.warnings) print_log("operators_bench: warning: {}\n", warning);
  Context context{.profile = stored.profile, .library = *library, .executor = *executor};
  auto clock = measure::clock_of(context);
  if (!clock) return fail(clock.error());
  Bench bench{context, *std::move(clock)};
  benchmark::AddCustomContext("device", device->profile().name);
  for (const Row& row : rows) add(bench, row);
  benchmark::RunSpecifiedBenchmarks();
  return bench.has_failed ? 1 : 0;
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
    print_log("operators_bench: {}\n", error.what());
    return 2;
  }
  return time_rows(arguments);
}
