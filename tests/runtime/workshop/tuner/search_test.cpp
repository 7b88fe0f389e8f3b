// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The search among simulated candidates, whose true times are known.
#include "runtime/workshop/tuner/search.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <random>
#include <tuple>

#include "registry.h"
#include "runtime/engine/tuning/store.h"
#include "runtime/workshop/report/facts.h"
#include "tests/support/source_folder.h"

namespace qgen::tuner {
namespace {

// Tiles of m x n and four workgroup sizes in two families. The true best is at tiles of 64 x 128; the estimate is wrong
// by up to a half, depending on the id only.
struct Space {
  std::vector<Candidate> candidates;
  std::map<std::string, double> times;

  Space() {
    for (const std::string_view family : {"tiled", "matrix"}) {
      for (int m = 8; m <= 256; m *= 2) {
        for (int n = 8; n <= 256; n *= 2) {
          for (int workgroup = 32; workgroup <= 256; workgroup *= 2) {
            const std::string id = fmt::format("op.{}.m{}.n{}/workgroup{}", family, m, n, workgroup);
            const double off = std::abs(std::log2(m / 64.0)) + std::abs(std::log2(n / 128.0)) +
                               0.5 * std::abs(std::log2(workgroup / 128.0));
            const double time = (family == "matrix" ? 10 : 14) * (1 + 0.3 * off);
            const double error = 1 + 0.5 * std::sin(static_cast<double>(std::hash<std::string>()(id) % 1000));
            times[id] = time;
            candidates.push_back({id, time * error});
          }
        }
      }
    }
    std::ranges::sort(candidates, {}, &Candidate::cost_us);
  }
};

class FakeLaboratory {
 public:
  explicit FakeLaboratory(std::map<std::string, double> times, double each_s = 0.1)
      : times_(std::move(times)), each_s_(each_s) {}

  Laboratory laboratory() {
    return {.measure = [this](std::span<const std::string> ids, const Round& round) { return measure(ids, round); },
            .elapsed_s = [this] { return elapsed_s_; },
            .expect = [this](std::vector<std::string> ids) { expected.push_back(std::move(ids)); }};
  }
  // A final round takes a few times as long as a short one, and no longer than it may.
  Expected<Batch> measure(std::span<const std::string> ids, const Round& round) {
    Batch batch;
    if (!round.is_final) {
      batch.compiling_s = compiling_s;
      batch.verifying_s = verifying_s * static_cast<double>(ids.size());
    }
    const double timing_s = each_s_ * static_cast<double>(ids.size());
    elapsed_s_ += batch.compiling_s + batch.verifying_s;
    elapsed_s_ += round.is_final ? std::min(kFinal * timing_s, round.within_s) : timing_s;
    for (const std::string& id : ids) {
      asked.push_back(id);
      const auto time = times_.find(id);
      batch.us.push_back(time == times_.end()
                             ? std::nullopt
                             : std::optional(measure::Spread{time->second, time->second, time->second}));
    }
    return batch;
  }

  std::vector<std::string> asked;
  std::vector<std::vector<std::string>> expected;  // before each batch
  double compiling_s = 0, verifying_s = 0;         // a batch of candidates that were not compiled

 private:
  static constexpr double kFinal = 3;
  std::map<std::string, double> times_;
  double each_s_;
  double elapsed_s_ = 0;

 public:
  double elapsed_s() const { return elapsed_s_; }
};

double least(const std::map<std::string, double>& times) {
  double best = times.begin()->second;
  for (const auto& [id, time] : times) best = std::min(best, time);
  return best;
}

TEST(Search, TakesAllThatFitsIntoTheBudget) {
  const Space space;
  FakeLaboratory fake(space.times, 0.01);
  const auto found = find_best(space.candidates, {}, fake.laboratory(), {.share = {.budget_s = 60}});
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_exhaustive);
  EXPECT_EQ(found->tried, space.candidates.size());
  EXPECT_EQ(found->ranked.front().us.median, least(space.times));
  EXPECT_TRUE(found->ranked.front().is_final);
}

TEST(Search, FindsTheBestInAFewSamples) {
  const Space space;
  FakeLaboratory fake(space.times);
  const auto found =
      find_best(space.candidates, {}, fake.laboratory(), {.strategy = Strategy::batches, .share = {.budget_s = 60}});
  ASSERT_TRUE(found);
  EXPECT_LE(found->ranked.front().us.median, least(space.times) / 0.98);
  EXPECT_LE(static_cast<double>(found->tried), 0.15 * static_cast<double>(space.candidates.size()));
}

TEST(Search, KeepsToItsBudget) {
  const Space space;
  for (const double budget : {3.0, 10.0, 25.0}) {
    FakeLaboratory fake(space.times, 0.2);
    const auto found = find_best(space.candidates, {}, fake.laboratory(), {.share = {.budget_s = budget}});
    ASSERT_TRUE(found);
    EXPECT_LE(fake.elapsed_s(), 1.05 * budget);
    EXPECT_FALSE(found->ranked.empty());
  }
}

TEST(Search, MeasuresEveryCandidateIfExhaustive) {
  const Space space;
  FakeLaboratory fake(space.times, 0.2);
  const auto found =
      find_best(space.candidates, {}, fake.laboratory(), {.strategy = Strategy::exhaustive, .share = {.budget_s = 3}});
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_exhaustive);
  EXPECT_EQ(found->ranked.size(), space.candidates.size());
  EXPECT_EQ(found->ranked.front().us.median, least(space.times));
}

TEST(Search, ExpectsMostOfWhatItAsksForNext) {
  const Space space;
  FakeLaboratory fake(space.times, 0.2);
  ASSERT_TRUE(find_best(space.candidates, {}, fake.laboratory(), {.strategy = Strategy::exhaustive}));
  size_t asked = 4, expected = 0;  // after the first batch
  for (const std::vector<std::string>& ids : fake.expected) {
    const std::span next = std::span(fake.asked).subspan(asked, ids.size());
    for (const std::string& id : ids) expected += std::ranges::count(next, id);
    asked += ids.size();
  }
  EXPECT_GE(asked, space.candidates.size()) << "the rest is the last stage";
  EXPECT_GE(2 * expected, space.candidates.size());
}

// A candidate's expected time holds until one is measured: a batch that would not end in time is smaller.
TEST(Search, BeginsWithAsManyAsFit) {
  const Space space;
  for (const auto& [candidate_s, fewest, most] : {std::tuple(0.01, 4u, 4u), {1.0, 2u, 3u}, {3.0, 1u, 1u}}) {
    FakeLaboratory fake(space.times, 100);
    ASSERT_TRUE(find_best(space.candidates, {}, fake.laboratory(),
                          {.share = {.budget_s = 4, .pace = {.each_s = candidate_s}}}));
    EXPECT_GE(fake.asked.size(), fewest) << candidate_s;
    EXPECT_LE(fake.asked.size(), most) << candidate_s;
  }
}

// Compiling takes as long for a batch as for one candidate, so a batch is no smaller for it.
TEST(Search, CountsCompilingOnceForABatch) {
  const Space space;
  const auto tried = [&](const Pace& pace) {
    FakeLaboratory fake(space.times, pace.each_s);
    fake.compiling_s = pace.compiling_s;
    const auto found = find_best(space.candidates, {}, fake.laboratory(), {.share = {.budget_s = 4, .pace = pace}});
    EXPECT_LE(fake.elapsed_s(), 4) << pace.compiling_s;
    return found->tried;
  };
  EXPECT_EQ(tried({.compiling_s = 2.3, .each_s = 0.1}), 4u);
  EXPECT_EQ(tried({.compiling_s = 0.85, .each_s = 0.09}), 12u) << "and a batch of eight behind";
  EXPECT_EQ(tried({.each_s = 2.6}), 1u);
}

// An estimate that is wrong about a whole family does not hide it.
TEST(Search, TriesEachKind) {
  Space space;
  for (Candidate& candidate : space.candidates) {
    if (candidate.id.starts_with("op.matrix")) candidate.cost_us += 1e6;
  }
  std::ranges::sort(space.candidates, {}, &Candidate::cost_us);
  FakeLaboratory fake(space.times);
  const auto found =
      find_best(space.candidates, {}, fake.laboratory(), {.strategy = Strategy::batches, .share = {.budget_s = 60}});
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->ranked.front().id.starts_with("op.matrix")) << found->ranked.front().id;
}

TEST(Search, PassesOverWhatHasNoTime) {
  Space space;
  const double all = static_cast<double>(space.times.size());
  std::erase_if(space.times, [](const auto& row) { return row.first.ends_with("workgroup128"); });
  FakeLaboratory fake(space.times, 0.001);
  const auto found = find_best(space.candidates, {}, fake.laboratory(), {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->ranked.size(), space.times.size());
  EXPECT_EQ(static_cast<double>(found->tried), all);
  for (const Measured& measured : found->ranked) EXPECT_FALSE(measured.id.ends_with("workgroup128"));
}

TEST(Search, DoesNotMeasureAgainWhatIsKnown) {
  const Space space;
  FakeLaboratory first(space.times, 0.001), second(space.times, 0.001);
  const auto found = find_best(space.candidates, {}, first.laboratory(), {});
  ASSERT_TRUE(found);
  const auto again = find_best(space.candidates, found->ranked, second.laboratory(), {});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->ranked.front().id, found->ranked.front().id);
  EXPECT_LE(second.asked.size(), 5u) << "the best few meet again, and the choice by estimates";
}

// A machine that is busy except for a moment: times of a round are true ones times a factor, which is small for some
// early round. The announced choice was in the final, next to the choice by estimates. A store that got each round as
// from the tuner has the same first row, for a later search too.
TEST(Search, AnnouncesWhatTheStoreChooses) {
  const Space space;
  std::string name = (std::filesystem::temp_directory_path() / "qgen-search-XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(name.data());
  auto store = tuning::Store::open(folder / "tuning.sqlite");
  ASSERT_TRUE(store) << to_text(store.error());
  size_t misled = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const tuning::DeviceKey device{fmt::format("{}", seed), "02", 7};
    std::vector<Measured> known;
    for (int run = 0; run < 2; ++run) {
      FakeLaboratory fake(space.times);
      const auto measure = [&](std::span<const std::string> ids, const Round& round) {
        auto batch = fake.measure(ids, round);
        const double load = std::uniform_real_distribution(0.3, 3.0)(random);
        std::vector<tuning::TunedRow> rows;
        for (size_t i = 0; i < ids.size(); ++i) {
          const double us = load * batch->us[i]->median;
          batch->us[i] = measure::Spread{us, us, us, 10};
          rows.push_back({"op n=1", ids[i], 1, us, us, us, "2026-11-26", "", false, round.is_final, 10});
        }
        EXPECT_TRUE(store->add(device, "name: A", rows));
        return batch;
      };
      const auto found =
          find_best(space.candidates, known, {.measure = measure, .elapsed_s = [&] { return fake.elapsed_s(); }},
                    {.strategy = Strategy::batches, .share = {.budget_s = 60}});
      ASSERT_TRUE(found);
      const Measured& best = found->ranked.front();
      EXPECT_TRUE(best.is_final);
      const auto untuned = std::ranges::find(found->ranked, space.candidates.front().id, &Measured::id);
      ASSERT_NE(untuned, found->ranked.end());
      EXPECT_EQ(untuned->round, best.round) << "so that the two compare";
      EXPECT_GE(untuned->us.median, best.us.median);
      known.clear();
      const auto stored = store->read(device, {.problem = "op n=1"});
      ASSERT_TRUE(stored) << to_text(stored.error());
      for (const tuning::TunedRow& row : stored->rows) {
        known.push_back({row.kernel, 1, {row.us, row.low_us, row.high_us, row.samples}, row.is_final});
      }
      ASSERT_EQ(known.size(), found->ranked.size());
      for (size_t i = 0; i < known.size(); ++i) EXPECT_EQ(known[i].id, found->ranked[i].id) << i;
      misled +=
          std::ranges::min_element(known, {}, [](const Measured& m) { return m.us.median; })->id != best.id ? 1 : 0;
    }
  }
  EXPECT_GT(misled, 10u) << "by the time alone another would have been chosen: the test tells the two apart";
  std::filesystem::remove_all(folder);
}

// A candidate that is in no round of the final, being far slower at its first look, is not of the final.
TEST(Search, TakesNoFirstLookForAFinal) {
  const std::vector<Candidate> candidates = {{"op.slow", 1}, {"op.fast", 2}};
  const Laboratory laboratory{.measure = [](std::span<const std::string> ids, const Round&) -> Expected<Batch> {
                                Batch batch;
                                for (const std::string& id : ids) {
                                  const bool is_slow = id == "op.slow";
                                  const double us = is_slow ? 90 : 10;
                                  batch.us.push_back(measure::Spread{us, us, us, is_slow ? 1u : 60u});
                                }
                                return batch;
                              },
                              .elapsed_s = [] { return 0.0; }};
  const auto found = find_best(candidates, {}, laboratory, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->ranked[0].id, "op.fast");
  EXPECT_TRUE(found->ranked[0].is_final);
  EXPECT_FALSE(found->ranked[1].is_final);
  EXPECT_EQ(found->ranked[0].round, found->ranked[1].round);
}

// A kernel that is nearly as fast as the device allows leaves nothing to search for.
TEST(Search, EndsAtTheRoof) {
  const Space space;
  const auto tried = [&](double roof_us, Strategy strategy) {
    FakeLaboratory fake(space.times, 0.01);
    const auto found = find_best(space.candidates, {}, fake.laboratory(),
                                 {.strategy = strategy, .roof_us = roof_us, .share = {.budget_s = 60}});
    EXPECT_TRUE(found);
    EXPECT_TRUE(found->ranked.front().is_final) << "the best few still meet";
    EXPECT_EQ(found->is_at_roof, found->tried < space.candidates.size());
    return found->tried;
  };
  const size_t all = space.candidates.size();
  EXPECT_EQ(tried(0, Strategy::automatic), all) << "not known";
  EXPECT_EQ(tried(least(space.times) / 2, Strategy::automatic), all) << "far below what kernels reach";
  EXPECT_LT(tried(least(space.times), Strategy::automatic), all);
  EXPECT_LT(tried(1e6, Strategy::automatic), 16u) << "the first batch is good enough";
  EXPECT_EQ(tried(1e6, Strategy::exhaustive), all);
}

// On a busy machine, verifying and timing take most of a short budget. Two kernels still meet in a final round: without
// one, the noise of single rounds would choose.
TEST(Search, KeepsTimeForAFinal) {
  const Space space;
  for (const auto& [timing_s, verifying_s] : {std::pair(0.05, 0.6), {0.3, 0.0}, {0.2, 0.4}, {0.35, 0.1}}) {
    FakeLaboratory fake(space.times, timing_s);
    fake.verifying_s = verifying_s;
    const auto found = find_best(space.candidates, {}, fake.laboratory(), {.share = {.budget_s = 5}});
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->ranked.front().is_final) << timing_s << " " << verifying_s;
    EXPECT_LE(fake.elapsed_s(), 5) << timing_s << " " << verifying_s;
  }
}

// A machine on which a round takes up to two and a half times as long as the ones before, with slow candidates above
// all. The best always met another in a final round, and the budget is kept.
TEST(Search, AlwaysEndsWithAFinal) {
  const Space space;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto between = [&](double least, double most) { return std::uniform_real_distribution(least, most)(random); };
    FakeLaboratory fake(space.times, between(0.01, 0.3));
    fake.verifying_s = between(0, 0.2);
    double late_s = 0;
    const auto elapsed_s = [&] { return late_s + fake.elapsed_s(); };
    size_t met = 0;
    const auto measure = [&](std::span<const std::string> ids, const Round& round) {
      const double began = fake.elapsed_s();
      auto batch = fake.measure(ids, round);
      const double most =
          std::ranges::any_of(ids, [](const auto& id) { return id.find(".m256") != std::string::npos; }) ? 1.5 : 0.5;
      if (!round.is_final) late_s += between(0, most) * (fake.elapsed_s() - began);
      if (round.is_final) met = ids.size();
      return batch;
    };
    const auto found = find_best(space.candidates, {}, {.measure = measure, .elapsed_s = elapsed_s},
                                 {.batch = 2, .share = {.budget_s = 8}});
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->ranked.front().is_final);
    EXPECT_GE(met, 2u);
    EXPECT_LE(elapsed_s(), 8);
  }
}

// Verifying a batch of slow candidates takes most of the budget. They are not timed then, so that the others still meet.
TEST(Search, KeepsTheTimeOfTheFinalWhenVerifyingIsLate) {
  const Space space;
  FakeLaboratory fake(space.times, 0.3);
  fake.verifying_s = 0.05;
  double late_s = 0;
  size_t batches = 0, met = 0;
  const auto elapsed_s = [&] { return late_s + fake.elapsed_s(); };
  const auto measure = [&](std::span<const std::string> ids, const Round& round) -> Expected<Batch> {
    constexpr double kVerifyingS = 5;
    const bool is_late = ++batches == 3 && round.within_s < kVerifyingS;
    met = round.is_final ? ids.size() : 0;
    if (!is_late) return fake.measure(ids, round);
    late_s += kVerifyingS;
    return Batch{std::vector<std::optional<measure::Spread>>(ids.size()), 0, kVerifyingS};
  };
  const auto found = find_best(space.candidates, {}, {.measure = measure, .elapsed_s = elapsed_s},
                               {.batch = 2, .share = {.budget_s = 8}});
  ASSERT_TRUE(found);
  EXPECT_GT(late_s, 0) << "the third batch had to be over earlier";
  EXPECT_TRUE(found->ranked.front().is_final);
  EXPECT_GE(met, 2u);
  EXPECT_LE(elapsed_s(), 8);
}

// Other programs interrupt most runs of the fastest kernels in their short round. They still meet in the final round.
TEST(Search, TakesInterruptedKernelsToTheFinal) {
  const Space space;
  const double best_us = least(space.times);
  FakeLaboratory fake(space.times);
  const auto measure = [&](std::span<const std::string> ids, const Round& round) {
    auto batch = fake.measure(ids, round);
    for (auto& us : batch->us) {
      const bool is_interrupted = !round.is_final && us->low < 1.2 * best_us;
      if (is_interrupted) us = measure::Spread{20 * us->low, us->low, 50 * us->low};
    }
    return batch;
  };
  const auto found =
      find_best(space.candidates, {}, {.measure = measure, .elapsed_s = [&] { return fake.elapsed_s(); }},
                {.strategy = Strategy::batches, .share = {.budget_s = 60}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->ranked.front().us.median, best_us);
}

TEST(Search, OfOneCandidate) {
  const std::vector<Candidate> one = {{"op.only", 1}};
  FakeLaboratory fake({{"op.only", 2.0}});
  const auto found = find_best(one, {}, fake.laboratory(), {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->ranked.size(), 1u);
  FakeLaboratory broken({});
  const auto none = find_best(one, {}, broken.laboratory(), {});
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->ranked.empty());
}

TEST(Search, HandsOnTheLaboratorysError) {
  const Space space;
  const Laboratory broken{
      .measure = [](std::span<const std::string>, const Round&) -> Expected<Batch> { return refused("interrupted"); },
      .elapsed_s = [] { return 0.0; }};
  const auto found = find_best(space.candidates, {}, broken, {});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message, "interrupted");
}

TEST(Likeness, FadesWithSteps) {
  constexpr std::string_view kId = "op.a.m8n4/workgroup64";
  EXPECT_EQ(similarity(kId, kId), 1);
  const double one_step = similarity(kId, "op.a.m8n4/workgroup128"),
               two_steps = similarity(kId, "op.a.m4n8/workgroup64");
  EXPECT_LT(one_step, 1);
  EXPECT_EQ(similarity(kId, "op.a.m8n4/workgroup32"), one_step);
  EXPECT_EQ(similarity("op.two(x.vec4/w64, y.plain)", "op.two(x.vec4/w64, y.sliding)"), one_step)
      << "a word in a place";
  EXPECT_DOUBLE_EQ(two_steps, one_step * one_step) << "along one axis";
  EXPECT_DOUBLE_EQ(similarity(kId, "op.a.m16n4/workgroup128"), two_steps) << "along two";
  EXPECT_EQ(similarity("op.a.team0", "op.a.team0"), 1);
  EXPECT_GT(similarity("op.a.team0", "op.a.team1024"), similarity("op.a.team1", "op.b.team1")) << "another kind";
  EXPECT_EQ(similarity("op.a.m8", "op.b.m8"), similarity("op.a.m8", "op.a.m8.n8")) << "or words that do not compare";
}

// ---- what was measured on an H200, as spaces ------------------------------------------------------------------------

struct MeasuredSpace {
  std::string problem;
  std::vector<Candidate> candidates;  // by the specs' estimates for that device, with equals in select()'s order
  std::map<std::string, double> times;
};

// Problems with so many measured kernels.
std::vector<MeasuredSpace> measured_spaces(size_t fewest) {
  const auto library = KernelLibrary::open(generated::library());
  const auto file = tuning::load_tuning_file(tests::source_folder() + "/tuning/nvidia-h200.yaml");
  if (!library || !file) return {};
  std::vector<MeasuredSpace> spaces;
  for (const report::ProblemFact& problem : report::facts_of(*file, *library).problems) {
    MeasuredSpace space{problem.key, {}, {}};
    for (const report::KernelFact& kernel : problem.kernels) {
      if (kernel.estimated_us <= 0) continue;
      space.candidates.push_back({kernel.row.kernel, kernel.estimated_us});
      space.times[kernel.row.kernel] = kernel.row.us;
    }
    if (space.candidates.size() < fewest) continue;
    std::ranges::sort(space.candidates, {}, [](const Candidate& c) { return std::tie(c.cost_us, c.id); });
    spaces.push_back(std::move(space));
  }
  return spaces;
}

// The search needs fewer kernels than a random order until it has measured one near the best, and returns the best of
// those that it measured. The figures themselves are those of one table.
TEST(Search, ReachesTheBestOfMeasuredTables) {
  size_t all = 0, needed = 0, randomly_needed = 0, asked = 0, missed = 0;
  std::mt19937 random(1);
  const auto spaces = measured_spaces(24);
  ASSERT_GE(spaces.size(), 10u) << "of kernels that the library has: tune again, and export";
  for (const MeasuredSpace& space : spaces) {
    FakeLaboratory fake(space.times);
    const auto found =
        find_best(space.candidates, {}, fake.laboratory(), {.strategy = Strategy::batches, .share = {.budget_s = 600}});
    ASSERT_TRUE(found);
    const double enough = least(space.times) / 0.98;
    double least_asked = std::numeric_limits<double>::infinity();
    for (const std::string& id : fake.asked) least_asked = std::min(least_asked, space.times.at(id));
    EXPECT_LE(found->ranked.front().us.median, least_asked * 1.03) << space.problem;
    missed += found->ranked.front().us.median > enough ? 1 : 0;
    const auto reached = std::ranges::find_if(fake.asked, [&](const auto& id) { return space.times.at(id) <= enough; });
    all += space.candidates.size();
    needed += static_cast<size_t>(reached - fake.asked.begin()) + 1;
    std::vector<double> shuffled;
    for (const auto& [id, us] : space.times) shuffled.push_back(us);
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    const auto by_chance = std::ranges::find_if(shuffled, [&](double us) { return us <= enough; });
    randomly_needed += static_cast<size_t>(by_chance - shuffled.begin()) + 1;
    asked += found->tried;
  }
  const auto share = [&](size_t part) { return static_cast<double>(part) / static_cast<double>(all); };
  RecordProperty("share_to_reach_98_percent", fmt::format("{:.3f}", share(needed)));
  RecordProperty("share_measured", fmt::format("{:.3f}", share(asked)));
  RecordProperty("missed_98_percent", fmt::format("{} of {}", missed, spaces.size()));
  EXPECT_LT(needed, randomly_needed);
}

// How many times the best time the best of the first `samples` kernels takes.
double farness(const MeasuredSpace& space, const std::vector<std::string>& order, size_t samples) {
  double best = space.times.at(order.front());
  for (size_t i = 0; i < std::min(samples, order.size()); ++i) best = std::min(best, space.times.at(order[i]));
  return best / least(space.times);
}

// A small budget is spent on kernels that are expected to be fast: the first samples find faster kernels than as many
// samples in a random order, and more samples find no slower ones. The figures themselves are those of one table.
TEST(Search, SpendsItsFirstSamplesWell) {
  const auto spaces = measured_spaces(12);
  ASSERT_GE(spaces.size(), 20u);
  std::mt19937 random(1);
  double mean_before = std::numeric_limits<double>::infinity();
  for (const size_t samples : {4, 8, 16}) {
    double logs = 0, random_logs = 0, farthest = 1;
    for (const MeasuredSpace& space : spaces) {
      FakeLaboratory fake(space.times);
      ASSERT_TRUE(find_best(space.candidates, {}, fake.laboratory(), {.share = {.budget_s = 600}}));
      std::vector<std::string> shuffled;
      for (const auto& [id, us] : space.times) shuffled.push_back(id);
      std::shuffle(shuffled.begin(), shuffled.end(), random);
      const double off = farness(space, {fake.asked.begin(), fake.asked.end()}, samples);
      logs += std::log(off);
      random_logs += std::log(farness(space, shuffled, samples));
      farthest = std::max(farthest, off);
    }
    const double mean = std::exp(logs / static_cast<double>(spaces.size()));
    RecordProperty(fmt::format("after_{}", samples), fmt::format("{:.4f}, at worst {:.3f}", mean, farthest));
    EXPECT_LT(logs, random_logs) << "after " << samples;
    EXPECT_LE(mean, mean_before) << "after " << samples;
    mean_before = mean;
  }
}

// Other specializations of the best come before recipes that take many times as long by estimate, and those come before
// the end.
TEST(Search, LeavesFarRecipesForTheEnd) {
  std::vector<Candidate> candidates;
  std::map<std::string, double> times;
  for (int m = 1; m <= 8; m *= 2) {
    for (int workgroup = 32; workgroup <= 256; workgroup *= 2) {
      for (const auto& [kind, factor] : {std::pair("near", 1.0), {"far", 3.0}, {"farther", 10.0}}) {
        const std::string id = fmt::format("op.{}(tile.m{}/workgroup{})", kind, m, workgroup);
        candidates.push_back({id, factor * (10 + std::abs(std::log2(m / 2.0)))});
        times[id] = factor * (10 + std::abs(std::log2(m / 8.0)) + std::abs(std::log2(workgroup / 64.0)));
      }
    }
  }
  std::ranges::stable_sort(candidates, {}, &Candidate::cost_us);
  FakeLaboratory fake(times);
  ASSERT_TRUE(find_best(candidates, {}, fake.laboratory(), {.strategy = Strategy::batches, .share = {.budget_s = 60}}));
  const auto place = [&](std::string_view kind) {
    return std::ranges::find_if(fake.asked, [&](const auto& id) { return id.starts_with(kind); }) - fake.asked.begin();
  };
  EXPECT_EQ(place("op.near"), 0);
  EXPECT_GE(place("op.far("), 12) << "of sixteen that are near";
  EXPECT_GE(place("op.farther"), 12);
  EXPECT_LT(place("op.farther"), std::ssize(fake.asked)) << "but they come";
}

// Opening a problem may take its whole budget: one candidate is still measured, if others leave enough.
TEST(Search, MeasuresOneCandidateOfASpentBudget) {
  const Space space;
  FakeLaboratory fake(space.times, 1);
  const auto late = [&](const Share& share) {
    auto laboratory = fake.laboratory();
    laboratory.elapsed_s = [&] { return 5 + fake.elapsed_s(); };
    return find_best(space.candidates, {}, laboratory, {.share = share})->tried;
  };
  EXPECT_EQ(late({.budget_s = 3, .most_s = 100, .pace = {.each_s = 1}}), 1u);
  EXPECT_EQ(late({.budget_s = 3, .most_s = 5.5, .pace = {.each_s = 1}}), 0u);
  EXPECT_EQ(late({.budget_s = 3}), 0u);
}

}  // namespace
}  // namespace qgen::tuner
