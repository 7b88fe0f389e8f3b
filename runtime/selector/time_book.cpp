// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/selector/time_book.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "runtime/library/tuning_info.h"
#include "runtime/selector/select.h"

namespace qgen {
namespace {

const double kFarthest = std::log(4.0);  // of two problems, in all sizes together
constexpr size_t kMostAnswers = 4096;

struct Row {
  std::string kernel;
  double us;
  std::string date;
  bool is_cold = false;
};

// What was measured of a problem. What the key means is found out when a problem of its operator is first asked about
// that has no times; the costs, when it is the nearest.
struct Measured {
  std::string key;
  std::vector<Row> rows;
  std::once_flag is_parsed, has_costs;
  std::optional<Problem> problem;
  std::vector<double> costs;  // of the rows, as the spec estimates them there; none: nobody can read the key
};

// What was measured on one device.
struct Table {
  DeviceProfile device;
  bool is_shipped = false;
  std::unordered_map<std::string_view, std::unique_ptr<Measured>> by_key;
  std::map<std::string, std::vector<Measured*>, std::less<>> by_operator;

  Measured& of(std::string_view key) {
    if (const auto found = by_key.find(key); found != by_key.end()) return *found->second;
    auto measured = std::make_unique<Measured>();
    measured->key = key;
    by_operator[std::string(operator_of(key))].push_back(measured.get());
    const std::string_view kept = measured->key;
    return *by_key.emplace(kept, std::move(measured)).first->second;
  }
};

// Of the model: of no board, and of a driver version that none has.
DeviceProfile device_of(const TuningInfo& tuning) {
  DeviceProfile device;
  device.name = tuning.name;
  device.vendor_id = tuning.vendor_id;
  device.device_id = tuning.device_id;
  device.architecture = tuning.architecture;
  device.driver_name = tuning.driver_name;
  device.driver_info = tuning.driver_info;
  device.driver_version = UINT32_MAX;
  device.numbers = tuning.numbers;
  return device;
}

// qgen compared the digests when it compiled the table in.
std::unique_ptr<Table> shipped_table(const TuningInfo& tuning) {
  auto table = std::make_unique<Table>();
  table->device = device_of(tuning);
  table->is_shipped = true;
  for (const TunedProblem& problem : tuning.problems) {
    std::vector<Row>& rows = table->of(problem.key).rows;
    for (const TunedTime& time : tuning.times_of(problem.key)) {
      rows.push_back({std::string(tuning.choices[time.choice]), time.us, std::string(tuning.date), time.is_cold});
    }
  }
  return table;
}

enum class Relation { same, model, architecture, none };

Relation relation_of(const DeviceProfile& a, const DeviceProfile& b) {
  const bool is_model = a.vendor_id == b.vendor_id && a.device_id == b.device_id && a.name == b.name;
  const bool is_same =
      a.device_uuid == b.device_uuid && a.driver_uuid == b.driver_uuid && a.driver_version == b.driver_version;
  if (is_model && is_same) return Relation::same;
  if (is_model) return Relation::model;
  const bool is_architecture =
      !a.architecture.empty() && a.vendor_id == b.vendor_id && a.architecture == b.architecture;
  return is_architecture ? Relation::architecture : Relation::none;
}

uint32_t word_at(const Problem& problem, const FieldInfo& field) {
  uint32_t word;
  std::memcpy(&word, problem.fields.data() + field.offset, sizeof(word));
  return word;
}

bool is_size(const FieldInfo& field) { return field.kind == FieldInfo::Kind::u32 && field.words.empty(); }

// How far one problem is from another of the same operator; nullopt: they differ in more than sizes.
std::optional<double> distance(const Problem& a, const Problem& b) {
  double sum = 0;
  for (const FieldInfo& field : a.op->fields) {
    if (field.is_data || field.count > 1) continue;  // arrays are what kernels address by
    const uint32_t left = word_at(a, field), right = word_at(b, field);
    if (left == right) continue;
    if (!is_size(field) || left == 0 || right == 0) return std::nullopt;
    sum += std::abs(std::log(static_cast<double>(left) / right));
  }
  const auto is_alike = [](const OperandDesc& x, const OperandDesc& y) {
    if (x.is_present != y.is_present) return false;
    return !x.is_present || (x.dtype == y.dtype && x.storage == y.storage && x.layout == y.layout);
  };
  return std::ranges::equal(a.operands, b.operands, is_alike) ? std::optional(sum) : std::nullopt;
}

// "m=512 k=4096", where it is another than `problem`.
std::string difference(const Problem& from, const Problem& problem) {
  std::vector<std::string> fields;
  for (const FieldInfo& field : problem.op->fields) {
    const bool is_told =
        field.count == 1 && !field.is_data && is_size(field) && word_at(from, field) != word_at(problem, field);
    if (is_told) fields.push_back(fmt::format("{}={}", field.name, word_at(from, field)));
  }
  return fmt::format("{}", fmt::join(fields, " "));
}

// What was asked before.
class Answers {
 public:
  std::shared_ptr<const KernelTimes> find(const DeviceProfile& device, const std::string& key) {
    const std::shared_lock lock(mutex_);
    const auto on_device = of(device);
    if (on_device == devices_.end()) return nullptr;
    const auto answer = on_device->by_key.find(key);
    return answer == on_device->by_key.end() ? nullptr : answer->second;
  }
  void keep(const DeviceProfile& device, const std::string& key, std::shared_ptr<const KernelTimes> answer) {
    const std::unique_lock lock(mutex_);
    auto on_device = of(device);
    if (on_device == devices_.end()) on_device = devices_.insert(on_device, {device, {}});
    if (on_device->by_key.size() >= kMostAnswers) on_device->by_key.clear();
    on_device->by_key.insert_or_assign(key, std::move(answer));
  }
  void forget() {
    const std::unique_lock lock(mutex_);
    devices_.clear();
  }

 private:
  struct OnDevice {
    DeviceProfile device;
    std::unordered_map<std::string, std::shared_ptr<const KernelTimes>> by_key;
  };
  std::vector<OnDevice>::iterator of(const DeviceProfile& device) {
    return std::ranges::find_if(devices_, [&](const OnDevice& asked) {
      return relation_of(asked.device, device) == Relation::same && asked.device.architecture == device.architecture;
    });
  }
  std::shared_mutex mutex_;
  std::vector<OnDevice> devices_;
};

}  // namespace

struct TimeBook::State {
  const KernelLibrary* library;
  Answers answers;
  std::vector<std::unique_ptr<Table>> tables;

  // Of an operator's choices, by id: asked of the library once each.
  using Digests = std::map<std::string, std::optional<uint64_t>, std::less<>>;
  std::unordered_map<const OperatorInfo*, Digests> digests;

  bool counts(const OperatorInfo& op, const TimedKernel& row) {
    Digests& of_operator = digests[&op];
    auto known = of_operator.find(row.kernel);
    if (known == of_operator.end()) known = of_operator.emplace(row.kernel, digest_of(op, row.kernel, *library)).first;
    return known->second == row.digest;
  }

  void parse(Measured& measured) const {
    std::call_once(measured.is_parsed, [&] {
      if (auto problem = problem_of(measured.key, *library)) measured.problem = *std::move(problem);
    });
  }

  // On the table's device. One that is shipped is known by its numbers; what it can do is what the device can that
  // asks, of the same model or architecture.
  void find_costs(const Table& table, const DeviceProfile& asking, Measured& measured) const {
    parse(measured);
    std::call_once(measured.has_costs, [&] {
      if (!measured.problem) return;
      DeviceProfile device = table.device.features == 0 ? asking : table.device;
      device.numbers = table.device.numbers;
      for (const Row& row : measured.rows) {
        const Selection forced = select(*measured.problem, device, *library,
                                        {.force = row.kernel, .best_only = true, .best_or_nothing = true});
        measured.costs.push_back(forced.ranked.empty() ? 0 : forced.ranked.front().cost_us);
      }
    });
  }

  Measured* nearest(const Table& table, const Problem& problem) const {
    const auto of_operator = table.by_operator.find(problem.op->name);
    if (of_operator == table.by_operator.end()) return nullptr;
    Measured* best = nullptr;
    double least = kFarthest;
    for (Measured* measured : of_operator->second) {
      parse(*measured);
      const auto far = measured->problem ? distance(*measured->problem, problem) : std::nullopt;
      if (!far || *far > least) continue;
      least = *far;
      best = measured;
    }
    return best;
  }

  // What one table says; what `times` has stays.
  void add_times(const Table& table, const DeviceProfile& asking, Relation relation, const std::string& key,
                 const Problem& problem, KernelTimes& times) const {
    const auto exact = table.by_key.find(key);
    Measured* measured = exact == table.by_key.end() ? nearest(table, problem) : exact->second.get();
    if (!measured) return;
    const bool is_exact = exact != table.by_key.end();
    const bool is_scaled = !is_exact || relation == Relation::architecture;
    if (is_scaled) find_costs(table, asking, *measured);
    const DeviceProfile& device = table.device;
    const std::string beginning =
        fmt::format("{}{}", table.is_shipped ? "shipped table, " : "",
                    is_exact ? "" : fmt::format("near {}, ", difference(*measured->problem, problem)));
    const std::string where = relation == Relation::same
                                  ? "on this driver"
                                  : fmt::format("on {} {} {}", device.name, device.driver_name, device.driver_info);
    KnownTime time;
    if (relation == Relation::same) time.source = is_exact ? TimeSource::measured : TimeSource::near;
    else time.source = relation == Relation::model ? TimeSource::device : TimeSource::architecture;
    const Row* before = nullptr;  // most rows are said as the one before
    for (size_t i = 0; i < measured->rows.size(); ++i) {
      const Row& row = measured->rows[i];
      if (is_scaled && (i >= measured->costs.size() || measured->costs[i] <= 0)) continue;
      if (!before || before->date != row.date || before->is_cold != row.is_cold) {
        time.said = fmt::format("{}measured {}{} {}{}", beginning, row.date, row.is_cold ? " with a cold cache" : "",
                                where, is_scaled ? ", by the ratio of costs" : "");
      }
      before = &row;
      time.us = row.us;
      time.cost_us = is_scaled ? measured->costs[i] : 0;
      times.try_emplace(row.kernel, time);
    }
  }
};

TimeBook::TimeBook(const KernelLibrary& library) : state_(std::make_unique<State>()) {
  state_->library = &library;
  for (const TuningInfo* tuning : library.tunings()) state_->tables.push_back(shipped_table(*tuning));
}
TimeBook::TimeBook(TimeBook&&) noexcept = default;
TimeBook& TimeBook::operator=(TimeBook&&) noexcept = default;
TimeBook::~TimeBook() = default;

size_t TimeBook::add(const DeviceProfile& device, std::span<const TimedKernel> rows) {
  auto table = std::make_unique<Table>();
  table->device = device;
  size_t count = 0;
  std::string_view problem;  // most rows are of the one before
  const OperatorInfo* op = nullptr;
  Measured* measured = nullptr;
  for (const TimedKernel& row : rows) {
    if (row.problem != problem) {
      problem = row.problem;
      op = state_->library->find(operator_of(problem));
      measured = nullptr;
    }
    if (!op || !state_->counts(*op, row)) continue;
    if (!measured) measured = &table->of(problem);
    measured->rows.push_back({std::string(row.kernel), row.us, std::string(row.date), row.is_cold});
    ++count;
  }
  if (count > 0) state_->tables.push_back(std::move(table));
  state_->answers.forget();
  return count;
}

std::shared_ptr<const KernelTimes> TimeBook::of(const Problem& problem, const DeviceProfile& device) const {
  static const auto kNothing = std::make_shared<const KernelTimes>();
  const auto is_related = [&](const auto& table) { return relation_of(table->device, device) != Relation::none; };
  if (!problem.op || std::ranges::none_of(state_->tables, is_related)) return kNothing;
  const std::string key = key_of(problem);
  if (auto answer = state_->answers.find(device, key)) return answer;
  KernelTimes times;
  for (const Relation wanted : {Relation::same, Relation::model, Relation::architecture}) {
    for (const auto& table : state_->tables) {
      if (relation_of(table->device, device) == wanted) state_->add_times(*table, device, wanted, key, problem, times);
    }
  }
  auto answer = std::make_shared<const KernelTimes>(std::move(times));
  state_->answers.keep(device, key, answer);
  return answer;
}

}  // namespace qgen
