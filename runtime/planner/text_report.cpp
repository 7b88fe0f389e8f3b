// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/planner/text_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "common/nearest.h"

namespace qgen::planner {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

void TextReport::add(TextPlace where, std::string message, std::string expected, std::string hint) {
  faults_.push_back({where, std::move(message), std::move(expected), std::move(hint)});
}

std::string TextReport::to_text() const {
  std::vector<Fault> faults = faults_;
  std::stable_sort(faults.begin(), faults.end(), [](const Fault& a, const Fault& b) {
    return std::tie(a.where.line, a.where.column) < std::tie(b.where.line, b.where.column);
  });
  const auto lines = lines_of(text_);
  std::string text;
  for (const auto& [where, message, expected, hint] : faults) {
    const bool has_line = where.line >= 0 && static_cast<size_t>(where.line) < lines.size();
    text += has_line ? fmt::format("{}:{}:{}: error: {}\n", file_, where.line + 1, where.column + 1, message)
                     : fmt::format("{}: error: {}\n", file_, message);
    if (has_line) text += excerpt(lines[static_cast<size_t>(where.line)], where);
    if (!expected.empty()) text += fmt::format("  expected: {}\n", expected);
    if (!hint.empty()) text += fmt::format("  hint: {}\n", hint);
  }
  if (!text.empty()) text.pop_back();
  return text;
}

// Tabs are kept in the padding, so that the caret stands right in any terminal.
std::string TextReport::excerpt(std::string_view line, const TextPlace& where) const {
  const auto column = std::min(static_cast<size_t>(where.column), line.size());
  std::string padding;
  for (const char c : line.substr(0, column)) padding += c == '\t' ? '\t' : ' ';
  const size_t room = std::max<size_t>(line.size() - column, 1);
  return fmt::format("{:>5} | {}\n{:>5} | {}^{}\n", where.line + 1, line, "", padding,
                     std::string(std::clamp<size_t>(where.length, 1, room) - 1, '~'));
}

std::string did_you_mean(std::string_view written, const std::vector<std::string_view>& words) {
  const std::string_view meant = nearest(written, words);
  return meant.empty() ? "" : fmt::format("did you mean '{}'?", meant);
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result + "\"";
}

}  // namespace qgen::planner
