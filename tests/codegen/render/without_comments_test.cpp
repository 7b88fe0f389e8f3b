// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <gtest/gtest.h>

#include "codegen/render/render.h"

namespace qgen::render {
namespace {

struct Row {
  std::string_view name;
  std::string_view glsl;
  std::string_view expected;
};

constexpr Row kRows[] = {
    {"nothing", "", ""},
    {"line comment", "a; // b\nc;\n", "a;\nc;\n"},
    {"whole line", "// a\nb;\n", "b;\n"},
    {"block comment is a blank", "a/* b */c;\n", "a c;\n"},
    {"block comment over lines", "a /* b\nc\n*/ d;\n", "a d;\n"},
    {"in a directive it joins the lines", "#define A /* b\n c */ d\ne;\n", "#define A d\ne;\n"},
    {"a slash and a star apart", "a / b * c;\n", "a / b * c;\n"},
    {"a comment that looks like another", "a; // /* b\nc; /* // */ d;\n", "a;\nc; d;\n"},
    {"stars and slashes at the end", "a /***/ b; /**/\n", "a b;\n"},
    {"unclosed", "a; /* b\nc;\n", "a;\n"},
    {"a line comment goes on after a backslash", "a; // b \\\nc\nd;\n", "a;\nd;\n"},
    {"a backslash joins lines", "#define A b \\\n  c\nd;\n", "#define A b c\nd;\n"},
    {"a backslash joins words", "ab\\\ncd;\n", "abcd;\n"},
    {"a backslash before a blank joins nothing", "a \\ \nb;\n", "a \\ \nb;\n"},
    {"nor one before a comment", "a \\// b\nc;\n", "a \\ \nc;\n"},
    {"joined lines join nothing more", "a\\\\\n\nb;\n", "a\\ \nb;\n"},
    {"joined lines make a comment", "a; /\\\n/ b\nc; /\\\n* d */ e;\n", "a;\nc; e;\n"},
    {"blank lines", "\n\na;\n\n\nb;\n\n", "a;\nb;\n"},
    {"surplus blanks", "  a  =\t b ;  \n", "a = b ;\n"},
    {"strings", "debugPrintfEXT(\"a // %d  /* */\", b); // c\n", "debugPrintfEXT(\"a // %d  /* */\", b);\n"},
    {"an escaped quote", "f(\"a \\\" // b\"); // c\n", "f(\"a \\\" // b\");\n"},
    {"a lone quote ends with its line", "#error don\"t // a\nb; // c\n", "#error don\"t // a\nb;\n"},
    {"carriage returns", "a; // b\r\n\r\nc;\r\n", "a;\nc;\n"},
    {"no newline at the end", "a; // b", "a;\n"},
    {"a text that asks for its lines", "// a\nint x = __LINE__;\n", "// a\nint x = __LINE__;\n"},
    {"and asks over two", "// a\nint x = __LI\\\nNE__;\n", "// a\nint x = __LI\\\nNE__;\n"},
};

TEST(WithoutComments, rows) {
  for (const Row& row : kRows) EXPECT_EQ(without_comments(row.glsl), row.expected) << row.name;
}

TEST(WithoutComments, twice_is_once) {
  for (const Row& row : kRows) EXPECT_EQ(without_comments(without_comments(row.glsl)), row.expected) << row.name;
}

}  // namespace
}  // namespace qgen::render
