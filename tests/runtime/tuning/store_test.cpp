// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/tuning/store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <random>
#include <set>

#include "common/files.h"
#include "runtime/tuning/tuning_file.h"

namespace qgen::tuning {
namespace {

using ::testing::HasSubstr;

class StoreTest : public ::testing::Test {
 protected:
  StoreTest() {
    std::string name = (std::filesystem::temp_directory_path() / "qgen-store-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~StoreTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path path() const { return folder_ / "tuning.sqlite"; }

  std::filesystem::path folder_;
  const DeviceKey device_{"01", "02", 7};
};

TunedRow row(std::string problem, std::string kernel, double us) {
  return {std::move(problem), std::move(kernel), 0xfedcba9876543210, us, us - 1, us + 1, "2026-11-23", ""};
}

TEST_F(StoreTest, KeepsTheNewestOfEachProblemAndKernel) {
  auto store = Store::open(path());
  ASSERT_TRUE(store) << to_text(store.error());
  ASSERT_TRUE(store->add(device_, "name: A", std::vector{row("sum n=2", "sum.a", 5), row("sum n=2", "sum.b", 4)}));
  ASSERT_TRUE(store->add(device_, "name: A", std::vector{row("sum n=2", "sum.b", 9), row("sum n=1", "sum.a", 1)}));
  const auto again = Store::open_existing(path())->rows(device_);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, (std::vector{row("sum n=1", "sum.a", 1), row("sum n=2", "sum.a", 5), row("sum n=2", "sum.b", 9)}));
}

// A kernel's times with a warm and with a cold cache are two; choices go by the cold ones of a problem that has some.
TEST_F(StoreTest, TellsColdFromWarm) {
  TunedRow cold = row("sum n=2", "sum.a", 7);
  cold.is_cold = true;
  const std::vector<TunedRow> rows = {row("sum n=1", "sum.a", 4), row("sum n=2", "sum.b", 3),
                                      row("sum n=2", "sum.a", 5), cold};
  ASSERT_TRUE(Store::open(path())->add(device_, "name: A", rows));
  EXPECT_EQ(*Store::open(path())->rows(device_), rows);
  const auto file = read_tuning_file("a.yaml", to_yaml({.device = {.name = "A"}, .rows = rows}));
  ASSERT_TRUE(file) << to_text(file.error());
  EXPECT_EQ(file->rows, rows);
  EXPECT_EQ(merged(rows, rows), rows);
  EXPECT_EQ(comparable(rows), (std::vector{rows[0], cold}));
}

TEST_F(StoreTest, KeepsTheNewestOfCachesInTurn) {
  std::vector<TunedRow> rows;
  for (const double us : {5.0, 7.0, 6.0, 8.0, 4.0}) {
    rows.push_back(row("sum n=2", "sum.a", us));
    rows.back().is_cold = rows.size() % 2 == 0;
  }
  ASSERT_TRUE(Store::open(path())->add(device_, "name: A", rows));
  EXPECT_EQ(*Store::open(path())->rows(device_), (std::vector{rows[4], rows[3]}));
}

TEST_F(StoreTest, ReadsWhatVersion1Wrote) {
  ASSERT_TRUE(Store::open(path())->add(device_, "name: A", std::vector{row("sum n=2", "sum.a", 5)}));
  sqlite3* opened = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &opened), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(opened, "ALTER TABLE measurement DROP COLUMN is_cold; PRAGMA user_version = 1", nullptr,
                         nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(opened);
  auto store = Store::open(path());
  ASSERT_TRUE(store) << to_text(store.error());
  EXPECT_EQ(*store->rows(device_), std::vector{row("sum n=2", "sum.a", 5)});
}

// Through the store, a tuning file, which has it once for a pipeline that many rows are of, and a merge.
TEST_F(StoreTest, KeepsWhatTheDriverSays) {
  TunedRow said = row("sum n=2", "sum.a", 5), unsaid = row("sum n=2", "sum.b", 6), again = row("sum n=3", "sum.a", 7);
  said.statistics = again.statistics = R"([{"Register Count": 40, "it's: #1": true}, {}])";
  const std::vector rows = {said, unsaid, again};
  auto store = Store::open(path());
  ASSERT_TRUE(store->add(device_, "name: A", rows));
  EXPECT_EQ(*store->rows(device_), rows);
  const std::string text = to_yaml({.device = {.name = "A"}, .rows = rows});
  EXPECT_EQ(text.find("Register Count"), text.rfind("Register Count"));
  const auto file = read_tuning_file("a.yaml", text);
  ASSERT_TRUE(file) << to_text(file.error());
  EXPECT_EQ(file->rows, rows);
  EXPECT_EQ(merged(file->rows, {}), rows);
}

TEST_F(StoreTest, RowsAreADevicesAndItsDrivers) {
  auto store = Store::open(path());
  DeviceKey newer = device_;
  ++newer.driver_version;
  ASSERT_TRUE(store->add(device_, "name: A", std::vector{row("sum n=2", "sum.a", 5)}));
  EXPECT_TRUE(store->rows(newer)->empty());
  ASSERT_TRUE(store->add(newer, "name: A\ndriver: newer", {}));
  const auto devices = store->devices();
  ASSERT_EQ(devices->size(), 2u);
  EXPECT_EQ((*devices)[0].key, device_);
  EXPECT_EQ((*devices)[1].key, newer);
  EXPECT_EQ((*devices)[1].profile, "name: A\ndriver: newer");
}

TEST_F(StoreTest, QuarantinesAndForgets) {
  auto store = Store::open(path());
  const Quarantined bad{"sum.a/workgroup64", 17, "it hung", "2026-11-23"};
  ASSERT_TRUE(store->quarantine(device_, "name: A", bad));
  ASSERT_TRUE(
      store->add(device_, "name: A", std::vector{row("sum n=2", "sum.a", 5), row("sum_all n=2", "sum_all.a", 5)}));
  const auto kernels = store->quarantined(device_);
  ASSERT_EQ(kernels->size(), 1u);
  EXPECT_EQ((*kernels)[0].kernel, bad.kernel);
  EXPECT_EQ((*kernels)[0].digest, bad.digest);
  EXPECT_EQ((*kernels)[0].reason, bad.reason);
  EXPECT_EQ(*store->forget({.op = "sum"}), 1u) << "not those of sum_all";
  EXPECT_TRUE(store->quarantined(device_)->empty());
  EXPECT_EQ(*store->forget({.device = "name: B"}), 0u);
  EXPECT_EQ(*store->forget({}), 1u);
  EXPECT_TRUE(store->devices()->empty());
}

TEST_F(StoreTest, RefusesWhatIsNoStore) {
  EXPECT_THAT(to_text(Store::open_existing(path()).error()), HasSubstr("there is no store"));
  std::ofstream(path())
      << "name: this is YAML, and long enough to be taken for a database's first page........................";
  EXPECT_THAT(to_text(Store::open(path()).error()), HasSubstr("not a database"));
  std::filesystem::remove(path());
  std::filesystem::create_directory(path());
  EXPECT_FALSE(Store::open(path()));
  EXPECT_FALSE(Store::open("/proc/tuning.sqlite"));
}

TEST_F(StoreTest, RefusesADatabaseCutShort) {
  {
    auto store = Store::open(path());
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(store->add(device_, "name: A", std::vector{row(fmt::format("sum n={}", i), "sum.a", 5)}));
    }
  }
  std::filesystem::resize_file(path(), std::filesystem::file_size(path()) / 2);
  auto store = Store::open(path());
  const bool is_read = store && store->rows(device_);
  EXPECT_FALSE(is_read) << "half of the rows are gone";
}

// ---- many writers, killed at any moment -----------------------------------------------------------------------------

constexpr int kWriters = 8, kRows = 1000;

// Adds a row at a time, and says through the pipe when each is in.
[[noreturn]] void write_rows(const std::filesystem::path& path, const DeviceKey& device, int writer, int told) {
  auto store = Store::open(path);
  for (int i = 0; store && i < kRows; ++i) {
    const auto made = row(fmt::format("sum writer={} n={}", writer, i), "sum.a", i);
    if (!store->add(device, "name: A", {&made, 1})) ::_exit(1);
    const int32_t number = writer * kRows + i;
    if (::write(told, &number, sizeof(number)) != sizeof(number)) ::_exit(1);
  }
  ::_exit(store ? 0 : 1);
}

TEST_F(StoreTest, LosesNoRowThatWasCommittedWhenWritersAreKilled) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::vector<pid_t> writers;
  for (int i = 0; i < kWriters; ++i) {
    const pid_t writer = ::fork();
    if (writer == 0) write_rows(path(), device_, i, ends[1]);
    writers.push_back(writer);
  }
  ::close(ends[1]);
  // Every other writer is killed, each after some number of rows.
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  std::array<int, kWriters> rows_until_killed{};
  for (int& rows : rows_until_killed) rows = std::uniform_int_distribution(0, kRows - 1)(random);
  std::set<int32_t> told;
  int32_t number = 0;
  while (::read(ends[0], &number, sizeof(number)) == sizeof(number)) {
    told.insert(number);
    const auto writer = static_cast<size_t>(number / kRows);
    if (writer % 2 == 1 && number % kRows == rows_until_killed[writer]) ::kill(writers[writer], SIGKILL);
  }
  ::close(ends[0]);
  for (int i = 0; i < kWriters; ++i) {
    int status = 0;
    ASSERT_EQ(::waitpid(writers[static_cast<size_t>(i)], &status, 0), writers[static_cast<size_t>(i)]);
    EXPECT_TRUE(status == 0 || i % 2 == 1) << i;
  }
  auto store = Store::open_existing(path());
  ASSERT_TRUE(store) << to_text(store.error());
  const auto rows = store->rows(device_);
  ASSERT_TRUE(rows) << to_text(rows.error());
  std::set<std::string> kept;
  for (const TunedRow& r : *rows) kept.insert(r.problem);
  EXPECT_GE(told.size(), static_cast<size_t>(kWriters / 2 * kRows));
  for (const int32_t n : told) {
    EXPECT_TRUE(kept.contains(fmt::format("sum writer={} n={}", n / kRows, n % kRows))) << n;
  }
}

}  // namespace
}  // namespace qgen::tuning
