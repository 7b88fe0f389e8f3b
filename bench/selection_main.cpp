// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The time of choosing, without a device: the first decision of a problem, and a repeated one; and of loading and
// looking up 10,000 random times for 500 layers with 20 kernels each.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "operators.h"
#include "registry.h"
#include "runtime/engine/calls/online_tuning.h"
#include "runtime/engine/library/tuning_info.h"
#include "runtime/engine/profiles/device_file.h"
#include "runtime/engine/selector/decision_cache.h"
#include "runtime/engine/tuning/known_times.h"
#include "runtime/engine/tuning/store.h"
#include "tests/runtime/engine/operators/h200.h"

namespace qgen {
namespace {

using namespace generated::operators;

TensorDesc reals(const Shape& shape) { return {DType::f32, shape}; }
TensorDesc weight(const Shape& shape) {
  TensorDesc desc{DType::i8, shape, Storage::buffer, Layout::weight_q8_4k4n};
  desc.other_layouts = bit(Layout::weight_q8_rows);
  return desc;
}

Problem linear(int64_t rows = 512) {
  return q8ta_linear_call({.input = TensorDesc{DType::i8, {rows, 4096}},
                           .weight = weight({4096, 4096}),
                           .weight_scales = reals({4096})},
                          {.input_scale = 0.1F, .output_scale = 1.0F})
      ->problem;
}
Problem convolution() {
  const TensorDesc input{DType::i8, {1, 64, 56, 56}, Storage::buffer, Layout::packed_4c};
  return q8ta_conv2d_call({.input = input, .weight = weight({64, 64, 3, 3}), .weight_scales = reals({64})},
                          {.padding = std::vector<int64_t>{1, 1}, .input_scale = 0.1F, .output_scale = 1.0F})
      ->problem;
}
Problem add() {
  const TensorDesc input{DType::i8, {1, 64, 56, 56}};
  return q8ta_add_call({.input = input, .other = input},
                       {.input_scale = 0.1F, .other_scale = 0.1F, .output_scale = 1.0F})
      ->problem;
}

// Each turn has another scale, so the problem is new; the device's properties are known from the first.
void first_decision(benchmark::State& state, const Problem& problem) {
  const auto library = KernelLibrary::open(generated::library());
  const DeviceProfile device = testing::h200();
  DecisionCache decisions(device, *library, nullptr, 64);
  const auto scale = std::ranges::find(problem.op->fields, "input_scale", &FieldInfo::name);
  Problem asked = problem;
  float value = 0;
  for (auto _ : state) {
    value += 0.0625F;
    std::memcpy(asked.fields.data() + scale->offset, &value, sizeof(value));
    benchmark::DoNotOptimize(decisions.best(asked));
  }
}
void repeated_decision(benchmark::State& state, const Problem& problem) {
  const auto library = KernelLibrary::open(generated::library());
  const DeviceProfile device = testing::h200();
  DecisionCache decisions(device, *library);
  for (auto _ : state) benchmark::DoNotOptimize(decisions.best(problem));
}
void key(benchmark::State& state, const Problem& problem) {
  for (auto _ : state) benchmark::DoNotOptimize(key_of(problem));
}
// ---- 10,000 times ---------------------------------------------------------------------------------------------------

constexpr size_t kLayers = 500, kKernelsOfALayer = 20;

class MadeUpTimes {
 public:
  MadeUpTimes() : library_(*KernelLibrary::open(generated::library())), device_(testing::h200()) {
    const Selection selection =
        select(linear(), device_, library_, {.with_rarely_best = true, .all_step_kernels = true});
    for (size_t i = 0; i < kKernelsOfALayer; ++i) choices_.push_back(selection.ranked.at(i).id);
    for (size_t i = 0; i < kLayers; ++i) problems_.push_back(linear(static_cast<int64_t>(64 * i + 64)));
    for (const Problem& problem : problems_) keys_.push_back(key_of(problem));
    std::ranges::sort(keys_);
    for (const std::string& key : keys_) {
      for (uint32_t i = 0; i < kKernelsOfALayer; ++i) times_.push_back({i, static_cast<float>(10 + i)});
      of_keys_.push_back({key, static_cast<uint32_t>(times_.size())});
    }
    of_choices_.assign(choices_.begin(), choices_.end());
    table_ = {.name = device_.name,
              .vendor_id = device_.vendor_id,
              .device_id = device_.device_id,
              .date = "2026-11-23",
              .numbers = device_.numbers,
              .choices = of_choices_,
              .problems = of_keys_,
              .times = times_};
  }

  KernelLibrary with_table() const {
    LibraryInfo info = generated::library();
    info.tunings = tables_;
    return *KernelLibrary::open(info);
  }
  // Its rows in a store, in a folder of temporary files.
  std::string stored() const {
    const auto path = std::filesystem::temp_directory_path() / "qgen_selection_bench.sqlite";
    std::filesystem::remove(path);
    auto store = *tuning::Store::open(path);
    std::vector<tuning::TunedRow> rows;
    for (const std::string& key : keys_) {
      for (const std::string& id : choices_) {
        const double us = 10 + static_cast<double>(rows.size() % kKernelsOfALayer);
        rows.push_back({key, id, *digest_of(*problems_.front().op, id, library_), us, us, us, "2026-11-23", ""});
      }
    }
    (void)store.add(tuning::device_key(device_), profiles::to_yaml(device_), rows);
    return path;
  }
  const KernelLibrary& library() const { return library_; }
  const DeviceProfile& device() const { return device_; }
  const std::vector<Problem>& problems() const { return problems_; }

 private:
  KernelLibrary library_;
  DeviceProfile device_;
  std::vector<Problem> problems_;
  std::vector<std::string> choices_, keys_;
  std::vector<std::string_view> of_choices_;
  std::vector<TunedProblem> of_keys_;
  std::vector<TunedTime> times_;
  TuningInfo table_{};
  const TuningInfo* tables_[1] = {&table_};
};

void load_table(benchmark::State& state) {
  const MadeUpTimes times;
  const KernelLibrary library = times.with_table();
  for (auto _ : state) benchmark::DoNotOptimize(TimeBook(library));
}
void load_store(benchmark::State& state) {
  const MadeUpTimes times;
  const std::string path = times.stored();
  for (auto _ : state) benchmark::DoNotOptimize(tuning::known_times(times.library(), path));
}
// Of each layer once, then of a new book.
void first_look(benchmark::State& state) {
  const MadeUpTimes times;
  const KernelLibrary library = times.with_table();
  TimeBook book(library);
  size_t next = 0;
  for (auto _ : state) {
    if (next == kLayers) {
      state.PauseTiming();
      book = TimeBook(library);
      next = 0;
      state.ResumeTiming();
    }
    benchmark::DoNotOptimize(book.of(times.problems()[next++], times.device()));
  }
}
void look(benchmark::State& state, const Problem& problem) {
  const MadeUpTimes times;
  const KernelLibrary library = times.with_table();
  const TimeBook book(library);
  for (auto _ : state) benchmark::DoNotOptimize(book.of(problem, times.device()));
}
// A layer without times that was never looked up.
void first_look_near(benchmark::State& state) {
  const MadeUpTimes times;
  const KernelLibrary library = times.with_table();
  const TimeBook book(library);
  std::vector<Problem> asked;
  for (int64_t rows = 65; rows < 2065; ++rows) asked.push_back(linear(rows));
  size_t next = 0;
  for (auto _ : state) benchmark::DoNotOptimize(book.of(asked[next++ % asked.size()], times.device()));
}

// Each layer again and again, each time as if it were new to the cache; its times were looked up before.
void first_decision_timed(benchmark::State& state) {
  const MadeUpTimes times;
  const KernelLibrary library = times.with_table();
  const TimeBook book(library);
  for (const Problem& problem : times.problems()) (void)book.of(problem, times.device());
  DecisionCache decisions(times.device(), library, &book, 1);
  size_t next = 0;
  for (auto _ : state) benchmark::DoNotOptimize(decisions.best(times.problems()[next++ % kLayers]));
}
// The overhead of online tuning for a call when every kernel was tried.
void online_turn(benchmark::State& state, const Problem& problem) {
  const auto library = KernelLibrary::open(generated::library());
  const DeviceProfile device = testing::h200();
  OnlineTuning online({.share = 0.5});
  for (int i = 0; i < 1000; ++i) online.took(online.next(problem, device, *library, {}), 10);
  for (auto _ : state) online.took(online.next(problem, device, *library, {}), 10);
}

BENCHMARK(load_table)->Unit(benchmark::kMillisecond);
BENCHMARK(load_store)->Unit(benchmark::kMillisecond);
BENCHMARK(first_look);
BENCHMARK(first_look_near)->Iterations(2000);
BENCHMARK_CAPTURE(look, same, linear());
BENCHMARK_CAPTURE(look, near, linear(513));
BENCHMARK_CAPTURE(first_decision, q8ta_linear, linear());
BENCHMARK_CAPTURE(first_decision, q8ta_conv2d, convolution());
BENCHMARK_CAPTURE(first_decision, q8ta_add, add());
BENCHMARK_CAPTURE(repeated_decision, q8ta_linear, linear());
BENCHMARK_CAPTURE(repeated_decision, q8ta_conv2d, convolution());
BENCHMARK_CAPTURE(repeated_decision, q8ta_add, add());
BENCHMARK(first_decision_timed);
BENCHMARK_CAPTURE(online_turn, q8ta_linear, linear());
BENCHMARK_CAPTURE(key, q8ta_conv2d, convolution());

}  // namespace
}  // namespace qgen

BENCHMARK_MAIN();
