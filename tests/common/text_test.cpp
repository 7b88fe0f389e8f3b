// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "common/text.h"

#include <gtest/gtest.h>

#include "common/error.h"
#include "tests/support/expected_text.h"

namespace qgen {
namespace {

std::string fault(std::string_view text) {
  const auto found = find_text_fault(text);
  return found ? std::to_string(found->line) + ":" + std::to_string(found->column) + ": " + found->message : "";
}

TEST(Text, MayHoldAnyLetterAndLineEnd) {
  for (const char* text : {"", "a\tb\r\nc\n", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc2\xa0"}) {
    EXPECT_EQ(fault(text), "") << text;
    EXPECT_EQ(find_text_fault(printable(text)), std::nullopt);
  }
}

TEST(Text, FaultsHavePlaces) {
  EXPECT_TEXT(fault("a\nb\xff"), "2:2: the byte \\xff, which is not UTF-8");
  EXPECT_TEXT(fault("\xc3\xa4\x1b[2J"), "1:3: the control character \\x1b");
  EXPECT_EQ(fault(std::string_view("\0", 1)), "1:1: a NUL byte");
  EXPECT_TEXT(fault("a\rb"), "1:2: the control character \\r");
  EXPECT_TEXT(fault("\xc2\x85"), "1:1: the control character \\u{85}");
  EXPECT_TEXT(fault("a\xe2\x80\xae"), "1:2: the character \\u{202e}, which turns the direction of text");
  EXPECT_TEXT(fault("\xed\xa0\x80"), "1:1: the byte \\xed, which is not UTF-8") << "a surrogate";
}

TEST(Text, IsShownAsNoTerminalObeysIt) {
  EXPECT_EQ(printable("a\x1b[31m\n\t\x7f\xff\xe2\x81\xa6"), "a\\x1b[31m\\n\\t\\x7f\\xff\\u{2066}");
  EXPECT_EQ(printable_lines("a\n\tb\x07"), "a\n\tb\\x07");
  EXPECT_TEXT(to_text(Error{Error::Kind::system, "no '\x1b'", "try '\x07'"}), "no '\\x1b'\n  hint: try '\\x07'");
}

TEST(Text, AByteOrderMarkIsTakenOffOnce) {
  EXPECT_EQ(without_byte_order_mark("\xef\xbb\xbfx"), "x");
  EXPECT_EQ(without_byte_order_mark("x\xef\xbb\xbf"), "x\xef\xbb\xbf");
}

TEST(Wrapped, BreaksAtSpaces) {
  EXPECT_EQ(wrapped("", 4, 10), "");
  EXPECT_EQ(wrapped("one two", 4, 11), "one two");
  EXPECT_EQ(wrapped("one two", 4, 10), "one\n    two");
  EXPECT_TEXT(wrapped("one twothreefour five", 4, 10), "one\n    twothreefour\n    five");
  EXPECT_EQ(wrapped("a b c d", 0, 3), "a b\nc d");
  EXPECT_EQ(wrapped("a b", 20, 10), "a\n                    b");
  EXPECT_EQ(wrapped("one,  two", 2, 7), "one,\n  two");
  EXPECT_EQ(wrapped("  onetwothree four", 2, 10), "  onetwothree\n  four");
  EXPECT_EQ(wrapped("onetwothree   ", 2, 10), "onetwothree   ");
}

TEST(WrappedLines, AreIndentedByFourMore) {
  EXPECT_EQ(wrapped_lines("", 10), "");
  EXPECT_EQ(wrapped_lines("\n\n", 10), "\n\n");
  EXPECT_TEXT(wrapped_lines("one two three\n  four five\n", 9), "one\n    two\n    three\n  four\n      five\n");
  EXPECT_EQ(wrapped_lines("          ", 5), "          ");
}

}  // namespace
}  // namespace qgen
