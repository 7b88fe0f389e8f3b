// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/tuning/written_file.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "common/yaml/reader.h"
#include "runtime/engine/profiles/device_file.h"

namespace qgen::tuning {
namespace {

constexpr std::string_view kProblems = "\nproblems:\n";

// What is left of a line. Each function takes its part from the front, and says whether it was there.
class Line {
 public:
  explicit Line(std::string_view text) : left_(text) {}

  bool take(std::string_view text) {
    if (!left_.starts_with(text)) return false;
    left_.remove_prefix(text.size());
    return true;
  }
  template <typename Number, typename... Base>
  bool take_number(Number& number, Base... base) {
    const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), number, base...);
    if (error != std::errc()) return false;
    left_.remove_prefix(static_cast<size_t>(end - left_.data()));
    return true;
  }
  // Up to `end`, which stays; of letters that YAML has no meaning for.
  bool take_word(std::string_view end, std::string& word) {
    const size_t length = left_.find(end);
    if (length == std::string_view::npos || length == 0) return false;
    const std::string_view text = left_.substr(0, length);
    if (text.find_first_of("\"'\\{}[]#&*!|>%@`") != std::string_view::npos || text.find(": ") != std::string_view::npos)
      return false;
    word = text;
    left_.remove_prefix(length);
    return true;
  }
  // "\"...\"", in which quotes and backslashes have a backslash and nothing else has.
  bool take_quoted(std::string& text) {
    if (!take("\"")) return false;
    text.clear();
    while (!left_.empty() && left_.front() != '"') {
      const bool is_escape = left_.front() == '\\';
      if (is_escape && (left_.size() < 2 || (left_[1] != '"' && left_[1] != '\\'))) return false;
      text += left_[is_escape ? 1 : 0];
      left_.remove_prefix(is_escape ? 2 : 1);
    }
    return take("\"");
  }
  bool take_name(std::string_view end, std::string& name) {
    return is_quoted() ? take_quoted(name) : take_word(end, name);
  }
  bool take_date(std::string& date) {
    constexpr size_t kLetters = 10;  // "2026-11-23"; fault_of() looks at them
    if (left_.size() < kLetters) return false;
    date = left_.substr(0, kLetters);
    left_.remove_prefix(kLetters);
    return true;
  }
  bool is_quoted() const { return left_.starts_with('"'); }
  std::string_view rest() const { return left_; }
  bool is_empty() const { return left_.empty(); }

 private:
  std::string_view left_;
};

class WrittenFile {
 public:
  bool read(std::string_view body, uint32_t line);
  TuningFile take() { return std::move(file_); }

 private:
  bool read_line(std::string_view text, uint32_t line);
  bool read_problem(Line line);
  bool read_row(Line line);
  bool read_statistics(Line& line, std::string& statistics);

  TuningFile file_;
  std::string problem_;
  std::vector<std::string> statistics_;  // &s1, &s2, ...
};

bool WrittenFile::read(std::string_view body, uint32_t line) {
  while (!body.empty()) {
    const size_t end = body.find('\n');
    if (end == std::string_view::npos || !read_line(body.substr(0, end), line++)) return false;
    body.remove_prefix(end + 1);
  }
  return true;
}

bool WrittenFile::read_line(std::string_view text, uint32_t number) {
  Line line(text);
  if (line.take("  - ")) return !problem_.empty() && read_row(line);
  if (text == "  kernels:") return !problem_.empty();
  if (line.take("- problem: ")) return read_problem(line) && file_.lines.try_emplace(problem_, number).second;
  if (!line.take("  base: [") || problem_.empty()) return false;
  std::vector<double>& base = file_.base_us[problem_];
  do {
    if (!line.take_number(base.emplace_back()) || !(base.back() >= kLeastUs && base.back() <= kMostUs)) return false;
  } while (line.take(", "));
  return line.take("]") && line.is_empty();
}

// In quotes, or plain as a scalar that stands for itself.
bool WrittenFile::read_problem(Line line) {
  if (line.is_quoted()) return line.take_quoted(problem_) && line.is_empty() && !problem_.empty();
  problem_ = line.rest();
  return !problem_.empty() && yaml::scalar_text(problem_) == problem_;
}

bool WrittenFile::read_statistics(Line& line, std::string& statistics) {
  size_t number = 0;
  if (line.take("*s")) {
    if (!line.take_number(number) || number < 1 || number > statistics_.size()) return false;
    statistics = statistics_[number - 1];
    return true;
  }
  const bool is_new = line.take("&s") && line.take_number(number) && number == statistics_.size() + 1 && line.take(" ");
  if (!is_new || !line.take_quoted(statistics)) return false;
  statistics_.push_back(statistics);
  return true;
}

bool WrittenFile::read_row(Line line) {
  TunedRow row{.problem = problem_};
  const bool has_times = line.take("{id: ") && line.take_name(", us: ", row.kernel) && line.take(", us: ") &&
                         line.take_number(row.us) && line.take(", low: ") && line.take_number(row.low_us) &&
                         line.take(", high: ") && line.take_number(row.high_us);
  if (!has_times || !line.take(", digest: \"") || !line.take_number(row.digest, 16) || !line.take("\", date: "))
    return false;
  if (!line.take_date(row.date)) return false;
  row.is_cold = line.take(", cold: true");
  row.is_final = line.take(", final: true");
  if (line.take(", samples: ") && (!line.take_number(row.samples) || row.samples == 0)) return false;
  if (line.take(", clock: ") && !line.take_number(row.clock)) return false;
  if (line.take(", statistics: ") && !read_statistics(line, row.statistics)) return false;
  if (!line.take("}") || !line.is_empty() || !fault_of(row).empty()) return false;
  file_.rows.push_back(std::move(row));
  return true;
}

}  // namespace

std::optional<std::string> head_of(std::string_view text) {
  const size_t begin = text.find(kProblems);
  if (!text.starts_with("device:\n") || begin == std::string_view::npos) return std::nullopt;
  return std::string(text.substr(0, begin)) + "\nproblems: []\n";
}

std::optional<TuningFile> read_written_file(const std::string& file, std::string_view text) {
  const auto head = head_of(text);
  if (!head) return std::nullopt;
  TuningFile of_head;
  yaml::Reader reader(file);
  const Done done = reader.run(*head, [&](const YAML::Node& root) {
    reader.fields(
        root, "a tuning file",
        {{"device", true, [&](const YAML::Node& node) { of_head.device = profiles::read_device(reader, node); }},
         {"problems", true, [](const YAML::Node&) {}}});
  });
  const size_t begin = text.find(kProblems) + kProblems.size();
  const auto line = static_cast<uint32_t>(std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(begin), '\n'));
  WrittenFile body;
  if (!done || !body.read(text.substr(begin), line + 1)) return std::nullopt;
  TuningFile read = body.take();
  read.device = std::move(of_head.device);
  return read;
}

}  // namespace qgen::tuning
