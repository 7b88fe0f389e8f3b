// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Makes kernels of the chains of a model that take the longest, by estimate. The estimates of several devices are
// added.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "common/count_text.h"
#include "common/files.h"
#include "common/progress.h"
#include "runtime/engine/operators/pointwise/chain_file.h"
#include "runtime/workshop/model/plan.h"
#include "runtime/workshop/runner/arguments.h"
#include "runtime/workshop/runner/compile_chains.h"

namespace qgen::model {
namespace {

struct UsedChain {
  chains::TypedChain chain;
  size_t layers = 0;   // of the plan for one device
  double time_us = 0;  // of all layers, on all devices
};

void add_chains(const graph::Schedule& schedule, std::map<uint64_t, UsedChain>& used) {
  std::map<uint64_t, size_t> layers;
  for (const graph::Step& step : schedule.steps) {
    if (step.entry->name != "pointwise") continue;
    chains::TypedChain chain = chains::chain_of(step.call.problem);
    const uint64_t digest = chains::digest_of(chain);
    UsedChain& one = used[digest];
    one.chain = std::move(chain);
    one.time_us += step.choice->time_us;
    one.layers = std::max(one.layers, ++layers[digest]);
  }
}

// The chains of the plans for all devices, the most expensive first.
Expected<std::vector<UsedChain>> chains_of(const Program& program, const Arguments& arguments,
                                           const Question& question) {
  const auto devices = devices_of(program, arguments);
  if (!devices) return devices.error();
  const TimeBook times(program.library);
  std::map<uint64_t, UsedChain> used;
  for (const DeviceProfile& device : *devices) {
    const auto schedule = schedule_for(device, program, arguments, question, times);
    if (!schedule)
      return refused(fmt::format("for {}: {}", device.name, schedule.error().message), schedule.error().hint);
    add_chains(*schedule, used);
  }
  std::vector<UsedChain> sorted;
  for (auto& [digest, one] : used) sorted.push_back(std::move(one));
  std::ranges::stable_sort(sorted, std::greater(), &UsedChain::time_us);
  return sorted;
}

std::string line_of(const UsedChain& used, double total_us) {
  const size_t steps = used.chain.chain.steps.size() / 4;
  return fmt::format("  {}: {}, {}, {:.0f} % of the chains' time\n", chains::kernel_id(used.chain),
                     count_text(steps, "step"), count_text(used.layers, "layer"),
                     total_us > 0 ? 100 * used.time_us / total_us : 0);
}

}  // namespace

Expected<int> compile_chains(const Program& program, const Arguments& arguments) {
  const auto generator = runner::find_generator(arguments.chains.generator, arguments.chains.operators);
  if (!generator) return generator.error();
  const auto question = read_question(arguments);
  if (!question) return question.error();
  if (question->loaded.compiled)
    return refused(fmt::format("{} is compiled already", arguments.model), "give the ONNX file");
  auto used = chains_of(program, arguments, *question);
  if (!used) return used.error();
  const double total_us = std::accumulate(used->begin(), used->end(), 0.0,
                                          [](double sum, const UsedChain& one) { return sum + one.time_us; });
  const size_t all = used->size();
  used->resize(std::min(all, arguments.chains.most));
  std::vector<chains::TypedChain> chains;
  for (const UsedChain& one : *used) chains.push_back(one.chain);

  Progress progress(::isatty(STDERR_FILENO) != 0);
  const auto blob = runner::compile_chains(chains, *generator,
                                           [&](size_t done, size_t total) { progress.show("chains", done, total); });
  progress.clear();
  if (!blob) return blob.error();
  const std::vector<std::byte> file = chains::write_chains(chains, *blob);
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (Done written = write_file(arguments.compiled, text); !written) return written.error();
  fmt::print("{}: kernels of {} of {} chains, {:.1f} KiB\n", arguments.compiled, chains.size(), all,
             static_cast<double>(file.size()) / 1024);
  for (const UsedChain& one : *used) fmt::print("{}", line_of(one, total_us));
  return runner::kDone;
}

}  // namespace qgen::model
