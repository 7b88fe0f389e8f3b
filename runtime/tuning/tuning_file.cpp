// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/tuning/tuning_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <tuple>

#include "common/files.h"
#include "common/yaml/reader.h"
#include "runtime/profiles/device_file.h"

namespace qgen::tuning {
namespace {

using Node = YAML::Node;

constexpr size_t kMostBytes = size_t{1} << 28;
constexpr double kMostUs = 1e12;

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
    return yaml::Field{key, true, [&reader, &us, key](const Node& node) { reader.number(node, key, 0, kMostUs, us); }};
  };
  reader.fields(map, "a kernel's time",
                {{"id", true, [&](const Node& node) { reader.text(node, "id", row.kernel); }},
                 time("us", row.us),
                 time("low", row.low_us),
                 time("high", row.high_us),
                 {"digest", true, [&](const Node& node) { read_digest(reader, node, row.digest); }},
                 {"date", true, [&](const Node& node) { reader.text(node, "date", row.date); }},
                 {"cold", false, [&](const Node& node) { reader.boolean(node, "cold", row.is_cold); }},
                 {"statistics", false, [&](const Node& node) { reader.text(node, "statistics", row.statistics); }}});
  return row;
}

void read_problem(yaml::Reader& reader, const Node& map, std::vector<TunedRow>& rows) {
  std::string problem;
  Node kernels;
  reader.fields(map, "a problem",
                {{"problem", true, [&](const Node& node) { reader.text(node, "problem", problem); }},
                 {"kernels", true, [&](const Node& node) { kernels = node; }}});
  if (kernels.IsNull()) return;  // told
  reader.items(kernels, "kernels", [&](const Node& item) { rows.push_back(row_of(reader, item, problem)); });
}

auto order_of(const TunedRow& row) { return std::tie(row.problem, row.us, row.kernel, row.is_cold); }

// What drivers say of pipelines, each text once: `&s1 "[...]"`, and from then on `*s1`.
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
  if (!row.statistics.empty()) text += fmt::format(", statistics: {}", statistics.of(row));
  return text + "}";
}

}  // namespace

std::vector<TunedRow> comparable(std::vector<TunedRow> rows) {
  std::set<std::string, std::less<>> cold;
  for (const TunedRow& row : rows) {
    if (row.is_cold) cold.insert(row.problem);
  }
  std::erase_if(rows, [&](const TunedRow& row) { return !row.is_cold && cold.contains(row.problem); });
  return rows;
}

Expected<TuningFile> read_tuning_file(const std::string& file, std::string_view text) {
  TuningFile tuning;
  yaml::Reader reader(file);
  const Done done = reader.run(text, [&](const Node& root) {
    reader.fields(root, "a tuning file",
                  {{"device", true, [&](const Node& node) { tuning.device = profiles::read_device(reader, node); }},
                   {"problems", true, [&](const Node& node) {
                      reader.items(node, "problems",
                                   [&](const Node& item) { read_problem(reader, item, tuning.rows); });
                    }}});
  });
  if (!done) return done.error();
  std::ranges::sort(tuning.rows, {}, order_of);
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
    if (row.problem != problem) text += fmt::format("- problem: {}\n  kernels:\n", yaml::scalar_text(row.problem));
    problem = row.problem;
    text += fmt::format("  - {}\n", row_text(row, statistics));
  }
  return text;
}

std::vector<TunedRow> merged(std::vector<TunedRow> a, std::vector<TunedRow> b) {
  std::ranges::move(b, std::back_inserter(a));
  const auto what = [](const TunedRow& row) { return std::tie(row.problem, row.kernel, row.is_cold); };
  std::ranges::sort(a, [&](const TunedRow& left, const TunedRow& right) {
    return std::tuple(what(left), std::tie(right.date), left.us) <
           std::tuple(what(right), std::tie(left.date), right.us);
  });
  const auto is_same = [&](const TunedRow& left, const TunedRow& right) { return what(left) == what(right); };
  a.erase(std::unique(a.begin(), a.end(), is_same), a.end());
  std::ranges::sort(a, {}, order_of);
  return a;
}

}  // namespace qgen::tuning
