// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// How far a long run is: one bar that redraws itself on a terminal, a line at each quarter elsewhere. Runs of under
// half a second say nothing.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace qgen {

class Progress {
 public:
  // Writes to stderr. `is_terminal`: whether that is one.
  explicit Progress(bool is_terminal);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // For what takes long before its first step is done: draws the bar on a terminal whatever the time.
  void show_at_once(std::string_view what, size_t done, size_t total);
  // Safe from many threads. The note stands behind the bar, as far as the terminal is wide.
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
  std::string what_;
  size_t quarters_ = 0;
  bool is_drawn_ = false;
};

// "render   [##########----------]  500 of 1000"
std::string progress_bar(std::string_view what, size_t done, size_t total);
// The bar, and the note behind it, cut where a line of so many columns would break.
std::string progress_line(std::string_view what, size_t done, size_t total, std::string_view note, size_t columns);

}  // namespace qgen
