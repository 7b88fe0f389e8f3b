// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/support/text_writer.h"

#include <gtest/gtest.h>

namespace qgen {
namespace {

std::string code(const std::string& line) {
  TextWriter out;
  const auto indented = out.indent();
  out.code(line);
  return std::move(out).take();
}

const std::string kLong(100, 'a');

TEST(TextWriter, LeavesCodeThatFitsOnALine) {
  EXPECT_EQ(code("return a + b;"), "  return a + b;\n");
  EXPECT_EQ(code(""), "  \n");
}

TEST(TextWriter, BreaksCodeOutsideOfBrackets) {
  EXPECT_EQ(code(kLong + " + f(b, c * d, e + f)"), "  " + kLong + "\n      + f(b, c * d, e + f)\n");
  EXPECT_EQ(code(kLong + " + b - c * d / eeeee;"), "  " + kLong + " + b\n      - c * d / eeeee;\n");
  EXPECT_EQ(code("f<a, b>(" + kLong + ", c, d < e)"), "  f<a, b>(" + kLong + ", c,\n      d < e)\n");
  EXPECT_EQ(code("g(c * d, t<u, v>) * " + kLong), "  g(c * d, t<u, v>)\n      * " + kLong + "\n");
}

// Not after `=` or `return`, where the line would have no content.
TEST(TextWriter, BreaksNoAssignment) {
  EXPECT_EQ(code("const Integer b = " + kLong + ";"), "  const Integer b = " + kLong + ";\n");
  EXPECT_EQ(code("return -" + kLong + kLong + ";"), "  return -" + kLong + kLong + ";\n");
  EXPECT_EQ(code("{\"a \\\" + b, c\", " + kLong + ", d}"), "  {\"a \\\" + b, c\", " + kLong + ",\n      d}\n");
}

// C++ joins adjacent strings.
TEST(TextWriter, MakesTwoStringsOfOneThatIsTooLong) {
  EXPECT_EQ(code("{\"" + kLong + " + " + kLong + "\", d}"), "  {\"" + kLong + " + \"\n      \"" + kLong + "\", d}\n");
  EXPECT_EQ(code("{\"" + kLong + kLong + "\", d}"), "  {\"" + kLong + kLong + "\",\n      d}\n") << "no blank in it";
}

}  // namespace
}  // namespace qgen
