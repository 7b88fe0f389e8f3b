// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "common/progress.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace qgen {
namespace {

TEST(ProgressLine, HasANoteAsFarAsTheTerminalIsWide) {
  const std::string bar = "verify   [####################--------------------]     1 of 2";
  EXPECT_EQ(progress_line("verify", 1, 2, "", 80), bar);
  EXPECT_EQ(progress_line("verify", 1, 2, "best 12.5 us  sum.a", 120), bar + "  best 12.5 us  sum.a");
  EXPECT_EQ(progress_line("verify", 1, 2, "best 12.5 us  sum.a", bar.size() + 15), bar + "  best 12.5 us");
  EXPECT_EQ(progress_line("verify", 1, 2, "best", 11), "verify   [");
}

// The steps that a log has lines of, where a step is done every `step_s` seconds.
std::vector<size_t> lines_of(size_t total, double step_s) {
  const LogRhythm::Time start{};
  LogRhythm rhythm(start);
  std::vector<size_t> lines;
  for (size_t done = 1; done <= total; ++done) {
    const std::chrono::duration<double> elapsed(step_s * static_cast<double>(done));
    if (rhythm.is_due("compile", done, total, start + std::chrono::duration_cast<LogRhythm::Time::duration>(elapsed)))
      lines.push_back(done);
  }
  return lines;
}

TEST(LogRhythm, HasFewLines) {
  EXPECT_EQ(lines_of(10, 0.4), (std::vector<size_t>{}));       // 4 s in all
  EXPECT_EQ(lines_of(10, 1), (std::vector<size_t>{5, 10}));    // one each five seconds
  EXPECT_EQ(lines_of(3, 60), (std::vector<size_t>{1, 2, 3}));  // few steps, each long
  EXPECT_EQ(lines_of(1000, 60),
            (std::vector<size_t>{1, 2, 4, 8, 16, 32, 64, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000}));
  // Hours: 5 s, 10 s, 20 s, and so on.
  EXPECT_EQ(lines_of(1'000'000, 0.1).size(), 21u);
  EXPECT_EQ(lines_of(1'000'000, 0.1).front(), 50u);
}

TEST(LogRhythm, BeginsAnewWithAStage) {
  const LogRhythm::Time start{};
  const auto at = [&](int seconds) { return start + std::chrono::seconds(seconds); };
  LogRhythm rhythm(start);
  EXPECT_TRUE(rhythm.is_due("render", 10, 10, at(6)));
  EXPECT_FALSE(rhythm.is_due("compile", 1, 10, at(7)));  // five seconds pass between stages too
  EXPECT_TRUE(rhythm.is_due("compile", 2, 10, at(11)));
  EXPECT_FALSE(rhythm.is_due("compile", 0, 0, at(30)));
}

}  // namespace
}  // namespace qgen
