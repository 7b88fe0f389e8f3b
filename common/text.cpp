// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Two questions share one loop over UTF-8 sequences: which characters are forbidden, and how to display them. They also
// share the definition of a control character.
#include "common/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace qgen {
namespace {

// The code point of a well-formed sequence.
uint32_t code_point(std::string_view sequence) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(sequence[i])); };
  if (sequence.size() == 1) return byte(0);
  uint32_t point = byte(0) & (0xffU >> (sequence.size() + 1));
  for (size_t i = 1; i < sequence.size(); ++i) point = point << 6 | (byte(i) & 0x3fU);
  return point;
}

// C0, DEL and C1, and the two separators that some programs take for the end of a line.
bool is_control(uint32_t point) {
  return point < 0x20 || (point >= 0x7f && point <= 0x9f) || point == 0x2028 || point == 0x2029;
}

// The marks, embeddings, overrides and isolates of Unicode's bidirectional algorithm (UAX 9, table 4).
bool turns_direction(uint32_t point) {
  return point == 0x061c || point == 0x200e || point == 0x200f || (point >= 0x202a && point <= 0x202e) ||
         (point >= 0x2066 && point <= 0x2069);
}

bool is_layout(uint32_t point) { return point == '\t' || point == '\n'; }

std::string escaped(uint32_t point) {
  switch (point) {
    case '\t': return "\\t";
    case '\n': return "\\n";
    case '\r': return "\\r";
    default: return point < 0x80 ? fmt::format("\\x{:02x}", point) : fmt::format("\\u{{{:x}}}", point);
  }
}

std::string printed(std::string_view text, bool keeps_layout) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const std::string_view sequence = text.substr(0, std::max<size_t>(length, 1));
    const uint32_t point = length == 0 ? 0 : code_point(sequence);
    if (length == 0) shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    else if (keeps_layout && is_layout(point)) shown += sequence;
    else if (is_control(point) || turns_direction(point)) shown += escaped(point);
    else shown += sequence;
    text.remove_prefix(sequence.size());
  }
  return shown;
}

// The fault of the first sequence of `text`, or nothing.
std::optional<std::string> fault_of_sequence(std::string_view text, size_t length) {
  if (length == 0) return fmt::format("the byte \\x{:02x}, which is not UTF-8", static_cast<unsigned char>(text[0]));
  const uint32_t point = code_point(text.substr(0, length));
  const bool ends_line = point == '\r' && text.substr(1, 1) == "\n";
  if (is_layout(point) || ends_line) return std::nullopt;
  if (point == 0) return "a NUL byte";
  if (is_control(point)) return fmt::format("the control character {}", escaped(point));
  if (turns_direction(point)) return fmt::format("the character {}, which turns the direction of text", escaped(point));
  return std::nullopt;
}

}  // namespace

size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto is_tail = [&](size_t i) { return i < text.size() && continues_letter(text[i]); };
  if (text.empty()) return 0;
  if (byte(0) < 0x80) return 1;
  if (byte(0) >= 0xc2 && byte(0) <= 0xdf && is_tail(1)) return 2;
  const bool is_overlong3 = byte(0) == 0xe0 && byte(1) < 0xa0;
  const bool is_surrogate = byte(0) == 0xed && byte(1) > 0x9f;
  if ((byte(0) & 0xf0U) == 0xe0 && is_tail(1) && is_tail(2) && !is_overlong3 && !is_surrogate) return 3;
  const bool is_out_of_range =
      (byte(0) == 0xf0 && byte(1) < 0x90) || (byte(0) == 0xf4 && byte(1) > 0x8f) || byte(0) > 0xf4;
  if ((byte(0) & 0xf8U) == 0xf0 && is_tail(1) && is_tail(2) && is_tail(3) && !is_out_of_range) return 4;
  return 0;
}

namespace {

// Only printable ASCII, as most texts are. Compilers make vectors of this loop: a fleet's results have gigabytes.
bool is_plain(std::string_view text) {
  bool is_odd = false;
  for (const char c : text) is_odd |= c < ' ' || c > '~';
  return !is_odd;
}

}  // namespace

std::optional<TextFault> find_text_fault(std::string_view text) {
  if (is_plain(text)) return std::nullopt;
  TextFault fault;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (auto message = fault_of_sequence(text, length)) {
      fault.message = *std::move(message);
      return fault;
    }
    const bool is_end = text[0] == '\n';
    fault.line += is_end ? 1 : 0;
    fault.column = is_end ? 1 : fault.column + static_cast<uint32_t>(length);
    text.remove_prefix(length);
  }
  return std::nullopt;
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

std::string printable(std::string_view text) { return printed(text, false); }
std::string wrapped(std::string_view text, size_t indent, size_t width) {
  constexpr auto kNone = std::string_view::npos;
  const size_t room = width > indent ? width - indent : 1;
  std::string lines;
  size_t first = text.find_first_not_of(' ');  // the spaces before it stay
  while (text.size() > room && first != kNone) {
    const size_t last = text.rfind(' ', room);
    const size_t space = last == kNone || last < first ? text.find(' ', first) : last;
    if (space == kNone) break;
    const size_t next = text.find_first_not_of(' ', space);
    if (next == kNone) break;
    lines.append(text.substr(0, text.find_last_not_of(' ', space) + 1)).append("\n").append(indent, ' ');
    text.remove_prefix(next);
    first = 0;
  }
  return lines.append(text);
}

std::string wrapped_lines(std::string_view text, size_t width) {
  std::string wrapped_text;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const size_t indent = std::min(line.find_first_not_of(' '), line.size());
    wrapped_text.append(indent, ' ').append(wrapped(line.substr(indent), indent + 4, width));
    if (end == std::string_view::npos) break;
    wrapped_text += '\n';
    text.remove_prefix(end + 1);
  }
  return wrapped_text;
}

std::string printable_lines(std::string_view text) { return printed(text, true); }

std::string hexadecimal(std::span<const uint8_t> bytes) { return fmt::format("{:02x}", fmt::join(bytes, "")); }

}  // namespace qgen
