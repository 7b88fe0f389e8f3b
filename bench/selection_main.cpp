// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// How long choosing takes, without a device: the first decision of a problem, and one that was made before.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>

#include "operators.h"
#include "registry.h"
#include "runtime/selector/decision_cache.h"
#include "tests/runtime/operators/h200.h"

namespace qgen {
namespace {

using namespace generated::operators;

TensorDesc reals(const Shape& shape) { return {DType::f32, shape}; }
TensorDesc weight(const Shape& shape) {
  TensorDesc desc{DType::i8, shape, Storage::buffer, Layout::weight_q8_4k4n};
  desc.other_layouts = bit(Layout::weight_q8_rows);
  return desc;
}

Problem linear() {
  return q8ta_linear_call({.input = TensorDesc{DType::i8, {512, 4096}},
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

// Each turn asks of another scale, so that the problem is new; what the device can run was found out by the first.
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
BENCHMARK_CAPTURE(first_decision, q8ta_linear, linear());
BENCHMARK_CAPTURE(first_decision, q8ta_conv2d, convolution());
BENCHMARK_CAPTURE(first_decision, q8ta_add, add());
BENCHMARK_CAPTURE(repeated_decision, q8ta_linear, linear());
BENCHMARK_CAPTURE(repeated_decision, q8ta_conv2d, convolution());
BENCHMARK_CAPTURE(repeated_decision, q8ta_add, add());
BENCHMARK_CAPTURE(key, q8ta_conv2d, convolution());

}  // namespace
}  // namespace qgen

BENCHMARK_MAIN();
