// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/tuner/search.h"

#include <algorithm>
#include <map>
#include <set>

namespace qgen::tuner {
namespace {

constexpr size_t kBatch = 16;                // candidates measured against each other
constexpr size_t kFirstBatch = 4;            // before anything is known of how long one takes
constexpr size_t kFewest = 16;               // of the first stage
constexpr double kScreened = 0.05;           // of the space, in the first stage
constexpr double kMostOfSpace = 0.15;        // in all stages that are not exhaustive
constexpr size_t kBest = 4;                  // whose neighbours are tried, and which meet in the end
constexpr uint32_t kShort = 10, kLong = 60;  // replays
constexpr double kLongInShorts = 3;  // how much longer one of the last stage takes, compiled and verified as it is
constexpr double kNoGain = 0.99;

std::vector<std::string_view> words_of(std::string_view id) {
  std::vector<std::string_view> words;
  while (true) {
    const size_t end = id.find_first_of("./(, ");
    words.push_back(id.substr(0, end));
    if (end == std::string_view::npos) return words;
    id.remove_prefix(end + 1);
  }
}

// "op.recipe" or "op.kernel's first word".
std::string_view kind_of(std::string_view id) {
  const size_t recipe = id.find('(');
  if (recipe != std::string_view::npos) return id.substr(0, recipe);
  const size_t op = id.find('.');
  return id.substr(0, op == std::string_view::npos ? op : id.find_first_of("./", op + 1));
}

class Search {
 public:
  Search(std::span<const Candidate> candidates, const Laboratory& laboratory, const SearchOptions& options)
      : candidates_(candidates), laboratory_(laboratory), options_(options) {}

  Expected<SearchResult> run(std::span<const Measured> known) {
    for (const Measured& measured : known) {
      const bool is_here = std::ranges::find(candidates_, measured.id, &Candidate::id) != candidates_.end();
      if (is_here && asked_.insert(measured.id).second) measured_.push_back(measured);
    }
    // The first few tell how long the rest would take.
    if (Done first = measure_all(first_stage(kFirstBatch)); !first) return first.error();
    const bool is_exhaustive = options_.strategy == Strategy::exhaustive ||
                               (options_.strategy == Strategy::automatic && fits(candidates_.size() - asked_.size()));
    if (is_exhaustive) {
      if (Done all = measure_all(first_stage(candidates_.size())); !all) return all.error();
    } else {
      if (Done screened = measure_all(first_stage(screened_count())); !screened) return screened.error();
      if (Done climbed = climb(); !climbed) return climbed.error();
    }
    if (Done final = finish(); !final) return final.error();
    std::ranges::sort(measured_, {}, [](const Measured& m) { return std::pair(!m.is_final, m.us.median); });
    return SearchResult{measured_, asked_.size(), asked_.size() == candidates_.size()};
  }

 private:
  size_t screened_count() const {
    return std::max(kFewest, static_cast<size_t>(kScreened * static_cast<double>(candidates_.size())));
  }
  size_t most_count() const {
    return std::max(2 * kFewest, static_cast<size_t>(kMostOfSpace * static_cast<double>(candidates_.size())));
  }

  // Not asked yet: the cheapest of each kind, then the cheapest of all.
  std::vector<std::string> first_stage(size_t count) const {
    std::vector<std::string> ids;
    std::set<std::string_view> kinds, taken;
    const auto take = [&](const Candidate& candidate) {
      const bool is_new = !asked_.contains(candidate.id) && ids.size() < count && taken.insert(candidate.id).second;
      if (is_new) ids.push_back(candidate.id);
    };
    const size_t already = asked_.size();
    if (already >= count) return {};
    count -= already;
    for (const Candidate& candidate : candidates_) {
      if (kinds.insert(kind_of(candidate.id)).second) take(candidate);
    }
    std::ranges::for_each(candidates_, take);
    return ids;
  }

  double left_s() const { return options_.budget_s - laboratory_.elapsed_s(); }
  // Whether so many more can be measured, and the last stage.
  bool fits(size_t count) const {
    const double last = kLongInShorts * static_cast<double>(kBest);
    return (static_cast<double>(count) + last) * each_s_ <= left_s();
  }

  // In batches, as long as the budget lasts.
  Done measure_all(std::vector<std::string> ids) {
    for (size_t begin = 0; begin < ids.size();) {
      size_t count = std::min(each_s_ > 0 ? kBatch : kFirstBatch, ids.size() - begin);
      while (count > 0 && !fits(count)) --count;
      if (count == 0) break;
      if (Done measured = measure(std::span(ids).subspan(begin, count), kShort); !measured) return measured;
      begin += count;
    }
    return std::monostate{};
  }

  Done measure(std::span<const std::string> ids, uint32_t replays) {
    const double began = laboratory_.elapsed_s();
    const auto spreads = laboratory_.measure(ids, replays);
    if (!spreads) return spreads.error();
    const double took = (laboratory_.elapsed_s() - began) / static_cast<double>(ids.size());
    if (replays == kShort) each_s_ = std::max(took, 0.5 * (each_s_ + took));
    for (size_t i = 0; i < ids.size(); ++i) {
      asked_.insert(ids[i]);
      std::erase_if(measured_, [&](const Measured& m) { return m.id == ids[i]; });
      if (!(*spreads)[i]) continue;
      const auto candidate = std::ranges::find(candidates_, ids[i], &Candidate::id);
      measured_.push_back({ids[i], candidate->cost_us, *(*spreads)[i], replays == kLong});
    }
    return std::monostate{};
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

  // Not asked yet, the cheapest first.
  std::vector<std::string> neighbours_of(const std::vector<std::string>& ids, size_t count) const {
    std::vector<std::string> neighbours;
    for (const Candidate& candidate : candidates_) {
      if (neighbours.size() == count) break;
      if (asked_.contains(candidate.id)) continue;
      const bool is_near = std::ranges::any_of(ids, [&](const auto& id) { return are_neighbours(id, candidate.id); });
      if (is_near) neighbours.push_back(candidate.id);
    }
    return neighbours;
  }

  // From the best few, then from the best one, as long as that leads on.
  Done climb() {
    for (size_t from = kBest; asked_.size() < most_count(); from = 1) {
      const auto ids = neighbours_of(best(from), std::min(kBatch, most_count() - asked_.size()));
      const double before = best_us();
      const size_t asked = asked_.size();
      if (Done measured = measure_all(ids); !measured) return measured;
      const bool is_spent = asked_.size() == asked;  // the budget, or the neighbours
      if (is_spent || best_us() > kNoGain * before) break;
    }
    return std::monostate{};
  }

  // The best few for longer, unless the budget is spent: then the order stands as it is.
  Done finish() {
    const auto ids = best(kBest);
    const bool has_time = kLongInShorts * static_cast<double>(ids.size()) * each_s_ <= left_s() || each_s_ == 0;
    if (ids.empty() || !has_time) return std::monostate{};
    return measure(ids, kLong);
  }

  std::span<const Candidate> candidates_;
  const Laboratory& laboratory_;
  const SearchOptions& options_;
  std::vector<Measured> measured_;
  std::set<std::string, std::less<>> asked_;
  double each_s_ = 0;  // a candidate of the short stages takes
};

}  // namespace

bool are_neighbours(std::string_view a, std::string_view b) {
  const auto of_a = words_of(a), of_b = words_of(b);
  if (of_a.size() != of_b.size()) return false;
  size_t different = 0;
  for (size_t i = 0; i < of_a.size(); ++i) different += of_a[i] != of_b[i] ? 1 : 0;
  return different == 1;
}

Expected<SearchResult> find_best(std::span<const Candidate> candidates, std::span<const Measured> known,
                                 const Laboratory& laboratory, const SearchOptions& options) {
  return Search(candidates, laboratory, options).run(known);
}

}  // namespace qgen::tuner
