// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Threads report as they finish; the clock decides who draws, so that a run of many short steps is not slowed by its
// bar.
#include "common/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/log.h"

namespace qgen {
namespace {

constexpr auto kQuietTime = std::chrono::milliseconds(500);
constexpr auto kRedrawTime = std::chrono::milliseconds(50);
constexpr auto kTimeBetweenLines = std::chrono::seconds(5);
constexpr size_t kLinesOfStage = 10;
constexpr size_t kBarWidth = 40;

size_t columns_of_terminal() {
  constexpr size_t kUsual = 80;
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

}  // namespace

std::string progress_bar(std::string_view what, size_t done, size_t total) {
  const size_t filled = total == 0 ? kBarWidth : kBarWidth * done / total;
  return fmt::format("{:<8} [{:#<{}}{:-<{}}] {:>5} of {}", what, "", filled, "", kBarWidth - filled, done, total);
}

std::string progress_line(std::string_view what, size_t done, size_t total, std::string_view note, size_t columns) {
  std::string line = progress_bar(what, done, total);
  if (!note.empty()) line += fmt::format("  {}", note);
  return line.substr(0, columns - 1);  // the last column stays free: some terminals break the line after it
}

bool LogRhythm::is_due(std::string_view stage, size_t done, size_t total, Time now) {
  if (stage_ != stage) {
    if (!stage_.empty()) stage_start_ = now;
    stage_ = stage;
    elapsed_ = {};
    tenths_ = 0;
  }
  const size_t tenths = total == 0 ? 0 : kLinesOfStage * done / total;
  const auto elapsed = now - stage_start_;
  const bool has_news = tenths > tenths_ || (total != 0 && elapsed >= 2 * elapsed_);
  if (!has_news || now - last_line_ < kTimeBetweenLines) return false;
  tenths_ = tenths;
  elapsed_ = elapsed;
  last_line_ = now;
  return true;
}

Progress::Progress(bool is_terminal) : is_terminal_(is_terminal) {}

void Progress::show_at_once(std::string_view what, size_t done, size_t total) {
  if (!is_terminal_) return;
  const std::lock_guard lock(mutex_);
  draw(what, done, total, "");
}

void Progress::draw(std::string_view what, size_t done, size_t total, std::string_view note) {
  last_drawn_ = Clock::now();
  is_drawn_ = true;
  print_log("\r{}\033[K", progress_line(what, done, total, note, columns_of_terminal()));
}

void Progress::show(std::string_view what, size_t done, size_t total, std::string_view note) {
  const auto now = Clock::now();
  if (total == 0 || now - start_ < kQuietTime) return;
  const std::lock_guard lock(mutex_);
  if (is_terminal_) {
    if (now - last_drawn_ >= kRedrawTime) draw(what, done, total, note);
  } else if (rhythm_.is_due(what, done, total, now)) {
    print_log("{} {} of {}\n", what, done, total);
  }
}

void Progress::clear() {
  const std::lock_guard lock(mutex_);
  if (is_drawn_) write_log("\r\033[K");
  is_drawn_ = false;
}

}  // namespace qgen
