// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/selector/time_book.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/library/tuning_info.h"
#include "runtime/selector/select.h"
#include "tests/runtime/library/sample_tables.h"

namespace qgen {
namespace {

class TimeBookTest : public ::testing::Test {
 protected:
  static DeviceProfile device(std::string name, uint32_t device_id, uint8_t board, uint32_t driver) {
    DeviceProfile profile;
    profile.name = std::move(name);
    profile.architecture = "example";
    profile.driver_name = "driver";
    profile.driver_info = fmt::format("{}", driver);
    profile.vendor_id = 0x1234;
    profile.device_id = device_id;
    profile.device_uuid[0] = board;
    profile.driver_version = driver;
    profile.max_workgroup_size = {1024, 1024, 64};
    profile.numbers.max_workgroup_invocations = 1024;
    return profile;
  }
  static Problem rows(uint32_t count, uint32_t width) {
    const OperandDesc buffer{.dtype = DType::f32};
    const test::scale_rows::Problem fields{count, width, 0.5f};
    return make_problem(test::scale_rows::kOperator, std::as_bytes(std::span(&fields, 1)), {buffer, buffer, buffer});
  }
  TimedKernel timed(const std::string& key, double us) const {
    return {key, kKernel, *digest_of(test::scale_rows::kOperator, kKernel, library_), us, "2026-11-23"};
  }
  double cost(const Problem& problem, const DeviceProfile& on) const {
    return select(problem, on, library_, {.force = std::string(kKernel)}).ranked.at(0).cost_us;
  }

  static constexpr std::string_view kKernel = "scale_rows.f32.buffer.vec1/workgroup64";
  const KernelLibrary library_ = *KernelLibrary::open(test::sample_library());
  const DeviceProfile here_ = device("GPU 1", 1, 1, 1);
  const std::string key_ = key_of(rows(4, 1024));
};

TEST_F(TimeBookTest, KnowsTheProblemItself) {
  TimeBook book(library_);
  const TimedKernel row = timed(key_, 12);
  EXPECT_EQ(book.add(here_, {&row, 1}), 1u);
  const KernelTimes times = *book.of(rows(4, 1024), here_);
  ASSERT_EQ(times.size(), 1u);
  const KnownTime& time = times.begin()->second;
  EXPECT_EQ(times.begin()->first, kKernel);
  EXPECT_EQ(time.us, 12);
  EXPECT_EQ(time.cost_us, 0);
  EXPECT_EQ(time.source, TimeSource::measured);
  EXPECT_EQ(time.said, "measured 2026-11-23 on this driver");
}

TEST_F(TimeBookTest, ScalesWhatIsNear) {
  TimeBook book(library_);
  const TimedKernel row = timed(key_, 12);
  book.add(here_, {&row, 1});
  const Problem wider = rows(4, 2048);
  const KernelTimes times = *book.of(wider, here_);
  ASSERT_EQ(times.size(), 1u);
  EXPECT_EQ(times.begin()->second.source, TimeSource::near);
  EXPECT_EQ(times.said(times.begin()->second),
            "near width=1024, measured 2026-11-23 on this driver, by the ratio of costs");
  const Selection selection = select(wider, here_, library_, {.times = &times});
  EXPECT_EQ(selection.ranked[0].id, kKernel);
  EXPECT_DOUBLE_EQ(selection.ranked[0].time_us, 12 * cost(wider, here_) / cost(rows(4, 1024), here_));
  EXPECT_TRUE(book.of(rows(4, 8192), here_)->empty()) << "eight times as wide is not near";
  EXPECT_TRUE(book.of(rows(12, 2048), here_)->empty()) << "nor is six times as much";
}

TEST_F(TimeBookTest, TakesTheNearest) {
  TimeBook book(library_);
  const std::string other = key_of(rows(4, 1536));
  const TimedKernel measured[] = {timed(key_, 12), timed(other, 17)};
  book.add(here_, measured);
  EXPECT_EQ(book.of(rows(4, 1600), here_)->begin()->second.us, 17);
}

// Of two that are as near the later; what differs in more than sizes is not near, however alike its sizes are.
TEST_F(TimeBookTest, TakesTheLaterOfTwoAsNear) {
  TimeBook book(library_);
  const std::string half = key_of(rows(4, 512)), twice = key_of(rows(4, 2048)), none = key_of(rows(0, 1024));
  const TimedKernel measured[] = {timed(half, 12), timed(twice, 17), timed(none, 19)};
  book.add(here_, measured);
  EXPECT_EQ(book.of(rows(4, 1024), here_)->begin()->second.us, 17);
  const TimedKernel reversed[] = {timed(twice, 17), timed(half, 12)};
  TimeBook other(library_);
  other.add(here_, reversed);
  EXPECT_EQ(other.of(rows(4, 1024), here_)->begin()->second.us, 12);
  EXPECT_EQ(other.of(rows(4, 8192), here_)->begin()->second.us, 17) << "four times as wide is near";
  EXPECT_TRUE(other.of(rows(4, 8193), here_)->empty());
}

TEST_F(TimeBookTest, PrefersThisDeviceToItsModelToItsArchitecture) {
  const DeviceProfile newer = device("GPU 1", 1, 1, 2), cousin = device("GPU 2", 2, 1, 1);
  DeviceProfile stranger = device("GPU 3", 3, 1, 1);
  stranger.architecture = "another";
  TimeBook book(library_);
  const TimedKernel a = timed(key_, 10), b = timed(key_, 20), c = timed(key_, 30);
  book.add(stranger, {&c, 1});
  EXPECT_TRUE(book.of(rows(4, 1024), here_)->empty());
  book.add(cousin, {&c, 1});
  const KernelTimes of_architecture = *book.of(rows(4, 1024), here_);
  EXPECT_EQ(of_architecture.begin()->second.source, TimeSource::architecture);
  EXPECT_EQ(of_architecture.said(of_architecture.begin()->second),
            "measured 2026-11-23 on GPU 2 driver 1, by the ratio of costs");
  book.add(newer, {&b, 1});
  const KernelTimes of_model = *book.of(rows(4, 1024), here_);
  EXPECT_EQ(of_model.begin()->second.source, TimeSource::device);
  EXPECT_EQ(of_model.begin()->second.us, 20);
  EXPECT_EQ(of_model.said(of_model.begin()->second), "measured 2026-11-23 on GPU 1 driver 2");
  book.add(here_, {&a, 1});
  EXPECT_EQ(book.of(rows(4, 1024), here_)->begin()->second.us, 10);
}

TEST_F(TimeBookTest, LeavesOutOtherVersionsOfKernels) {
  TimeBook book(library_);
  TimedKernel changed = timed(key_, 12), unknown = timed(key_, 12), foreign = timed(key_, 12);
  ++changed.digest;
  unknown.kernel = "scale_rows.f64/workgroup64";
  foreign.problem = "scale_columns rows=4";
  const TimedKernel rows_of_others[] = {changed, unknown, foreign};
  EXPECT_EQ(book.add(here_, rows_of_others), 0u);
  EXPECT_TRUE(book.of(rows(4, 1024), here_)->empty());
}

// A key that another version wrote is of no problem here; it is no error either.
// A table of the model counts on every board and driver, for problems near to its own too, and stands behind what was
// measured on this very device.
TEST_F(TimeBookTest, BeginsWithTheTablesOfItsLibrary) {
  constexpr std::string_view kChoices[] = {kKernel};
  const std::string cold_key = key_of(rows(4, 64));
  const TunedProblem problems[] = {{key_, 1}, {cold_key, 2}};  // "width=1024" stands before "width=64"
  constexpr TunedTime kTimes[] = {{0, 7}, {0, 9, true}};
  const TuningInfo tuning{.name = "GPU 1",
                          .vendor_id = 0x1234,
                          .device_id = 1,
                          .architecture = "example",
                          .driver_name = "driver",
                          .driver_info = "1",
                          .date = "2026-11-22",
                          .numbers = here_.numbers,
                          .choices = kChoices,
                          .problems = problems,
                          .times = kTimes};
  const TuningInfo* const tunings[] = {&tuning};
  LibraryInfo info = test::sample_library();
  info.tunings = tunings;
  const KernelLibrary library = *KernelLibrary::open(info);
  TimeBook book(library);

  KnownTime time = *book.of(rows(4, 1024), device("GPU 1", 1, 2, 9))->find(kKernel);
  EXPECT_EQ(time.us, 7);
  EXPECT_EQ(time.source, TimeSource::device);
  EXPECT_EQ(time.said, "shipped table, measured 2026-11-22 on GPU 1 driver 1");
  time = *book.of(rows(4, 64), here_)->find(kKernel);
  EXPECT_EQ(time.said, "shipped table, measured 2026-11-22 with a cold cache on GPU 1 driver 1");
  const auto near = book.of(rows(4, 2048), here_);
  EXPECT_EQ(near->said(*near->find(kKernel)),
            "shipped table, near width=1024, measured 2026-11-22 on GPU 1 driver 1, by the ratio of costs");
  EXPECT_EQ(book.of(rows(4, 1024), device("GPU 2", 2, 1, 1))->find(kKernel)->source, TimeSource::architecture);
  DeviceProfile other = device("GPU 3", 3, 1, 1);
  other.architecture = "another";
  EXPECT_TRUE(book.of(rows(4, 1024), other)->empty());

  const TimedKernel row = timed(key_, 12);
  book.add(here_, {&row, 1});
  EXPECT_EQ(book.of(rows(4, 1024), here_)->find(kKernel)->us, 12);
}

TEST_F(TimeBookTest, PassesOverKeysThatItCannotRead) {
  TimeBook book(library_);
  const std::string key = "scale_rows rows=4 height=7";
  const TimedKernel odd = timed(key, 12);
  EXPECT_EQ(book.add(here_, {&odd, 1}), 1u);
  EXPECT_TRUE(book.of(rows(4, 1024), here_)->empty());
}

}  // namespace
}  // namespace qgen
