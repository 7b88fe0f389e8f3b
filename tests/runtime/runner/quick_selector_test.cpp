// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The quick choice is the slow one: of every problem that this repository has times of, on every device that it
// describes; and with those times.
#include "runtime/selector/quick_selector.h"

#include <gtest/gtest.h>

#include <set>

#include "common/files.h"
#include "registry.h"
#include "runtime/profiles/device_file.h"
#include "runtime/selector/decision_cache.h"
#include "runtime/tuning/tuning_file.h"
#include "tests/runtime/operators/h200.h"
#include "tests/support/source_folder.h"

namespace qgen::runner {
namespace {

std::vector<DeviceProfile> devices() {
  std::vector<DeviceProfile> devices = {qgen::testing::h200()};
  const std::string folder = tests::source_folder() + "/devices/";
  const std::vector<std::string> files = *list_files(folder);
  for (const std::string& file : files) {
    if (file.ends_with(".yaml")) devices.push_back(*profiles::load_device(folder + file));
  }
  return devices;
}

// What was measured once, of kernels that may have changed since: here it counts how they are looked up.
tuning::TuningFile measured_once() {
  return *tuning::load_tuning_file(tests::source_folder() + "/tuning/nvidia-h200.yaml");
}

std::vector<Problem> problems(const KernelLibrary& library) {
  std::set<std::string> keys;
  const tuning::TuningFile table = measured_once();
  for (const tuning::TunedRow& row : table.rows) keys.insert(row.problem);
  std::vector<Problem> problems;
  for (const std::string& key : keys) {
    const auto problem = problem_of(key, library);
    EXPECT_TRUE(problem) << key;
    if (problem) problems.push_back(*problem);
  }
  return problems;
}

TEST(QuickSelector, ChoosesAsSelectDoes) {
  const auto library = KernelLibrary::open(generated::library());
  const std::vector<Problem> asked = problems(*library);
  ASSERT_GT(asked.size(), 40u);
  for (const DeviceProfile& device : devices()) {
    const QuickSelector selector(device, *library);
    for (const Problem& problem : asked) {
      SCOPED_TRACE(device.name + ": " + key_of(problem));
      const Selection slow = select(problem, device, *library, {.best_only = true, .best_or_nothing = true});
      const auto quick = selector.best(problem);
      ASSERT_EQ(quick.has_value(), !slow.ranked.empty());
      if (!quick) continue;
      const Choice& best = slow.ranked.front();
      ASSERT_EQ(quick->id, best.id);
      EXPECT_EQ(quick->cost_us, best.cost_us);
      EXPECT_EQ(quick->time_us, best.time_us);
      EXPECT_EQ(quick->scratch_elements, best.scratch_elements);
      ASSERT_EQ(quick->launches.size(), best.launches.size());
      for (size_t i = 0; i < best.launches.size(); ++i) {
        EXPECT_EQ(quick->launches[i].kernel, best.launches[i].kernel);
        EXPECT_EQ(quick->launches[i].specialization, best.launches[i].specialization);
        EXPECT_EQ(quick->launches[i].groups, best.launches[i].groups);
        EXPECT_EQ(quick->launches[i].problem, best.launches[i].problem);
      }
    }
  }
}

// Of the very problem, of one nearby, and of none.
TEST(QuickSelector, DecidesByTimesAsSelectDoes) {
  const auto library = KernelLibrary::open(generated::library());
  const tuning::TuningFile table = measured_once();
  TimeBook book(*library);
  std::vector<TimedKernel> times;
  for (const tuning::TunedRow& row : table.rows) {
    const OperatorInfo* op = library->find(row.problem.substr(0, row.problem.find(' ')));
    ASSERT_NE(op, nullptr) << row.problem;
    const auto digest = digest_of(*op, row.kernel, *library);
    if (digest) times.push_back({row.problem, row.kernel, *digest, row.us, row.date, row.is_cold});
  }
  ASSERT_GT(book.add(table.device, times), 500u);
  size_t measured = 0;
  for (const DeviceProfile& device : {table.device, qgen::testing::h200(), DeviceProfile{}}) {
    DecisionCache decisions(device, *library, &book);
    for (const Problem& problem : problems(*library)) {
      SCOPED_TRACE(key_of(problem));
      const Selection slow =
          select(problem, device, *library, {.best_only = true, .times = book.of(problem, device).get()});
      const auto decided = decisions.best(problem);
      ASSERT_EQ(decided != nullptr, !slow.ranked.empty());
      if (!decided) continue;
      EXPECT_EQ(decided->id, slow.ranked.front().id);
      EXPECT_EQ(decided->time_us, slow.ranked.front().time_us);
      EXPECT_EQ(decided->source, slow.ranked.front().source);
      EXPECT_EQ(decided->said, slow.ranked.front().said);
      measured += decided->source == TimeSource::measured;
    }
  }
  EXPECT_GT(measured, 40u);
}

}  // namespace
}  // namespace qgen::runner
