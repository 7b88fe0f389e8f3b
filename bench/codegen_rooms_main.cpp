// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// codegen_rooms SPECS TEMPLATES: the generator's figures that need measuring inside a process, as JSON.
//
//   require_ms     expanding a spec of 100,000 raw combinations, each of which meets three conditions that read all
//                  parameters: the median of several times
//   module_ms      one module out of the blob of SPECS: the median, and the worst, which unpacks a dictionary too
//   equal_modules  how many of `modules` came out of the blob as the compiler made them
//
// Times are CPU time of this thread, so that a busy machine does not show.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "codegen/pipeline.h"
#include "codegen/spec/parse_spec.h"
#include "common/log.h"
#include "runtime/engine/library/blob.h"

namespace {

using namespace qgen;

constexpr int kRepeats = 9;
constexpr size_t kCombinations = 100'000;

constexpr std::string_view kRequireSpec = R"(operator: wide
template: wide.comp
operands: {x: {access: read, dtype: f32}}
parameters:
  a: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
  b: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
  c: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
  d: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
  e: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
require:
  - (a + 3 * b + 5 * c + 7 * d + 11 * e) % 8 == 0
  - a * b * c <= 4096 or d * e in (1, 6, 12, 64)
  - min(a * 1024, b * 2048) + c * d * e <= max(49152, 1024 * e)
grid: [1, 1, 1]
)";

double cpu_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<long>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

[[noreturn]] void give_up(const std::string& text) {
  print_log("codegen_rooms: {}\n", text);
  std::exit(1);
}

template <typename T>
T or_give_up(Result<T> result) {
  if (!result) give_up(to_text(result.error(), {}));
  return *std::move(result);
}

double require_ms() {
  const spec::Spec spec = or_give_up(spec::parse_spec(kRequireSpec, "wide.yaml"));
  std::vector<double> times;
  for (int i = 0; i < kRepeats; ++i) {
    const double begin = cpu_ms();
    const auto variants = or_give_up(expand::expand(spec, kCombinations));
    times.push_back(cpu_ms() - begin);
    if (variants.size() < 1000) give_up("the conditions leave too little to be work");
  }
  return median(times);
}

// The words of every variant's module, in the blob's order.
std::vector<const blob_format::Module*> modules_of(const Product& product) {
  std::vector<const blob_format::Module*> modules;
  for (const SpecJob& job : product.jobs) {
    for (const auto* module : job.modules) modules.push_back(job.pack.spirv(module->spirv));
  }
  return modules;
}

std::string blob_figures(const Product& product) {
  const auto file =
      std::find_if(product.files.begin(), product.files.end(), [](const emit::File& f) { return f.path == kBlobFile; });
  const auto blob = Blob::open(std::as_bytes(std::span(file->text.data(), file->text.size())));
  if (!blob) give_up(to_text(blob.error()));
  const auto modules = modules_of(product);
  std::vector<size_t> order(modules.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937(1));

  std::vector<double> times;
  size_t equal = 0;
  for (const size_t i : order) {
    const double begin = cpu_ms();
    const auto words = blob->module(i);
    times.push_back(cpu_ms() - begin);
    equal += words && *words == *modules[i] ? 1 : 0;
  }
  return fmt::format("\"module_ms\": {:.4f}, \"worst_module_ms\": {:.4f}, \"equal_modules\": {}, \"modules\": {}",
                     median(times), *std::max_element(times.begin(), times.end()), equal, modules.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) give_up("expected SPECS TEMPLATES");
  auto inputs = read_inputs({argv[1]}, {argv[2]});
  if (!inputs) give_up(to_text(inputs.error()));
  ThreadPool threads(0);
  const workers::ModuleTools tools = workers::in_this_process();
  const Machine machine{threads, tools, "", {}, {}};
  const Product product = or_give_up(generate(*inputs, {}, machine));
  fmt::print("{{\"require_ms\": {:.2f}, {}}}\n", require_ms(), blob_figures(product));
}
