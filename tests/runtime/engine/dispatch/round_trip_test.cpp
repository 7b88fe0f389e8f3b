// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/dispatch/round_trip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/engine/dispatch/executor_fixture.h"
#include "tests/support/expected_text.h"

namespace qgen {
namespace {

using testing::Count;
using testing::ExecutorTest;
using testing::groups_of;
using testing::kit;
using testing::of;

std::span<int32_t> integers_of(std::span<std::byte> bytes) {
  return {reinterpret_cast<int32_t*>(bytes.data()), bytes.size() / sizeof(int32_t)};
}
std::vector<int32_t> integers_of(std::span<const std::byte> bytes) {
  const auto* first = reinterpret_cast<const int32_t*>(bytes.data());
  return {first, first + bytes.size() / sizeof(int32_t)};
}

class RoundTripTest : public ExecutorTest {
 protected:
  RoundTrip trip(Recording& recording, const std::vector<const DeviceTensor*>& inputs,
                 const std::vector<const DeviceTensor*>& outputs) {
    auto made = RoundTrip::create(recording, inputs, outputs);
    EXPECT_TRUE(made) << to_text(made.error());
    return *std::move(made);
  }
};

TEST_F(RoundTripTest, WritesRunsAndReads) {
  const DeviceTensor a = allocate(DType::i32, {5}), b = allocate(DType::i32, {3});
  const Choice one = kit().choice("add.i32", {groups_of(5), 1, 1}, Count{5, 1});
  const Choice two = kit().choice("add.i32", {groups_of(3), 1, 1}, Count{3, 2});
  Recording recording = record({{&one, {&a}}, {&two, {&b}}});
  RoundTrip it = trip(recording, {&a, &b}, {&b, &a});
  for (int32_t run = 0; run < 50; ++run) {
    std::ranges::fill(integers_of(it.input(0)), run);
    std::ranges::fill(integers_of(it.input(1)), -run);
    ASSERT_TRUE(it.run());
    EXPECT_EQ(integers_of(it.output(0)), std::vector<int32_t>(3, 2 - run));
    EXPECT_EQ(integers_of(it.output(1)), std::vector<int32_t>(5, run + 1));
  }
  EXPECT_EQ(integers(a), std::vector<int32_t>(5, 50));
}

// What is no input stays on the device between runs.
TEST_F(RoundTripTest, LeavesOtherTensors) {
  const DeviceTensor sum = upload(of(std::vector<int32_t>(4, 10)));
  const Choice add = kit().choice("add.i32", {groups_of(4), 1, 1}, Count{4, 3});
  Recording recording = record({{&add, {&sum}}});
  RoundTrip first = trip(recording, {}, {&sum});
  ASSERT_TRUE(first.run());
  RoundTrip it = std::move(first);
  ASSERT_TRUE(it.run());
  EXPECT_EQ(integers_of(it.output(0)), std::vector<int32_t>(4, 16));
}

TEST_F(RoundTripTest, OutlivesItsRecording) {
  const DeviceTensor data = allocate(DType::i32, {4});
  const Choice add = kit().choice("add.i32", {groups_of(4), 1, 1}, Count{4, 3});
  std::optional<Recording> recording = record({{&add, {&data}}});
  RoundTrip it = trip(*recording, {&data}, {&data});
  recording.reset();
  std::ranges::fill(integers_of(it.input(0)), 1);
  ASSERT_TRUE(it.run());
  EXPECT_EQ(integers_of(it.output(0)), std::vector<int32_t>(4, 4));
}

// A sum that each run gets from the one before, which the host has not waited for; the other input is the host's.
TEST_F(RoundTripTest, FeedsTheNextRun) {
  const DeviceTensor sum = allocate(DType::i32, {4}), other = allocate(DType::i32, {3});
  const Choice add = kit().choice("add.i32", {groups_of(4), 1, 1}, Count{4, 3});
  const Choice add_other = kit().choice("add.i32", {groups_of(3), 1, 1}, Count{3, 1});
  Recording recording = record({{&add, {&sum}}, {&add_other, {&other}}});
  auto made = RoundTrip::create(recording, {&other, &sum}, {&sum, &other}, RoundTrip::Fed{.output = 0, .input = 1});
  ASSERT_TRUE(made) << to_text(made.error());
  RoundTrip it = *std::move(made);
  if (!it.can_submit()) GTEST_SKIP() << "no timeline semaphores";
  std::ranges::fill(integers_of(it.input(1, 0)), 100);
  std::ranges::fill(integers_of(it.input(1, 1)), -7);  // is not read
  for (int32_t run = 0; run < 50; ++run) {
    const size_t slot = static_cast<size_t>(run) % RoundTrip::kSlots;
    std::ranges::fill(integers_of(it.input(0, slot)), 10 * run);
    ASSERT_TRUE(it.submit(slot, run > 0));
    if (run == 0) continue;
    ASSERT_TRUE(it.wait(1 - slot));
    EXPECT_EQ(integers_of(it.output(0, 1 - slot)), std::vector<int32_t>(4, 100 + 3 * run));
    EXPECT_EQ(integers_of(it.output(1, 1 - slot)), std::vector<int32_t>(3, 10 * (run - 1) + 1));
  }
  std::ranges::fill(integers_of(it.input(1, 0)), 5);
  ASSERT_TRUE(it.run());  // after what runs, with the host's inputs
  EXPECT_EQ(integers_of(it.output(0)), std::vector<int32_t>(4, 8));
}

TEST_F(RoundTripTest, MayGoWhileItRuns) {
  const DeviceTensor sum = upload(of(std::vector<int32_t>(4, 10)));
  const Choice add = kit().choice("add.i32", {groups_of(4), 1, 1}, Count{4, 3});
  Recording recording = record({{&add, {&sum}}});
  {
    RoundTrip it = trip(recording, {}, {&sum});
    if (!it.can_submit()) GTEST_SKIP() << "no timeline semaphores";
    ASSERT_TRUE(it.submit(0));
    ASSERT_TRUE(it.submit(1));
  }
  EXPECT_EQ(integers(sum), std::vector<int32_t>(4, 16));
}

TEST_F(RoundTripTest, SaysWhatItCannotCopy) {
  const DeviceTensor data = allocate(DType::i32, {4});
  const Choice add = kit().choice("add.i32", {groups_of(4), 1, 1}, Count{4, 3});
  Recording recording = record({{&add, {&data}}});
  const auto none = RoundTrip::create(recording, {}, {});
  ASSERT_FALSE(none);
  EXPECT_TEXT(to_text(none.error()), "a round trip has no bytes to copy");
  const DeviceTensor packed = allocate(DType::i8, {1, 4, 2, 2}, Storage::buffer, Layout::packed_4c);
  const auto other = RoundTrip::create(recording, {&packed}, {&data});
  ASSERT_FALSE(other);
  EXPECT_TEXT(to_text(other.error()),
              "a tensor is packed_4c in a buffer\n"
              "  hint: it must be row-major, in a buffer");
  const DeviceTensor longer = allocate(DType::i32, {5});
  const auto fed = RoundTrip::create(recording, {&longer}, {&data}, RoundTrip::Fed{.output = 0, .input = 0});
  ASSERT_FALSE(fed);
  EXPECT_TEXT(to_text(fed.error()), "an input has 20 bytes, and the output that it gets 16");
  RoundTrip it = trip(recording, {&data}, {&data});
  const Done submitted = it.submit(0, true);
  ASSERT_FALSE(submitted);
  EXPECT_TEXT(to_text(submitted.error()), "the round trip was made without an input that an output feeds");
}

}  // namespace
}  // namespace qgen
