// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/tuning/tuning_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <span>
#include <tuple>

#include "common/files.h"
#include "common/yaml/reader.h"
#include "runtime/engine/profiles/device_file.h"
#include "runtime/engine/tuning/written_file.h"

namespace qgen::tuning {
namespace {

using Node = YAML::Node;

constexpr size_t kMostBytes = size_t{1} << 28;

void read_digest(yaml::Reader& reader, const Node& node, uint64_t& digest) {
  std::string text;
  reader.text(node, "digest", text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), digest, 16);
  if (error != std::errc() || end != text.data() + text.size())
    reader.fault(node, fmt::format("'{}' is no digest", text), "hexadecimal digits");
}

TunedRow row_of(yaml::Reader& reader, const Node& map, const std::string& problem) {
  TunedRow row{.problem = problem};
  const auto time = [&](std::string_view key, double& us) {
    return yaml::Field{key, true,
                       [&reader, &us, key](const Node& node) { reader.number(node, key, kLeastUs, kMostUs, us); }};
  };
  int64_t samples = 0;
  reader.fields(map, "a kernel's time",
                {{"id", true, [&](const Node& node) { reader.text(node, "id", row.kernel); }},
                 time("us", row.us),
                 time("low", row.low_us),
                 time("high", row.high_us),
                 {"digest", true, [&](const Node& node) { read_digest(reader, node, row.digest); }},
                 {"date", true, [&](const Node& node) { reader.text(node, "date", row.date); }},
                 {"cold", false, [&](const Node& node) { reader.boolean(node, "cold", row.is_cold); }},
                 {"final", false, [&](const Node& node) { reader.boolean(node, "final", row.is_final); }},
                 {"samples", false, [&](const Node& node) { reader.integer(node, "samples", 1, UINT32_MAX, samples); }},
                 {"clock", false, [&](const Node& node) { reader.number(node, "clock", 1e-3, 1, row.clock); }},
                 {"statistics", false, [&](const Node& node) { reader.text(node, "statistics", row.statistics); }}});
  row.samples = static_cast<uint32_t>(samples);
  const bool is_read = row.us > 0 && row.low_us > 0 && row.high_us > 0 && !row.date.empty();
  if (const std::string fault = is_read ? fault_of(row) : ""; !fault.empty()) {
    reader.fault(map, fmt::format("the row of '{}' is no measurement: {}", row.kernel, fault));
  }
  return row;
}

void read_base(yaml::Reader& reader, const Node& list, std::vector<double>& base_us) {
  reader.items(list, "base", [&](const Node& item) {
    reader.number(item, "a base time", kLeastUs, kMostUs, base_us.emplace_back());
  });
}

void read_problem(yaml::Reader& reader, const Node& map, TuningFile& file) {
  std::string problem;
  Node kernels;
  std::vector<double> base_us;
  reader.fields(map, "a problem",
                {{"problem", true, [&](const Node& node) { reader.text(node, "problem", problem); }},
                 {"base", false, [&](const Node& node) { read_base(reader, node, base_us); }},
                 {"kernels", true, [&](const Node& node) { kernels = node; }}});
  if (kernels.IsNull()) return;  // reported
  file.lines.try_emplace(problem, static_cast<uint32_t>(map.Mark().line) + 1);
  if (!base_us.empty()) file.base_us.try_emplace(problem, std::move(base_us));
  reader.items(kernels, "kernels", [&](const Node& item) { file.rows.push_back(row_of(reader, item, problem)); });
}

// The texts of drivers about pipelines, each once: `&s1 "[...]"`, and from then on `*s1`.
class Statistics {
 public:
  std::string of(const TunedRow& row) {
    const auto [place, is_new] = numbers_.try_emplace(row.statistics, numbers_.size() + 1);
    if (!is_new) return fmt::format("*s{}", place->second);
    return fmt::format("&s{} {}", place->second, yaml::scalar_text(row.statistics));
  }

 private:
  std::map<std::string_view, size_t> numbers_;
};

std::string row_text(const TunedRow& row, Statistics& statistics) {
  std::string text = fmt::format("{{id: {}, us: {:.6g}, low: {:.6g}, high: {:.6g}, digest: \"{:016x}\", date: {}",
                                 yaml::scalar_text(row.kernel), row.us, row.low_us, row.high_us, row.digest, row.date);
  if (row.is_cold) text += ", cold: true";
  if (row.is_final) text += ", final: true";
  if (row.samples > 0) text += fmt::format(", samples: {}", row.samples);
  if (row.clock < 1) text += fmt::format(", clock: {:.3f}", row.clock);
  if (!row.statistics.empty()) text += fmt::format(", statistics: {}", statistics.of(row));
  return text + "}";
}

}  // namespace

namespace {

void sort_rows(std::vector<TunedRow>& rows) {
  const auto by_order = [](const TunedRow& row) { return order_of(row); };
  if (!std::ranges::is_sorted(rows, {}, by_order)) std::ranges::sort(rows, {}, by_order);
}

}  // namespace

Expected<TuningFile> read_tuning_file(const std::string& file, std::string_view text) {
  if (auto written = read_written_file(file, text)) {
    sort_rows(written->rows);
    return *std::move(written);
  }
  TuningFile tuning;
  yaml::Reader reader(file);
  const Done done = reader.run(text, [&](const Node& root) {
    reader.fields(root, "a tuning file",
                  {{"device", true, [&](const Node& node) { tuning.device = profiles::read_device(reader, node); }},
                   {"problems", true, [&](const Node& node) {
                      reader.items(node, "problems", [&](const Node& item) { read_problem(reader, item, tuning); });
                    }}});
  });
  if (!done) return done.error();
  sort_rows(tuning.rows);
  return tuning;
}

Expected<TuningFile> load_tuning_file(const std::string& path) {
  const auto text = read_file(path, kMostBytes);
  if (!text) return text.error();
  return read_tuning_file(path, *text);
}

std::string to_yaml(const TuningFile& file) {
  std::string text =
      fmt::format("device:\n{}problems:{}\n", profiles::to_yaml(file.device, 2), file.rows.empty() ? " []" : "");
  std::string_view problem;
  Statistics statistics;
  for (const TunedRow& row : file.rows) {
    if (row.problem != problem) {
      text += fmt::format("- problem: {}\n", yaml::scalar_text(row.problem));
      const auto base = file.base_us.find(row.problem);
      if (base != file.base_us.end()) text += fmt::format("  base: [{:.6g}]\n", fmt::join(base->second, ", "));
      text += "  kernels:\n";
    }
    problem = row.problem;
    text += fmt::format("  - {}\n", row_text(row, statistics));
  }
  return text;
}

namespace {

// The final round of a problem and a cache, as one file has it.
struct Final {
  std::vector<TunedRow*> rows;  // by kernel
  bool is_marked = false;       // a row of it is
  std::string_view date;        // of the newest row
  double us = kMostUs;          // of the fastest
};
using Finals = std::map<std::pair<std::string_view, bool>, Final>;

// What orders rows of one kernel that are equally good.
auto content_of(const TunedRow& row) {
  return std::tie(row.us, row.low_us, row.high_us, row.digest, row.samples, row.clock, row.statistics);
}

Finals finals_of(std::span<TunedRow> rows) {
  Finals finals;
  for (TunedRow& row : rows) {
    if (!row.is_final) continue;
    Final& final = finals[{row.problem, row.is_cold}];
    final.rows.push_back(&row);
    final.is_marked |= row.is_marked();
    final.date = std::max(final.date, std::string_view(row.date));
    final.us = std::min(final.us, row.us);
  }
  for (auto& [key, final] : finals) {
    std::ranges::sort(final.rows, [](const TunedRow* a, const TunedRow* b) {
      return std::tuple(std::string_view(a->kernel), content_of(*a)) <
             std::tuple(std::string_view(b->kernel), content_of(*b));
    });
  }
  return finals;
}

// One without marks first, then the newer one, of one day the faster one. The rest makes the order one of contents.
bool is_better(const Final& a, const Final& b) {
  if (a.is_marked != b.is_marked) return b.is_marked;
  if (a.date != b.date) return a.date > b.date;
  if (a.us != b.us) return a.us < b.us;
  return std::ranges::lexicographical_compare(a.rows, b.rows, [](const TunedRow* x, const TunedRow* y) {
    return std::tuple(std::string_view(x->kernel), content_of(*x)) <
           std::tuple(std::string_view(y->kernel), content_of(*y));
  });
}

// If several files have a final round of a problem, the best one counts. The rows of the others become rows of an
// ordinary round.
void leave_best_final(std::vector<std::vector<TunedRow>>& all) {
  std::vector<Finals> finals;
  for (std::vector<TunedRow>& rows : all) finals.push_back(finals_of(rows));
  std::map<std::pair<std::string_view, bool>, const Final*> best;
  for (const Finals& of_file : finals) {
    for (const auto& [key, final] : of_file) {
      const auto [known, is_new] = best.try_emplace(key, &final);
      if (!is_new && is_better(final, *known->second)) known->second = &final;
    }
  }
  std::vector<TunedRow*> demoted;  // rows change when all are compared
  for (const Finals& of_file : finals) {
    for (const auto& [key, final] : of_file) {
      if (is_better(*best.at(key), final)) demoted.insert(demoted.end(), final.rows.begin(), final.rows.end());
    }
  }
  for (TunedRow* row : demoted) row->is_final = false;
}

auto what_of(const TunedRow& row) { return std::tie(row.problem, row.kernel, row.is_cold); }

// The row that counts, of rows of one kernel and problem. A kernel that changed has the version of its newest row.
TunedRow best_of(std::span<TunedRow> rows) {
  const auto is_newer = [](const TunedRow& a, const TunedRow& b) {
    return std::tie(b.date, a.us, a.digest) < std::tie(a.date, b.us, b.digest);
  };
  const uint64_t digest = std::min_element(rows.begin(), rows.end(), is_newer)->digest;
  const auto end = std::partition(rows.begin(), rows.end(), [&](const TunedRow& row) { return row.digest == digest; });
  return std::move(*std::min_element(rows.begin(), end, [](const TunedRow& a, const TunedRow& b) {
    const auto flags_of = [](const TunedRow& row) { return std::pair(!row.is_final, row.is_marked()); };
    return std::tuple(flags_of(a), std::string_view(b.date), content_of(a)) <
           std::tuple(flags_of(b), std::string_view(a.date), content_of(b));
  }));
}

}  // namespace

std::tuple<size_t, std::string, std::string> standing_of(const DeviceProfile& device) {
  return {std::numeric_limits<size_t>::max() - device.sources.size(), uuid_text(device.device_uuid),
          profiles::to_yaml(device)};
}

std::vector<TunedRow> merged(std::vector<std::vector<TunedRow>> all) {
  leave_best_final(all);
  std::vector<TunedRow> rows;
  for (std::vector<TunedRow>& some : all) std::ranges::move(some, std::back_inserter(rows));
  std::ranges::sort(rows, {}, what_of);
  std::vector<TunedRow> best;
  for (auto begin = rows.begin(); begin != rows.end();) {
    const auto end =
        std::find_if(begin, rows.end(), [&](const TunedRow& row) { return what_of(row) != what_of(*begin); });
    const bool is_one = end - begin == 1;
    best.push_back(is_one ? std::move(*begin) : best_of({begin, end}));
    begin = end;
  }
  sort_rows(best);
  return best;
}

}  // namespace qgen::tuning
