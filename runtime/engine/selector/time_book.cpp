// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/selector/time_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "runtime/engine/library/tuning_info.h"
#include "runtime/engine/selector/choice_cost.h"
#include "runtime/engine/selector/mixed.h"
#include "runtime/engine/selector/read_key.h"

namespace qgen {
namespace {

const double kFarthest = std::log(4.0);  // a near problem: the factors of all sizes, multiplied
constexpr size_t kMostAnswers = 4096;
constexpr double kLargeProduct = 1e200;  // of sizes, to which one more may be multiplied
constexpr std::string_view kByRatio = ", by the ratio of costs";

enum class Relation : uint8_t { same, model, architecture, none };

struct Row {
  uint32_t kernel;  // of Table::kernels
  uint32_t origin;  // of Table::origins
  double us;
  bool is_final;
};

// One for each Relation except `none`.
template <typename T>
using OfRelation = std::array<T, 3>;
size_t index_of(Relation relation) { return static_cast<size_t>(relation); }

// The measured times of a problem. Its key is parsed when another problem of its operator is looked up that has no
// times. Its costs are computed when it is the nearest to one.
struct Measured {
  std::string key;
  std::vector<Row> rows;  // by kernel, each once
  double least_us = 0;    // for near problems, rows outside the final round count as at least this: its slowest time
  bool is_empty = false;  // none of its rows counts, so it is near no problem (OnDemand)
  std::once_flag is_parsed, has_costs;
  std::optional<Problem> problem;
  std::vector<double> costs;  // of the rows, as the spec estimates them there; none: nobody can read the key
  // The rows for near problems: all share them, and each prefixes its distance to their texts.
  OfRelation<std::once_flag> has_rows_for_near;
  OfRelation<KernelTimes::Rows> rows_for_near;
};

// A problem of a group: problems that differ in sizes only.
struct GroupMember {
  double logs;  // the sum of the logarithms of all sizes: two problems differ by at most their distance in it
  size_t order;
  Measured* measured;
};

struct OperatorTimes {
  std::vector<Measured*> measured;
  std::once_flag is_grouping;
  std::atomic<bool> is_grouped = false;
  std::unordered_map<uint64_t, std::vector<GroupMember>> groups;  // by the first of group_and_logs(); each by `logs`
  size_t of_other_versions = 0;                                   // keys of problems that the spec does not have
};

// When and how times were measured, and the texts that say so.
struct Origin {
  std::string date;
  bool is_cold;
  bool is_marked;
  OfRelation<SharedText> text = {};         // for the measured problem itself
  OfRelation<SharedText> near_suffix = {};  // for near problems; each prefixes its distance
};

// A kernel's id in parts, parsed when its cost is first needed.
struct LazyParts {
  std::once_flag are_read;
  std::optional<selector::ChoiceParts> parts;
};

// The measured times of one device.
struct Table {
  DeviceProfile device;
  bool is_shipped = false;
  std::vector<std::string> kernels;    // ids, sorted
  std::unique_ptr<LazyParts[]> parts;  // of each
  std::vector<Origin> origins;
  std::unordered_map<std::string_view, std::unique_ptr<Measured>> by_key;
  std::map<std::string, std::unique_ptr<OperatorTimes>, std::less<>> by_operator;

  Measured& of(std::string_view key) {
    if (const auto found = by_key.find(key); found != by_key.end()) return *found->second;
    auto measured = std::make_unique<Measured>();
    measured->key = key;
    auto& operator_times = by_operator[std::string(operator_of(key))];
    if (!operator_times) operator_times = std::make_unique<OperatorTimes>();
    operator_times->measured.push_back(measured.get());
    const std::string_view kept = measured->key;
    return *by_key.emplace(kept, std::move(measured)).first->second;
  }

  uint32_t origin_of(std::string_view date, bool is_cold, bool is_marked) {
    const auto is_it = [&](const Origin& origin) {
      return origin.date == date && origin.is_cold == is_cold && origin.is_marked == is_marked;
    };
    const auto known = std::ranges::find_if(origins, is_it);
    const auto place = static_cast<uint32_t>(known - origins.begin());
    if (known == origins.end()) origins.push_back({std::string(date), is_cold, is_marked});
    return place;
  }

  std::string_view beginning() const { return is_shipped ? "shipped table, " : ""; }
  // "measured 2026-11-23 on this driver"
  std::string text_of(const Origin& origin, Relation relation) const {
    const std::string where = relation == Relation::same
                                  ? "this driver"
                                  : fmt::format("{} {} {}", device.name, device.driver_name, device.driver_info);
    return fmt::format("measured {}{}{} on {}", origin.date, origin.is_cold ? " with a cold cache" : "",
                       origin.is_marked ? " at a lower clock" : "", where);
  }

  const std::optional<selector::ChoiceParts>& parts_of(uint32_t kernel, const OperatorInfo& op) const {
    LazyParts& lazy = parts[kernel];
    std::call_once(lazy.are_read, [&] { lazy.parts = selector::parts_of(op, kernels[kernel]); });
    return lazy.parts;
  }

  // Call it when all rows are added, in any order of kernels.
  void finish() {
    std::vector<uint32_t> order(kernels.size()), places(kernels.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, {}, [&](uint32_t kernel) -> const std::string& { return kernels[kernel]; });
    std::vector<std::string> sorted;
    for (const uint32_t kernel : order) {
      places[kernel] = static_cast<uint32_t>(sorted.size());
      sorted.push_back(std::move(kernels[kernel]));
    }
    kernels = std::move(sorted);
    parts = std::make_unique<LazyParts[]>(kernels.size());
    for (const auto& [key, measured] : by_key) {
      auto& rows = measured->rows;
      for (Row& row : rows) row.kernel = places[row.kernel];
      std::ranges::stable_sort(rows, {}, &Row::kernel);
      const auto is_same = [](const Row& a, const Row& b) { return a.kernel == b.kernel; };
      rows.erase(std::unique(rows.begin(), rows.end(), is_same), rows.end());  // the first counts
      for (const Row& row : rows) {
        if (row.is_final) measured->least_us = std::max(measured->least_us, row.us);
      }
    }
    for (Origin& origin : origins) {
      for (const Relation relation : {Relation::same, Relation::model, Relation::architecture}) {
        const std::string text = text_of(origin, relation);
        const std::string_view exact_end = relation == Relation::architecture ? kByRatio : "";
        origin.text[index_of(relation)] = fmt::format("{}{}{}", beginning(), text, exact_end);
        origin.near_suffix[index_of(relation)] = text + std::string(kByRatio);
      }
    }
  }
};

// The device model of a tuning table: no UUID, and a driver version that no driver has.
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
std::shared_ptr<const Table> shipped_table(const TuningInfo& tuning) {
  auto table = std::make_shared<Table>();
  table->device = device_of(tuning);
  table->is_shipped = true;
  table->kernels.assign(tuning.choices.begin(), tuning.choices.end());
  uint32_t begin = 0;
  for (const TunedProblem& problem : tuning.problems) {
    std::vector<Row>& rows = table->of(problem.key).rows;
    for (const TunedTime& time : tuning.times.subspan(begin, problem.end - begin)) {
      const uint32_t origin = table->origin_of(tuning.date, time.is_cold, time.is_marked);
      rows.push_back({time.choice, origin, time.us, time.is_final});
    }
    begin = problem.end;
  }
  table->finish();
  return table;
}

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

// Whether a field distinguishes problems. Arrays do not: kernels only address with them.
bool is_compared(const FieldInfo& field) { return !field.is_data && field.count == 1; }
bool is_size(const FieldInfo& field) { return field.kind == FieldInfo::Kind::u32 && field.words.empty(); }

// The distance of two problems of one operator; nullopt: they differ in more than sizes.
std::optional<double> distance(const Problem& a, const Problem& b) {
  double sum = 0;
  for (const FieldInfo& field : a.op->fields) {
    if (!is_compared(field)) continue;
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

// A hash that is equal for problems that have a distance, and the sum of the logarithms of all sizes.
std::pair<uint64_t, double> group_and_logs(const Problem& problem) {
  uint64_t hash = 0;
  double logs = 0, product = 1;
  const auto add = [&](uint32_t word) { hash = mixed(hash, word); };
  for (const FieldInfo& field : problem.op->fields) {
    if (!is_compared(field)) continue;
    const uint32_t word = word_at(problem, field);
    add(is_size(field) ? word != 0 : word);
    if (!is_size(field) || word == 0) continue;
    product *= word;
    if (product < kLargeProduct) continue;
    logs += std::log(product);
    product = 1;
  }
  for (const OperandDesc& operand : problem.operands) {
    add(operand.is_present
            ? 1U + (static_cast<uint32_t>(operand.dtype) << 8 | static_cast<uint32_t>(operand.storage) << 16 |
                    static_cast<uint32_t>(operand.layout) << 24)
            : 0U);
  }
  return {hash, logs + std::log(product)};
}

// The same information as key_of(), faster: problems of one operator have equal bytes if they have equal keys.
std::string bytes_of(const Problem& problem) {
  std::string words;
  const auto add = [&](auto word) { words.append(reinterpret_cast<const char*>(&word), sizeof(word)); };
  words.reserve(sizeof(problem.op) + problem.fields.size() + 12 * problem.operands.size());
  add(problem.op);
  for (const FieldInfo& field : problem.op->fields) {
    if (field.is_data) continue;
    words.append(reinterpret_cast<const char*>(problem.fields.data()) + field.offset, field.count * sizeof(uint32_t));
  }
  for (const OperandDesc& operand : problem.operands) {
    add(static_cast<uint32_t>(operand.is_present) | static_cast<uint32_t>(operand.dtype) << 8 |
        static_cast<uint32_t>(operand.storage) << 16 | static_cast<uint32_t>(operand.layout) << 24);
    add(operand.other_layouts);
  }
  return words;
}

// The sizes of `from` that differ from those of `problem`: "m=512 k=4096".
std::string difference(const Problem& from, const Problem& problem) {
  std::string text;
  for (const FieldInfo& field : problem.op->fields) {
    if (!is_compared(field) || !is_size(field) || word_at(from, field) == word_at(problem, field)) continue;
    if (!text.empty()) text += ' ';
    text.append(field.name).append("=").append(std::to_string(word_at(from, field)));
  }
  return text;
}

std::string text_of_changed(size_t count) {
  const bool is_one = count == 1;
  return fmt::format("{} {} of this problem {} left out: {} changed since {} measured; tune it again", count,
                     is_one ? "time" : "times", is_one ? "is" : "are", is_one ? "its kernel has" : "their kernels have",
                     is_one ? "it was" : "they were");
}

// Of keys that no problem of the spec has.
std::string text_of_other_versions(size_t count, std::string_view op) {
  const bool is_one = count == 1;
  return fmt::format("{} {} of '{}' {} left out: another version of the spec wrote {}; tune {} again", count,
                     is_one ? "tuned problem" : "tuned problems", op, is_one ? "is" : "are",
                     is_one ? "its key" : "their keys", is_one ? "it" : "them");
}

// A table of the rows that count: their kernels are in the library, with the measured SPIR-V.
struct CheckedTable {
  std::shared_ptr<Table> table;
  size_t count = 0,
         changed = 0;  // rows that count; rows of kernels that the library lacks, or has with other SPIR-V
  std::vector<std::string> notes = {};  // of the supply
};
CheckedTable make_table(const KernelLibrary& library, const DeviceProfile& device, std::span<const TimedKernel> rows) {
  struct Digested {
    std::optional<uint64_t> digest;  // as the library has it
    uint32_t place;                  // of Table::kernels
  };
  CheckedTable made{std::make_shared<Table>()};
  Table& table = *made.table;
  table.device = device;
  // Each is looked up in the library once.
  std::unordered_map<const OperatorInfo*, std::unordered_map<std::string_view, Digested>> kernels;
  std::string_view problem;  // most rows are of the one before
  const OperatorInfo* op = nullptr;
  std::unordered_map<std::string_view, Digested>* operator_times = nullptr;
  Measured* measured = nullptr;
  for (const TimedKernel& row : rows) {
    if (row.problem != problem) {
      problem = row.problem;
      op = library.find(operator_of(problem));
      operator_times = &kernels[op];
      measured = nullptr;
    }
    if (!op) continue;
    const auto [known, is_new] = operator_times->try_emplace(row.kernel);
    Digested& kernel = known->second;
    if (is_new) {
      kernel = {digest_of(*op, row.kernel, library), static_cast<uint32_t>(table.kernels.size())};
      table.kernels.emplace_back(row.kernel);
    }
    if (kernel.digest != row.digest) {
      ++made.changed;
      continue;
    }
    if (!measured) measured = &table.of(problem);
    const uint32_t origin = table.origin_of(row.date, row.is_cold, row.is_marked);
    measured->rows.push_back({kernel.place, origin, row.us, row.is_final});
    ++made.count;
  }
  table.finish();
  return made;
}

// Times of one device that are read when a problem is looked up.
struct OnDemand {
  DeviceProfile device;
  TimesOnDemand supply;
  std::mutex mutex;                                                    // guards the following members, and the supply
  std::unordered_map<std::string, CheckedTable> of_problem;            // by key
  std::map<std::string, std::unique_ptr<Table>, std::less<>> keys_of;  // by operator: problems without their rows

  const CheckedTable& look(const std::string& key, const KernelLibrary& library) {
    const auto tried = of_problem.try_emplace(key);
    CheckedTable& made = tried.first->second;
    if (tried.second) {
      supply.of_problem(key, [&](std::span<const TimedKernel> rows, std::vector<std::string> notes) {
        made = make_table(library, device, rows);
        made.notes = std::move(notes);
      });
    }
    return made;
  }
  OperatorTimes* problems_of(std::string_view op) {
    auto known = keys_of.find(op);
    if (known == keys_of.end()) {
      known = keys_of.emplace(op, std::make_unique<Table>()).first;
      supply.keys_of(op, [&](std::string_view key) { known->second->of(key); });
    }
    const auto operator_times = known->second->by_operator.find(op);
    return operator_times == known->second->by_operator.end() ? nullptr : operator_times->second.get();
  }
};

// A table that is complete, or one that is read on demand.
struct Source {
  std::shared_ptr<const Table> table;
  std::shared_ptr<OnDemand> on_demand;
  const DeviceProfile& device() const { return table ? table->device : on_demand->device; }
};

// Choices of one device, by operator.
struct Quarantine {
  DeviceProfile device;
  std::map<std::string, std::vector<QuarantinedChoice>, std::less<>> of_operator = {};  // that the library has
  std::set<std::pair<std::string, uint64_t>> all = {};                                  // kernels and their digests
};

// The times that count for one device: the tables, the most trusted first, and the answers so far, by the bytes_of()
// their problems.
class DeviceTimes {
 public:
  struct Related {
    Relation relation;
    Source source;
  };
  DeviceTimes(const DeviceProfile& device, std::span<const Source> sources, std::span<const Quarantine> quarantines)
      : device_(device) {
    for (const Relation wanted : {Relation::same, Relation::model, Relation::architecture}) {
      for (const Source& source : sources) {
        if (relation_of(source.device(), device) == wanted) related_.push_back({wanted, source});
      }
    }
    for (const Quarantine& quarantine : quarantines) {
      if (relation_of(quarantine.device, device) != Relation::same) continue;
      for (const auto& [op, choices] : quarantine.of_operator) {
        auto& all = quarantined_[op];
        all.insert(all.end(), choices.begin(), choices.end());
      }
    }
  }

  bool is(const DeviceProfile& device) const {
    return relation_of(device_, device) == Relation::same && device_.architecture == device.architecture;
  }
  const std::vector<Related>& related() const { return related_; }
  bool is_empty() const { return related_.empty() && quarantined_.empty(); }
  std::span<const QuarantinedChoice> quarantined(std::string_view op) const {
    const auto found = quarantined_.find(op);
    return found == quarantined_.end() ? std::span<const QuarantinedChoice>() : found->second;
  }

  std::shared_ptr<const KernelTimes> find(const std::string& words) const {
    const std::shared_lock lock(mutex_);
    const auto answer = answers_.find(words);
    return answer == answers_.end() ? nullptr : answer->second;
  }
  void keep(std::string words, std::shared_ptr<const KernelTimes> answer) {
    const std::unique_lock lock(mutex_);
    if (answers_.size() >= kMostAnswers) answers_.clear();
    answers_.insert_or_assign(std::move(words), std::move(answer));
  }

 private:
  DeviceProfile device_;
  std::vector<Related> related_;
  std::map<std::string, std::vector<QuarantinedChoice>, std::less<>> quarantined_;  // by operator
  mutable std::shared_mutex mutex_;                                                 // of answers_
  std::unordered_map<std::string, std::shared_ptr<const KernelTimes>> answers_;
};

}  // namespace

struct TimeBook::State {
  const KernelLibrary* library;
  std::vector<Source> sources;
  std::vector<Quarantine> quarantines;
  std::shared_mutex mutex;  // protects devices
  std::vector<std::unique_ptr<DeviceTimes>> devices;

  DeviceTimes& of(const DeviceProfile& device) {
    const auto is_it = [&](const auto& times) { return times->is(device); };
    {
      const std::shared_lock lock(mutex);
      if (const auto known = std::ranges::find_if(devices, is_it); known != devices.end()) return **known;
    }
    const std::unique_lock lock(mutex);
    if (const auto known = std::ranges::find_if(devices, is_it); known != devices.end()) return **known;
    return *devices.emplace_back(std::make_unique<DeviceTimes>(device, sources, quarantines));
  }

  // `beside`: another measured problem that is parsed already, which makes parsing faster; null: none.
  void parse(Measured& measured, const Measured* beside = nullptr) const {
    std::call_once(measured.is_parsed, [&] {
      if (beside) measured.problem = problem_beside(measured.key, beside->key, *beside->problem);
      if (measured.problem) return;
      if (auto problem = problem_of(measured.key, *library)) measured.problem = *std::move(problem);
    });
  }

  // Costs on the table's device. A shipped table has only the device's numbers; its features are taken from `asking`, a
  // device of the same model or architecture.
  void find_costs(const Table& table, const DeviceProfile& asking, Measured& measured) const {
    parse(measured);
    std::call_once(measured.has_costs, [&] {
      if (!measured.problem) return;
      DeviceProfile device = table.device.features == 0 ? asking : table.device;
      device.numbers = table.device.numbers;
      for (const Row& row : measured.rows) {
        const auto& parts = table.parts_of(row.kernel, *measured.problem->op);
        const auto cost = parts ? selector::cost_of_choice(*parts, *measured.problem, device) : std::nullopt;
        measured.costs.push_back(cost.value_or(0));
      }
    });
  }

  void group(OperatorTimes& operator_times) const {
    std::call_once(operator_times.is_grouping, [&] {
      const Measured* before = nullptr;  // tables are sorted, so its key is similar
      for (size_t i = 0; i < operator_times.measured.size(); ++i) {
        Measured* measured = operator_times.measured[i];
        parse(*measured, before);
        if (!measured->problem) {
          ++operator_times.of_other_versions;
          continue;
        }
        before = measured;
        const auto [hash, logs] = group_and_logs(*measured->problem);
        operator_times.groups[hash].push_back({logs, i, measured});
      }
      for (auto& [hash, members] : operator_times.groups) std::ranges::sort(members, {}, &GroupMember::logs);
      operator_times.is_grouped = true;
    });
  }

  struct Nearest {
    Measured* measured = nullptr;  // null: none is near
    double distance = 0;
  };
  // Searches up and down from the problem's `logs`, as far as a nearer problem can be. Of equally near ones the last
  // counts.
  Nearest nearest(OperatorTimes& operator_times, const Problem& problem) const {
    group(operator_times);
    const auto own_group = group_and_logs(problem);
    const double logs = own_group.second;
    const auto group = operator_times.groups.find(own_group.first);
    if (group == operator_times.groups.end()) return {};
    const std::vector<GroupMember>& members = group->second;
    const GroupMember* best = nullptr;
    double least = kFarthest;
    const auto is_near = [&](const GroupMember& other) { return std::abs(other.logs - logs) <= least + 1e-9; };
    const auto look_at = [&](const GroupMember& other) {
      if (other.measured->is_empty) return;
      const auto far = distance(*other.measured->problem, problem);
      if (!far || *far > least || (best && *far == least && other.order < best->order)) return;
      least = *far;
      best = &other;
    };
    const auto middle = std::ranges::lower_bound(members, logs, {}, &GroupMember::logs);
    for (auto up = middle; up != members.end() && is_near(*up); ++up) look_at(*up);
    for (auto down = middle; down != members.begin() && is_near(*std::prev(down)); --down) look_at(*std::prev(down));
    return best ? Nearest{best->measured, least} : Nearest{};
  }

  // The times of the problem itself; null: there are none.
  static Measured* exact(const Table& table, const Problem& problem, std::string& key) {
    if (key.empty()) key = key_of(problem);
    const auto found = table.by_key.find(key);
    return found == table.by_key.end() ? nullptr : found->second.get();
  }

  static TimeSource source_of(Relation relation, bool is_exact) {
    if (relation == Relation::model) return TimeSource::device;
    if (relation == Relation::architecture) return TimeSource::architecture;
    return is_exact ? TimeSource::measured : TimeSource::near;
  }

  KernelTimes::Rows rows_of(const Table& table, const DeviceProfile& asking, Relation relation, bool is_exact,
                            Measured& measured) const {
    const bool is_scaled = !is_exact || relation == Relation::architecture;
    if (is_scaled) find_costs(table, asking, measured);
    const TimeSource source = source_of(relation, is_exact);
    KernelTimes::Rows rows;
    rows.reserve(measured.rows.size());
    for (size_t i = 0; i < measured.rows.size(); ++i) {
      const Row& row = measured.rows[i];
      if (is_scaled && (i >= measured.costs.size() || measured.costs[i] <= 0)) continue;
      const Origin& origin = table.origins[row.origin];
      // The ratio of costs may order kernels anew, so no row of another problem is one of a final.
      const double us = is_scaled && !row.is_final ? std::max(row.us, measured.least_us) : row.us;
      rows.emplace_back(table.kernels[row.kernel],
                        KnownTime{us, source, is_scaled ? measured.costs[i] : 0,
                                  (is_exact ? origin.text : origin.near_suffix)[index_of(relation)],
                                  row.is_final && !is_scaled, origin.is_marked});
    }
    return rows;
  }

  // Adds the times of one table; existing entries of `times` stay. `key`: of the problem, made when it is first needed.
  // The near problem's time does not count if all measured problems of its operator are known to differ.
  void add_times(const std::shared_ptr<const Table>& table, const DeviceProfile& asking, Relation relation,
                 std::string& key, const Problem& problem, KernelTimes& times) const {
    const auto operator_times = table->by_operator.find(problem.op->name);
    if (operator_times == table->by_operator.end()) return;
    Nearest near;
    const bool is_grouped = operator_times->second->is_grouped;
    if (is_grouped) near = nearest(*operator_times->second, problem);
    if (!is_grouped || (near.measured && near.distance == 0)) {
      if (Measured* measured = exact(*table, problem, key)) {
        return add_exact(table, asking, relation, *measured, times);
      }
    }
    if (!is_grouped) near = nearest(*operator_times->second, problem);
    if (near.measured) add_near(table, asking, relation, *near.measured, problem, times);
  }

  // The same for times that are read on demand: the times of this problem, or else of the nearest problem that has
  // times which count.
  void add_times(OnDemand& source, const DeviceProfile& asking, Relation relation, std::string& key,
                 const Problem& problem, KernelTimes& times) const {
    const std::scoped_lock lock(source.mutex);
    if (key.empty()) key = key_of(problem);
    const CheckedTable& own = source.look(key, *library);
    if (own.count > 0) {
      add_exact(own.table, asking, relation, *own.table->by_key.at(key), times);
    }
    if (relation == Relation::same) {
      for (const std::string& note : own.notes) times.add_note(note);
      if (own.changed > 0) times.add_note(text_of_changed(own.changed));
    }
    OperatorTimes* others = own.count > 0 ? nullptr : source.problems_of(problem.op->name);
    if (others) group(*others);
    if (others && relation == Relation::same && others->of_other_versions > 0)
      times.add_note(text_of_other_versions(others->of_other_versions, problem.op->name));
    while (others) {
      const Nearest near = nearest(*others, problem);
      if (!near.measured) break;
      const CheckedTable& other = source.look(near.measured->key, *library);
      near.measured->is_empty = other.count == 0;
      if (other.count == 0) continue;
      Measured& measured = *other.table->by_key.at(near.measured->key);
      parse(measured);
      return add_near(other.table, asking, relation, measured, problem, times);
    }
  }

  void add_exact(const std::shared_ptr<const Table>& table, const DeviceProfile& asking, Relation relation,
                 Measured& measured, KernelTimes& times) const {
    struct Exact {
      std::shared_ptr<const Table> table;  // has the ids
      KernelTimes::Rows rows;
    };
    auto rows = std::make_shared<Exact>(Exact{table, rows_of(*table, asking, relation, true, measured)});
    times.add(std::shared_ptr<const KernelTimes::Rows>(rows, &rows->rows));
  }

  void add_near(const std::shared_ptr<const Table>& table, const DeviceProfile& asking, Relation relation,
                Measured& measured, const Problem& problem, KernelTimes& times) const {
    auto& rows = measured.rows_for_near[index_of(relation)];
    std::call_once(measured.has_rows_for_near[index_of(relation)],
                   [&] { rows = rows_of(*table, asking, relation, false, measured); });
    std::string before(table->beginning());
    before.append("near ").append(difference(*measured.problem, problem)).append(", ");
    times.add(std::shared_ptr<const KernelTimes::Rows>(table, &rows), std::move(before));
  }
};

TimeBook::TimeBook(const KernelLibrary& library) : state_(std::make_unique<State>()) {
  state_->library = &library;
  for (const TuningInfo* tuning : library.tunings()) state_->sources.push_back({shipped_table(*tuning), nullptr});
}
TimeBook::TimeBook(TimeBook&&) noexcept = default;
TimeBook& TimeBook::operator=(TimeBook&&) noexcept = default;
TimeBook::~TimeBook() = default;

size_t TimeBook::add(const DeviceProfile& device, std::span<const TimedKernel> rows) {
  if (!state_) return 0;  // moved from
  CheckedTable made = make_table(*state_->library, device, rows);
  if (made.count > 0) state_->sources.push_back({std::move(made.table), nullptr});
  state_->devices.clear();
  return made.count;
}

void TimeBook::add(const DeviceProfile& device, TimesOnDemand times) {
  if (!state_) return;  // moved from
  auto on_demand = std::make_shared<OnDemand>();
  on_demand->device = device;
  on_demand->supply = std::move(times);
  state_->sources.push_back({nullptr, std::move(on_demand)});
  state_->devices.clear();
}

void TimeBook::quarantine(const DeviceProfile& device, std::span<const QuarantinedKernel> kernels) {
  if (!state_) return;  // moved from
  Quarantine made{device};
  for (const QuarantinedKernel& bad : kernels) {
    made.all.emplace(bad.kernel, bad.digest);
    const OperatorInfo* op = state_->library->find(bad.kernel.substr(0, bad.kernel.find('.')));
    const bool is_there = op && digest_of(*op, bad.kernel, *state_->library) == bad.digest;
    if (is_there) made.of_operator[std::string(op->name)].push_back({bad.kernel, bad.reason});
  }
  if (!made.all.empty()) state_->quarantines.push_back(std::move(made));
  state_->devices.clear();
}

bool TimeBook::has_quarantined(const DeviceProfile& device, const std::string& kernel, uint64_t digest) const {
  return state_ && std::ranges::any_of(state_->quarantines, [&](const Quarantine& quarantine) {
           return relation_of(quarantine.device, device) == Relation::same && quarantine.all.contains({kernel, digest});
         });
}

std::shared_ptr<const KernelTimes> TimeBook::of(const Problem& problem, const DeviceProfile& device) const {
  static const auto kNothing = std::make_shared<const KernelTimes>();
  if (!problem.op || !state_ || (state_->sources.empty() && state_->quarantines.empty())) return kNothing;
  DeviceTimes& known = state_->of(device);
  if (known.is_empty()) return kNothing;
  std::string bytes = bytes_of(problem);
  if (auto answer = known.find(bytes)) return answer;
  std::string key;
  KernelTimes times;
  for (const auto& [relation, source] : known.related()) {
    if (source.table) state_->add_times(source.table, device, relation, key, problem, times);
    else state_->add_times(*source.on_demand, device, relation, key, problem, times);
  }
  times.quarantine(known.quarantined(problem.op->name));
  auto answer = std::make_shared<const KernelTimes>(std::move(times));
  known.keep(std::move(bytes), answer);
  return answer;
}

}  // namespace qgen
