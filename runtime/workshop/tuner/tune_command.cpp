// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>

#include "common/files.h"
#include "common/program.h"
#include "common/progress.h"
#include "common/stopwatch.h"
#include "common/text.h"
#include "common/time_text.h"
#include "runtime/workshop/tuner/commands.h"
#include "runtime/workshop/tuner/relatives.h"
#include "runtime/workshop/tuner/tuner.h"
#include "runtime/workshop/tuner/worker.h"

namespace qgen::tuner {
namespace {

constexpr double kBudgetOfEach = 60;

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
  // Small problems take less than their share. The large ones, whose data and references take long, get the rest.
  std::ranges::stable_sort(*tasks, {}, [](const runner::Task& task) { return elements_of(task.request); });
  return tasks;
}

Shares shares_of(const Arguments& arguments, const std::vector<runner::Task>& tasks) {
  std::vector<double> elements;
  for (const runner::Task& task : tasks) elements.push_back(elements_of(task.request));
  const double of_default = kBudgetOfEach * static_cast<double>(tasks.size());
  const double budget_s = arguments.budget_s > 0 ? arguments.budget_s : of_default;
  return {budget_of(arguments.search.strategy, budget_s), std::move(elements)};
}

// ---- what is shown --------------------------------------------------------------------------------------------------

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
                                        .on_candidate = program.on_candidate});
  });
}

}  // namespace

Expected<int> tune(const Program& program, const Arguments& arguments) {
  const auto tasks = tasks_of(program, arguments);
  if (!tasks) return tasks.error();
  auto store = tuning::Store::open(store_path(arguments));
  if (!store) return store.error();
  stop_when_interrupted();

  Display display(tasks->size(), program.library.answers != nullptr);
  TunerOptions options{
      .worker = {.work = [&] { return work(program, arguments); },
                 // The device's own limit comes first, where it is kept.
                 .patience = std::chrono::milliseconds(static_cast<int64_t>(2000 * arguments.hang_s + 5000))},
      .search = arguments.search,
      .is_cold = arguments.is_cold,
      .is_anew = arguments.is_anew,
      .on_event = [&](const TunerEvent& event) { display.event(event); },
      .is_stopped = &is_stopped};
  options.search.batch = std::clamp<size_t>(std::thread::hardware_concurrency(), 2, options.search.batch);
  Tuner tuner(*store, options);
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
  }
  if (const std::string left_out = shares.of_left_out(); !left_out.empty()) fmt::print("{}\n", left_out);
  return has_failed ? kSomeFailed : kDone;
}

}  // namespace qgen::tuner
