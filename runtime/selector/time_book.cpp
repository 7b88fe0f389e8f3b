// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/selector/time_book.h"

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
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "runtime/library/tuning_info.h"
#include "runtime/selector/choice_cost.h"
#include "runtime/selector/mixed.h"
#include "runtime/selector/read_key.h"

namespace qgen {
namespace {

const double kFarthest = std::log(4.0);  // of two problems, in all sizes together
constexpr size_t kMostAnswers = 4096;
constexpr double kLargeProduct = 1e200;  // of sizes, to which one more may be multiplied
constexpr std::string_view kByRatio = ", by the ratio of costs";

enum class Relation : uint8_t { same, model, architecture, none };

struct Row {
  uint32_t kernel;  // of Table::kernels
  uint32_t origin;  // of Table::origins
  double us;
};

// By Relation, but `none`.
template <typename T>
using OfRelation = std::array<T, 3>;
size_t place_of(Relation relation) { return static_cast<size_t>(relation); }

// What was measured of a problem. What the key means is found out when a problem of its operator is first asked about
// that has no times; the costs, when it is the nearest.
struct Measured {
  std::string key;
  std::vector<Row> rows;  // by kernel, each once
  std::once_flag is_parsed, has_costs;
  std::optional<Problem> problem;
  std::vector<double> costs;  // of the rows, as the spec estimates them there; none: nobody can read the key
  // What all problems have of it that are near; each says before it how far it is.
  OfRelation<std::once_flag> has_near;
  OfRelation<KernelTimes::Rows> near;
};

// A problem among others that differ from it in sizes alone.
struct Placed {
  double logs;  // of all sizes, added: no problem is farther from another in this than in its sizes
  size_t order;
  Measured* measured;
};

struct OfOperator {
  std::vector<Measured*> measured;
  std::once_flag is_placing;
  std::atomic<bool> is_placed = false;
  std::unordered_map<uint64_t, std::vector<Placed>> alike;  // by place_among_alike(); each by `logs`
};

// When and how times were measured, and that for people.
struct Origin {
  std::string date;
  bool is_cold;
  OfRelation<SharedText> said = {};       // of the very problem
  OfRelation<SharedText> said_near = {};  // of one that is near, behind how far it is
};

// What a kernel's id means, found out when its cost is first wanted.
struct LazyParts {
  std::once_flag are_read;
  std::optional<selector::ChoiceParts> parts;
};

// What was measured on one device.
struct Table {
  DeviceProfile device;
  bool is_shipped = false;
  std::vector<std::string> kernels;    // ids, sorted
  std::unique_ptr<LazyParts[]> parts;  // of each
  std::vector<Origin> origins;
  std::unordered_map<std::string_view, std::unique_ptr<Measured>> by_key;
  std::map<std::string, std::unique_ptr<OfOperator>, std::less<>> by_operator;

  Measured& of(std::string_view key) {
    if (const auto found = by_key.find(key); found != by_key.end()) return *found->second;
    auto measured = std::make_unique<Measured>();
    measured->key = key;
    auto& of_operator = by_operator[std::string(operator_of(key))];
    if (!of_operator) of_operator = std::make_unique<OfOperator>();
    of_operator->measured.push_back(measured.get());
    const std::string_view kept = measured->key;
    return *by_key.emplace(kept, std::move(measured)).first->second;
  }

  uint32_t origin_of(std::string_view date, bool is_cold) {
    const auto is_it = [&](const Origin& origin) { return origin.date == date && origin.is_cold == is_cold; };
    const auto known = std::ranges::find_if(origins, is_it);
    const auto place = static_cast<uint32_t>(known - origins.begin());
    if (known == origins.end()) origins.push_back({std::string(date), is_cold});
    return place;
  }

  std::string_view beginning() const { return is_shipped ? "shipped table, " : ""; }
  // "measured 2026-11-23 on this driver"
  std::string said(const Origin& origin, Relation relation) const {
    const std::string where = relation == Relation::same
                                  ? "this driver"
                                  : fmt::format("{} {} {}", device.name, device.driver_name, device.driver_info);
    return fmt::format("measured {}{} on {}", origin.date, origin.is_cold ? " with a cold cache" : "", where);
  }

  const std::optional<selector::ChoiceParts>& parts_of(uint32_t kernel, const OperatorInfo& op) const {
    LazyParts& lazy = parts[kernel];
    std::call_once(lazy.are_read, [&] { lazy.parts = selector::parts_of(op, kernels[kernel]); });
    return lazy.parts;
  }

  // When all rows are there, of kernels in any order.
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
    }
    for (Origin& origin : origins) {
      for (const Relation relation : {Relation::same, Relation::model, Relation::architecture}) {
        const std::string text = said(origin, relation);
        const std::string_view exact_end = relation == Relation::architecture ? kByRatio : "";
        origin.said[place_of(relation)] = fmt::format("{}{}{}", beginning(), text, exact_end);
        origin.said_near[place_of(relation)] = text + std::string(kByRatio);
      }
    }
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
std::shared_ptr<const Table> shipped_table(const TuningInfo& tuning) {
  auto table = std::make_shared<Table>();
  table->device = device_of(tuning);
  table->is_shipped = true;
  table->kernels.assign(tuning.choices.begin(), tuning.choices.end());
  const uint32_t origins[] = {table->origin_of(tuning.date, false), table->origin_of(tuning.date, true)};
  uint32_t begin = 0;
  for (const TunedProblem& problem : tuning.problems) {
    std::vector<Row>& rows = table->of(problem.key).rows;
    for (const TunedTime& time : tuning.times.subspan(begin, problem.end - begin)) {
      rows.push_back({time.choice, origins[time.is_cold ? 1 : 0], time.us});
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

// Of those that tell problems apart; arrays are what kernels address by.
bool is_compared(const FieldInfo& field) { return !field.is_data && field.count == 1; }
bool is_size(const FieldInfo& field) { return field.kind == FieldInfo::Kind::u32 && field.words.empty(); }

// How far one problem is from another of the same operator; nullopt: they differ in more than sizes.
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

// A number that is equal of problems that have a distance; and the logarithms of all sizes, added.
std::pair<uint64_t, double> place_among_alike(const Problem& problem) {
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

// What key_of() tells problems apart by, without its text: problems of one operator for which it is equal have one key.
std::string words_of(const Problem& problem) {
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

// "m=512 k=4096", where it is another than `problem`.
std::string difference(const Problem& from, const Problem& problem) {
  std::string text;
  for (const FieldInfo& field : problem.op->fields) {
    if (!is_compared(field) || !is_size(field) || word_at(from, field) == word_at(problem, field)) continue;
    if (!text.empty()) text += ' ';
    text.append(field.name).append("=").append(std::to_string(word_at(from, field)));
  }
  return text;
}

// A device that asked: which tables count for it, the most trusted first, and what it was told, by words_of() the
// problems.
class Asking {
 public:
  struct Related {
    Relation relation;
    std::shared_ptr<const Table> table;
  };
  Asking(const DeviceProfile& device, std::span<const std::shared_ptr<const Table>> tables) : device_(device) {
    for (const Relation wanted : {Relation::same, Relation::model, Relation::architecture}) {
      for (const auto& table : tables) {
        if (relation_of(table->device, device) == wanted) related_.push_back({wanted, table});
      }
    }
  }

  bool is(const DeviceProfile& device) const {
    return relation_of(device_, device) == Relation::same && device_.architecture == device.architecture;
  }
  const std::vector<Related>& related() const { return related_; }

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
  mutable std::shared_mutex mutex_;  // of answers_
  std::unordered_map<std::string, std::shared_ptr<const KernelTimes>> answers_;
};

}  // namespace

struct TimeBook::State {
  const KernelLibrary* library;
  std::vector<std::shared_ptr<const Table>> tables;
  std::shared_mutex mutex;  // of asked
  std::vector<std::unique_ptr<Asking>> asked;

  Asking& of(const DeviceProfile& device) {
    const auto is_it = [&](const auto& asking) { return asking->is(device); };
    {
      const std::shared_lock lock(mutex);
      if (const auto known = std::ranges::find_if(asked, is_it); known != asked.end()) return **known;
    }
    const std::unique_lock lock(mutex);
    if (const auto known = std::ranges::find_if(asked, is_it); known != asked.end()) return **known;
    return *asked.emplace_back(std::make_unique<Asking>(device, tables));
  }

  // `beside`: another that was parsed, null: none.
  void parse(Measured& measured, const Measured* beside = nullptr) const {
    std::call_once(measured.is_parsed, [&] {
      if (beside) measured.problem = problem_beside(measured.key, beside->key, *beside->problem);
      if (measured.problem) return;
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
        const auto& parts = table.parts_of(row.kernel, *measured.problem->op);
        const auto cost = parts ? selector::cost_of_choice(*parts, *measured.problem, device) : std::nullopt;
        measured.costs.push_back(cost.value_or(0));
      }
    });
  }

  void place(OfOperator& of_operator) const {
    std::call_once(of_operator.is_placing, [&] {
      const Measured* before = nullptr;  // tables are sorted: it differs in little
      for (size_t i = 0; i < of_operator.measured.size(); ++i) {
        Measured* measured = of_operator.measured[i];
        parse(*measured, before);
        if (!measured->problem) continue;
        before = measured;
        const auto [hash, logs] = place_among_alike(*measured->problem);
        of_operator.alike[hash].push_back({logs, i, measured});
      }
      for (auto& [hash, placed] : of_operator.alike) std::ranges::sort(placed, {}, &Placed::logs);
      of_operator.is_placed = true;
    });
  }

  struct Nearest {
    Measured* measured = nullptr;  // null: none is near
    double distance = 0;
  };
  // Looks up and down from the problem's own place, as far as a nearer one can be; of equals the last counts.
  Nearest nearest(OfOperator& of_operator, const Problem& problem) const {
    place(of_operator);
    const auto place_of_problem = place_among_alike(problem);
    const double logs = place_of_problem.second;
    const auto alike = of_operator.alike.find(place_of_problem.first);
    if (alike == of_operator.alike.end()) return {};
    const std::vector<Placed>& placed = alike->second;
    const Placed* best = nullptr;
    double least = kFarthest;
    const auto is_near = [&](const Placed& other) { return std::abs(other.logs - logs) <= least + 1e-9; };
    const auto look_at = [&](const Placed& other) {
      const auto far = distance(*other.measured->problem, problem);
      if (!far || *far > least || (best && *far == least && other.order < best->order)) return;
      least = *far;
      best = &other;
    };
    const auto middle = std::ranges::lower_bound(placed, logs, {}, &Placed::logs);
    for (auto up = middle; up != placed.end() && is_near(*up); ++up) look_at(*up);
    for (auto down = middle; down != placed.begin() && is_near(*std::prev(down)); --down) look_at(*std::prev(down));
    return best ? Nearest{best->measured, least} : Nearest{};
  }

  // Of the very problem; null: nothing.
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
      rows.emplace_back(table.kernels[row.kernel],
                        KnownTime{row.us, source, is_scaled ? measured.costs[i] : 0,
                                  (is_exact ? origin.said : origin.said_near)[place_of(relation)]});
    }
    return rows;
  }

  // What one table says; what `times` has stays. `key`: of the problem, made when it is first needed. That of a problem
  // from which all that were measured of its operator are known to differ is not.
  void add_times(const std::shared_ptr<const Table>& table, const DeviceProfile& asking, Relation relation,
                 std::string& key, const Problem& problem, KernelTimes& times) const {
    const auto of_operator = table->by_operator.find(problem.op->name);
    if (of_operator == table->by_operator.end()) return;
    Nearest near;
    const bool is_placed = of_operator->second->is_placed;
    if (is_placed) near = nearest(*of_operator->second, problem);
    if (!is_placed || (near.measured && near.distance == 0)) {
      if (Measured* measured = exact(*table, problem, key)) {
        struct Exact {
          std::shared_ptr<const Table> table;  // which the ids are of
          KernelTimes::Rows rows;
        };
        auto rows = std::make_shared<Exact>(Exact{table, rows_of(*table, asking, relation, true, *measured)});
        return times.add(std::shared_ptr<const KernelTimes::Rows>(rows, &rows->rows));
      }
    }
    if (!is_placed) near = nearest(*of_operator->second, problem);
    if (!near.measured) return;
    Measured& measured = *near.measured;
    auto& rows = measured.near[place_of(relation)];
    std::call_once(measured.has_near[place_of(relation)],
                   [&] { rows = rows_of(*table, asking, relation, false, measured); });
    std::string before(table->beginning());
    before.append("near ").append(difference(*measured.problem, problem)).append(", ");
    times.add(std::shared_ptr<const KernelTimes::Rows>(table, &rows), std::move(before));
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
  struct Kernel {
    std::optional<uint64_t> digest;  // as the library has it
    uint32_t place;                  // of Table::kernels
  };
  auto table = std::make_shared<Table>();
  table->device = device;
  size_t count = 0;
  // Asked of the library once each.
  std::unordered_map<const OperatorInfo*, std::unordered_map<std::string_view, Kernel>> kernels;
  std::string_view problem;  // most rows are of the one before
  const OperatorInfo* op = nullptr;
  std::unordered_map<std::string_view, Kernel>* of_operator = nullptr;
  Measured* measured = nullptr;
  for (const TimedKernel& row : rows) {
    if (row.problem != problem) {
      problem = row.problem;
      op = state_->library->find(operator_of(problem));
      of_operator = &kernels[op];
      measured = nullptr;
    }
    if (!op) continue;
    const auto [known, is_new] = of_operator->try_emplace(row.kernel);
    Kernel& kernel = known->second;
    if (is_new) {
      kernel = {digest_of(*op, row.kernel, *state_->library), static_cast<uint32_t>(table->kernels.size())};
      table->kernels.emplace_back(row.kernel);
    }
    if (kernel.digest != row.digest) continue;
    if (!measured) measured = &table->of(problem);
    measured->rows.push_back({kernel.place, table->origin_of(row.date, row.is_cold), row.us});
    ++count;
  }
  table->finish();
  if (count > 0) state_->tables.push_back(std::move(table));
  state_->asked.clear();
  return count;
}

std::shared_ptr<const KernelTimes> TimeBook::of(const Problem& problem, const DeviceProfile& device) const {
  static const auto kNothing = std::make_shared<const KernelTimes>();
  if (!problem.op || state_->tables.empty()) return kNothing;
  Asking& asking = state_->of(device);
  if (asking.related().empty()) return kNothing;
  std::string words = words_of(problem);
  if (auto answer = asking.find(words)) return answer;
  std::string key;
  KernelTimes times;
  for (const auto& [relation, table] : asking.related()) {
    state_->add_times(table, device, relation, key, problem, times);
  }
  auto answer = std::make_shared<const KernelTimes>(std::move(times));
  asking.keep(std::move(words), answer);
  return answer;
}

}  // namespace qgen
