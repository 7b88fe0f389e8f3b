// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/tuner/search.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

namespace qgen::tuner {
namespace {

constexpr size_t kFirstBatch = 4;            // before anything is known of how long one takes
constexpr size_t kFewest = 16;               // of a search that goes on as long as it gains
constexpr double kMostOfSpace = 0.15;        // of it too
constexpr size_t kBest = 4;                  // which meet in the end
constexpr uint32_t kShort = 10, kLong = 60;  // replays
constexpr double kLongInShorts = 3;          // how much longer one of the last stage takes, verified as it is
constexpr double kOfLastStage = 0.2;         // of the budget, at most
constexpr double kNoGain = 0.99;
constexpr double kRunsOfFirst = 50;    // of a kernel, until it is measured
constexpr double kEndless = 1e9;       // seconds
constexpr double kOfFirstBatch = 0.1;  // of the budget, which a first batch of several may be estimated to take

// What is expected. On 23 problems of an H200, the best of the first eight candidates takes 1.007 times as long as the
// best that is known (geometric mean); 1.016 without a bonus, 1.015 with 0.5, 1.020 with 0.8. Fading within
// 1 or 4 steps makes it 1.005 and 1.007.
constexpr double kFades = 2;      // steps in which a likeness falls to 1/e
constexpr double kMostSteps = 3;  // of one word: another number may be a hundred doublings away
constexpr double kOfOtherKind = 0.05;
constexpr double kOfAll = 0.3;  // what all together count for, beside those that are like it
constexpr double kBonus = 0.3;  // in powers of e, of one that is like none

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

double likeness(const Words& a, const Words& b) {
  if (a.kind != b.kind || a.words.size() != b.words.size()) return kOfOtherKind;
  double steps = 0;
  for (size_t i = 0; i < a.words.size(); ++i) {
    if (a.words[i] != b.words[i]) steps += std::min(steps_in_word(a.words[i], b.words[i]), kMostSteps);
  }
  return std::exp(-steps / kFades);
}

// A candidate, with what those measured so far say of it.
struct Hope {
  const Candidate* candidate;
  Words words;
  bool is_asked = false;
  double likeness = 0, weighted_logs = 0;  // sums over those measured
  double nearest = 0;                      // the largest likeness

  double estimate_us() const { return std::max(candidate->cost_us, 1e-3); }
};

class Search {
 public:
  Search(std::span<const Candidate> candidates, const Laboratory& laboratory, const SearchOptions& options)
      : laboratory_(laboratory),
        options_(options),
        budget_s_(budget_of(options.strategy, options.share.budget_s)),
        pace_(options.share.pace) {
    for (const Candidate& candidate : candidates) hopes_.push_back({&candidate, words_of(candidate.id)});
  }

  Expected<SearchResult> run(std::span<const Measured> known) {
    for (const Measured& measured : known) {
      const auto hope = std::ranges::find(hopes_, measured.id, [](const Hope& h) { return h.candidate->id; });
      if (hope == hopes_.end() || hope->is_asked) continue;
      hope->is_asked = true;
      ++asked_;
      learn(*hope, measured.us);
      measured_.push_back(measured);
    }
    // The first few tell how long the rest would take.
    if (Done first = measure_first(); !first) return first.error();
    const bool is_exhaustive = options_.strategy == Strategy::exhaustive ||
                               (options_.strategy == Strategy::automatic && fits(hopes_.size() - asked_));
    if (Done done = is_exhaustive ? measure_all() : climb(); !done) return done.error();
    if (Done final = finish(); !final) return final.error();
    std::ranges::sort(measured_, {}, [](const Measured& m) { return std::pair(!m.is_final, m.us.median); });
    return SearchResult{measured_, asked_, first_pace_, asked_ == hopes_.size()};
  }

 private:
  // ---- what is expected ----

  void learn(const Hope& of, const measure::Spread& us) {
    const double log = std::log(std::max(us.median, 1e-3) / of.estimate_us());
    sum_of_logs_ += log;
    ++learned_;
    for (Hope& hope : hopes_) {
      if (hope.is_asked) continue;
      const double alike = likeness(of.words, hope.words);
      hope.likeness += alike;
      hope.weighted_logs += alike * log;
      hope.nearest = std::max(hope.nearest, alike);
    }
  }

  double expected_us(const Hope& hope) const {
    if (learned_ == 0) return hope.estimate_us();
    const double of_all = kOfAll * sum_of_logs_ / static_cast<double>(learned_);
    const double log = (of_all + hope.weighted_logs) / (kOfAll + hope.likeness);
    return hope.estimate_us() * std::exp(log - kBonus * (1 - hope.nearest));
  }

  // Not asked yet, and wanted.
  template <typename IsWanted>
  std::vector<Hope*> by_expectation(IsWanted is_wanted) {
    std::vector<std::pair<double, Hope*>> sorted;
    for (Hope& hope : hopes_) {
      if (!hope.is_asked && is_wanted(hope)) sorted.emplace_back(expected_us(hope), &hope);
    }
    std::ranges::stable_sort(sorted, {}, [](const auto& entry) { return entry.first; });
    std::vector<Hope*> hopes;
    for (const auto& [us, hope] : sorted) hopes.push_back(hope);
    return hopes;
  }
  std::vector<Hope*> expected_best(size_t count) {
    auto hopes = by_expectation([](const Hope&) { return true; });
    hopes.resize(std::min(count, hopes.size()));
    return hopes;
  }
  std::vector<Hope*> first_of_each_new_kind() {
    std::set<std::string_view> kinds;
    for (const Hope& hope : hopes_) {
      if (hope.is_asked) kinds.insert(hope.words.kind);
    }
    auto hopes = by_expectation([&](const Hope& hope) { return !kinds.contains(hope.words.kind); });
    std::erase_if(hopes, [&](const Hope* hope) { return !kinds.insert(hope->words.kind).second; });
    return hopes;
  }

  // ---- the budget ----

  size_t most_count() const {
    return std::max(kFewest, static_cast<size_t>(kMostOfSpace * static_cast<double>(hopes_.size())));
  }
  // One, where estimates say that several would take too much of the budget, or what others took does.
  size_t first_count() {
    double seconds = 0;
    size_t several = std::min(kFirstBatch, options_.batch);
    for (const Hope* hope : expected_best(several)) seconds += 1e-6 * kRunsOfFirst * hope->estimate_us();
    if (seconds > kOfFirstBatch * budget_s_) return 1;
    while (several > 1 && !fits(several)) --several;
    return several;
  }
  double left_s() const { return budget_s_ - laboratory_.elapsed_s(); }
  // Whether so many more can be measured, and the last stage.
  bool fits(size_t count) const {
    const double last_s = std::min(kLongInShorts * static_cast<double>(kBest) * pace_.each_s, kOfLastStage * budget_s_);
    return pace_.of(count) + last_s <= left_s();
  }

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
    const auto hopes = expected_best(first_count());
    if (hopes.empty()) return std::monostate{};
    expect_behind(hopes);
    return measure(ids_of(hopes), kShort);
  }

  // As many of them as fit; whether any did.
  Expected<bool> measure_batch(std::vector<Hope*> hopes) {
    while (!hopes.empty() && !fits(hopes.size())) hopes.pop_back();
    if (hopes.empty()) return false;
    expect_behind(hopes);
    if (Done measured = measure(ids_of(hopes), kShort); !measured) return measured.error();
    return true;
  }

  void expect_behind(const std::vector<Hope*>& hopes) {
    if (!laboratory_.expect || !fits(hopes.size() + options_.batch)) return;
    auto next = by_expectation([&](const Hope& hope) { return std::ranges::find(hopes, &hope) == hopes.end(); });
    next.resize(std::min(next.size(), options_.batch));
    laboratory_.expect(ids_of(next));
  }

  static std::vector<std::string> ids_of(const std::vector<Hope*>& hopes) {
    std::vector<std::string> ids;
    for (const Hope* hope : hopes) ids.push_back(hope->candidate->id);
    return ids;
  }

  Done measure(const std::vector<std::string>& ids, uint32_t replays) {
    const double began = laboratory_.elapsed_s();
    const auto batch = laboratory_.measure(ids, replays, best_us());
    if (!batch) return batch.error();
    if (replays == kShort) {
      const double seconds = laboratory_.elapsed_s() - began - batch->compiling_s;
      keep_pace({batch->compiling_s, seconds / static_cast<double>(ids.size())});
    }
    for (size_t i = 0; i < ids.size(); ++i) {
      Hope& hope = *std::ranges::find(hopes_, ids[i], [](const Hope& h) { return h.candidate->id; });
      asked_ += hope.is_asked ? 0 : 1;
      hope.is_asked = true;
      std::erase_if(measured_, [&](const Measured& m) { return m.id == ids[i]; });
      if (!batch->us[i]) continue;
      if (replays == kShort) learn(hope, *batch->us[i]);
      measured_.push_back({ids[i], hope.candidate->cost_us, *batch->us[i], replays == kLong});
    }
    return std::monostate{};
  }

  Done measure_all() {
    while (true) {
      const auto measured = measure_batch(expected_best(options_.batch));
      if (!measured) return measured.error();
      if (!*measured) return std::monostate{};
    }
  }

  // Batches, as long as one brings a gain; then what is of a kind that nobody tried, and batches again if that did.
  Done climb() {
    while (true) {
      if (Done climbed = climb_once(); !climbed) return climbed;
      const double before = best_us();
      if (Done tried = try_new_kinds(); !tried) return tried;
      const bool has_gained = best_us() < kNoGain * before;  // never where nothing has a time
      if (!has_gained || asked_ >= most_count()) return std::monostate{};
    }
  }

  Done climb_once() {
    while (asked_ < most_count()) {
      const double before = best_us();
      const auto measured = measure_batch(expected_best(std::min(options_.batch, most_count() - asked_)));
      if (!measured) return measured.error();
      const bool has_ended = !*measured || (best_us() > kNoGain * before && asked_ >= kFewest);
      if (has_ended) break;
    }
    return std::monostate{};
  }

  Done try_new_kinds() {
    while (true) {
      auto hopes = first_of_each_new_kind();
      hopes.resize(std::min(hopes.size(), options_.batch));
      const auto measured = measure_batch(std::move(hopes));
      if (!measured) return measured.error();
      if (!*measured) return std::monostate{};
    }
  }

  // The best few for longer: as many as the budget has time for. One of several meets nobody.
  Done finish() {
    auto ids = best(kBest);
    while (!ids.empty() && kLongInShorts * static_cast<double>(ids.size()) * pace_.each_s > left_s()) ids.pop_back();
    if (ids.empty() || (ids.size() == 1 && measured_.size() > 1)) return std::monostate{};
    return measure(ids, kLong);
  }

  std::vector<std::string> best(size_t count) const {
    std::vector<const Measured*> sorted;
    for (const Measured& measured : measured_) sorted.push_back(&measured);
    std::ranges::sort(sorted, {}, [](const Measured* m) { return m->us.median; });
    std::vector<std::string> ids;
    for (size_t i = 0; i < std::min(count, sorted.size()); ++i) ids.push_back(sorted[i]->id);
    return ids;
  }
  double best_us() const {
    double least = measured_.empty() ? 0 : measured_.front().us.median;
    for (const Measured& measured : measured_) least = std::min(least, measured.us.median);
    return least;
  }

  const Laboratory& laboratory_;
  const SearchOptions& options_;
  std::vector<Hope> hopes_;  // by estimate
  std::vector<Measured> measured_;
  size_t asked_ = 0;
  double sum_of_logs_ = 0;  // of times beside estimates
  size_t learned_ = 0;
  double budget_s_;
  Pace pace_;        // of the short stages
  Pace first_pace_;  // of the first batch
};

}  // namespace

double budget_of(Strategy strategy, double budget_s) { return strategy == Strategy::exhaustive ? kEndless : budget_s; }

double likeness(std::string_view a, std::string_view b) { return likeness(words_of(a), words_of(b)); }

Expected<SearchResult> find_best(std::span<const Candidate> candidates, std::span<const Measured> known,
                                 const Laboratory& laboratory, const SearchOptions& options) {
  return Search(candidates, laboratory, options).run(known);
}

}  // namespace qgen::tuner
