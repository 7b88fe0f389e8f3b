// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// How far a long run is. On a terminal that is one bar, which redraws itself, and runs of under half a second show
// none. In a pipe or a file it is a line now and then, and runs of under five seconds have none.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace qgen {

// Which steps a log has lines of: one for each tenth of a stage, and one whenever the stage has taken twice as long as at
// its last line. So a stage of hours has a line after seconds, and some twenty in all. There are five seconds at least
// between two lines.
class LogRhythm {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit LogRhythm(Time start) : last_line_(start), stage_start_(start) {}

  // Whether to print a line now; if so, the next one is due later.
  bool is_due(std::string_view stage, size_t done, size_t total, Time now);

 private:
  Time last_line_;
  std::string stage_;
  Time stage_start_;
  Time::duration elapsed_{};  // in the stage, at its last line
  size_t tenths_ = 0;         // of the stage, that had a line
};

class Progress {
 public:
  // Writes to stderr. `is_terminal`: whether that is one.
  explicit Progress(bool is_terminal);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // For work that takes long before its first step is done: draws the bar on a terminal immediately.
  void show_at_once(std::string_view what, size_t done, size_t total);
  // Safe from many threads. The note is after the bar, as far as the terminal is wide.
  void show(std::string_view what, size_t done, size_t total, std::string_view note = "");
  // Takes the bar off the screen.
  void clear();

 private:
  void draw(std::string_view what, size_t done, size_t total, std::string_view note);  // with mutex_ held

  using Clock = std::chrono::steady_clock;
  const bool is_terminal_;
  std::mutex mutex_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point last_drawn_{};
  LogRhythm rhythm_{start_};
  bool is_drawn_ = false;
};

// "render   [##########----------]  500 of 1000"
std::string progress_bar(std::string_view what, size_t done, size_t total);
// The bar and its note, cut to so many columns.
std::string progress_line(std::string_view what, size_t done, size_t total, std::string_view note, size_t columns);

}  // namespace qgen
