// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <thread>

#include "common/files.h"
#include "common/program.h"
#include "common/progress.h"
#include "common/stopwatch.h"
#include "common/text.h"
#include "common/time_text.h"
#include "runtime/engine/profiles/device_file.h"
#include "runtime/engine/tuning/tuning_file.h"
#include "runtime/workshop/measure/device_clocks.h"
#include "runtime/workshop/tuner/commands.h"
#include "runtime/workshop/tuner/final_round.h"
#include "runtime/workshop/tuner/relatives.h"
#include "runtime/workshop/tuner/tuner.h"
#include "runtime/workshop/tuner/worker.h"

namespace qgen::tuner {
namespace {

constexpr double kBudgetOfEach = 60;
constexpr double kBuiltInUs = 5000;  // that a built-in problem takes at most, at the device's rates

std::atomic<bool> is_stopped = false;

// The first interrupt ends the tuning between two measurements, the second at once.
void stop_when_interrupted() {
  struct sigaction action {};
  action.sa_handler = [](int) { is_stopped = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

// ---- what is to be tuned --------------------------------------------------------------------------------------------

Expected<std::vector<runner::Task>> all_tasks(const Program& program, const Arguments& arguments) {
  if (!arguments.request.shapes.empty())
    return std::vector{runner::Task{arguments.operators.front(), arguments.request}};
  if (arguments.problems.empty() && program.problems.empty()) {
    return refused("no problems are built in",
                   "name a file with --problems, or one problem with --operator and --shape");
  }
  if (arguments.problems.empty()) return runner::read_tasks("the built-in problems", program.problems);
  const auto text = read_file(arguments.problems, size_t{1} << 26);
  if (!text) return text.error();
  return runner::read_tasks(arguments.problems, *text);
}

Expected<std::vector<runner::Task>> tasks_of(const Program& program, const Arguments& arguments) {
  for (const std::string& op : arguments.operators) {
    if (!find_operator(program.library.operators, op)) return unknown_operator(program.library.operators, op);
  }
  auto tasks = all_tasks(program, arguments);
  if (!tasks) return tasks;
  std::erase_if(*tasks, [&](const runner::Task& task) {
    return !arguments.operators.empty() && std::ranges::find(arguments.operators, task.op) == arguments.operators.end();
  });
  if (tasks->empty()) {
    return refused("there is no problem to tune", "name some with --problems, or one with --operator and --shape");
  }
  return tasks;
}

bool are_built_in(const Arguments& arguments) { return arguments.request.shapes.empty() && arguments.problems.empty(); }

// Built-in problems are large enough for a large GPU. On others they are smaller, so that a kernel takes milliseconds.
Done fit_built_in(std::vector<runner::Task>& tasks, Tuner& tuner) {
  const auto rates = tuner.rates();
  if (!rates) return rates.error();
  size_t smaller = 0;
  for (runner::Task& task : tasks) {
    runner::RequestText fit = fitted(task.request, *rates, kBuiltInUs);
    smaller += fit.shapes != task.request.shapes ? 1 : 0;
    task.request = std::move(fit);
  }
  if (smaller > 0) {
    fmt::print("{} of {} built-in problems are made smaller, to take about {:.0f} ms at the rates of this device\n",
               smaller, tasks.size(), kBuiltInUs / 1000);
  }
  return std::monostate{};
}

// In the order in which they are tuned; of a part of them only these. Small problems take less than their
// share. The large ones, whose data and references take long, get the rest.
Done sort_and_share(std::vector<runner::Task>& tasks, const Shard& shard) {
  std::ranges::stable_sort(tasks, {}, [](const runner::Task& task) { return elements_of(task.request); });
  const size_t all = tasks.size();
  size_t place = 0;
  std::erase_if(tasks, [&](const runner::Task&) { return !shard.has(place++); });
  if (!tasks.empty()) return std::monostate{};
  return refused(fmt::format("part {} has no problem, since there are {}", to_text(shard), all),
                 fmt::format("make {} parts or fewer", all));
}

Shares shares_of(const Arguments& arguments, const std::vector<runner::Task>& tasks) {
  std::vector<double> elements;
  for (const runner::Task& task : tasks) elements.push_back(elements_of(task.request));
  const double of_default = kBudgetOfEach * static_cast<double>(tasks.size());
  const double budget_s = arguments.budget_s > 0 ? arguments.budget_s : of_default;
  return {budget_of(arguments.search.strategy, budget_s), std::move(elements)};
}

// ---- what is shown --------------------------------------------------------------------------------------------------

// "; now gpu 585 of 850 MHz, cpu 1800 of 2400 MHz", where the system tells clocks.
std::string clocks_text() {
  std::string text;
  for (const measure::DeviceClock& clock : measure::device_clocks()) {
    text += fmt::format("{} {} {:.0f} of {:.0f} MHz", text.empty() ? "; now" : ",", clock.name, clock.now_mhz,
                        clock.most_mhz);
  }
  return text;
}

// What a drift led to: "  the final round was measured 2 times; its times are marked: ...".
std::string marks_text(const TaskReport& report) {
  std::vector<std::string> parts;
  if (report.finals > 1) parts.push_back(fmt::format("the final round was measured {} times", report.finals));
  if (report.clock < 1) {
    parts.push_back(fmt::format("its times are marked: the device ran at {:.2f} of its best", report.clock));
  } else if (report.finals > 1) {
    parts.emplace_back("the one that counts met a steady device");
  }
  return parts.empty() ? "" : fmt::format("  {}\n", fmt::join(parts, "; "));
}

class Display {
 public:
  Display(size_t problems, bool has_references) : problems_(problems), has_references_(has_references) {}

  void begin(size_t index, const runner::Task& task) {
    fmt::print("[{}/{}] {}\n", index + 1, problems_, command_of(task));
    std::fflush(stdout);
  }
  void event(const TunerEvent& event) {
    if (event.stage == "dropped") {
      progress_.clear();
      fmt::print("  dropped {}\n", printable(event.text));
      std::fflush(stdout);
    } else if (event.all > 0 && is_terminal_) {  // a log would have a line for each batch; it has the results
      const bool has_best = !event.best.empty();
      progress_.show(event.stage, event.done, event.all,
                     has_best ? fmt::format("best {} us  {}", us_text(event.best_us), event.best) : "");
    }
  }
  void end(const TaskReport& report) {
    progress_.clear();
    constexpr size_t kShown = 3;
    for (size_t i = 0; i < std::min(kShown, report.found.ranked.size()); ++i) {
      const Measured& measured = report.found.ranked[i];
      fmt::print("  {:>9} us  {} to {}  {}\n", us_text(measured.us.median), us_text(measured.us.low),
                 us_text(measured.us.high), measured.id);
    }
    if (const std::string why = why_nothing(report); !why.empty()) fmt::print("  {}\n", why);
    if (report.by_relatives > 0) {
      fmt::print("  {}: {} of {}. {}\n",
                 has_references_ ? "verified on small relatives only" : "compared with each other only",
                 report.by_relatives, report.found.ranked.size(),
                 has_references_ ? "The reference takes too long here, and no two kernels of different templates agree"
                                 : "There is no reference, and all kernels are of one template");
    }
    if (report.ties > 1) {
      fmt::print("  {} kernels of the final are as fast, within {:.0f} %: the smallest estimate is first\n",
                 report.ties, 100 * kMargin);
    }
    if (report.found.is_at_roof) {
      fmt::print(
          "  the best is within {:.0f} % of what the device's measured rates allow ({} us), so the search ended\n",
          100 * (kNearRoof - 1), us_text(report.roof_us));
    }
    if (const double drift = drift_of(report.base_us); drift > kDrift) {
      fmt::print("  the device's own rates changed by {:.0f} % meanwhile: it throttles, or shares its time{}\n",
                 100 * drift, clocks_text());
    }
    fmt::print("{}", marks_text(report));
    if (report.untuned && !report.found.ranked.empty()) {
      fmt::print("  the untuned choice takes {} us, {:.2f} times as long: {}\n", us_text(report.untuned->us.median),
                 report.untuned->us.median / report.found.ranked.front().us.median, report.untuned->id);
    }
    if (report.has_cold_times) {
      fmt::print(
          "  programs choose by times with a cold cache, since the store has such times of this problem: use "
          "--cold\n");
    }
    for (const std::string& suspicion : report.suspicions) {
      fmt::print("  the reference may be wrong: {}\n", printable(suspicion));
    }
    if (report.left_out > 0) {
      fmt::print("  {} more were rarely the best on such devices; --strategy exhaustive measures them\n",
                 report.left_out);
    }
    fmt::print("  {} of {} candidates measured{} in {:.1f} s\n", report.found.tried, report.candidates,
               report.dropped.empty() ? "" : fmt::format(", {} dropped,", report.dropped.size()), report.seconds);
    std::fflush(stdout);
  }
  void failed(const Error& error) {
    progress_.clear();
    fmt::print("  {}\n", to_text(error));
    std::fflush(stdout);
  }

 private:
  size_t problems_;
  bool has_references_;
  bool is_terminal_ = ::isatty(STDERR_FILENO) != 0;
  Progress progress_{is_terminal_};
};

// The worker's process. Its exit code names what the machine lacks.
int work(const Program& program, const Arguments& arguments) {
  return qgen::run_program(program.library.name, [&] {
    return run_worker(program.library, {.device = arguments.device,
                                        .mask = arguments.mask,
                                        .hang_ms = static_cast<uint64_t>(1000 * arguments.hang_s),
                                        .cool_s = arguments.cool_s,
                                        .on_candidate = program.on_candidate});
  });
}

// The device's own limit comes first, where it is kept. A worker is silent while it raises a clock, too.
std::chrono::milliseconds patience_of(const Arguments& arguments) {
  constexpr double kRaising = 15;
  return std::chrono::milliseconds(static_cast<int64_t>(1000 * (2 * arguments.hang_s + kRaising + arguments.cool_s)));
}

// The times of this run's problems, with the device's base times.
class Result {
 public:
  explicit Result(tuning::Store& store) : store_(store) {}
  Done add(const TaskReport& report);
  // In the place of an older one, complete.
  Done write(const std::string& path) const { return write_file(path, to_yaml(file_)); }
  bool is_empty() const { return file_.rows.empty(); }

 private:
  tuning::Store& store_;
  tuning::TuningFile file_;
};

Done Result::add(const TaskReport& report) {
  auto device = profiles::read_device(report.profile, "the device");
  if (!device) return device.error();
  file_.device = *std::move(device);
  auto stored = store_.read(report.device_key, {.problem = report.problem});
  if (!stored) return stored.error();
  std::erase_if(stored->rows, [](const tuning::TunedRow& row) { return row.samples == 1; });  // looks
  if (stored->rows.empty()) return std::monostate{};
  std::vector<double>& base_us = file_.base_us[report.problem];
  std::ranges::copy_if(report.counted_base_us, std::back_inserter(base_us), [](double us) { return us > 0; });
  if (base_us.empty()) return refused("the device's base time was not measured", "measure again");
  std::ranges::move(stored->rows, std::back_inserter(file_.rows));
  std::ranges::sort(file_.rows, {}, [](const tuning::TunedRow& row) { return order_of(row); });
  return std::monostate{};
}

// The store that a run with --out keeps beside its result, so that a killed run goes on where it was.
void remove_part_store(const Arguments& arguments) {
  if (!arguments.store.empty()) return;
  std::error_code code;
  const std::string path = store_path(arguments).string();
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path + end, code);
}

// The file of --out. The store beside it is not needed any more, if no problem failed.
Done write_result(const Arguments& arguments, const Result& result, bool has_failed) {
  if (result.is_empty()) return refused("no time was measured, so there is no result");
  if (Done written = result.write(arguments.result); !written) return written;
  if (!has_failed) remove_part_store(arguments);
  return std::monostate{};
}

}  // namespace

Expected<int> tune(const Program& program, const Arguments& arguments) {
  auto tasks = tasks_of(program, arguments);
  if (!tasks) return tasks.error();
  if (!arguments.result.empty()) {
    if (Done may = check_can_write(arguments.result); !may) return may.error();
  }
  auto store = tuning::Store::open(store_path(arguments));
  if (!store) return store.error();
  stop_when_interrupted();

  Display* shown = nullptr;
  TunerOptions options{.worker = {.work = [&] { return work(program, arguments); }, .patience = patience_of(arguments)},
                       .search = arguments.search,
                       .is_cold = arguments.is_cold,
                       .is_anew = arguments.is_anew,
                       .on_event =
                           [&](const TunerEvent& event) {
                             if (shown) shown->event(event);
                           },
                       .is_stopped = &is_stopped};
  options.search.batch = std::clamp<size_t>(std::thread::hardware_concurrency(), 2, options.search.batch);
  Tuner tuner(*store, options);
  if (are_built_in(arguments)) {
    if (Done fit = fit_built_in(*tasks, tuner); !fit) return fit.error();
  }
  if (Done shared = sort_and_share(*tasks, arguments.shard); !shared) return shared.error();
  Display display(tasks->size(), program.library.answers != nullptr);
  shown = &display;
  Result result(*store);
  Shares shares = shares_of(arguments, *tasks);
  bool has_failed = false;
  for (size_t i = 0; i < tasks->size(); ++i) {
    display.begin(i, (*tasks)[i]);
    if (const Done may = shares.may_begin(); !may) {
      display.failed(may.error());
      has_failed = true;
      shares.spent({.is_left_out = true});
      continue;
    }
    Stopwatch watch;
    const auto report = tuner.tune((*tasks)[i], shares.next());
    Shares::Spent spent{.seconds = watch.lap_ms() / 1000};
    if (report) spent = {spent.seconds, report->opened_s, report->found.pace, is_untried(*report)};
    shares.spent(spent);
    if (is_stopped) return interrupted();
    if (!report && report.error().kind == Error::Kind::device) return report.error();
    if (report) display.end(*report);
    else display.failed(report.error());
    has_failed |= !report || report->found.ranked.empty();
    if (report && !arguments.result.empty()) {
      if (Done added = result.add(*report); !added) return added.error();
    }
  }
  if (!arguments.result.empty()) {
    if (Done written = write_result(arguments, result, has_failed); !written) return written.error();
  }
  if (const std::string left_out = shares.of_left_out(); !left_out.empty()) fmt::print("{}\n", left_out);
  return has_failed ? kSomeFailed : kDone;
}

}  // namespace qgen::tuner
