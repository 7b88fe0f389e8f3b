// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/support/digest.h"

#include <gtest/gtest.h>

#include "codegen/support/text_writer.h"

namespace qgen {
namespace {

TEST(Digest, NamesContents) {
  EXPECT_EQ(to_text(digest_of("")), "99aa06d3014798d86001c324468d497f");  // XXH3-128 of nothing, from its test vectors
  EXPECT_NE(digest_of("a"), digest_of("b"));
}

TEST(Digest, FieldsDoNotRunIntoEachOther) {
  const auto of = [](std::string_view a, std::string_view b) { return DigestBuilder().add(a).add(b).finish(); };
  EXPECT_EQ(of("ab", "c"), of("ab", "c"));
  EXPECT_NE(of("ab", "c"), of("a", "bc"));
  EXPECT_NE(of("", "abc"), of("abc", ""));
}

TEST(TextWriter, Indents) {
  TextWriter out;
  out.line("struct {} {{", "S");
  {
    const auto indented = out.indent();
    out.text("int {x};");
    out.blank();
    out.text("");
  }
  out.text("};");
  EXPECT_EQ(std::move(out).take(), "struct S {\n  int {x};\n\n\n};\n");
}

}  // namespace
}  // namespace qgen
