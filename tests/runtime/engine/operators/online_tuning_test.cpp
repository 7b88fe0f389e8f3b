// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Online tuning, with made-up times and a clock that is moved by hand; and calls on a device, whose results it may not
// change.
#include "runtime/engine/calls/online_tuning.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "operators.h"
#include "registry.h"
#include "tests/runtime/engine/library/sample_tables.h"
#include "tests/support/device_test.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

using std::chrono::milliseconds;
using Turn = OnlineTuning::Turn;

// Each call takes a millisecond, unless a test says otherwise of its kernel.
class OnlineTuningTest : public ::testing::Test {
 protected:
  OnlineTuningTest() {
    device_.max_workgroup_size = {1024, 1024, 64};
    device_.numbers.max_workgroup_invocations = 1024;
  }
  static Problem problem(uint32_t rows = 4) {
    const OperandDesc buffer{.dtype = DType::f32};
    const test::scale_rows::Problem fields{rows, 1024, 0.5f};
    return make_problem(test::scale_rows::kOperator, std::as_bytes(std::span(&fields, 1)), {buffer, buffer, buffer});
  }
  OnlineOptions options(double share) {
    return {.share = share, .candidates = 4, .samples = 3, .now = [this] { return now_; }};
  }
  Turn call(OnlineTuning& online, const Problem& of = problem()) {
    const Turn turn = online.next(of, device_, library_, {});
    const auto slow = us_.find(turn.choice->id);
    const double us = slow == us_.end() ? 1000 : slow->second;
    now_ += std::chrono::nanoseconds(static_cast<int64_t>(1000 * us));
    online.took(turn, us);
    return turn;
  }

  DeviceProfile device_;
  const KernelLibrary library_ = *KernelLibrary::open(test::sample_library());
  const std::vector<Choice> ranked_ = select(problem(), device_, library_, {.all_specializations = true}).ranked;
  std::map<std::string, double> us_;
  std::chrono::nanoseconds now_{};
};

TEST_F(OnlineTuningTest, FindsTheFastestOfTheCheapest) {
  ASSERT_GE(ranked_.size(), 4u);
  us_[ranked_[2].id] = 600;
  OnlineTuning online(options(0.1));
  EXPECT_EQ(call(online).choice->id, ranked_[0].id);
  for (int i = 0; i < 300; ++i) call(online);
  const Turn turn = call(online);
  EXPECT_FALSE(turn.is_trial);
  EXPECT_EQ(turn.choice->id, ranked_[2].id);
  EXPECT_EQ(turn.choice->source, TimeSource::measured);
  const auto times = online.times(library_);
  ASSERT_EQ(times.size(), 4u);
  for (const OnlineTime& time : times) {
    EXPECT_EQ(time.problem, key_of(problem()));
    EXPECT_EQ(time.us, time.kernel == ranked_[2].id ? 600 : 1000);
    EXPECT_EQ(time.digest, digest_of(test::scale_rows::kOperator, time.kernel, library_));
  }
}

// Up to one trial, however long it takes.
TEST_F(OnlineTuningTest, KeepsToItsShare) {
  us_[ranked_[0].id] = 900;
  us_[ranked_[1].id] = 50'000;
  OnlineTuning online(options(0.1));
  const auto begin = now_;
  std::chrono::nanoseconds tried{}, longest{};
  for (int i = 0; i < 2000; ++i) {
    const auto before = now_;
    const bool is_trial = call(online).is_trial;
    if (is_trial) tried += now_ - before, longest = std::max(longest, now_ - before);
    EXPECT_LE(tried.count(), 0.1 * static_cast<double>((now_ - begin).count()) + static_cast<double>(longest.count()));
  }
  EXPECT_EQ(longest, milliseconds(50)) << "it was tried";
  EXPECT_EQ(call(online).choice->id, ranked_[0].id);
}

TEST_F(OnlineTuningTest, TriesAHopelessKernelOnce) {
  us_[ranked_[0].id] = 900;
  us_[ranked_[1].id] = 5000;
  OnlineTuning online(options(0.5));
  std::map<std::string, int> trials;
  for (int i = 0; i < 200; ++i) {
    const Turn turn = call(online);
    if (turn.is_trial) ++trials[turn.choice->id];
  }
  EXPECT_EQ(trials[ranked_[1].id], 1);
  EXPECT_EQ(trials[ranked_[2].id], 3);
}

TEST_F(OnlineTuningTest, ChoosesAndTimesNothingAnyMoreWhenAllIsTried) {
  OnlineTuning online(options(0.5));
  for (int i = 0; i < 100; ++i) call(online);
  const Turn turn = call(online), again = call(online);
  EXPECT_FALSE(again.is_timed);
  EXPECT_EQ(again.choice, turn.choice);
  Problem other = problem();
  other.fields[offsetof(test::scale_rows::Problem, alpha)] ^= std::byte{1};  // data: of the same key
  EXPECT_NE(call(online, other).choice->launches[0].problem, turn.choice->launches[0].problem);
}

TEST_F(OnlineTuningTest, TriesNothingFrozenOrWithoutAShare) {
  OnlineTuning frozen(options(0.5)), none(options(0));
  call(frozen);
  frozen.freeze();
  EXPECT_FALSE(call(frozen).is_timed);
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(call(frozen).is_trial);
    EXPECT_FALSE(call(none).is_trial);
  }
  EXPECT_TRUE(frozen.times(library_).empty());
}

TEST_F(OnlineTuningTest, TriesNoneAgainThatFailed) {
  OnlineTuning online(options(0.5));
  std::set<std::string> failed;
  for (int i = 0; i < 100; ++i) {
    const Turn turn = online.next(problem(), device_, library_, {});
    now_ += milliseconds(1);
    if (!turn.is_trial) {
      online.took(turn, 1000);
      continue;
    }
    EXPECT_TRUE(failed.insert(turn.choice->id).second) << turn.choice->id;
    online.failed(turn);
  }
  EXPECT_EQ(failed.size(), 3u);
  EXPECT_EQ(online.times(library_).size(), 1u);
}

// ---- on a device ----------------------------------------------------------------------------------------------------

class OnlineCallTest : public testing::DeviceTest {};

TEST_F(OnlineCallTest, GivesTheSameResults) {
  const KernelLibrary library = *KernelLibrary::open(generated::library());
  Executor executor = *Executor::create(device(), library, {});
  OnlineTuning online({.share = 0.9, .candidates = 3, .samples = 1});
  Context context{.profile = device().profile(), .library = library, .executor = executor, .online = &online};
  const DeviceTensor x = *executor.upload(testing::tensor_of(DType::f32, {4}, {-1.2, 0.5, 2.0, 3.1}), Storage::buffer);
  const DeviceTensor scale = *executor.upload(testing::tensor_of(DType::f32, {}, {0.5}), Storage::buffer);
  for (int i = 0; i < 12; ++i) {
    const auto q = generated::operators::quantize_affine(context, {.input = x, .scale = scale});
    ASSERT_TRUE(q) << to_text(q.error());
    const HostTensor host = *executor.download(*q);
    const auto values = host.as<int8_t>();
    EXPECT_EQ(std::vector<int>(values.begin(), values.end()), (std::vector{-2, 1, 4, 6})) << i;
  }
  EXPECT_GE(online.times(library).size(), 1u);
}

}  // namespace
}  // namespace qgen
