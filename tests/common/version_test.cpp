// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "common/version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace qgen {
namespace {

TEST(Version, NamesTheProgramAndWhoseItIs) {
  const std::string number(version());
  EXPECT_THAT(number, ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_EQ(version_text("qgen"), "qgen " + number);
  EXPECT_EQ(version_text("qgen-model"), "qgen-model " + number);
  EXPECT_EQ(version_text("row-run"), "row-run (qgen " + number + ")");
}

}  // namespace
}  // namespace qgen
