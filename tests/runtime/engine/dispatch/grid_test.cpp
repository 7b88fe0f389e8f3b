// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Folding, with limits small enough to try every count.
#include "runtime/engine/dispatch/grid.h"

#include <gtest/gtest.h>

#include "tests/support/expected_text.h"

namespace qgen::dispatch {
namespace {

using Groups = std::array<uint64_t, 3>;
using Limits = std::array<uint32_t, 3>;
using Folded = std::array<uint32_t, 3>;

struct Case {
  Groups groups;
  Limits limits;
  Folded folded;
};

constexpr Case kFits[] = {
    {{1, 1, 1}, {65535, 65535, 65535}, {1, 1, 1}},
    {{65535, 65535, 65535}, {65535, 65535, 65535}, {65535, 65535, 65535}},
    {{65536, 1, 1}, {65535, 65535, 65535}, {32768, 2, 1}},
    {{70000, 1, 1}, {65535, 65535, 65535}, {35000, 2, 1}},
    {{65537, 1, 1}, {65535, 65535, 65535}, {32769, 2, 1}},  // one more than needed
    {{0, 1, 1}, {65535, 65535, 65535}, {0, 1, 1}},          // an empty tensor's grid
    {{7, 3, 2}, {8, 3, 2}, {7, 3, 2}},                      // a grid of three dimensions is unchanged
};

TEST(Grid, FoldsWhatIsTooLong) {
  for (const Case& c : kFits) {
    const auto folded = fold_grid(c.groups, c.limits);
    ASSERT_TRUE(folded) << to_text(folded.error());
    EXPECT_EQ(*folded, c.folded) << c.groups[0];
  }
}

TEST(Grid, HoldsEveryCountThatThereIsRoomFor) {
  for (const Limits limits : {Limits{4, 3, 5}, Limits{1, 1, 60}, Limits{7, 1, 2}, Limits{2, 8, 1}}) {
    const uint64_t room = uint64_t{limits[0]} * limits[1] * limits[2];
    for (uint64_t count = 0; count <= room; ++count) {
      const auto folded = fold_grid({count, 1, 1}, limits);
      ASSERT_TRUE(folded) << count;
      const auto [x, y, z] = *folded;
      EXPECT_TRUE(x <= limits[0] && y <= limits[1] && z <= limits[2]) << count;
      EXPECT_GE(uint64_t{x} * y * z, count);
      // Rounding up leaves less than a group a row and a row a layer idle.
      EXPECT_LE(uint64_t{x} * y * z, count + uint64_t{y} * z + uint64_t{limits[0]} * z) << count;
    }
    EXPECT_FALSE(fold_grid({room + 1, 1, 1}, limits));
  }
}

TEST(Grid, RefusesInWords) {
  EXPECT_TEXT(to_text(fold_grid({5, 2, 1}, {4, 4, 4}).error()),
              "a grid of 5 x 2 x 1 workgroups exceeds the device's limit of 4 x 4 x 4\n"
              "  hint: split the work, or use a kernel whose workgroups do more");
  EXPECT_FALSE(fold_grid({1, 5, 1}, {4, 4, 4})) << "y means something";
  EXPECT_FALSE(fold_grid({uint64_t{1} << 33, 1, 1}, {65535, 65535, 65535})) << "past 32-bit group numbers";
  EXPECT_FALSE(fold_grid({~uint64_t{0}, 1, 1}, {65535, 65535, 65535}));
}

}  // namespace
}  // namespace qgen::dispatch
