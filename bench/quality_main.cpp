// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// How good the choices are that no measured time decides. It needs no device: devices/ describes the devices, and two
// tables have the times of an H200, tuning/nvidia-h200.yaml and bench/held_out/nvidia-h200.yaml.zst.
//
//   quality              speed of the choices, relative to the fastest measured kernel; exit code 1: a figure is missed
//   quality --choices    the choice of each problem of the tables on each device, and with the times of tuning/: a line
//                        each. Compare this before and after a change that should change no choice
#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bench/affine_choices.h"
#include "common/files.h"
#include "common/log.h"
#include "registry.h"
#include "runtime/engine/selector/select.h"
#include "runtime/engine/selector/time_book.h"
#include "runtime/engine/tuning/tuning_file.h"
#include "tests/runtime/engine/operators/h200.h"

namespace qgen {
namespace {

constexpr size_t kMostBytes = size_t{64} << 20;

[[noreturn]] void fail(const std::string& message) {
  print_log("quality: {}\n", message);
  std::exit(2);
}

template <typename T>
T must(Expected<T> value) {
  if (!value) fail(to_text(value.error()));
  return *std::move(value);
}

// ---- tables ---------------------------------------------------------------------------------------------------------

std::string decompressed(const std::string& bytes) {
  std::string text(ZSTD_getFrameContentSize(bytes.data(), bytes.size()), '\0');
  const size_t got = ZSTD_decompress(text.data(), text.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(got) || got != text.size()) fail("the held-out table is damaged");
  return text;
}

tuning::TuningFile tuned_table() {
  return must(tuning::load_tuning_file(tests::source_folder() + "/tuning/nvidia-h200.yaml"));
}
tuning::TuningFile held_out_table() {
  const std::string file = "/bench/held_out/nvidia-h200.yaml.zst";
  return must(tuning::read_tuning_file(file, decompressed(must(read_file(tests::source_folder() + file, kMostBytes)))));
}

using Rows = std::vector<tuning::TunedRow>;

std::map<std::string, Rows> by_problem(const tuning::TuningFile& table) {
  std::map<std::string, Rows> problems;
  for (const tuning::TunedRow& row : tuning::comparable(table.rows)) problems[row.problem].push_back(row);
  return problems;
}

std::string best_id(const Problem& problem, const DeviceProfile& device, const KernelLibrary& library,
                    const KernelTimes* times = nullptr) {
  const SelectOptions options{.best_only = true, .best_or_nothing = true, .times = times};
  const Selection selection = select(problem, device, library, options);
  return selection.ranked.empty() ? "no kernel" : selection.ranked.front().id;
}

// ---- figures --------------------------------------------------------------------------------------------------------

struct Figures {
  size_t problems = 0, timed = 0;  // problems whose choice has a time in the table
  size_t changed = 0;              // compared kernels whose SPIR-V is another now
  double logs = 0, least = 1;

  double mean() const { return timed == 0 ? 0 : std::exp(logs / static_cast<double>(timed)); }
};

bool is_any(std::string_view) { return true; }
bool is_linear(std::string_view op) { return op.find("linear") != op.npos; }

Figures figures_of(const tuning::TuningFile& table, const KernelLibrary& library, bool (*wanted)(std::string_view)) {
  const DeviceProfile device = testing::h200();
  Figures figures;
  for (const auto& [key, rows] : by_problem(table)) {
    if (!wanted(operator_of(key))) continue;
    ++figures.problems;
    const Problem problem = must(problem_of(key, library));
    const auto chosen = std::ranges::find(rows, best_id(problem, device, library), &tuning::TunedRow::kernel);
    if (chosen == rows.end()) continue;
    const auto best = std::ranges::min_element(rows, {}, &tuning::TunedRow::us);
    for (const auto& row : {chosen, best}) {
      figures.changed += digest_of(*problem.op, row->kernel, library) != row->digest ? 1 : 0;
    }
    const double speed = best->us / chosen->us;
    ++figures.timed;
    figures.logs += std::log(speed);
    figures.least = std::min(figures.least, speed);
  }
  return figures;
}

struct Wanted {
  const char* table;
  const char* operators;
  bool (*are)(std::string_view);
  double mean, least;  // 0: no figure is wanted
};
constexpr Wanted kWanted[] = {
    {"tuning", "linear layers", is_linear, 0.97, 0.73},
    {"tuning", "all", is_any, 0, 0},
    {"held out", "linear layers", is_linear, 0.94, 0.67},
    {"held out", "all", is_any, 0, 0},
};

int print_figures(const KernelLibrary& library) {
  const tuning::TuningFile tuned = tuned_table(), held_out = held_out_table();
  constexpr double kTimed = 0.9;
  bool is_good = true;
  fmt::print("{:<10}{:<15}{:>9}{:>9}{:>16}{:>16}{:>9}\n", "table", "operators", "problems", "timed", "geometric mean",
             "at worst", "changed");
  for (const Wanted& row : kWanted) {
    const Figures f = figures_of(std::string_view(row.table) == "tuning" ? tuned : held_out, library, row.are);
    const double timed = static_cast<double>(f.timed) / static_cast<double>(std::max<size_t>(1, f.problems));
    const auto figure = [](double got, double wanted) {
      return wanted > 0 ? fmt::format("{:.3f} (>= {})", got, wanted) : fmt::format("{:.3f}", got);
    };
    fmt::print("{:<10}{:<15}{:>9}{:>8.1f}%{:>16}{:>16}{:>9}\n", row.table, row.operators, f.problems, 100 * timed,
               figure(f.mean(), row.mean), figure(f.least, row.least), f.changed);
    is_good &= row.mean == 0 || (f.mean() >= row.mean && f.least >= row.least && timed >= kTimed);
  }
  fmt::print(
      "timed: problems whose choice was measured. changed: times of kernels that are compiled to others now.\n"
      "Where they are few or many, qgen-tune measures the table anew.\n");
  const ChoiceCount affine = count_affine_choices(library);
  fmt::print("choices of affine quantization, which are estimated: {} of {} as written down\n{}", affine.as_written,
             affine.all, affine.differences);
  return is_good && affine.as_written == affine.all ? 0 : 1;
}

// ---- choices --------------------------------------------------------------------------------------------------------

std::vector<DeviceProfile> described_devices() {
  std::vector<DeviceProfile> devices = {testing::h200()};
  const std::string folder = tests::source_folder() + "/devices/";
  const std::vector<std::string> files = must(list_files(folder));
  for (const std::string& file : files) {
    const bool is_device = file.ends_with(".yaml") && file != "quirks.yaml";
    if (is_device) devices.push_back(must(profiles::load_device(folder + file)));
  }
  return devices;
}

// The times of a table whose kernels the library has, whatever they are compiled to now.
TimeBook book_of(const tuning::TuningFile& table, const KernelLibrary& library) {
  std::vector<TimedKernel> times;
  for (const tuning::TunedRow& row : table.rows) {
    const OperatorInfo* op = library.find(operator_of(row.problem));
    const auto digest = op ? digest_of(*op, row.kernel, library) : std::nullopt;
    if (digest) times.push_back({row.problem, row.kernel, *digest, row.us, row.date, row.is_cold});
  }
  TimeBook book(library);
  (void)book.add(table.device, times);
  return book;
}

int print_choices(const KernelLibrary& library) {
  const tuning::TuningFile tuned = tuned_table();
  std::set<std::string> keys;
  for (const tuning::TuningFile& table : {tuned, held_out_table()}) {
    for (const tuning::TunedRow& row : table.rows) keys.insert(row.problem);
  }
  const TimeBook book = book_of(tuned, library);
  const std::vector<DeviceProfile> devices = described_devices();
  for (const std::string& key : keys) {
    const Problem problem = must(problem_of(key, library));
    for (const DeviceProfile& device : devices) {
      fmt::print("{}\t{}\t{}\n", device.name, key, best_id(problem, device, library));
    }
    const auto times = book.of(problem, tuned.device);
    fmt::print("timed\t{}\t{}\n", key, best_id(problem, tuned.device, library, times.get()));
  }
  return 0;
}

}  // namespace
}  // namespace qgen

int main(int argc, char** argv) {
  const auto library = qgen::must(qgen::KernelLibrary::open(qgen::generated::library()));
  const bool wants_choices = argc == 2 && std::string_view(argv[1]) == "--choices";
  if (argc > 1 && !wants_choices) qgen::fail("takes --choices or nothing");
  return wants_choices ? qgen::print_choices(library) : qgen::print_figures(library);
}
