// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Quoted text comes from outside and may have any size. So everything printed has a limit, and control characters are
// escaped before columns are counted.
#include "common/diagnostic.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <tuple>

#include "common/nearest.h"
#include "common/text.h"

namespace qgen {
namespace {

// Text from outside may be of any size, and errors quote it. These limits keep every report readable.
constexpr size_t kMostErrors = 100;
constexpr size_t kMostBytes = 100'000;     // of all errors together, roughly
constexpr size_t kMostFieldBytes = 2'000;  // of a message, an expectation or a hint
constexpr size_t kMostNotes = 20;
constexpr size_t kMostQuotedBytes = 160;  // of a line
constexpr std::string_view kCut = "...";

size_t letter_at_or_before(std::string_view text, size_t at) {
  while (at > 0 && at < text.size() && continues_letter(text[at])) --at;
  return at;
}

std::string shortened(std::string_view text) {
  if (text.size() <= kMostFieldBytes) return printable_lines(text);
  return printable_lines(text.substr(0, letter_at_or_before(text, kMostFieldBytes))) + std::string(kCut);
}

std::optional<std::string_view> line_of(const SourceTexts& sources, const SourceLocation& where) {
  const auto source = sources.find(where.file);
  if (source == sources.end() || where.line == 0) return std::nullopt;
  std::string_view rest = without_byte_order_mark(source->second);
  for (uint32_t line = 1; line < where.line; ++line) {
    const size_t newline = rest.find('\n');
    if (newline == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(newline + 1);
  }
  rest = rest.substr(0, rest.find('\n'));
  if (rest.ends_with('\r')) rest.remove_suffix(1);
  return rest;
}

// The quoted part of a line: all of it, or the text around the location.
struct Quoted {
  std::string_view line;
  size_t column = 0;  // of the place in `line`, from 0
  bool is_cut_before = false, is_cut_behind = false;
};

Quoted quoted_part(std::string_view line, size_t column) {
  if (line.size() <= kMostQuotedBytes) return {line, column};
  const size_t wanted = column < kMostQuotedBytes / 2 ? 0 : column - kMostQuotedBytes / 2;
  const size_t begin = letter_at_or_before(line, std::min(wanted, line.size() - kMostQuotedBytes));
  const size_t end = letter_at_or_before(line, std::min(begin + kMostQuotedBytes, line.size()));
  // Invalid UTF-8 may end ahead of the location.
  return {line.substr(begin, end - begin), std::min(column, end) - begin, begin > 0, end < line.size()};
}

// Blanks under the shown text, one for each letter. Tabs are kept, so that the following text is aligned in any
// terminal.
std::string blanks_under(std::string_view text) {
  std::string blanks;
  for (const char c : printable_lines(text)) {
    if (!continues_letter(c)) blanks += c == '\t' ? '\t' : ' ';
  }
  return blanks;
}

// The quoted line with a caret under it.
std::string excerpt(std::string_view whole, const SourceLocation& where) {
  const bool has_caret = where.column != 0 && where.column <= whole.size() + 1;
  const Quoted quoted = quoted_part(whole, has_caret ? where.column - 1 : 0);
  const std::string_view before = quoted.is_cut_before ? kCut : "", behind = quoted.is_cut_behind ? kCut : "";
  std::string text = fmt::format("{:>5} | {}{}{}\n", where.line, before, printable_lines(quoted.line), behind);
  if (!has_caret) return text;
  size_t end = quoted.column + where.length;  // after a whole character, not inside it
  while (end < quoted.line.size() && continues_letter(quoted.line[end])) ++end;
  const std::string_view named = quoted.line.substr(quoted.column, end - quoted.column);
  const size_t width = std::max<size_t>(blanks_under(named).size(), 1);
  return text + fmt::format("{:>5} | {}{}^{}\n", "", std::string(before.size(), ' '),
                            blanks_under(quoted.line.substr(0, quoted.column)), std::string(width - 1, '~'));
}

}  // namespace

std::string to_text(const SourceLocation& where) {
  std::string text = printable(where.file);
  if (where.line != 0) text += fmt::format(":{}", where.line);
  if (where.line != 0 && where.column != 0) text += fmt::format(":{}", where.column);
  return text;
}

std::string to_text(const Diagnostic& diagnostic, const SourceTexts& sources) {
  std::string place = to_text(diagnostic.where);
  if (!place.empty()) place += ": ";
  std::string text = fmt::format("{}error: {}\n", place, shortened(diagnostic.message));
  if (const auto line = line_of(sources, diagnostic.where)) text += excerpt(*line, diagnostic.where);
  if (!diagnostic.expected.empty()) text += fmt::format("  expected: {}\n", shortened(diagnostic.expected));
  if (!diagnostic.hint.empty()) text += fmt::format("  hint: {}\n", shortened(diagnostic.hint));
  const size_t notes = std::min(diagnostic.notes.size(), kMostNotes);
  for (const Note& note : std::span(diagnostic.notes).first(notes)) {
    const std::string message = shortened(note.message);
    text += note.where.file.empty() ? fmt::format("  {}\n", message)
                                    : fmt::format("{}: note: {}\n", to_text(note.where), message);
  }
  if (notes < diagnostic.notes.size()) text += fmt::format("  and {} more notes\n", diagnostic.notes.size() - notes);
  return text;
}

std::string to_text(const Diagnostics& diagnostics, const SourceTexts& sources) {
  std::vector<const Diagnostic*> sorted;
  for (const Diagnostic& diagnostic : diagnostics) sorted.push_back(&diagnostic);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic* a, const Diagnostic* b) {
    return std::tie(a->where, a->message) < std::tie(b->where, b->message);
  });
  std::string text;
  std::string previous;
  size_t printed = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (printed == kMostErrors || text.size() > kMostBytes) {
      return text + fmt::format("and {} more, which are not printed\n", sorted.size() - i);
    }
    std::string one = to_text(*sorted[i], sources);
    if (one == previous) continue;
    text += one;
    ++printed;
    previous = std::move(one);
  }
  return text;
}

std::string suggest(std::string_view written, const std::vector<std::string>& candidates) {
  return did_you_mean(written, std::vector<std::string_view>(candidates.begin(), candidates.end()));
}

std::string join_sorted(std::vector<std::string> words, std::string_view separator) {
  std::sort(words.begin(), words.end());
  return fmt::format("{}", fmt::join(words, separator));
}

std::string one_of(std::vector<std::string> words) {
  if (words.size() < 2) return words.empty() ? "" : words.front();
  return "one of " + join_sorted(std::move(words));
}

void append(Diagnostics& to, Diagnostics from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace qgen
