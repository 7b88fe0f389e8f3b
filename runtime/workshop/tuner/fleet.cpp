// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Rows are compared by numbers: texts are sorted once, and each row has the places of its own. A fleet has a million
// rows, and few different texts.
#include "runtime/workshop/tuner/fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "common/text.h"
#include "runtime/workshop/tuner/tuner.h"

namespace qgen::tuner {
namespace {

using tuning::TunedRow;
using tuning::TuningFile;

constexpr double kLie = 0.1;  // by which the answers of a device differ from those of others
constexpr size_t kLeastJudges = 3;

// The different texts in ascending order, and the place of each.
class Texts {
 public:
  void add(std::string_view text) { places_.try_emplace(text, 0); }
  void sort() {
    std::vector<std::string_view> texts;
    for (const auto& [text, place] : places_) texts.push_back(text);
    std::ranges::sort(texts);
    for (uint32_t i = 0; i < texts.size(); ++i) places_[texts[i]] = i;
  }
  uint32_t place_of(std::string_view text) const { return places_.at(text); }

 private:
  std::unordered_map<std::string_view, uint32_t> places_;
};

struct Answer {
  uint32_t problem = 0, kernel = 0;
  uint32_t device = 0;
  bool is_drifted = false;
  double clock = 1;   // as TunedRow's, or less, by how much slower the device became
  double factor = 1;  // of its times
  const TunedRow* row = nullptr;

  auto what() const { return std::tuple(problem, kernel, row->is_cold); }
};

// The better answer of one device first; the last parts make the order one of contents alone.
bool is_better(const Answer& a, const Answer& b) {
  if (a.is_drifted != b.is_drifted) return b.is_drifted;
  if (a.row->date != b.row->date) return a.row->date > b.row->date;
  if (a.row->samples != b.row->samples) return a.row->samples > b.row->samples;
  const auto rest = [](const Answer& answer) {
    const TunedRow& row = *answer.row;
    return std::tuple(answer.factor * row.us, row.us, row.low_us, row.high_us, row.digest, !row.is_final, row.clock,
                      std::string_view(row.statistics));
  };
  return rest(a) < rest(b);
}

double median_of(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

class Fleet {
 public:
  explicit Fleet(std::vector<FleetResult> results) : results_(std::move(results)) {}
  FleetTable merge();

 private:
  using Rows = std::vector<std::span<Answer>>;  // the answers of each row
  void drop_repeated_results();
  double base_of_fleet() const;
  void take_answers();
  void keep_one_of_each_device();
  Rows rows() const;
  void find_liars(const Rows& rows);
  std::vector<const Answer*> counting(std::span<Answer> answers, FleetDecision& decision) const;
  void add_row(std::span<Answer> answers);
  void tell();

  std::vector<FleetResult> results_;
  std::vector<std::string> devices_;  // UUIDs, in ascending order
  std::vector<bool> lies_;
  mutable std::vector<Answer> answers_;
  FleetTable table_;
};

// A result that is given twice is one result.
void Fleet::drop_repeated_results() {
  std::vector<FleetResult> different;
  for (FleetResult& result : results_) {
    const bool is_known = std::ranges::any_of(different, [&](const FleetResult& other) {
      return other.file.device.device_uuid == result.file.device.device_uuid && other.file.rows == result.file.rows &&
             other.file.base_us == result.file.base_us;
    });
    if (!is_known) different.push_back(std::move(result));
  }
  results_ = std::move(different);
}

// The base time of the device in the middle, of which the table's times are then. The work is the same for each problem.
// Devices that drift would make it slower than most are: they count if there are no others.
double Fleet::base_of_fleet() const {
  std::map<std::string, std::vector<double>> of_devices, of_drifting;
  for (const FleetResult& result : results_) {
    const std::string uuid = uuid_text(result.file.device.device_uuid);
    for (const auto& [problem, base_us] : result.file.base_us) {
      std::vector<double>& all = (drift_of(base_us) > kDrift ? of_drifting : of_devices)[uuid];
      all.insert(all.end(), base_us.begin(), base_us.end());
    }
  }
  if (of_devices.empty()) of_devices = std::move(of_drifting);
  std::vector<double> medians;
  for (auto& [uuid, values] : of_devices) medians.push_back(median_of(values));
  return median_of(medians);
}

void Fleet::take_answers() {
  Texts problems, kernels, devices;
  std::vector<std::string> uuids;
  for (const FleetResult& result : results_) {
    uuids.push_back(uuid_text(result.file.device.device_uuid));
    for (const TunedRow& row : result.file.rows) {
      problems.add(row.problem);
      kernels.add(row.kernel);
    }
  }
  for (const std::string& uuid : uuids) devices.add(uuid);
  for (Texts* texts : {&problems, &kernels, &devices}) texts->sort();
  devices_ = uuids;
  std::ranges::sort(devices_);
  devices_.erase(std::unique(devices_.begin(), devices_.end()), devices_.end());
  const double of_fleet = base_of_fleet();
  for (size_t i = 0; i < results_.size(); ++i) {
    const TuningFile& file = results_[i].file;
    Answer answer{.device = devices.place_of(uuids[i])};
    const std::string* last = nullptr;
    double clock = 1;  // in this problem
    bool has_base = false;
    for (const TunedRow& row : file.rows) {
      if (!last || *last != row.problem) {
        last = &row.problem;
        answer.problem = problems.place_of(row.problem);
        const auto known = file.base_us.find(row.problem);
        std::vector<double> base = known == file.base_us.end() ? std::vector<double>() : known->second;
        has_base = !base.empty();
        const double drift = drift_of(base);
        clock = drift > kDrift ? std::max(std::round(1000 / (1 + drift)), 1.0) / 1000 : 1;
        answer.factor = base.empty() ? 1 : of_fleet / median_of(base);
      }
      answer.kernel = kernels.place_of(row.kernel);
      answer.clock = std::min(clock, row.clock);
      answer.is_drifted = answer.clock < 1 || !has_base;
      answer.row = &row;
      answers_.push_back(answer);
    }
  }
}

void Fleet::keep_one_of_each_device() {
  std::ranges::sort(answers_, [](const Answer& a, const Answer& b) {
    const auto of_a = std::tuple(a.what(), a.device), of_b = std::tuple(b.what(), b.device);
    return of_a != of_b ? of_a < of_b : is_better(a, b);
  });
  const auto is_same = [](const Answer& a, const Answer& b) { return a.what() == b.what() && a.device == b.device; };
  answers_.erase(std::unique(answers_.begin(), answers_.end(), is_same), answers_.end());
}

// Of a kernel that changed in between, the newest version alone: the one of the newest date, and of those of one day the
// one that most devices measured.
Fleet::Rows Fleet::rows() const {
  Rows rows;
  for (size_t begin = 0; begin < answers_.size();) {
    size_t end = begin + 1;
    while (end < answers_.size() && answers_[end].what() == answers_[begin].what()) ++end;
    std::span<Answer> row(answers_.data() + begin, end - begin);
    begin = end;
    std::map<uint64_t, std::pair<std::string_view, size_t>> versions;
    for (const Answer& answer : row) {
      auto& [date, count] = versions[answer.row->digest];
      date = std::max(date, std::string_view(answer.row->date));
      ++count;
    }
    const auto newest = std::ranges::max_element(versions, {}, [](const auto& version) { return version.second; });
    if (versions.size() > 1) {
      const auto end_of_newest = std::stable_partition(row.begin(), row.end(),
                                                       [&](const Answer& a) { return a.row->digest == newest->first; });
      row = row.first(static_cast<size_t>(end_of_newest - row.begin()));
    }
    rows.push_back(row);
  }
  return rows;
}

// Beside the medians of rows in which enough devices answered.
void Fleet::find_liars(const Rows& rows) {
  std::vector<std::vector<double>> differences(devices_.size());
  for (const std::span<Answer> row : rows) {
    if (row.size() < kLeastJudges) continue;
    std::vector<double> times;
    for (const Answer& answer : row) times.push_back(answer.factor * answer.row->us);
    const double median = median_of(times);
    for (const Answer& answer : row) {
      differences[answer.device].push_back(std::abs(std::log(answer.factor * answer.row->us / median)));
    }
  }
  for (size_t i = 0; i < devices_.size(); ++i) {
    const size_t compared = differences[i].size();
    const double difference = median_of(differences[i]);
    lies_.push_back(compared >= kLeastCompared && difference > std::log(1 + kLie));
    if (!lies_.back()) continue;
    table_.told.push_back(fmt::format(
        "the device of UUID {} is left out: its times differ from those of others by {:.0f} %, in the median "
        "of {} rows",
        devices_[i], 100 * (std::exp(difference) - 1), compared));
  }
}

std::vector<const Answer*> Fleet::counting(std::span<Answer> answers, FleetDecision& decision) const {
  decision.answers = static_cast<uint32_t>(answers.size());
  std::vector<const Answer*> honest, steady;
  for (const Answer& answer : answers) {
    if (lies_[answer.device]) continue;
    honest.push_back(&answer);
    if (!answer.is_drifted) steady.push_back(&answer);
  }
  decision.lied = static_cast<uint32_t>(answers.size() - honest.size());
  decision.is_marked = steady.empty();
  if (!steady.empty()) decision.drifted = static_cast<uint32_t>(honest.size() - steady.size());
  return steady.empty() ? honest : steady;
}

void Fleet::add_row(std::span<Answer> answers) {
  const TunedRow& first = *answers.front().row;
  FleetDecision decision{.problem = first.problem, .kernel = first.kernel, .is_cold = first.is_cold};
  const std::vector<const Answer*> used = counting(answers, decision);
  if (used.empty()) return;  // of liars alone
  TunedRow row = first;
  std::vector<double> us, low, high;
  size_t finals = 0;
  uint64_t samples = 0;
  row.date.clear();
  row.statistics.clear();
  row.clock = 1;
  for (const Answer* answer : used) {
    us.push_back(answer->factor * answer->row->us);
    low.push_back(answer->factor * answer->row->low_us);
    high.push_back(answer->factor * answer->row->high_us);
    finals += answer->row->is_final ? 1 : 0;
    samples += answer->row->samples;
    row.date = std::max(row.date, answer->row->date);
    row.statistics = std::max(row.statistics, answer->row->statistics);
    if (decision.is_marked) row.clock = std::min(row.clock, answer->clock);
  }
  const auto [least, most] = std::ranges::minmax(us);
  decision.spread = most / least - 1;
  row.us = median_of(us);
  row.low_us = std::min(median_of(low), row.us);
  row.high_us = std::max(median_of(high), row.us);
  row.is_final = 2 * finals > used.size();
  row.samples = static_cast<uint32_t>(std::min<uint64_t>(samples, UINT32_MAX));
  table_.file.rows.push_back(std::move(row));
  table_.decisions.push_back(std::move(decision));
}

void Fleet::tell() {
  size_t drifted = 0, marked = 0;
  for (const FleetDecision& decision : table_.decisions) {
    drifted += decision.drifted > 0 ? 1 : 0;
    marked += decision.is_marked ? 1 : 0;
  }
  table_.told.push_back(
      fmt::format("{} rows of {} results of {} devices", table_.file.rows.size(), results_.size(), devices_.size()));
  if (drifted > 0) table_.told.push_back(fmt::format("{} rows are without answers of devices that drifted", drifted));
  if (marked > 0) table_.told.push_back(fmt::format("{} rows are of devices that drifted, and of no other", marked));
}

FleetTable Fleet::merge() {
  drop_repeated_results();
  take_answers();
  keep_one_of_each_device();
  const Rows all = rows();
  find_liars(all);
  const auto first = std::ranges::min_element(
      results_, {}, [](const FleetResult& result) { return tuning::standing_of(result.file.device); });
  table_.file.device = first->file.device;
  for (const std::span<Answer> answers : all) add_row(answers);
  std::vector<size_t> order(table_.file.rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return order_of(table_.file.rows[i]); });
  FleetTable sorted{.file = {.device = table_.file.device}};
  for (const size_t i : order) {
    sorted.file.rows.push_back(std::move(table_.file.rows[i]));
    sorted.decisions.push_back(std::move(table_.decisions[i]));
  }
  sorted.told = std::move(table_.told);
  table_ = std::move(sorted);
  tell();
  return std::move(table_);
}

}  // namespace

FleetTable merged_fleet(std::vector<FleetResult> results) { return Fleet(std::move(results)).merge(); }

std::string decisions_head() {
  return "device\tproblem\tkernel\tcache\tanswers\tdrifted\tlied\tmarked\tspread_percent\n";
}

std::string to_text(std::string_view device, const std::vector<FleetDecision>& decisions) {
  std::string text;
  for (const FleetDecision& row : decisions) {
    fmt::format_to(std::back_inserter(text), "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{:.2f}\n", device, row.problem,
                   row.kernel, row.is_cold ? "cold" : "warm", row.answers, row.drifted, row.lied,
                   row.is_marked ? "yes" : "no", 100 * row.spread);
  }
  return text;
}

}  // namespace qgen::tuner
