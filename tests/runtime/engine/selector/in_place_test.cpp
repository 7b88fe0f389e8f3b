// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/selector/in_place.h"

#include <gtest/gtest.h>

namespace qgen {
namespace {

constexpr OperandInfo kApart[] = {{"input", Access::read, false}, {"output", Access::write, false}};
constexpr OperandInfo kInPlace[] = {{"input", Access::read, false}, {"output", Access::write, false, 0, 1u << 0}};
constexpr OperandInfo kJoin[] = {
    {"partial", Access::read, false}, {"input", Access::read, false}, {"output", Access::write, false, 0, 1u << 1}};
constexpr OperatorInfo kKernelApart{.name = "apart", .operands = kApart};
constexpr OperatorInfo kKernelInPlace{.name = "in_place", .operands = kInPlace};
constexpr OperatorInfo kKernelJoin{.name = "join", .operands = kJoin};

constexpr OperandSource kInput{false, 0}, kOutput{false, 1}, kScratch{true, 0}, kScratchOne{true, 1};

Launch launch(const OperatorInfo& op, std::vector<OperandSource> operands) {
  return {.op = &op, .operands = std::move(operands)};
}
bool is_in_place(std::vector<Launch> launches) { return may_be_in_place({.launches = std::move(launches)}, 1, 0); }

TEST(InPlace, IsAllowedByTheKernelThatWrites) {
  EXPECT_TRUE(is_in_place({launch(kKernelInPlace, {kInput, kOutput})}));
  EXPECT_FALSE(is_in_place({launch(kKernelApart, {kInput, kOutput})}));
  EXPECT_FALSE(may_be_in_place({.launches = {launch(kKernelInPlace, {kInput, kOutput})}}, 0, 1));
}

TEST(InPlace, EndsWithTheLastReadOfTheInput) {
  const Launch first = launch(kKernelApart, {kInput, kScratch});
  EXPECT_TRUE(is_in_place({first, launch(kKernelJoin, {kScratch, kInput, kOutput})}));
  EXPECT_TRUE(is_in_place({first, launch(kKernelApart, {kScratch, kOutput})}));
  EXPECT_FALSE(is_in_place({first, launch(kKernelApart, {kInput, kOutput})}));
  EXPECT_FALSE(
      is_in_place({first, launch(kKernelApart, {kScratch, kOutput}), launch(kKernelApart, {kInput, kScratchOne})}));
  // The join's own in_place is about its second operand.
  EXPECT_FALSE(is_in_place({first, launch(kKernelJoin, {kInput, kScratch, kOutput})}));
}

TEST(InPlace, NeedsALaunchThatWrites) { EXPECT_FALSE(is_in_place({launch(kKernelApart, {kInput, kScratch})})); }

}  // namespace
}  // namespace qgen
