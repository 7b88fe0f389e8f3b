// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// When a dispatch waits. A letter is an object: "a" reads it, "A" writes it, "a+" does both; '|' is where a barrier
// goes.
#include "runtime/engine/dispatch/dependencies.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace qgen::dispatch {
namespace {

constexpr char kObjects[26] = {};

std::vector<RegionUse> parse(std::string_view text) {
  std::vector<RegionUse> uses;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '+') {
      uses.back().access = Access::read_write;
    } else {
      const bool is_write = c >= 'A' && c <= 'Z';
      uses.push_back({{&kObjects[is_write ? c - 'A' : c - 'a'], 0, 1}, is_write ? Access::write : Access::read});
    }
  }
  return uses;
}

std::string with_barriers(const std::vector<std::string_view>& dispatches) {
  Dependencies dependencies;
  std::string text;
  for (const std::string_view dispatch : dispatches) {
    text += dependencies.barrier_before(parse(dispatch)) != Barrier::none ? " | " : " ";
    text += dispatch;
  }
  return text.substr(1);
}

TEST(Dependencies, PutBarriersWhereTheyAreNeeded) {
  EXPECT_EQ(with_barriers({"aB", "bC"}), "aB | bC") << "read after write";
  EXPECT_EQ(with_barriers({"aB", "cA"}), "aB | cA") << "write after read";
  EXPECT_EQ(with_barriers({"aB", "cB"}), "aB | cB") << "write after write";
  EXPECT_EQ(with_barriers({"aB", "aC"}), "aB aC") << "reads do not conflict";
  EXPECT_EQ(with_barriers({"aB", "cD", "eF"}), "aB cD eF") << "nothing in common";
  EXPECT_EQ(with_barriers({"aB", "cD", "bE", "dF"}), "aB cD | bE dF") << "one barrier serves both";
  EXPECT_EQ(with_barriers({"a+", "a+", "a+"}), "a+ | a+ | a+");
  EXPECT_EQ(with_barriers({"aB", "bC", "aD", "bE", "cF"}), "aB | bC aD bE | cF");
  EXPECT_EQ(with_barriers({"aA"}), "aA") << "one dispatch does not wait for itself";
}

TEST(Dependencies, LookAtRanges) {
  Dependencies dependencies;
  const auto write = [](uint64_t offset, uint64_t size) {
    return std::vector<RegionUse>{{{kObjects, offset, size}, Access::write}};
  };
  EXPECT_EQ(dependencies.barrier_before(write(0, 16)), Barrier::none);
  EXPECT_EQ(dependencies.barrier_before(write(16, 16)), Barrier::none) << "side by side";
  EXPECT_EQ(dependencies.barrier_before(write(31, 1)), Barrier::shaders);
}

// A barrier between kernels does not let the device read a number of workgroups.
TEST(Dependencies, IndirectReadsHaveTheirOwnBarrier) {
  const std::vector<RegionUse> count = parse("A"), other = parse("B"), reader = parse("b");
  const std::vector<RegionUse> indirect = {{{&kObjects[0], 0, 1}, Access::read, true}};
  Dependencies dependencies;
  EXPECT_EQ(dependencies.barrier_before(count), Barrier::none);
  EXPECT_EQ(dependencies.barrier_before(other), Barrier::none);
  EXPECT_EQ(dependencies.barrier_before(reader), Barrier::shaders);
  EXPECT_EQ(dependencies.barrier_before(indirect), Barrier::shaders_and_indirect);
  EXPECT_EQ(dependencies.barrier_before(indirect), Barrier::none);
  EXPECT_EQ(dependencies.barrier_before(count), Barrier::shaders) << "written after it was read";
  EXPECT_EQ(dependencies.barrier_before(indirect), Barrier::shaders_and_indirect);
}

}  // namespace
}  // namespace qgen::dispatch
