// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The tuner on simulated devices whose clocks change. A worker plays each of them: it opens no device.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "runtime/workshop/tuner/tuner.h"

namespace qgen::tuner {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::ElementsAre;

constexpr double kSteadyUs = 10;  // the base time at the best clock

struct SimulatedDevice {
  std::vector<double> base_us;  // at each sentinel; at later ones the last
  double final_s = 0;           // that a final round takes
};

void answer_with(const Json& line) { std::cout << line.dump() << std::endl; }

constexpr const char* kSimulated[] = {"op.a", "op.b", "op.c", "op.d", "op.e", "op.f"};

// At the best clock, the kernels take 10, 12, 14 us and so on. The device keeps the clock of the last sentinel.
Json simulated_times(const Json& ids, double slowness) {
  Json rows = Json::array();
  for (const Json& id : ids) {
    const double us = slowness * static_cast<double>(10 + 2 * (id.get<std::string>().back() - 'a'));
    rows.push_back({{"id", id},
                    {"us", {us, us, us}},
                    {"samples", 60},
                    {"rounds", std::vector<double>(12, us)},
                    {"statistics", ""}});
  }
  return rows;
}

int simulate(const SimulatedDevice& device) {
  answer_with({{"ready", true}});
  size_t sentinels = 0;
  const auto base_us = [&](size_t place) { return device.base_us[std::min(place, device.base_us.size() - 1)]; };
  for (std::string line; std::getline(std::cin, line);) {
    const Json command = Json::parse(line);
    const std::string what = command.at("do");
    Json answer = Json::object();
    if (what == "open") {
      answer = {{"problem", "op n=1"},
                {"device",
                 {{"name", "A"},
                  {"profile", "name: A"},
                  {"device_uuid", "01"},
                  {"driver_uuid", "02"},
                  {"driver_version", 3}}},
                {"roof_us", 0}};
      for (const char* id : kSimulated)
        answer["candidates"].push_back({{"id", id}, {"digest", 7}, {"cost_us", 1}, {"is_rarely_best", false}});
    } else if (what == "sentinel") {
      answer = {{"base_us", base_us(sentinels++)}};
    } else if (what == "verify") {
      for (const Json& id : command.at("ids"))
        answer_with({{"id", id}, {"fault", ""}, {"is_proven", true}, {"is_by_relatives", false}, {"suspicion", ""}});
    } else if (what == "time") {
      if (command.contains("within_s")) std::this_thread::sleep_for(std::chrono::duration<double>(device.final_s));
      const double now_us = base_us(sentinels - 1);
      answer = {{"times", simulated_times(command.at("ids"), now_us > 0 ? now_us / kSteadyUs : 1)}, {"clock", 1.0}};
    }
    answer_with(answer);
  }
  return 0;
}

class DriftTest : public ::testing::Test {
 protected:
  DriftTest() {
    std::string name = (std::filesystem::temp_directory_path() / "qgen-drift-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    store_.emplace(*tuning::Store::open(folder_ / "tuning.sqlite"));
  }
  ~DriftTest() override { std::filesystem::remove_all(folder_); }

  TaskReport tuned(const SimulatedDevice& device, const Share& share = {.budget_s = 60}) {
    Tuner tuner(*store_, {.worker = {.work = [device] { return simulate(device); }}, .is_anew = true});
    auto report = tuner.tune({"op", {.shapes = {"input=1:f32"}}}, share);
    EXPECT_TRUE(report) << to_text(report.error());
    return report ? *report : TaskReport();
  }
  std::vector<tuning::TunedRow> rows() { return *store_->rows({"01", "02", 3}); }

  std::filesystem::path folder_;
  std::optional<tuning::Store> store_;
};

struct DriftCase {
  const char* name;
  std::vector<double> base_us;
  uint32_t finals;
  double clock;    // of the final that counts
  double best_us;  // that is announced
  std::vector<double> counted_base_us;
};

TEST_F(DriftTest, RepeatsAFinalOnASlowerDevice) {
  const std::vector<DriftCase> kDrifts = {
      {"steady", {10, 10, 10}, 1, 1, 10, {10, 10, 10}},
      {"changes of 3 % are none", {10, 10.2, 10.25}, 1, 1, 10.2, {10, 10.2, 10.25}},
      {"slower only before the final", {12, 10, 10}, 1, 1, 10, {10, 10}},
      {"slower after the final, then steady again", {10, 10, 12, 10, 10}, 2, 1, 10, {10, 10}},
      {"faster after the final: it was measured on a slow device", {12, 12, 10, 10, 10}, 2, 1, 10, {10, 10}},
      {"throttles for good", {10, 12.5}, 2, 0.8, 12.5, {12.5, 12.5}},
      {"the second is steadier", {10, 12.5, 12.5, 11, 11}, 2, 0.909, 11, {11, 11}},
      {"the first was steadier", {10, 11, 11, 16, 16}, 2, 0.909, 11, {11, 11}},
      {"unknown", {0}, 1, 1, 10, {0, 0, 0}},
      {"unknown at the start", {0, 10}, 1, 1, 10, {0, 10, 10}},
      {"unknown before a slow final", {10, 0, 12.5, 10}, 2, 1, 10, {10, 10}}};
  for (const DriftCase& row : kDrifts) {
    SCOPED_TRACE(row.name);
    ASSERT_TRUE(store_->forget({}));
    const TaskReport report = tuned({row.base_us});
    EXPECT_EQ(report.finals, row.finals);
    EXPECT_DOUBLE_EQ(report.clock, row.clock);
    EXPECT_EQ(report.counted_base_us, row.counted_base_us);
    ASSERT_FALSE(report.found.ranked.empty());
    EXPECT_EQ(report.found.ranked.front().id, "op.a");
    EXPECT_DOUBLE_EQ(report.found.ranked.front().us.median, row.best_us);
    // Programs choose what was announced, by the marked time.
    ASSERT_FALSE(rows().empty());
    EXPECT_EQ(rows().front().kernel, "op.a");
    EXPECT_DOUBLE_EQ(rows().front().us, row.best_us);
    EXPECT_DOUBLE_EQ(rows().front().clock, row.clock);
    EXPECT_TRUE(rows().front().is_final);
  }
}

// The four best take part in the final. The others were measured between the first two sentinels.
TEST_F(DriftTest, MarksTheRowsOfAnOrdinaryRound) {
  ASSERT_EQ(tuned({{12, 10, 10}}).finals, 1u);
  std::vector<std::string> told;
  for (const tuning::TunedRow& row : rows()) told.push_back(fmt::format("{} {}", row.kernel, row.clock));
  EXPECT_THAT(told, ElementsAre("op.a 1", "op.b 1", "op.c 1", "op.d 1", "op.e 0.833", "op.f 0.833"));
  // Tuned again on a steady device, all are without a mark, and stay so if the device is slow then.
  for (const SimulatedDevice& device : {SimulatedDevice{{10}}, SimulatedDevice{{12, 10, 10}}}) {
    (void)tuned(device);
    for (const tuning::TunedRow& row : rows()) EXPECT_EQ(row.clock, 1) << row.kernel;
  }
}

TEST_F(DriftTest, RepeatsNothingWithoutTime) {
  const TaskReport report = tuned({.base_us = {10, 12.5}, .final_s = 0.6}, {.budget_s = 1});
  EXPECT_LE(report.finals, 1u);
  for (const tuning::TunedRow& row : rows()) EXPECT_TRUE(row.is_marked() || !row.is_final) << row.kernel;
}

}  // namespace
}  // namespace qgen::tuner
