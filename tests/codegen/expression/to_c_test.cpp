// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/expression/to_c.h"

#include <gtest/gtest.h>

namespace qgen::expression {
namespace {

Scope scope() {
  Scope scope;
  scope.add({.name = "width", .type = Type::integer, .kind = "problem field"});
  scope.add({.name = "speed", .type = Type::real, .kind = "device number"});
  scope.add({.name = "dtype", .type = Type::word, .words = {"f16", "f32"}, .kind = "parameter"});
  scope.add({.name = "other", .type = Type::word, .words = {"f32", "i8"}, .kind = "parameter"});
  return scope;
}

std::string as_c(std::string_view text) {
  const Scope names = scope();
  const auto expression = parse(text, {}, names);
  EXPECT_TRUE(expression) << text;
  return expression ? to_c(*expression, names, [](const Symbol& symbol) { return "p->" + symbol.name; }) : "";
}

struct Row {
  std::string_view text, expected;
};

TEST(ToC, SaysTheSame) {
  const Row rows[] = {
      {"width % 4 == 0", "(qgen_rem(p->width, INT64_C(4)) == INT64_C(0))"},
      {"not (width < 2 or width > 8)", "(!((p->width < INT64_C(2)) || (p->width > INT64_C(8))))"},
      {"ceil_div(width, 3) - 1", "qgen_sub(qgen_ceil_div(p->width, INT64_C(3)), INT64_C(1))"},
      {"width / speed", "qgen_div_real(p->width, p->speed)"},
      {"width in (1, 2)", "((p->width == INT64_C(1)) || (p->width == INT64_C(2)))"},
      {"dtype == f32", "(p->dtype == 1)"},
      {"dtype != other", "!((p->dtype == 1 && p->other == 0))"},
      {"bytes(dtype)", "(p->dtype == 1 ? INT64_C(4) : INT64_C(2))"},
      {"choose(dtype == f16, 1, width)", "((p->dtype == 0) ? INT64_C(1) : p->width)"},
  };
  for (const Row& row : rows) EXPECT_EQ(as_c(row.text), row.expected) << row.text;
}

}  // namespace
}  // namespace qgen::expression
