// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Checks text that came from outside, and escapes any bytes for messages.
//
// A text file is UTF-8 without control characters, except tabs and line ends. It has no characters that turn the
// direction of writing, since with them a person reads another line than the compiler. Text in a message, such as a
// file name, may still contain anything. It is escaped, because a terminal obeys control characters.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace qgen {

// Whether a byte of UTF-8 goes on with a letter rather than begins one.
constexpr bool continues_letter(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U; }

// The length in bytes of the UTF-8 sequence that `text` begins with; 0: none. Overlong forms and surrogates are none.
size_t utf8_length(std::string_view text);

// The first thing in a text that may not be there. Line and column count from 1, the column in bytes.
struct TextFault {
  std::string message;  // "a NUL byte": the fault's name
  uint32_t line = 1;
  uint32_t column = 1;
};
std::optional<TextFault> find_text_fault(std::string_view text);

// The text after a byte-order mark at the beginning of a file.
std::string_view without_byte_order_mark(std::string_view text);

// Two digits a byte, small letters.
std::string hexadecimal(std::span<const uint8_t> bytes);

// The text broken at spaces, so that lines that begin at column `indent` end by column `width`; all but the first are
// indented. A word that is longer stands alone. Spaces at the beginning of the text stay.
std::string wrapped(std::string_view text, size_t indent, size_t width = 100);
// The same for each line of a text. What follows of a line is indented by four more than its beginning.
std::string wrapped_lines(std::string_view text, size_t width = 100);

// One line that a terminal displays unchanged: tabs, line ends, and all that find_text_fault() would find are printed
// as \t, \x1b, \u{202e}.
std::string printable(std::string_view text);
// The same for text of several lines: tabs and line ends stay.
std::string printable_lines(std::string_view text);

}  // namespace qgen
