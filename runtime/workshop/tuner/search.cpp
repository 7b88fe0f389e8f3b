// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/tuner/search.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

namespace qgen::tuner {
namespace {

struct SearchPolicy {
  // How many candidates are measured.
  size_t first_batch = 4;          // before any time is known
  double first_batch_share = 0.1;  // of the budget: estimates above it make the first batch one candidate
  double runs_of_first = 50;       // of a kernel, until its first candidate is measured; for that estimate
  size_t least_measured = 16;      // a search does not end before, whether it gains or not
  double most_of_space = 0.15;     // of all candidates: a search does not go on beyond, nor below least_measured
  double gain = 0.99;              // a batch gains if its best time is less than this times the best before
  // The final round.
  size_t finalists = 4;
  double final_share = 0.3;          // of the budget, which the other stages leave to it
  double pass = 0.5;                 // the time of a pass, as a part of the candidate's time in its first round
  double passes_before = 2;          // the looks, and a pass that is not counted
  double passes_of_a_short_one = 4;  // with less time left, fewer candidates take part
  // Expected times. On 23 problems of an H200, the best of the first eight candidates takes 1.007 times the best known
  // time (geometric mean). It takes 1.016 without a bonus, 1.015 with 0.5, 1.020 with 0.8. A similarity that decays
  // within 1 or 4 steps makes it 1.005 and 1.007.
  double similarity_decay = 2;          // steps in which a similarity falls to 1/e
  double most_steps = 3;                // of one part of an id: another number may be a hundred doublings away
  double other_kind_similarity = 0.05;  // of candidates of another recipe or family
  double common_weight = 0.3;           // of the mean over all measured candidates, next to the similar ones
  double novelty_bonus = 0.3;           // in powers of e, for a candidate that is similar to no measured one
};
constexpr SearchPolicy kPolicy;
constexpr double kUnlimitedSeconds = 1e9;

// "op.recipe" or "op.kernel's first word".
std::string_view kind_of(std::string_view id) {
  const size_t recipe = id.find('(');
  if (recipe != std::string_view::npos) return id.substr(0, recipe);
  const size_t op = id.find('.');
  return id.substr(0, op == std::string_view::npos ? op : id.find_first_of("./", op + 1));
}

// An id in parts.
struct Words {
  std::string_view kind;
  std::vector<std::string_view> words;
};
Words words_of(std::string_view id) {
  Words of{kind_of(id), {}};
  while (true) {
    const size_t end = id.find_first_of("./(, ");
    of.words.push_back(id.substr(0, end));
    if (end == std::string_view::npos) return of;
    id.remove_prefix(end + 1);
  }
}

// "m16n8" -> {"m", 16}, {"n", 8}
struct NamedNumber {
  std::string_view name;
  uint32_t number = 0;
};
std::vector<NamedNumber> numbers_in(std::string_view word) {
  constexpr std::string_view kDigits = "0123456789";
  std::vector<NamedNumber> numbers;
  while (!word.empty()) {
    const size_t begin = std::min(word.find_first_of(kDigits), word.size());
    const size_t end = std::min(word.find_first_not_of(kDigits, begin), word.size());
    NamedNumber made{word.substr(0, begin)};
    std::from_chars(word.data() + begin, word.data() + end, made.number);
    numbers.push_back(made);
    word.remove_prefix(end);
  }
  return numbers;
}

double steps_in_word(std::string_view a, std::string_view b) {
  const auto of_a = numbers_in(a), of_b = numbers_in(b);
  if (!std::ranges::equal(of_a, of_b, {}, &NamedNumber::name, &NamedNumber::name)) return 1;
  double steps = 0;
  const auto exponent = [](uint32_t number) { return std::log2(std::max<double>(number, 0.5)); };
  for (size_t i = 0; i < of_a.size(); ++i) steps += std::abs(exponent(of_a[i].number) - exponent(of_b[i].number));
  return steps;
}

double similarity(const Words& a, const Words& b) {
  if (a.kind != b.kind || a.words.size() != b.words.size()) return kPolicy.other_kind_similarity;
  double steps = 0;
  for (size_t i = 0; i < a.words.size(); ++i) {
    if (a.words[i] != b.words[i]) steps += std::min(steps_in_word(a.words[i], b.words[i]), kPolicy.most_steps);
  }
  return std::exp(-steps / kPolicy.similarity_decay);
}

// A candidate, with the evidence of those measured so far.
struct Prospect {
  const Candidate* candidate;
  Words words;
  bool was_requested = false;
  double timing_s = 0;  // in its first round, without compiling and verifying; 0: in none of this search
  // Sums over those measured.
  double similarity = 0;
  double weighted_logs = 0;  // similarity * log(time / estimate)
  double nearest = 0;        // the largest similarity

  double estimate_us() const { return std::max(candidate->cost_us, 1e-3); }
};

class Search {
 public:
  Search(std::span<const Candidate> candidates, const Laboratory& laboratory, const SearchOptions& options)
      : laboratory_(laboratory),
        options_(options),
        budget_s_(budget_of(options.strategy, options.share.budget_s)),
        pace_(options.share.pace) {
    for (const Candidate& candidate : candidates) prospects_.push_back({&candidate, words_of(candidate.id)});
  }

  Expected<SearchResult> run(std::span<const Measured> known) {
    for (const Measured& measured : known) {
      const size_t place = place_of(measured.id);
      if (place == prospects_.size() || prospects_[place].was_requested) continue;
      prospects_[place].was_requested = true;
      ++requested_;
      learn(prospects_[place], measured.us);
      measured_.push_back(measured);
    }
    // The first few tell how long the rest would take.
    if (Done first = measure_first(); !first) return first.error();
    const bool is_exhaustive = options_.strategy == Strategy::exhaustive ||
                               (options_.strategy == Strategy::automatic && fits(prospects_.size() - requested_));
    if (Done done = is_exhaustive ? measure_all() : climb(); !done) return done.error();
    if (Done final = finish(); !final) return final.error();
    std::ranges::sort(measured_, is_before);
    return SearchResult{measured_, requested_, first_pace_, requested_ == prospects_.size(),
                        is_at_roof_ && requested_ < prospects_.size()};
  }

 private:
  // ---- what is expected ----

  // Its place; their number if it is none of them.
  size_t place_of(const std::string& id) const {
    const auto prospect = std::ranges::find(prospects_, id, [](const Prospect& p) { return p.candidate->id; });
    return static_cast<size_t>(prospect - prospects_.begin());
  }

  void learn(const Prospect& of, const measure::Spread& us) {
    const double log = std::log(std::max(short_us(us), 1e-3) / of.estimate_us());
    sum_of_logs_ += log;
    ++learned_;
    for (Prospect& prospect : prospects_) {
      if (prospect.was_requested) continue;
      const double weight = similarity(of.words, prospect.words);
      prospect.similarity += weight;
      prospect.weighted_logs += weight * log;
      prospect.nearest = std::max(prospect.nearest, weight);
    }
  }

  double expected_us(const Prospect& prospect) const {
    if (learned_ == 0) return prospect.estimate_us();
    const double common = kPolicy.common_weight * sum_of_logs_ / static_cast<double>(learned_);
    const double log = (common + prospect.weighted_logs) / (kPolicy.common_weight + prospect.similarity);
    return prospect.estimate_us() * std::exp(log - kPolicy.novelty_bonus * (1 - prospect.nearest));
  }

  // Those that were not requested yet and are wanted, the shortest expected time first.
  template <typename IsWanted>
  std::vector<Prospect*> by_expectation(IsWanted is_wanted) {
    std::vector<std::pair<double, Prospect*>> sorted;
    for (Prospect& prospect : prospects_) {
      if (!prospect.was_requested && is_wanted(prospect)) sorted.emplace_back(expected_us(prospect), &prospect);
    }
    std::ranges::stable_sort(sorted, {}, [](const auto& entry) { return entry.first; });
    std::vector<Prospect*> prospects;
    for (const auto& [us, prospect] : sorted) prospects.push_back(prospect);
    return prospects;
  }
  std::vector<Prospect*> expected_best(size_t count) {
    auto prospects = by_expectation([](const Prospect&) { return true; });
    prospects.resize(std::min(count, prospects.size()));
    return prospects;
  }
  std::vector<Prospect*> first_of_each_new_kind() {
    std::set<std::string_view> kinds;
    for (const Prospect& prospect : prospects_) {
      if (prospect.was_requested) kinds.insert(prospect.words.kind);
    }
    auto prospects = by_expectation([&](const Prospect& prospect) { return !kinds.contains(prospect.words.kind); });
    std::erase_if(prospects, [&](const Prospect* prospect) { return !kinds.insert(prospect->words.kind).second; });
    return prospects;
  }

  // ---- the budget ----

  size_t most_count() const {
    return std::max(kPolicy.least_measured,
                    static_cast<size_t>(kPolicy.most_of_space * static_cast<double>(prospects_.size())));
  }
  // One, if by estimates, or by the others' times, several would take too much of the budget.
  size_t first_count() {
    double seconds = 0;
    size_t several = std::min(kPolicy.first_batch, options_.batch);
    for (const Prospect* prospect : expected_best(several))
      seconds += 1e-6 * kPolicy.runs_of_first * prospect->estimate_us();
    if (seconds > kPolicy.first_batch_share * budget_s_) return 1;
    while (several > 1 && !fits(several)) --several;
    return several;
  }
  double left_s() const { return budget_s_ - laboratory_.elapsed_s(); }
  // Of a final round in which each of these has so many passes. They are verified already, and verifying may take most
  // of a first round.
  double final_s(std::span<const std::string> ids, double passes) const {
    double first_s = 0;
    for (const std::string& id : ids) {
      const double timing_s = prospects_[place_of(id)].timing_s;
      first_s += timing_s > 0 ? timing_s : pace_.each_s;
    }
    return kPolicy.pass * (kPolicy.passes_before + passes) * first_s;
  }
  // What the other stages leave to the final round: its share of the budget. Or more, if a short one of two takes more:
  // without it, noise would choose.
  double kept_s() const {
    const auto two = best(2);
    const double least_s = two.size() < 2 ? 0 : final_s(two, kPolicy.passes_of_a_short_one);
    return std::max(kPolicy.final_share * budget_s_, least_s);
  }
  // Whether so many more can be measured.
  bool fits(size_t count) const { return pace_.of(count) + kept_s() <= left_s(); }

  // A batch that took longer than those before counts at once.
  void keep_pace(const Pace& took) {
    const bool is_first = first_pace_.each_s == 0;
    const auto kept = [&](double before, double now) { return is_first ? now : std::max(now, 0.5 * (before + now)); };
    pace_ = {kept(pace_.compiling_s, took.compiling_s), kept(pace_.each_s, took.each_s)};
    if (is_first) first_pace_ = took;
  }

  // ---- stages ----

  Done measure_first() {
    const double end_s = laboratory_.elapsed_s() + pace_.of(1);
    if (end_s >= std::max(budget_s_, options_.share.most_s)) return std::monostate{};
    const auto prospects = expected_best(first_count());
    if (prospects.empty()) return std::monostate{};
    expect_after(prospects);
    return measure(ids_of(prospects), {.best_us = best_us()});
  }

  // As many of them as fit; whether any did.
  Expected<bool> measure_batch(std::vector<Prospect*> prospects) {
    while (!prospects.empty() && !fits(prospects.size())) prospects.pop_back();
    if (prospects.empty()) return false;
    expect_after(prospects);
    const Round round{.best_us = best_us(), .within_s = left_s() - kept_s()};
    if (Done measured = measure(ids_of(prospects), round); !measured) return measured.error();
    return true;
  }

  void expect_after(const std::vector<Prospect*>& prospects) {
    if (!laboratory_.expect || !fits(prospects.size() + options_.batch)) return;
    auto next = by_expectation(
        [&](const Prospect& prospect) { return std::ranges::find(prospects, &prospect) == prospects.end(); });
    next.resize(std::min(next.size(), options_.batch));
    laboratory_.expect(ids_of(next));
  }

  static std::vector<std::string> ids_of(const std::vector<Prospect*>& prospects) {
    std::vector<std::string> ids;
    for (const Prospect* prospect : prospects) ids.push_back(prospect->candidate->id);
    return ids;
  }

  Done measure(const std::vector<std::string>& ids, const Round& round) {
    const double began = laboratory_.elapsed_s();
    const auto batch = laboratory_.measure(ids, round);
    if (!batch) return batch.error();
    ++rounds_;
    if (round.is_final && std::ranges::any_of(batch->us, [](const auto& us) { return us.has_value(); })) {
      for (Measured& measured : measured_) measured.is_final = false;
    }
    const double seconds = laboratory_.elapsed_s() - began - batch->compiling_s;
    const auto count = static_cast<double>(ids.size());
    if (!round.is_final) keep_pace({batch->compiling_s, seconds / count});
    for (size_t i = 0; i < ids.size(); ++i) {
      Prospect& prospect = prospects_[place_of(ids[i])];
      if (!round.is_final) prospect.timing_s = (seconds - batch->verifying_s) / count;
      requested_ += prospect.was_requested ? 0 : 1;
      prospect.was_requested = true;
      std::erase_if(measured_, [&](const Measured& m) { return m.id == ids[i]; });
      if (!batch->us[i]) continue;
      if (!round.is_final) learn(prospect, *batch->us[i]);
      const bool is_of_final = round.is_final && batch->us[i]->samples != 1;
      measured_.push_back({ids[i], prospect.candidate->cost_us, *batch->us[i], is_of_final, rounds_});
    }
    return std::monostate{};
  }

  // Whether hardly anything is left to gain.
  bool may_end() {
    is_at_roof_ = options_.strategy != Strategy::exhaustive && options_.roof_us > 0 && best_us() > 0 &&
                  best_us() <= kNearRoof * options_.roof_us;
    return is_at_roof_;
  }

  Done measure_all() {
    while (!may_end()) {
      const auto measured = measure_batch(expected_best(options_.batch));
      if (!measured) return measured.error();
      if (!*measured) return std::monostate{};
    }
    return std::monostate{};
  }

  // Batches, as long as one brings a gain. Then one candidate of each untried kind, and batches again if that brought a
  // gain.
  Done climb() {
    while (!may_end()) {
      if (Done climbed = climb_once(); !climbed) return climbed;
      const double before = best_us();
      if (Done tried = try_new_kinds(); !tried) return tried;
      const bool has_gained = best_us() < kPolicy.gain * before;  // never where nothing has a time
      if (!has_gained || requested_ >= most_count()) return std::monostate{};
    }
    return std::monostate{};
  }

  Done climb_once() {
    while (requested_ < most_count() && !may_end()) {
      const double before = best_us();
      const auto measured = measure_batch(expected_best(std::min(options_.batch, most_count() - requested_)));
      if (!measured) return measured.error();
      const bool has_ended = !*measured || (best_us() > kPolicy.gain * before && requested_ >= kPolicy.least_measured);
      if (has_ended) break;
    }
    return std::monostate{};
  }

  Done try_new_kinds() {
    while (!may_end()) {
      auto prospects = first_of_each_new_kind();
      prospects.resize(std::min(prospects.size(), options_.batch));
      const auto measured = measure_batch(std::move(prospects));
      if (!measured) return measured.error();
      if (!*measured) return std::monostate{};
    }
    return std::monostate{};
  }

  // The best few for longer: as many as there is time for. The first two come with the earlier announced choice, and with
  // the choice by estimates, so that they are compared under the same conditions.
  Done finish() {
    std::vector<std::string> ids;
    const auto add = [&](const std::string& id) {
      if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
    };
    const auto sorted = best(kPolicy.finalists);
    for (size_t i = 0; i < std::min<size_t>(2, sorted.size()); ++i) add(sorted[i]);
    const auto announced = std::ranges::min_element(measured_, is_before);
    if (announced != measured_.end() && announced->is_final) add(announced->id);
    const auto untuned = prospects_.empty()
                             ? measured_.end()
                             : std::ranges::find(measured_, prospects_.front().candidate->id, &Measured::id);
    if (untuned != measured_.end()) add(untuned->id);
    for (const std::string& id : sorted) add(id);
    const double within_s = std::min(left_s(), kept_s());
    while (ids.size() > 2 && final_s(ids, kPolicy.passes_of_a_short_one) > within_s) ids.pop_back();
    if (ids.empty() || final_s(ids, 1) > left_s()) return std::monostate{};
    return measure(ids, {.is_final = true, .within_s = within_s});
  }

  std::vector<std::string> best(size_t count) const {
    std::vector<const Measured*> sorted;
    for (const Measured& measured : measured_) sorted.push_back(&measured);
    std::ranges::sort(sorted, {}, [](const Measured* m) { return short_us(m->us); });
    std::vector<std::string> ids;
    for (size_t i = 0; i < std::min(count, sorted.size()); ++i) ids.push_back(sorted[i]->id);
    return ids;
  }
  double best_us() const {
    double least = measured_.empty() ? 0 : short_us(measured_.front().us);
    for (const Measured& measured : measured_) least = std::min(least, short_us(measured.us));
    return least;
  }

  const Laboratory& laboratory_;
  const SearchOptions& options_;
  std::vector<Prospect> prospects_;  // by estimate
  std::vector<Measured> measured_;
  size_t requested_ = 0;
  size_t rounds_ = 0;       // that were measured
  double sum_of_logs_ = 0;  // of times compared with estimates
  size_t learned_ = 0;
  bool is_at_roof_ = false;
  double budget_s_;
  Pace pace_;        // of the short stages
  Pace first_pace_;  // of the first batch
};

}  // namespace

double budget_of(Strategy strategy, double budget_s) {
  return strategy == Strategy::exhaustive ? kUnlimitedSeconds : budget_s;
}

bool is_before(const Measured& a, const Measured& b) {
  return std::tuple(!a.is_final, a.us.median, std::string_view(a.id)) <
         std::tuple(!b.is_final, b.us.median, std::string_view(b.id));
}

double similarity(std::string_view a, std::string_view b) { return similarity(words_of(a), words_of(b)); }

Expected<SearchResult> find_best(std::span<const Candidate> candidates, std::span<const Measured> known,
                                 const Laboratory& laboratory, const SearchOptions& options) {
  return Search(candidates, laboratory, options).run(known);
}

}  // namespace qgen::tuner
