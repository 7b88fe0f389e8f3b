// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/expression/facts.h"

#include <gtest/gtest.h>

namespace qgen::expression {
namespace {

Scope scope() {
  Scope scope;
  for (const char* name : {"m", "n", "k"}) scope.add(Symbol{name, Type::integer, {}, {}, "problem field"});
  scope.add(Symbol{"device.is_cpu", Type::boolean, {}, {}, "device number"});
  return scope;
}

Expression parsed(std::string_view text) {
  auto expression = parse(text, {"spec.yaml", 1, 1}, scope());
  EXPECT_TRUE(expression) << text;
  return *expression;
}

struct Case {
  std::vector<std::string_view> known;
  std::string_view wanted;
  bool expected;
};

TEST(Facts, ImplyWhatFollows) {
  const Case cases[] = {
      {{"m > 4"}, "m > 4", true},
      {{"m > 4"}, "m > 3", false},  // true, and not among the known facts here
      {{}, "true", true},
      {{}, "m == m", false},
      {{"m > 4 and n > 4"}, "n > 4", true},
      {{"m > 4", "n > 4"}, "n > 4 and m > 4", true},
      {{"m > 4"}, "m > 4 or n > 4", true},
      {{"m > 4 or n > 4"}, "m > 4", false},
      {{"m > 4 or n > 4"}, "n > 4 or k > 4 or m > 4", true},
      // bounds
      {{"k <= 100"}, "k <= 100", true},
      {{"k <= 100"}, "k < 101", true},
      {{"100 >= k"}, "k < 101", true},
      {{"k <= 100"}, "k < 100", false},
      {{"k == 7"}, "k <= 7", true},
      {{"k <= 7"}, "k == 7", false},
      {{"k <= 100", "k <= 10"}, "k <= 20", true},
      {{"16 * ceil_div(k, 64) <= 61440"}, "k <= 245760", true},
      {{"16 * ceil_div(k, 64) <= 61440"}, "k <= 245759", false},
      {{"k * 4 <= 40"}, "ceil_div(k, 5) <= 2", true},
      {{"k * 4 <= 40"}, "ceil_div(k, 5) <= 1", false},
      {{"k * n <= 40"}, "k <= 40", false},
      {{"k <= 61440 or not device.is_cpu"}, "k <= 1000000 or not device.is_cpu", true},
      {{"k <= 61440 or device.is_cpu"}, "k <= 1000000 or not device.is_cpu", false},
      {{"k <= 10 or m <= 10", "k <= 10 or n <= 10"}, "k <= 20 or m <= 20 and n <= 20", true},
      {{"k <= 10 or m <= 10", "k <= 10 or n <= 10"}, "m <= 20", false},
      // divisors
      {{"k % 16 == 0"}, "k % 4 == 0", true},
      {{"k % 4 == 0"}, "k % 16 == 0", false},
      {{"k % 6 == 0"}, "k % 4 == 0", false},
      {{"k * 8 % 128 == 0"}, "k % 16 == 0", true},
      {{"k * 8 % 128 == 0"}, "k % 32 == 0", false},
      {{"k % 16 == 0"}, "8 * k % 128 == 0", true},
      {{"k % 16 == 1"}, "k % 4 == 0", false},
  };
  for (const Case& row : cases) {
    std::vector<Expression> known;
    for (const std::string_view text : row.known) known.push_back(parsed(text));
    EXPECT_EQ(Facts(known).imply(parsed(row.wanted)), row.expected) << row.wanted;
  }
}

TEST(Facts, KnowUpperBounds) {
  const auto text = [](std::string_view condition) {
    const auto bound = upper_bound_of(parsed(condition));
    return bound ? bound->what + " <= " + std::to_string(bound->most.value) : "none";
  };
  EXPECT_EQ(text("m * ceil_div(n, 4) <= 4294901760"), "m * ceil_div(n, 4) <= 4294901760");
  EXPECT_EQ(text("m < 10"), "m <= 9");
  EXPECT_EQ(text("10 > m"), "m <= 9");
  EXPECT_EQ(text("m >= 10"), "none");
  EXPECT_EQ(text("m == 10"), "none");
  EXPECT_EQ(text("m <= n"), "none");
  EXPECT_EQ(text("m <= 9 or device.is_cpu"), "none");
}

// For every small m, n and k: derived facts are true.
TEST(Facts, AreNeverWrong) {
  const std::string_view texts[] = {
      "k % 4 == 0",  "k % 6 == 0",       "2 * k % 12 == 0",   "ceil_div(k, 3) <= 2",        "k < 5",
      "3 * m <= 14", "m <= 4 or k <= 3", "m == 3 and n <= 2", "n % 2 == 0 or device.is_cpu"};
  std::vector<Expression> all;
  for (const std::string_view text : texts) all.push_back(parsed(text));
  const auto holds = [](const Expression& expression, int64_t point) {
    const Value values[] = {Integer(point % 8), Integer(point / 8 % 8), Integer(point / 64 % 16), point >= 1024};
    return std::get<bool>(evaluate(expression, values));
  };
  size_t proofs = 0;
  for (const Expression& a : all) {
    for (const Expression& b : all) {
      const std::vector<Expression> known = {a, b};
      const Facts facts(known);
      for (const Expression& wanted : all) {
        if (!facts.imply(wanted)) continue;
        ++proofs;
        for (int64_t point = 0; point < 2048; ++point) {
          EXPECT_TRUE(!holds(a, point) || !holds(b, point) || holds(wanted, point)) << to_text(wanted);
        }
      }
    }
  }
  EXPECT_GT(proofs, all.size());
}

TEST(WithExpressions, PutsOthersForSymbols) {
  Scope whole;
  whole.add(Symbol{"words", Type::integer, {}, {}, "problem field"});
  const auto meaning = parse("4 * words", {"spec.yaml", 1, 1}, whole);
  std::vector<std::optional<Expression>> meanings(4);
  meanings[2] = *meaning;
  EXPECT_EQ(to_text(with_expressions(parsed("k <= 16 and m == 1"), meanings)), "4 * words <= 16 and m == 1");
  meanings[0] = *parse("1", {"spec.yaml", 1, 1}, whole);
  EXPECT_EQ(to_text(with_expressions(parsed("k <= 16 and m == 1"), meanings)), "4 * words <= 16");
}

}  // namespace
}  // namespace qgen::expression
