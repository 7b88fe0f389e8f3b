// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// operators_bench [DEVICE [PAUSE]]: how long operators take on the device, each as it is chosen and, beside it, the
// plain way. Before each it rests for PAUSE seconds: a GPU that is never idle may lower its clock by half.
//
//   operators_bench --benchmark_filter='q8ta_add/.*'
//   q8ta_add/1x64x128x128.packed_4w4c.packed_4w4c.packed_4w4c/chosen ...  q8ta_binary.packed_4w4c.packed_4w4c.packed_4w4c.flat1/...
//   q8ta_add/1x64x128x128.packed_4w4c.packed_4w4c.packed_4w4c/plain ...   q8ta_binary.strided.strided.strided.flat1/...
//
// Times are medians by the device's clock (runtime/runner/measure.h), and stand under Time; low and high are tenths, in
// microseconds. of_copy: the time of a plain copy that moves as many bytes, as a share of it. The operators' inputs are
// made when their turn comes, so a filter keeps a run short.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
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
  return entry.prepare(context, *request);
}

// The best of those that the way asks for.
Expected<Choice> choose(const Context& context, const PreparedCall& prepared, const Way& way) {
  const bool any = way.kernel.empty();
  const Selection selection =
      select(prepared.call.problem, context.profile, context.library, {.all_step_kernels = !any, .best_only = any});
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

void add(Context& context, Seconds pause, const Row& row, const char* name, const Way& way) {
  const auto run = [&context, pause, row, way](benchmark::State& state) {
    for ([[maybe_unused]] auto _ : state) {
      std::this_thread::sleep_for(pause);
      if (Done timed = time_way(state, context, row, way); !timed)
        return state.SkipWithError(to_text(timed.error()).c_str());
    }
  };
  benchmark::RegisterBenchmark(fmt::format("{}/{}/{}", row.op, row.size, name).c_str(), run)
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

// Operators of the registry that nobody made rows for are named.
void add_all(Context& context, Seconds pause) {
  std::set<std::string, std::less<>> timed;
  for (const Row& row : bench::operator_rows()) {
    timed.insert(row.op);
    add(context, pause, row, "chosen", row.chosen);
    if (row.plain) add(context, pause, row, "plain", *row.plain);
  }
  for (const OperatorEntry& entry : operators()) {
    if (!timed.contains(entry.name)) fmt::print(stderr, "'{}' has no rows in operator_rows.cpp\n", entry.name);
  }
}

int fail(const Error& error) {
  fmt::print(stderr, "operators_bench: {}\n", to_text(error));
  return 3;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const auto library = KernelLibrary::open(generated::library());
  if (!library) return fail(library.error());
  const auto device = Device::open(argc > 1 ? argv[1] : "", {});
  if (!device) return fail(device.error());
  auto executor = Executor::create(*device, *library, {});
  if (!executor) return fail(executor.error());
  Context context{.profile = device->profile(), .library = *library, .executor = *executor};
  benchmark::AddCustomContext("device", device->profile().name);
  add_all(context, Seconds(argc > 2 ? std::atof(argv[2]) : 0));
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
