// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Guard words after tensors: which writes they catch, and that nothing else disturbs them.
#include <gtest/gtest.h>

#include "tests/runtime/engine/dispatch/executor_fixture.h"

namespace qgen {
namespace {

using testing::Count;
using testing::counting;
using testing::ExecutorTest;
using testing::kit;
using testing::of;

class GuardTest : public ExecutorTest {
 protected:
  void SetUp() override {
    ExecutorTest::SetUp();
    guarded_.emplace(make_executor({.guard_bytes = 64}));
  }
  void TearDown() override {
    guarded_.reset();
    ExecutorTest::TearDown();
  }

  // Whether the guards of an i32 tensor of 10 elements live after element `index` was written. 48 bytes are the tensor.
  bool survives(uint32_t index) {
    auto data = guarded_->allocate(DType::i32, {10}, Storage::buffer);
    EXPECT_TRUE(data) << to_text(data.error());
    const Choice poke = kit().choice("poke.i32", {1, 1, 1}, Count{index, 42});
    const Work work{&poke, {&*data}};
    auto recording = guarded_->record({&work, 1});
    EXPECT_TRUE(recording && guarded_->run(*recording));
    const auto intact = guarded_->guards_are_intact(*data);
    EXPECT_TRUE(intact) << to_text(intact.error());
    return *intact;
  }

  std::optional<Executor> guarded_;
};

TEST_F(GuardTest, CatchWritesPastTheEnd) {
  EXPECT_TRUE(survives(0));
  EXPECT_TRUE(survives(9));
  EXPECT_TRUE(survives(11)) << "the rounding to 16 bytes belongs to the tensor";
  EXPECT_FALSE(survives(12));
  EXPECT_FALSE(survives(20));
  EXPECT_FALSE(survives(27)) << "the last guarded word";
}

TEST_F(GuardTest, OutliveCopiesAndFills) {
  auto data = guarded_->upload(counting(DType::i8, {13}), Storage::buffer);
  ASSERT_TRUE(data);
  EXPECT_TRUE(*guarded_->guards_are_intact(*data));
  ASSERT_TRUE(guarded_->fill(*data, 0));
  EXPECT_TRUE(*guarded_->guards_are_intact(*data));
  EXPECT_EQ(guarded_->download(*data)->data.size(), 13u);
}

TEST_F(GuardTest, AreNotNeededByTextures) {
  auto texture = guarded_->upload(counting(DType::f32, {5}), Storage::texture3d, Layout::width_packed);
  ASSERT_TRUE(texture);
  EXPECT_TRUE(*guarded_->guards_are_intact(*texture));
}

TEST_F(ExecutorTest, WithoutGuardsNothingIsAmiss) {
  const DeviceTensor data = upload(of({1}));
  EXPECT_TRUE(*executor().guards_are_intact(data));
}

}  // namespace
}  // namespace qgen
