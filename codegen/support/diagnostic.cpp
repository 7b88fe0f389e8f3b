// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/support/diagnostic.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <tuple>

#include "runtime/library/nearest.h"

namespace qgen {
namespace {

std::optional<std::string_view> line_of(const SourceTexts& sources, const SourceLocation& where) {
  const auto source = sources.find(where.file);
  if (source == sources.end() || where.line == 0) return std::nullopt;
  std::string_view rest = source->second;
  for (uint32_t line = 1; line < where.line; ++line) {
    const size_t newline = rest.find('\n');
    if (newline == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(newline + 1);
  }
  rest = rest.substr(0, rest.find('\n'));
  if (rest.ends_with('\r')) rest.remove_suffix(1);
  return rest;
}

// The quoted line with a caret under it. Tabs are kept in the padding, so the caret stands right in any terminal.
std::string excerpt(std::string_view line, const SourceLocation& where) {
  std::string text = fmt::format("{:>5} | {}\n", where.line, line);
  if (where.column == 0 || where.column > line.size() + 1) return text;
  std::string padding;
  for (char c : line.substr(0, where.column - 1)) padding += c == '\t' ? '\t' : ' ';
  const size_t room = std::max<size_t>(line.size() - (where.column - 1), 1);
  const size_t width = std::clamp<size_t>(where.length, 1, room);
  return text + fmt::format("{:>5} | {}^{}\n", "", padding, std::string(width - 1, '~'));
}

}  // namespace

std::string to_text(const SourceLocation& where) {
  std::string text = where.file;
  if (where.line != 0) text += fmt::format(":{}", where.line);
  if (where.line != 0 && where.column != 0) text += fmt::format(":{}", where.column);
  return text;
}

std::string to_text(const Diagnostic& diagnostic, const SourceTexts& sources) {
  std::string place = to_text(diagnostic.where);
  if (!place.empty()) place += ": ";
  std::string text = fmt::format("{}error: {}\n", place, diagnostic.message);
  if (const auto line = line_of(sources, diagnostic.where)) text += excerpt(*line, diagnostic.where);
  if (!diagnostic.expected.empty()) text += fmt::format("  expected: {}\n", diagnostic.expected);
  if (!diagnostic.hint.empty()) text += fmt::format("  hint: {}\n", diagnostic.hint);
  for (const Note& note : diagnostic.notes) {
    text += note.where.file.empty() ? fmt::format("  {}\n", note.message)
                                    : fmt::format("{}: note: {}\n", to_text(note.where), note.message);
  }
  return text;
}

std::string to_text(const Diagnostics& diagnostics, const SourceTexts& sources) {
  Diagnostics sorted = diagnostics;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.where, a.message) < std::tie(b.where, b.message);
  });
  std::string text;
  std::string previous;
  for (const Diagnostic& diagnostic : sorted) {
    std::string one = to_text(diagnostic, sources);
    if (one != previous) text += one;
    previous = std::move(one);
  }
  return text;
}

std::string suggest(std::string_view written, const std::vector<std::string>& candidates) {
  const std::string_view best = nearest(written, std::vector<std::string_view>(candidates.begin(), candidates.end()));
  return best.empty() ? "" : fmt::format("did you mean '{}'?", best);
}

std::string join_sorted(std::vector<std::string> words, std::string_view separator) {
  std::sort(words.begin(), words.end());
  return fmt::format("{}", fmt::join(words, separator));
}

void append(Diagnostics& to, Diagnostics from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace qgen
