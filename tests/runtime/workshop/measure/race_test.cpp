// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Races of made-up contestants, at a clock that is always steady.
#include "runtime/workshop/measure/race.h"

#include <gtest/gtest.h>

#include <tuple>

namespace qgen::measure {
namespace {

// A contestant whose first look says one time and whose later runs say another.
struct FakeRacer {
  double look_us, later_us;
  uint32_t chain = 0, counted = 0;  // as recorded last
  size_t recordings = 0, runs = 0;

  Racer racer(uint32_t copies = 1) {
    return {.record =
                [this](uint32_t replays, uint32_t chains) {
                  chain = replays, counted = chains;
                  ++recordings;
                  return Done(std::monostate{});
                },
            .run = [this]() -> Expected<std::vector<double>> {
              return std::vector(counted, runs++ == 0 ? look_us : later_us);
            },
            .copies = copies};
  }
};

std::vector<Spread> raced(std::span<FakeRacer> fakes, const TimingOptions& options) {
  SteadyClock clock;
  std::vector<Racer> racers;
  for (FakeRacer& fake : fakes) racers.push_back(fake.racer());
  const auto times = race(clock, racers, options);
  return times ? times->device_us : std::vector<Spread>();
}

constexpr uint32_t kReplays = 30;
constexpr size_t kRuns = 2 + 3;  // the look, one that fills caches, and rounds

TEST(Race, RunsEachInEveryRound) {
  FakeRacer fakes[] = {{50, 45}, {10, 9}};
  const auto times = raced(fakes, {.replays = kReplays});
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].median, 45);
  EXPECT_EQ(times[1].median, 9);
  for (const FakeRacer& fake : fakes) EXPECT_EQ(fake.runs, kRuns);
}

// So that those who compare contestants do so round by round. Another program may interrupt most chains of a round.
TEST(Race, TellsTheLowOfEachInEachRound) {
  FakeRacer fakes[] = {{50, 45}, {10, 9}};
  SteadyClock clock;
  const Racer racers[] = {fakes[0].racer(), fakes[1].racer()};
  const auto times = race(clock, racers, {.replays = kReplays, .is_quick = true});
  ASSERT_TRUE(times);
  ASSERT_EQ(times->rounds_us.size(), 2u);
  EXPECT_TRUE(times->rounds_us[0].empty()) << "far slower: it took part in no round";
  EXPECT_EQ(times->rounds_us[1], std::vector<double>(kReplays / 10, 9));

  SteadyClock other;
  const Racer interrupted = {.record = [](uint32_t, uint32_t) { return Done(std::monostate{}); },
                             .run = []() -> Expected<std::vector<double>> {
                               return std::vector<double>{50, 9, 70, 50, 9};
                             }};
  const auto of_one = race(other, std::span(&interrupted, 1), {.replays = 10, .chains = 5, .is_quick = true});
  ASSERT_TRUE(of_one);
  EXPECT_EQ(of_one->rounds_us[0], (std::vector<double>{9, 9}));
}

// Who takes part in the next round may depend on the rounds so far.
TEST(Race, EndsWhenNobodyTakesPart) {
  FakeRacer fakes[] = {{50, 45}, {30, 28}, {20, 19}};
  std::vector<Racer> racers;
  for (FakeRacer& fake : fakes) racers.push_back(fake.racer());
  SteadyClock clock;
  const auto next_round = [](std::span<const std::vector<double>> rounds_us) {
    const size_t rounds = rounds_us[1].size();
    return std::vector{false, rounds < 3, rounds < 3};
  };
  const auto times = race(clock, racers, {.replays = 100, .next_round = next_round});
  ASSERT_TRUE(times);
  EXPECT_EQ(times->rounds_us, (std::vector<std::vector<double>>{{45}, {28, 28, 28}, {19, 19, 19}}));
  EXPECT_EQ(times->device_us[0].samples, 10u);
  EXPECT_EQ(times->device_us[1].samples, 30u);
}

// In a quick race one that is far slower, than a later one too, has the time of its best look and no other run. A long
// look is not repeated.
TEST(Race, IsOverForLosersOfAQuickOne) {
  FakeRacer fakes[] = {{50, 45}, {10, 9}, {30, 28}, {1e6, 1e5}};
  const auto times = raced(fakes, {.replays = kReplays, .is_quick = true});
  ASSERT_EQ(times.size(), 4u);
  for (const auto& [loser, us, looks] : {std::tuple(size_t{0}, 45.0, size_t{8}), {3, 1e6, 1}}) {
    EXPECT_EQ(times[loser].median, us);
    EXPECT_EQ(times[loser].low, times[loser].high);
    EXPECT_EQ(times[loser].samples, 1u) << "the same look each round is one sample";
    EXPECT_EQ(fakes[loser].runs, looks);
    EXPECT_EQ(fakes[loser].recordings, looks);
  }
  EXPECT_EQ(times[1].median, 9);
  EXPECT_EQ(times[1].samples, kReplays);
  EXPECT_EQ(times[2].median, 28);
  EXPECT_EQ(fakes[1].runs, kRuns);
  EXPECT_EQ(fakes[2].runs, kRuns);
}

// Another program may interrupt the first look.
TEST(Race, LooksAgainAtThoseThatAreFarSlower) {
  FakeRacer fakes[] = {{50, 20}, {10, 9}};
  const auto times = raced(fakes, {.replays = kReplays, .is_quick = true});
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].median, 20);
  EXPECT_EQ(times[0].samples, kReplays);
  EXPECT_EQ(fakes[0].runs, kRuns + 1);
}

TEST(Race, IsOverForThoseFarBehindWhatIsKnown) {
  FakeRacer fakes[] = {{50, 45}, {10, 9}};
  const auto times = raced(fakes, {.replays = kReplays, .is_quick = true, .best_us = 2});
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].median, 45);
  EXPECT_EQ(times[1].median, 9);
  FakeRacer slow[] = {{50, 45}, {10, 9}};
  EXPECT_EQ(raced(slow, {.replays = kReplays, .best_us = 2}).front().median, 45) << "one that is not quick";
}

// Chains are of twenty short replays, or of one long; of a quick race few that are long.
TEST(Race, HasChainsOfEqualLength) {
  struct Row {
    double us;
    bool is_quick;
    uint32_t chain, counted;
  };
  for (const auto& [us, is_quick, chain, counted] :
       {Row{1, false, 20, 10}, Row{100, false, 4, 10}, Row{1e5, false, 1, 10}, Row{1, true, 20, 10},
        Row{1e4, true, 1, 10}, Row{2e4, true, 1, 5}, Row{1e6, true, 1, 3}}) {
    FakeRacer fake[] = {{us, us}};
    raced(fake, {.replays = kReplays, .is_quick = is_quick});
    EXPECT_EQ(fake[0].chain, chain) << us;
    EXPECT_EQ(fake[0].counted, counted) << us;
  }
}

// Another program interrupted the look: the next round tells how long a chain takes.
TEST(Race, CorrectsALookThatWasInterrupted) {
  for (const auto& [look_us, later_us, chain, counted] :
       {std::tuple(5000.0, 50.0, 2u, 10u), {5000.0, 4000.0, 1u, 3u}, {5000.0, 2000.0, 1u, 4u}}) {
    FakeRacer fake[] = {{look_us, later_us}};
    raced(fake, {.replays = kReplays, .chain_us = 100, .is_quick = true, .turn_us = 8e3});
    EXPECT_EQ(fake[0].chain, chain) << later_us;
    EXPECT_EQ(fake[0].counted, counted) << later_us;
  }
}

// However long a replay takes, one run comes through all copies.
TEST(Race, ComesThroughAllCopies) {
  for (const bool is_quick : {false, true}) {
    FakeRacer fake{1e6, 1e6};
    SteadyClock clock;
    const Racer racers[] = {fake.racer(100)};
    ASSERT_TRUE(race(clock, racers, {.replays = kReplays, .is_cold = true, .is_quick = is_quick}));
    EXPECT_GE((fake.counted + 1) * fake.chain, 100u);
  }
}

// The units of progress: each candidate has a look, a round that fills caches, and rounds of ten replays.
TEST(Race, TellsOfEveryTurn) {
  EXPECT_EQ(turns_of({.replays = 1}, 1), 3u);
  EXPECT_EQ(turns_of({.replays = 60}, 1), 8u);
  EXPECT_EQ(turns_of({.replays = 61}, 2), 18u);
  for (const bool is_quick : {false, true}) {
    FakeRacer fakes[] = {{50, 45}, {10, 9}};  // where it is quick, the first is over after its look
    std::vector<std::pair<size_t, size_t>> told;
    raced(fakes, {.replays = kReplays, .is_quick = is_quick, .on_turn = [&](size_t done, size_t all) {
                    told.emplace_back(done, all);
                  }});
    ASSERT_EQ(told.size(), 2 * kRuns);
    for (size_t i = 0; i < told.size(); ++i) EXPECT_EQ(told[i], std::pair(i + 1, 2 * kRuns));
  }
}

TEST(Spread, IsMedianAndTenths) {
  std::vector<double> samples;
  for (int i = 100; i >= 0; --i) samples.push_back(i);
  const Spread spread = spread_of(samples);
  EXPECT_EQ(spread.median, 50);
  EXPECT_EQ(spread.low, 10);
  EXPECT_EQ(spread.high, 90);
  EXPECT_EQ(spread_of({7}).low, 7);
  EXPECT_EQ(spread_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}).low, 1);
  EXPECT_EQ(spread_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}).low, 2);
  EXPECT_EQ(spread_of({}).median, 0);
}

}  // namespace
}  // namespace qgen::measure
