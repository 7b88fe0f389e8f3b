// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/selector/time_book.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "runtime/engine/library/tuning_info.h"
#include "runtime/engine/selector/decision_cache.h"
#include "runtime/engine/selector/select.h"
#include "tests/runtime/engine/library/sample_tables.h"
#include "tests/support/expected_text.h"

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
  EXPECT_EQ(time.source_text, "measured 2026-11-23 on this driver");
}

TEST_F(TimeBookTest, ScalesWhatIsNear) {
  TimeBook book(library_);
  const TimedKernel row = timed(key_, 12);
  book.add(here_, {&row, 1});
  const Problem wider = rows(4, 2048);
  const KernelTimes times = *book.of(wider, here_);
  ASSERT_EQ(times.size(), 1u);
  EXPECT_EQ(times.begin()->second.source, TimeSource::near);
  EXPECT_TEXT(times.source_text(times.begin()->second),
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

// Of two equally near ones the later; a problem that differs in more than sizes is not near, even with similar sizes.
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
  EXPECT_TEXT(of_architecture.source_text(of_architecture.begin()->second),
              "measured 2026-11-23 on GPU 2 driver 1, by the ratio of costs");
  book.add(newer, {&b, 1});
  const KernelTimes of_model = *book.of(rows(4, 1024), here_);
  EXPECT_EQ(of_model.begin()->second.source, TimeSource::device);
  EXPECT_EQ(of_model.begin()->second.us, 20);
  EXPECT_TEXT(of_model.source_text(of_model.begin()->second), "measured 2026-11-23 on GPU 1 driver 2");
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

// On the device that has quarantined it alone, and only as long as the SPIR-V is the same.
TEST_F(TimeBookTest, TellsWhatIsQuarantined) {
  const std::string kernel(kKernel);
  const uint64_t digest = *digest_of(test::scale_rows::kOperator, kernel, library_);
  const QuarantinedKernel bad[] = {{kernel, digest, "wrong results (2026-11-23)"},
                                   {"scale_rows.f32.buffer.vec1/workgroup256", digest + 1, "older SPIR-V"},
                                   {"scale_columns.f32", 1, "of an operator that is not there"},
                                   {"", 0, "no kernel"}};
  TimeBook book(library_);
  book.quarantine(here_, bad);
  const auto told = book.of(rows(4, 1024), here_);
  ASSERT_EQ(told->quarantined().size(), 1u);
  EXPECT_EQ(told->quarantined()[0].id, kKernel);
  EXPECT_EQ(told->quarantined()[0].reason, "wrong results (2026-11-23)");
  EXPECT_TRUE(book.of(rows(4, 1024), device("GPU 1", 1, 2, 1))->quarantined().empty());
  EXPECT_TRUE(book.of(rows(4, 1024), device("GPU 1", 1, 1, 2))->quarantined().empty());
}

// A key that another version wrote is of no problem here; it is no error either. A table of the model counts on every
// board and driver, for near problems too, and ranks after times measured on this very device.
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
  EXPECT_EQ(time.source_text, "shipped table, measured 2026-11-22 on GPU 1 driver 1");
  time = *book.of(rows(4, 64), here_)->find(kKernel);
  EXPECT_EQ(time.source_text, "shipped table, measured 2026-11-22 with a cold cache on GPU 1 driver 1");
  const auto near = book.of(rows(4, 2048), here_);
  EXPECT_TEXT(near->source_text(*near->find(kKernel)),
              "shipped table, near width=1024, measured 2026-11-22 on GPU 1 driver 1, by the ratio of costs");
  EXPECT_EQ(book.of(rows(4, 1024), device("GPU 2", 2, 1, 1))->find(kKernel)->source, TimeSource::architecture);
  DeviceProfile other = device("GPU 3", 3, 1, 1);
  other.architecture = "another";
  EXPECT_TRUE(book.of(rows(4, 1024), other)->empty());

  const TimedKernel row = timed(key_, 12);
  book.add(here_, {&row, 1});
  EXPECT_EQ(book.of(rows(4, 1024), here_)->find(kKernel)->us, 12);
}

// Of two cards of one model, the time that a steady card measured. Of another trust, a marked time still counts.
TEST_F(TimeBookTest, PrefersTimesWithoutAMark) {
  TimedKernel marked = timed(key_, 12);
  marked.is_marked = true;
  const TimedKernel steady = timed(key_, 11), other = timed(key_, 10);
  const DeviceProfile asking = device("GPU 1", 1, 3, 3);
  TimeBook book(library_);
  book.add(device("GPU 1", 1, 2, 1), {&marked, 1});
  EXPECT_TEXT(book.of(rows(4, 1024), asking)->begin()->second.source_text.view(),
              "measured 2026-11-23 at a lower clock on GPU 1 driver 1");
  book.add(here_, {&steady, 1});
  book.add(device("GPU 1", 1, 4, 1), {&other, 1});
  EXPECT_EQ(book.of(rows(4, 1024), asking)->find(kKernel)->us, 11);
  book.add(asking, {&marked, 1});
  EXPECT_EQ(book.of(rows(4, 1024), asking)->find(kKernel)->us, 12) << "of this device and driver";
}

// Kernels of a final round come first, even before a shorter time of another round. For a near problem, where costs may
// order kernels anew, such a time counts as no less than the slowest of the final.
TEST_F(TimeBookTest, PutsTheFinalFirst) {
  constexpr std::string_view kOther = "scale_rows.f32.buffer.vec1/workgroup128";
  TimedKernel lucky = timed(key_, 5), in_final = timed(key_, 12);
  lucky.kernel = kOther;
  lucky.digest = *digest_of(test::scale_rows::kOperator, kOther, library_);
  in_final.is_final = true;
  const TimedKernel measured[] = {lucky, in_final};
  TimeBook book(library_);
  ASSERT_EQ(book.add(here_, measured), 2u);
  const auto times = book.of(rows(4, 1024), here_);
  const Selection selection =
      select(rows(4, 1024), here_, library_, {.all_specializations = true, .times = times.get()});
  EXPECT_EQ(selection.ranked[0].id, kKernel);
  EXPECT_EQ(selection.ranked[0].time_us, 12);
  EXPECT_EQ(selection.ranked[1].id, kOther);
  EXPECT_EQ(selection.ranked[1].time_us, 5);
  EXPECT_EQ(select(rows(4, 1024), here_, library_, {.best_only = true, .times = times.get()}).ranked[0].id, kKernel);
  DecisionCache cache(here_, library_, &book);
  EXPECT_EQ(cache.best(rows(4, 1024))->id, kKernel);
  const auto near = book.of(rows(4, 2048), here_);
  EXPECT_EQ(near->find(kOther)->us, 12);
  EXPECT_FALSE(near->find(kKernel)->is_final);
}

// ---- looked up when a problem is asked about --------------------------------------------------------------------------

struct Supply {
  std::map<std::string, std::vector<TimedKernel>> rows;
  std::vector<std::string> asked;

  TimesOnDemand on_demand() {
    return {.of_problem =
                [this](const std::string& key, const TimesOnDemand::Take& take) {
                  asked.push_back(key);
                  if (const auto found = rows.find(key); found != rows.end()) take(found->second, {"a note"});
                },
            .keys_of =
                [this](std::string_view op, const auto& take) {
                  asked.emplace_back(op);
                  for (const auto& [key, times] : rows) {
                    if (operator_of(key) == op) take(key);
                  }
                }};
  }
};

TEST_F(TimeBookTest, LooksUpWhatIsAskedFor) {
  const std::string far = key_of(rows(4, 64)), changed = key_of(rows(4, 1536));
  Supply supply;
  supply.rows[key_] = {timed(key_, 12)};
  supply.rows[far] = {timed(far, 3)};
  supply.rows[changed] = {timed(changed, 17)};
  ++supply.rows[changed][0].digest;
  supply.rows["scale_rows rows=4 height=7"] = {};
  TimeBook book(library_);
  book.add(here_, supply.on_demand());
  EXPECT_TRUE(supply.asked.empty());

  const auto itself = book.of(rows(4, 1024), here_);
  EXPECT_EQ(itself->find(kKernel)->us, 12);
  EXPECT_EQ(itself->find(kKernel)->source, TimeSource::measured);
  EXPECT_EQ(itself->notes(), std::vector<std::string>{"a note"});
  EXPECT_EQ(supply.asked, std::vector<std::string>{key_}) << "and nothing else";

  // The nearest has no row that counts, so the next is.
  const auto near = book.of(rows(4, 1600), here_);
  EXPECT_EQ(near->find(kKernel)->us, 12);
  EXPECT_TEXT(near->source_text(*near->find(kKernel)),
              "near width=1024, measured 2026-11-23 on this driver, by the ratio of costs");
  const std::string lapsed =
      "1 tuned problem of 'scale_rows' is left out: another version of the spec wrote its key; tune it again";
  ASSERT_EQ(near->notes().size(), 1u);
  EXPECT_TEXT(near->notes()[0], lapsed);

  const auto of_changed = book.of(rows(4, 1536), here_);
  EXPECT_EQ(of_changed->find(kKernel)->source, TimeSource::near);
  ASSERT_EQ(of_changed->notes().size(), 3u);
  EXPECT_TEXT(of_changed->notes()[1],
              "1 time of this problem is left out: its kernel has changed since it was measured; tune it again");
  EXPECT_TEXT(of_changed->notes()[2], lapsed);
  EXPECT_NE(explain(select(rows(4, 1536), here_, library_, {.times = of_changed.get()})).find("  note: 1 time of this"),
            std::string::npos);

  const size_t asked = supply.asked.size();
  book.of(rows(4, 1024), here_);
  book.of(rows(4, 1600), here_);
  EXPECT_EQ(supply.asked.size(), asked) << "each once";
}

// As if all had been there from the start.
TEST_F(TimeBookTest, FindsOnDemandWhatItFindsOtherwise) {
  Supply supply;
  std::vector<std::string> keys;
  std::vector<TimedKernel> all;
  for (const uint32_t width : {64u, 100u, 512u, 1024u, 1536u, 4096u}) keys.push_back(key_of(rows(4, width)));
  std::ranges::sort(keys);  // as a store has them
  for (const std::string& key : keys) all.push_back(timed(key, 1 + static_cast<double>(all.size())));
  for (const TimedKernel& row : all) supply.rows[std::string(row.problem)] = {row};
  TimeBook lazy(library_), eager(library_);
  lazy.add(here_, supply.on_demand());
  eager.add(here_, all);
  for (const DeviceProfile& on : {here_, device("GPU 1", 1, 1, 2), device("GPU 2", 2, 1, 1)}) {
    for (const uint32_t width : {1u, 16u, 64u, 80u, 100u, 300u, 512u, 768u, 1024u, 2000u, 4096u, 9999u, 40000u}) {
      const auto a = lazy.of(rows(4, width), on), b = eager.of(rows(4, width), on);
      ASSERT_EQ(a->size(), b->size()) << width;
      if (a->empty()) continue;
      const KnownTime &x = a->begin()->second, &y = b->begin()->second;
      EXPECT_EQ(x.us, y.us) << width;
      EXPECT_EQ(x.source, y.source) << width;
      EXPECT_EQ(x.cost_us, y.cost_us) << width;
      EXPECT_EQ(a->source_text(x), b->source_text(y)) << width;
    }
  }
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
