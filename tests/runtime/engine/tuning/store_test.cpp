// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/tuning/store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <random>
#include <set>

#include "common/files.h"
#include "common/text.h"
#include "runtime/engine/tuning/tuning_file.h"
#include "runtime/engine/tuning/written_file.h"
#include "tests/support/expected_text.h"

namespace qgen::tuning {
namespace {

using ::testing::HasSubstr;

// The parts that version 2 lacked.
constexpr const char* kToVersion2 =
    "ALTER TABLE measurement DROP COLUMN final_round; ALTER TABLE measurement DROP COLUMN samples; "
    "ALTER TABLE measurement DROP COLUMN lost_clock; "
    "PRAGMA user_version = 2";

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
  return {std::move(problem), std::move(kernel), 0xfedcba9876543210, us, us / 2, us + 1, "2026-11-23", ""};
}

TunedRow of_final(TunedRow row) {
  row.is_final = true;
  row.samples = 60;
  return row;
}

// A SQLite file changed by somebody else.
void execute(const std::filesystem::path& path, const std::string& sql) {
  sqlite3* opened = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &opened), SQLITE_OK);
  char* why = nullptr;
  EXPECT_EQ(sqlite3_exec(opened, sql.c_str(), nullptr, nullptr, &why), SQLITE_OK) << sql << ": " << (why ? why : "");
  sqlite3_free(why);
  sqlite3_close(opened);
}

TEST_F(StoreTest, NeedsAPlace) {
  EXPECT_EQ(Store::open("").error().message, "there is no folder to keep measured times in");
  EXPECT_EQ(Store::open_to_read("").error().hint, "set HOME, XDG_CACHE_HOME or QGEN_TUNING_STORE");
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
  EXPECT_EQ(merged({rows, rows}), rows);
  EXPECT_EQ(comparable(rows), (std::vector{rows[0], cold}));
}

TEST_F(StoreTest, CountsWhatNoReadHas) {
  auto store = Store::open(path());
  ASSERT_TRUE(store) << to_text(store.error());
  const std::vector<TunedRow> rows = {row("sum n=1", "sum.a", 4), row("sum n=2", "sum.a", 5),
                                      row("sum n=3", "sum.b", 6)};
  ASSERT_TRUE(store->add(device_, "name: A", rows));
  EXPECT_EQ(store->orphans()->rows, 0u);
  ASSERT_TRUE(store->quarantine(device_, "name: A", {"sum.b", rows[2].digest, "it hangs", "2026-11-23"}));
  execute(path(), "UPDATE measurement SET device = 77 WHERE id = 2");
  const auto orphans = store->orphans();
  ASSERT_TRUE(orphans) << to_text(orphans.error());
  EXPECT_EQ(orphans->rows, 1u);
  EXPECT_EQ(orphans->first, "row 2 of the table 'measurement'");
  const auto read = store->read(device_, {});
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(read->rows, std::vector{rows[0]});
  EXPECT_EQ(read->quarantined.rows, 1u);
  EXPECT_EQ(read->quarantined.first, "sum.b");
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
  execute(path(), kToVersion2);
  execute(path(), "ALTER TABLE measurement DROP COLUMN is_cold; PRAGMA user_version = 1");
  const auto read = Store::open_to_read(path());
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(*Store::open_to_read(path())->rows(device_), std::vector{row("sum n=2", "sum.a", 5)}) << "as it is";
  auto store = Store::open(path());
  ASSERT_TRUE(store) << to_text(store.error());
  EXPECT_EQ(*store->rows(device_), std::vector{row("sum n=2", "sum.a", 5)});
}

// Rows of such a store are ordered by time alone; a final that comes later stands before them.
TEST_F(StoreTest, ReadsWhatVersion2Wrote) {
  TunedRow cold = row("sum n=2", "sum.c", 3);
  cold.is_cold = true;
  const std::vector rows = {cold, row("sum n=2", "sum.b", 4), row("sum n=2", "sum.a", 5)};
  ASSERT_TRUE(Store::open(path())->add(device_, "name: A", rows));
  execute(path(), kToVersion2);
  EXPECT_EQ(*Store::open_to_read(path())->rows(device_), rows);
  ASSERT_TRUE(Store::open(path())->add(device_, "name: A", std::vector{of_final(row("sum n=2", "sum.a", 6))}));
  EXPECT_EQ(*Store::open(path())->rows(device_),
            (std::vector{of_final(row("sum n=2", "sum.a", 6)), cold, row("sum n=2", "sum.b", 4)}));
}

// ---- the one order --------------------------------------------------------------------------------------------------

// Through the store, a tuning file and a merge.
TEST_F(StoreTest, PutsTheFinalFirst) {
  auto store = Store::open(path());
  TunedRow look = row("sum n=2", "sum.c", 3);
  look.samples = 1;
  ASSERT_TRUE(
      store->add(device_, "name: A", std::vector{row("sum n=2", "sum.a", 1), row("sum n=2", "sum.b", 2), look}));
  ASSERT_TRUE(store->add(device_, "name: A",
                         std::vector{of_final(row("sum n=2", "sum.b", 9)), of_final(row("sum n=2", "sum.d", 8))}));
  const std::vector rows = {of_final(row("sum n=2", "sum.d", 8)), of_final(row("sum n=2", "sum.b", 9)),
                            row("sum n=2", "sum.a", 1), look};
  EXPECT_EQ(*store->rows(device_), rows);
  const auto file = read_tuning_file("a.yaml", to_yaml({.device = {.name = "A"}, .rows = rows}));
  ASSERT_TRUE(file) << to_text(file.error());
  EXPECT_EQ(file->rows, rows);
  EXPECT_EQ(merged({rows, rows}), rows);
  EXPECT_EQ(comparable(rows), rows);
}

// One final is the newest. An earlier final's row counts as any other time. A later time outside a final does not
// replace a final's row, unless its kernel changed.
TEST_F(StoreTest, KnowsOneFinalOfAProblem) {
  auto store = Store::open(path());
  const auto add = [&](const std::vector<TunedRow>& rows) { ASSERT_TRUE(store->add(device_, "name: A", rows)); };
  add({of_final(row("sum n=2", "sum.a", 1)), of_final(row("sum n=2", "sum.b", 2)),
       of_final(row("sum n=3", "sum.b", 2))});
  add({of_final(row("sum n=2", "sum.b", 8)), of_final(row("sum n=2", "sum.c", 9))});
  add({row("sum n=2", "sum.c", 0.5)});
  TunedRow before = row("sum n=2", "sum.a", 1);
  before.samples = 60;
  EXPECT_EQ(*store->rows(device_),
            (std::vector{of_final(row("sum n=2", "sum.b", 8)), of_final(row("sum n=2", "sum.c", 9)), before,
                         of_final(row("sum n=3", "sum.b", 2))}));
  TunedRow changed = row("sum n=2", "sum.c", 7);
  changed.digest = 1;
  add({changed});
  EXPECT_EQ(store->read(device_, {.problem = "sum n=2"})->rows,
            (std::vector{of_final(row("sum n=2", "sum.b", 8)), before, changed}));
}

// Of two finals of one problem the newer is the final, and of one day the faster.
TEST_F(StoreTest, MergesFinals) {
  TunedRow older = of_final(row("sum n=2", "sum.a", 1)), newer = of_final(row("sum n=2", "sum.b", 5));
  newer.date = "2026-11-24";
  const auto demoted = [](TunedRow one) {
    one.is_final = false;
    return one;
  };
  EXPECT_EQ(merged({{older}, {newer}}), (std::vector{newer, demoted(older)}));
  EXPECT_EQ(merged({{newer}, {older}}), (std::vector{newer, demoted(older)}));
  newer.date = older.date;
  EXPECT_EQ(merged({{newer}, {older}}), (std::vector{older, demoted(newer)}));
  TunedRow late = row("sum n=2", "sum.a", 3);
  late.date = "2026-11-25";
  EXPECT_EQ(merged({{older}, {late}}), std::vector{older}) << "it met in no final";
}

TunedRow at_clock(TunedRow row, double clock) {
  row.clock = clock;
  return row;
}

// Of two rows of one kernel, that of a steady device. The newest final stays the final.
TEST_F(StoreTest, PrefersRowsWithoutAMark) {
  auto store = Store::open(path());
  const auto add = [&](const std::vector<TunedRow>& rows) { ASSERT_TRUE(store->add(device_, "name: A", rows)); };
  add({row("sum n=2", "sum.a", 5), at_clock(row("sum n=2", "sum.b", 6), 0.9)});
  add({at_clock(row("sum n=2", "sum.a", 7), 0.8), row("sum n=2", "sum.b", 8)});
  EXPECT_EQ(*store->rows(device_), (std::vector{row("sum n=2", "sum.a", 5), row("sum n=2", "sum.b", 8)}));
  const std::vector final = {at_clock(of_final(row("sum n=2", "sum.b", 11)), 0.8),
                             at_clock(of_final(row("sum n=2", "sum.a", 12)), 0.8)};
  add(final);
  EXPECT_EQ(*store->rows(device_), final) << "they met there";
  TunedRow changed = at_clock(row("sum n=2", "sum.a", 7), 0.9);
  changed.digest = 1;
  add({changed});
  EXPECT_EQ(*store->rows(device_), (std::vector{final[0], changed})) << "the version that is not there any more";
}

TEST_F(StoreTest, MarksRows) {
  auto store = Store::open(path());
  const TunedRow a = row("sum n=2", "sum.a", 5), b = at_clock(row("sum n=2", "sum.b", 6), 0.7);
  ASSERT_TRUE(store->add(device_, "name: A", std::vector{a, b}));
  ASSERT_TRUE(store->mark(device_, std::vector{at_clock(a, 0.9), at_clock(b, 0.9)}));
  EXPECT_EQ(*store->rows(device_), (std::vector{at_clock(a, 0.9), b})) << "never less than before";
  ASSERT_TRUE(store->mark({"03", "02", 7}, std::vector{at_clock(a, 0.5)}));
  ASSERT_TRUE(store->mark(device_, std::vector{at_clock(row("sum n=2", "sum.a", 4), 0.5)}));
  EXPECT_EQ(store->rows(device_)->front(), at_clock(a, 0.9)) << "other measurements";
}

// In every order of the files, and however often each is given.
TEST_F(StoreTest, MergesInEveryOrder) {
  TunedRow newer = row("sum n=2", "sum.a", 9), newest = at_clock(row("sum n=2", "sum.a", 4), 0.9);
  newer.date = "2026-11-24";
  newest.date = "2026-11-25";
  TunedRow final_of_day = of_final(row("sum n=3", "sum.a", 5));
  final_of_day.date = "2026-11-26";
  std::vector<std::vector<TunedRow>> files = {
      {row("sum n=2", "sum.a", 5), of_final(row("sum n=3", "sum.a", 7))},
      {newer, at_clock(final_of_day, 0.9), row("sum n=4", "sum.a", 2)},
      {newest, of_final(row("sum n=3", "sum.b", 7)), row("sum n=3", "sum.a", 1)},
      {of_final(row("sum n=3", "sum.a", 7)), of_final(row("sum n=3", "sum.b", 8)), row("sum n=4", "sum.b", 2)}};
  const std::vector<TunedRow> all = merged(files);
  EXPECT_EQ(all.front(), newer) << "the newest one without a mark";
  EXPECT_EQ(merged({all, all}), all);
  std::mt19937 random(5);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<std::vector<TunedRow>> some = files;
    some.push_back(files[static_cast<size_t>(trial) % files.size()]);
    std::ranges::shuffle(some, random);
    EXPECT_EQ(merged(some), all) << trial;
  }
}

// ---- what no measurement can be -------------------------------------------------------------------------------------

TEST_F(StoreTest, LeavesOutWhatNoMeasurementCanBe) {
  struct Odd {
    const char* set;
    const char* told;
  };
  constexpr Odd kOdd[] = {
      {"us = -5", "its time is -5 us: a time is from 0.001 to 1e+12 us"},
      {"us = 0", "its time is 0 us"},
      {"us = 1e-320", "its time is 1e-320 us"},
      {"us = 9e999", "its time is inf us"},
      {"us = 1e308", "its time is 1e+308 us"},
      {"low_us = 6", "its median of 5 us is not between its low time, 6 us, and its high time, 6 us"},
      {"high_us = 4", "its high time, 4 us"},
      {"low_us = 0", "its low time is 0 us"},
      {"date = '2026-13-45'", "its date is '2026-13-45': a date has the form 2026-11-23"},
      {"date = '2026-02-29'", "its date is '2026-02-29'"},
      {"date = '9999-12-31'", "its date is '9999-12-31'"},
      {"date = ''", "its date is ''"},
      {"date = char(27) || '[31m'", "its date is '\\x1b[31m'"},
      {"kernel = 'sum' || char(27) || '[2J'", "its kernel holds "},
      {"kernel = ''", "it names no kernel"},
      {"kernel = hex(zeroblob(5000000))", "its kernel is 10000000 bytes long, of 16384 at most"},
      {"statistics = 'a' || char(10)", "its statistics is of several lines"}};
  auto store = Store::open(path());
  const TunedRow sound = row("sum n=1", "sum.a", 4);
  ASSERT_TRUE(store->add(device_, "name: A", std::vector{sound, row("sum n=2", "sum.a", 5)}));
  for (const auto& [set, told] : kOdd) {
    SCOPED_TRACE(set);
    execute(path(), "DELETE FROM measurement WHERE id = 2");
    ASSERT_TRUE(store->add(device_, "name: A", std::vector{row("sum n=2", "sum.a", 5)}));
    execute(path(), fmt::format("UPDATE measurement SET {} WHERE id = 2", set));
    const auto found = store->read(device_, {});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->rows, std::vector{sound});
    ASSERT_EQ(found->faults.size(), 1u);
    EXPECT_THAT(found->faults[0], HasSubstr(told));
    EXPECT_THAT(found->faults[0], HasSubstr(fmt::format("row 2 of '{}'", path().string())));
    EXPECT_EQ(found->faults[0], printable(found->faults[0]));
    EXPECT_LT(found->faults[0].size(), 1000u);
  }
  execute(path(), "UPDATE problem SET key = 'sum n=' || char(27) WHERE key = 'sum n=1'");
  EXPECT_THAT(store->read(device_, {})->faults, ::testing::Contains(HasSubstr("its problem holds ")));
}

TEST_F(StoreTest, LeavesOutNumbersThatNoMeasurementHas) {
  {
    auto store = Store::open(path());
    ASSERT_TRUE(store->add(device_, "name: A", std::vector{row("sum n=2", "sum.a", 5)}));
  }
  for (const char* change : {"samples = -1", "samples = 4294967296", "lost_clock = -9223372036854775807",
                             "lost_clock = 1000", "is_cold = 2", "final_round = -1"}) {
    execute(path(), std::string("UPDATE measurement SET is_cold = 0, final_round = 0, samples = 3, lost_clock = 0; ") +
                        "UPDATE measurement SET " + change);
    const auto found = Store::open_to_read(path())->read(device_, {});
    ASSERT_TRUE(found) << change;
    EXPECT_TRUE(found->rows.empty()) << change;
    EXPECT_THAT(found->faults, ::testing::ElementsAre(HasSubstr(std::string(change).substr(0, 6)))) << change;
  }
  execute(path(), "UPDATE measurement SET final_round = 0, samples = -1");
  EXPECT_THAT(Store::open_to_read(path())->read(device_, {})->faults,
              ::testing::ElementsAre(HasSubstr("its column 'samples' is -1, and can be 0 to 4294967295")));
}

// The times of other devices stay.
TEST_F(StoreTest, ADamagedProfileCostsItsDeviceAlone) {
  {
    auto store = Store::open(path());
    ASSERT_TRUE(store->add(device_, "name: A", std::vector{row("sum n=2", "sum.a", 5)}));
    ASSERT_TRUE(store->add({"03", "04", 1}, "name: B", std::vector{row("sum n=2", "sum.a", 5)}));
  }
  execute(path(), "UPDATE device SET profile = '' WHERE id = 2");
  const auto devices = Store::open_to_read(path())->devices();
  ASSERT_TRUE(devices);
  EXPECT_EQ(fault_of_profile(devices->at(1)), "row 2 of the table 'device' has no profile of a device");
}

TEST_F(StoreTest, AddsNoSuchRow) {
  auto store = Store::open(path());
  EXPECT_TEXT(to_text(store->add(device_, "name: A", std::vector{row("sum n=2", "sum.a", 0)}).error()),
              "the row of 'sum.a' is no measurement: its time is 0 us: a time is from 0.001 to 1e+12 us");
  EXPECT_TRUE(store->rows(device_)->empty());
}

// With its line.
TEST_F(StoreTest, RefusesATuningFileWithSuchARow) {
  const auto told = [](std::string_view fields) {
    const std::string text = fmt::format(
        "device: {{name: A, kind: cpu, vendor_id: 1}}\nproblems:\n- problem: sum n=2\n  kernels:\n  - {{id: sum.a, "
        "digest: 12, {}}}\n",
        fields);
    const auto file = read_tuning_file("a.yaml", text);
    return file ? std::string() : to_text(file.error());
  };
  EXPECT_EQ(told("us: 5, low: 4, high: 6, date: 2026-11-23"), "");
  EXPECT_TEXT(told("us: 0, low: 0, high: 6, date: 2026-11-23"),
              "a.yaml:5:33: error: us is '0'\n"
              "    5 |   - {id: sum.a, digest: 12, us: 0, low: 0, high: 6, date: 2026-11-23}\n"
              "      |                                 ^\n"
              "  expected: a number from 0.001 to 1e+12\n"
              "a.yaml:5:41: error: low is '0'\n"
              "    5 |   - {id: sum.a, digest: 12, us: 0, low: 0, high: 6, date: 2026-11-23}\n"
              "      |                                         ^\n"
              "  expected: a number from 0.001 to 1e+12");
  EXPECT_TEXT(told("us: nan, low: 4, high: 6, date: 2026-11-23"),
              "a.yaml:5:33: error: us is 'nan'\n"
              "    5 |   - {id: sum.a, digest: 12, us: nan, low: 4, high: 6, date: 2026-11-23}\n"
              "      |                                 ^~~\n"
              "  expected: a number from 0.001 to 1e+12");
  EXPECT_TEXT(told("us: 5, low: 4, high: inf, date: 2026-11-23"),
              "a.yaml:5:50: error: high is 'inf'\n"
              "    5 |   - {id: sum.a, digest: 12, us: 5, low: 4, high: inf, date: 2026-11-23}\n"
              "      |                                                  ^~~\n"
              "  expected: a number from 0.001 to 1e+12");
  EXPECT_TEXT(told("us: 5, low: 6, high: 4, date: 2026-11-23"),
              "a.yaml:5:5: error: the row of 'sum.a' is no measurement: its median of 5 us is not between its low "
              "time, 6 us, and its high time, 4 us\n"
              "    5 |   - {id: sum.a, digest: 12, us: 5, low: 6, high: 4, date: 2026-11-23}\n"
              "      |     ^");
  EXPECT_TEXT(told("us: 5, low: 4, high: 6, date: 2026-13-45"),
              "a.yaml:5:5: error: the row of 'sum.a' is no measurement: its date is '2026-13-45': a date has the form "
              "2026-11-23\n"
              "    5 |   - {id: sum.a, digest: 12, us: 5, low: 4, high: 6, date: 2026-13-45}\n"
              "      |     ^");
  EXPECT_TEXT(told("us: 5, low: 4, high: 6, date: 2026-11-23, samples: 0"),
              "a.yaml:5:80: error: samples is '0'\n"
              "    5 |   - {id: sum.a, digest: 12, us: 5, low: 4, high: 6, date: 2026-11-23, samples: 0}\n"
              "      |                                                                                ^\n"
              "  expected: a whole number from 1 to 4294967295");
}

// ---- files that are no store, or may not be written -------------------------------------------------------------------

// A file as qgen writes it is read line by line, and one that a person wrote as YAML: both say the same.
TEST_F(StoreTest, ReadsATuningFileInBothWays) {
  TuningFile file{.device = {.name = "A"}};
  for (int i = 0; i < 20; ++i) {
    TunedRow one = row(i < 10 ? "sum n=2 input=f32:strided|packed" : "plain",
                       i % 2 == 0 ? "sum.a(b.x, c)" : "sum.b/workgroup64", i + 1.0 / 3);
    one.kernel += std::to_string(i);
    one.is_cold = i % 5 == 0;
    one.is_final = i % 3 == 0;
    one.samples = static_cast<uint32_t>(i);
    one.clock = i % 7 == 1 ? 0.871 : 1;
    one.statistics = i % 4 == 0 ? "" : (i % 4 == 1 ? R"([{"Register Count": 32}])" : R"([{"a\b": "c " d"}])");
    file.rows.push_back(one);
  }
  file.base_us["plain"] = {12.5, 12.25, 1e6};
  std::ranges::sort(file.rows, {}, [](const TunedRow& r) { return order_of(r); });
  const std::string text = to_yaml(file);
  const auto written = read_written_file("a.yaml", text);
  ASSERT_TRUE(written) << text;
  // A comment makes it one that a person wrote.
  ASSERT_FALSE(read_written_file("a.yaml", text + "# mine\n"));
  const auto edited = read_tuning_file("a.yaml", text + "# mine\n");
  ASSERT_TRUE(edited) << to_text(edited.error());
  EXPECT_EQ(to_yaml(*edited), text);
  EXPECT_EQ(to_yaml(*read_tuning_file("a.yaml", text)), text);
  EXPECT_EQ(written->rows, edited->rows);
  EXPECT_EQ(written->base_us, edited->base_us);
  EXPECT_EQ(written->lines, edited->lines);
  EXPECT_EQ(written->device, edited->device);
  // What is no measurement is left to the reader that names its line.
  for (const auto& [from, to] : {std::pair("us: 0.333333", "us: 0"),
                                 {"us: 0.333333", "us: nan"},
                                 {"low: ", "low: 9e9"},
                                 {"date: 2026", "date: 1026"},
                                 {"base: [12.5", "base: [-1"},
                                 {"clock: 0.871", "clock: 2"}}) {
    std::string wrong = text;
    const size_t at = wrong.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    wrong.replace(at, std::string_view(from).size(), to);
    EXPECT_FALSE(read_written_file("a.yaml", wrong)) << to;
    EXPECT_FALSE(read_tuning_file("a.yaml", wrong)) << to;
  }
}

TEST_F(StoreTest, SaysWhatAStoreLacks) {
  struct Odd {
    const char* sql;
    const char* told;
  };
  constexpr Odd kOdd[] = {
      {"ALTER TABLE measurement DROP COLUMN is_cold", "lacks the column 'is_cold' of its table 'measurement'"},
      {"DROP TABLE quarantine", "lacks the table 'quarantine' of a store"},
      {"DROP TABLE quarantine; CREATE VIEW quarantine AS SELECT 1 AS device",
       "has a view where a store has its table 'quarantine'"},
      {"PRAGMA user_version = 99", "was written by a newer version of qgen"},
      {"PRAGMA application_id = 1", "is another program's database"}};
  for (const auto& [sql, told] : kOdd) {
    SCOPED_TRACE(sql);
    std::filesystem::remove(path());
    ASSERT_TRUE(Store::open(path())->add(device_, "name: A", std::vector{row("sum n=2", "sum.a", 5)}));
    execute(path(), sql);
    for (const auto& store : {Store::open(path()), Store::open_to_read(path())}) {
      ASSERT_FALSE(store);
      EXPECT_THAT(to_text(store.error()), HasSubstr(told));
      EXPECT_EQ(store.error().kind, Error::Kind::invalid_argument);
    }
  }
}

// As those who may not write see it; root may write everywhere, so it takes part as another user.
TEST_F(StoreTest, ReadsWhatMayNotBeWritten) {
  const TunedRow kept = row("sum n=2", "sum.a", 5);
  ASSERT_TRUE(Store::open(path())->add(device_, "name: A", std::vector{kept}));
  std::filesystem::permissions(path(), std::filesystem::perms{0444});
  std::filesystem::permissions(folder_, std::filesystem::perms{0555});
  const pid_t reader = ::fork();
  if (reader == 0) {
    constexpr uid_t kNobody = 65534;
    if (::geteuid() == 0 && ::seteuid(kNobody) != 0) ::_exit(2);
    if (::access(folder_.c_str(), W_OK) == 0 && ::geteuid() != kNobody) ::_exit(3);
    auto store = Store::open_to_read(path());
    const auto rows = store ? store->rows(device_) : Expected<std::vector<TunedRow>>(store.error());
    if (!rows) std::fprintf(stderr, "%s\n", to_text(rows.error()).c_str());
    ::_exit(rows && *rows == std::vector{kept} ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(reader, &status, 0), reader);
  std::filesystem::permissions(folder_, std::filesystem::perms{0755});
  EXPECT_EQ(status, 0);
  const auto files = std::filesystem::directory_iterator(folder_);
  EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "and nothing was written beside it";
}

TEST_F(StoreTest, ForgetsWhatIsOlder) {
  auto store = Store::open(path());
  TunedRow old = row("sum n=2", "sum.a", 5);
  old.date = "2026-10-31";
  ASSERT_TRUE(store->add(device_, "name: A", std::vector{old, row("sum n=3", "sum.a", 5)}));
  ASSERT_TRUE(store->quarantine(device_, "name: A", {"sum.b", 17, "it hung", "2026-10-31"}));
  EXPECT_EQ(*store->forget({.op = "max", .older_than = "2026-11-01"}), 0u);
  EXPECT_EQ(*store->forget({.older_than = "2026-10-31"}), 0u);
  EXPECT_EQ(*store->forget({.older_than = "2026-11-01"}), 1u);
  EXPECT_EQ(*store->rows(device_), std::vector{row("sum n=3", "sum.a", 5)});
  EXPECT_TRUE(store->quarantined(device_)->empty());
}

TEST_F(StoreTest, ReadsOneProblemOrOperator) {
  auto store = Store::open(path());
  const std::vector rows = {row("sum n=1", "sum.a", 4), row("sum n=2", "sum.a", 5), row("sum_all n=2", "sum_all.a", 6)};
  ASSERT_TRUE(store->add(device_, "name: A", rows));
  EXPECT_EQ(store->read(device_, {.problem = "sum n=2"})->rows, std::vector{rows[1]});
  EXPECT_EQ(store->read(device_, {.op = "sum"})->rows, (std::vector{rows[0], rows[1]}));
  EXPECT_EQ(store->read(device_, {})->rows, rows);
  std::vector<std::string> keys;
  ASSERT_TRUE(store->keys(device_, "sum", [&](std::string_view key) { keys.emplace_back(key); }));
  EXPECT_EQ(keys, (std::vector<std::string>{"sum n=1", "sum n=2"}));
  DeviceKey other = device_;
  ++other.driver_version;
  ASSERT_TRUE(store->keys(other, "sum", [&](std::string_view) { ADD_FAILURE() << "it has none"; }));
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
  EXPECT_EQ(merged({file->rows}), rows);
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
  EXPECT_TEXT((*devices)[1].profile, "name: A\ndriver: newer");
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
  EXPECT_TEXT((*kernels)[0].reason, bad.reason);
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
  const auto in_every_way = [&](const std::string& words) {
    EXPECT_THAT(to_text(Store::open(path()).error()), HasSubstr(words));
    EXPECT_THAT(to_text(Store::open_existing(path()).error()), HasSubstr(words));
    EXPECT_THAT(to_text(Store::open_to_read(path()).error()), HasSubstr(words));
    std::filesystem::remove(path());
  };
  in_every_way("' is no store: it is no SQLite file");
  std::filesystem::create_directory(path());
  in_every_way(": it is a folder");
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  in_every_way(": it is a named pipe");
  std::filesystem::create_symlink(path(), path());
  in_every_way("it is a symbolic link to");
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
  const std::string said = to_text(store ? store->rows(device_).error() : store.error());
  EXPECT_THAT(said, HasSubstr("' is damaged: database disk image is malformed\n  hint: move it away"));
}

// ---- many writers, killed at any moment -----------------------------------------------------------------------------

constexpr int kWriters = 8, kRows = 1000;

// Adds a row at a time, and says through the pipe when each is in.
[[noreturn]] void write_rows(const std::filesystem::path& path, const DeviceKey& device, int writer, int told) {
  auto store = Store::open(path);
  for (int i = 0; store && i < kRows; ++i) {
    const auto made = row(fmt::format("sum writer={} n={}", writer, i), "sum.a", i + 1);
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
