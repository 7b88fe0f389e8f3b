// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "common/progress.h"

#include <gtest/gtest.h>

namespace qgen {
namespace {

TEST(ProgressLine, HasANoteAsFarAsTheTerminalIsWide) {
  const std::string bar = "verify   [####################--------------------]     1 of 2";
  EXPECT_EQ(progress_line("verify", 1, 2, "", 80), bar);
  EXPECT_EQ(progress_line("verify", 1, 2, "best 12.5 us  sum.a", 120), bar + "  best 12.5 us  sum.a");
  EXPECT_EQ(progress_line("verify", 1, 2, "best 12.5 us  sum.a", bar.size() + 15), bar + "  best 12.5 us");
  EXPECT_EQ(progress_line("verify", 1, 2, "best", 11), "verify   [");
}

}  // namespace
}  // namespace qgen
