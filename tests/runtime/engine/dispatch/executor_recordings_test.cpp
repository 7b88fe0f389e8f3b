// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Recordings: replayed, their works in order, recipes with scratch, timed, and moved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/engine/dispatch/executor_fixture.h"

namespace qgen {
namespace {

using testing::Count;
using testing::ExecutorTest;
using testing::groups_of;
using ::testing::HasSubstr;
using testing::iota;
using testing::kit;
using testing::of;

TEST_F(ExecutorTest, ReplaysAHundredTimes) {
  const DeviceTensor data = upload(of(std::vector<int32_t>(5000, 0)));
  const Choice one = kit().choice("add.i32", {groups_of(5000), 1, 1}, Count{5000, 1});
  const Choice two = kit().choice("add.i32", {groups_of(5000), 1, 1}, Count{5000, 2});
  Recording recording = record({{&one, {&data}}, {&two, {&data}}});
  for (int i = 0; i < 100; ++i) run(recording);
  EXPECT_EQ(integers(data), std::vector<int32_t>(5000, 300));
}

TEST_F(ExecutorTest, WorksWaitForOneAnother) {
  constexpr uint32_t kCount = 100'000;
  const DeviceTensor a = upload(of(iota(kCount))), b = allocate(DType::i32, {kCount}),
                     c = allocate(DType::i32, {kCount});
  const Choice mirror = kit().choice("mirror.i32", {groups_of(kCount), 1, 1}, Count{kCount, 1});
  Recording recording = record({{&mirror, {&a, &b}}, {&mirror, {&b, &c}}, {&mirror, {&c, &b}}, {&mirror, {&b, &a}}});
  for (int i = 0; i < 5; ++i) {
    run(recording);
    EXPECT_EQ(integers(c), iota(kCount, i * 4 + 2));
    EXPECT_EQ(integers(a), iota(kCount, i * 4 + 4));
  }
}

class RecipeTest : public ExecutorTest {
 protected:
  // input -> mirror -> scratch 1 -> mirror -> scratch 0 -> copy -> output: input + 10.
  static Choice choice(uint32_t count) {
    static constexpr ScratchInfo kScratch[] = {{"first", DType::i32, nullptr}, {"second", DType::i32, nullptr}};
    static constexpr RecipeInfo kRecipe{.id = "copy.long_way", .scratch = kScratch};
    Choice choice;
    choice.id = "copy.long_way(...)";
    choice.recipe = &kRecipe;
    choice.scratch_elements = {count, count};
    const uint64_t groups = groups_of(count);
    choice.launches = {kit().launch("mirror.i32", {groups, 1, 1}, Count{count, 3}),
                       kit().launch("mirror.i32", {groups, 1, 1}, Count{count, 7}),
                       kit().launch("copy.i32", {groups, 1, 1}, Count{count, 0})};
    choice.launches[0].operands = {{false, 0}, {true, 1}};
    choice.launches[1].operands = {{true, 1}, {true, 0}};
    choice.launches[2].operands = {{true, 0}, {false, 1}};
    return choice;
  }
};

TEST_F(RecipeTest, StepsWaitForOneAnother) {
  constexpr uint32_t kCount = 50'001;
  const Choice recipe = choice(kCount);
  const DeviceTensor from = upload(of(iota(kCount))), to = allocate(DType::i32, {kCount});
  Recording recording = record({{&recipe, {&from, &to}}});
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(executor().fill(to, 0xee));
    run(recording);
    EXPECT_EQ(integers(to), iota(kCount, 10));
  }
}

// The second recipe's scratch is the first one's.
TEST_F(RecipeTest, ShareTheirScratch) {
  const Choice large = choice(3000), small = choice(100);
  const DeviceTensor a = upload(of(iota(3000))), b = allocate(DType::i32, {3000});
  const DeviceTensor c = upload(of(iota(100, 5))), d = allocate(DType::i32, {100});
  run({{&large, {&a, &b}}, {&small, {&c, &d}}, {&large, {&a, &b}}});
  EXPECT_EQ(integers(b), iota(3000, 10));
  EXPECT_EQ(integers(d), iota(100, 15));
}

TEST_F(RecipeTest, RefuseScratchThatCannotBeBound) {
  Choice recipe = choice(100);
  recipe.scratch_elements[1] = uint64_t{1} << 40;
  const DeviceTensor from = allocate(DType::i32, {100}), to = allocate(DType::i32, {100});
  EXPECT_THAT(refusal({{&recipe, {&from, &to}}}),
              HasSubstr("'copy.long_way' needs scratch 'second' of 4398046511104 bytes, and '"));
}

// Operand 0 says how many of the workgroups add to operand 1: 64 elements each.
class IndirectTest : public ExecutorTest {
 protected:
  static constexpr uint32_t kGroups = 100, kCount = 64 * kGroups;

  static Choice choice() {
    static constexpr ScratchInfo kScratch[] = {{"unused", DType::i32, nullptr}, {"counted", DType::u32, nullptr}};
    static constexpr RecipeInfo kRecipe{.id = "add.counted", .scratch = kScratch};
    Choice choice;
    choice.id = "add.counted(...)";
    choice.recipe = &kRecipe;
    choice.scratch_elements = {1000, 3};
    choice.launches = {kit().launch("copy.i32", {1, 1, 1}, Count{3, 0}),
                       kit().launch("add.i32", {kGroups, 1, 1}, Count{kCount, 1})};
    choice.launches[0].operands = {{false, 0}, {true, 1}};
    choice.launches[1].operands = {{false, 1}};
    choice.launches[1].indirect = 1;
    return choice;
  }

  // How many workgroups have added `value`, first ones first.
  int32_t groups_with(const DeviceTensor& data, int32_t value) {
    const std::vector<int32_t> all = integers(data);
    const auto end = std::ranges::find_if(all, [&](int32_t x) { return x != value; });
    EXPECT_THAT(std::vector(end, all.end()), ::testing::Each(0));
    return static_cast<int32_t>(end - all.begin()) / 64;
  }
};

TEST_F(IndirectTest, OneRecordingServesEveryCount) {
  const Choice counted = choice();
  const DeviceTensor count = allocate(DType::i32, {3}), data = allocate(DType::i32, {kCount});
  Recording recording = record({{&counted, {&count, &data}}});
  for (const int32_t groups : {3, 100, 0, 1, 57}) {
    ASSERT_TRUE(executor().write(count, of({groups, 1, 1})));
    ASSERT_TRUE(executor().fill(data, 0));
    run(recording);
    EXPECT_EQ(groups_with(data, 1), groups);
    const auto timing = executor().time(recording);
    ASSERT_TRUE(timing) << to_text(timing.error());
    EXPECT_EQ(groups_with(data, 2), groups);
  }
}

// The count of one work must not be that of another in the same memory.
TEST_F(IndirectTest, WorksInTurnHaveTheirOwnCounts) {
  const Choice counted = choice();
  const DeviceTensor few = upload(of({2, 1, 1})), many = upload(of({3, 11, 2}));
  const DeviceTensor a = upload(of(std::vector<int32_t>(kCount, 0))), b = upload(of(std::vector<int32_t>(kCount, 0)));
  run({{&counted, {&few, &a}}, {&counted, {&many, &b}}, {&counted, {&few, &a}}});
  EXPECT_EQ(groups_with(a, 2), 2);
  EXPECT_EQ(groups_with(b, 1), 66);
}

// A caller's buffer may lack the usage for it. Then all workgroups run, which is right too: kernels check their bounds.
TEST_F(IndirectTest, IsDirectInACallersMemory) {
  const Choice counted = choice();
  const DeviceTensor count = upload(of({2, 1, 1})), data = upload(of(std::vector<int32_t>(kCount, 0)));
  const DeviceTensor scratch = allocate(DType::u8, {static_cast<int64_t>(scratch_bytes(counted))});
  const auto lent = executor().wrap(scratch.place(), DType::u8, scratch.shape());
  ASSERT_TRUE(lent) << to_text(lent.error());
  run({{&counted, {&count, &data}, &scratch}});
  EXPECT_EQ(groups_with(data, 1), 2);
  run({{&counted, {&count, &data}, &*lent}});
  EXPECT_THAT(integers(data),
              ::testing::AllOf(::testing::Contains(2).Times(128), ::testing::Contains(1).Times(::testing::Gt(0))));
}

TEST_F(IndirectTest, RefusesACountThatIsNotThere) {
  Choice counted = choice();
  counted.launches[1].indirect = 2;
  const DeviceTensor count = upload(of({2, 1, 1})), data = upload(of(std::vector<int32_t>(kCount, 0)));
  EXPECT_THAT(refusal({{&counted, {&count, &data}}}), HasSubstr("names scratch that the choice does not have"));
}

// A chain apart from the others, of one launch or of several; the last may be shorter.
TEST_F(ExecutorTest, TimesEachChainOfLaunches) {
  const DeviceTensor data = upload(of(iota(100'000)));
  const Choice add = kit().choice("add.i32", {groups_of(100'000), 1, 1}, Count{100'000, 1});
  Recording recording = record({{&add, {&data}}, {&add, {&data}}, {&add, {&data}}});
  int runs = 0;
  for (const uint32_t chain : {1u, 1u, 2u, 3u, 4u, 1u}) {
    const auto timing = chain == 1 ? executor().time(recording) : executor().time(recording, chain);
    ASSERT_TRUE(timing) << to_text(timing.error());
    ASSERT_EQ(timing->intervals_us.size(), (3 + chain - 1) / chain);
    double sum = 0;
    for (const double interval_us : timing->intervals_us) {
      EXPECT_GT(interval_us, 0);
      sum += interval_us;
    }
    EXPECT_NEAR(timing->device_us, sum, 1e-6 * sum);
    EXPECT_EQ(integers(data), iota(100'000, 3 * ++runs)) << "timing runs the work";
  }
}

TEST_F(ExecutorTest, MovesWithItsTensorsAndRecordings) {
  DeviceTensor data = upload(of({1, 2, 3}));
  const Choice add = kit().choice("add.i32", {1, 1, 1}, Count{3, 1});
  Recording recording = record({{&add, {&data}}});
  Executor moved = std::move(executor());
  Recording moved_recording = std::move(recording);
  ASSERT_TRUE(moved.run(moved_recording));
  const DeviceTensor moved_data = std::move(data);
  const auto host = moved.download(moved_data);
  ASSERT_TRUE(host);
  EXPECT_EQ(host->as<int32_t>()[2], 4);
  executor() = std::move(moved);
}

}  // namespace
}  // namespace qgen
