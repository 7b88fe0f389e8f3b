// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Rows: the source text, its canonical text, its value.
#include "codegen/expression/expression.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/codegen/expression/scope_for_tests.h"
#include "tests/support/expected_text.h"

namespace qgen::expression {
namespace {

struct Case {
  std::string_view written;
  std::string_view canonical;
  std::string_view value;
};

constexpr Case kCases[] = {
    {"1", "1", "1"},
    {"9223372036854775807", "9223372036854775807", "9223372036854775807"},
    {"0.50", "0.5", "0.5"},
    {"1e4", "10000.0", "10000.0"},
    {"1e300", "1e+300", "1e+300"},
    {"2.5E-3", "0.0025", "0.0025"},
    {"true", "true", "true"},
    {"vec", "vec", "4"},
    {"  vec\n ", "vec", "4"},
    {"input_dtype", "input_dtype", "f16"},
    {"device.subgroup_size", "device.subgroup_size", "32"},
    // Arithmetic: integers stay integers and saturate; division truncates and by zero is zero; a real operand makes it
    // real.
    {"1+2*3", "1 + 2 * 3", "7"},
    {"(1+2)*3", "(1 + 2) * 3", "9"},
    {"10 - (4 - 3)", "10 - (4 - 3)", "9"},
    {"(10 - 4) - 3", "10 - 4 - 3", "3"},
    {"2 * (7 / 2)", "2 * (7 / 2)", "6"},
    {"2 * 7 / 2", "2 * 7 / 2", "7"},
    {"7 % 4 % 2", "7 % 4 % 2", "1"},
    {"- 7 / 2", "-7 / 2", "-3"},
    {"-7 % 4", "-7 % 4", "-3"},
    {"-(1 + 2)", "-(1 + 2)", "-3"},
    {"- -vec", "--vec", "4"},
    {"1 - -vec", "1 - -vec", "5"},
    {"numel / (numel - numel)", "numel / (numel - numel)", "0"},
    {"numel % (numel - numel)", "numel % (numel - numel)", "0"},
    {"9223372036854775807 + 1", "9223372036854775807 + 1", "9223372036854775807"},
    {"-9223372036854775807 - 2", "-9223372036854775807 - 2", "-9223372036854775808"},
    {"numel / 16", "numel / 16", "62"},
    {"numel / 16.0", "numel / 16.0", "62.5"},
    {"vec * eps", "vec * eps", "2.0"},
    {"-eps", "-eps", "-0.5"},
    {"eps / (eps - eps)", "eps / (eps - eps)", "0.0"},
    {"ceil_div(numel,vec*workgroup)", "ceil_div(numel, vec * workgroup)", "2"},
    {"min(vec, 3)", "min(vec, 3)", "3"},
    {"max(vec, 4.5)", "max(vec, 4.5)", "4.5"},
    {"choose(vec == 4, 1, 2) + 1", "choose(vec == 4, 1, 2) + 1", "2"},
    {"choose((vec < 4), 1, 0.5)", "choose(vec < 4, 1, 0.5)", "0.5"},
    {"choose(vec == 4, 1, 0.5)", "choose(vec == 4, 1, 0.5)", "1.0"},
    {"bytes(input_dtype) + bytes(i32)", "bytes(input_dtype) + bytes(i32)", "6"},
    {"((vec))", "vec", "4"},
    // Functions that are short for an expression.
    {"waves(numel + 1)", "ceil_div(numel + 1, device.compute_units)", "126"},
    {"2 * occupancy(workgroup)", "2 * max(1, 2048 / workgroup)", "32"},
    {"dispatch_us(numel)", "numel / (50.0 * device.compute_units)", "2.5"},
    {"overlapped_waves(width)",
     "(ceil_div(width, device.compute_units) + max(1.0, width * 1.0 / device.compute_units)) / 2.0", "1.75"},
    {"waves(waves(numel))", "ceil_div(ceil_div(numel, device.compute_units), device.compute_units)", "16"},
    // Comparison.
    {"numel % vec == 0", "numel % vec == 0", "true"},
    {"numel != 1000", "numel != 1000", "false"},
    {"vec < 4", "vec < 4", "false"},
    {"vec <= 4", "vec <= 4", "true"},
    {"vec > 3.5", "vec > 3.5", "true"},
    {"vec >= 5", "vec >= 5", "false"},
    {"vec == 4.0", "vec == 4.0", "true"},
    {"input_dtype == f16", "input_dtype == f16", "true"},
    {"f32 == input_dtype", "f32 == input_dtype", "false"},
    {"input_dtype == output_dtype", "input_dtype == output_dtype", "true"},
    {"input_dtype in (f32, f16)", "input_dtype in (f32, f16)", "true"},
    {"f16 in (input_dtype, output_dtype)", "f16 in (input_dtype, output_dtype)", "true"},
    {"vec in (1, 2)", "vec in (1, 2)", "false"},
    {"vec in (4)", "vec in (4)", "true"},
    {"vec+1 in (numel/200, 2)", "vec + 1 in (numel / 200, 2)", "true"},
    {"transposed == true", "transposed == true", "true"},
    {"(vec < 4) == transposed", "(vec < 4) == transposed", "false"},
    {"transposed != (vec in (4, 8))", "transposed != (vec in (4, 8))", "false"},
    // Logic: and/or may be regrouped, not binds looser than comparison.
    {"transposed or vec == 1 and false", "transposed or vec == 1 and false", "true"},
    {"(transposed or vec == 1) and false", "(transposed or vec == 1) and false", "false"},
    {"true and (true and false)", "true and true and false", "false"},
    {"true or (false or false)", "true or false or false", "true"},
    {"not vec == 4", "not vec == 4", "false"},
    {"(not transposed) == false", "(not transposed) == false", "true"},
    {"not (transposed and vec == 1)", "not (transposed and vec == 1)", "true"},
    {"not not transposed", "not not transposed", "true"},
    {"not vec in (1, 2)", "not vec in (1, 2)", "true"},
    // Functions of the scope.
    {"glsl_type(input_dtype)", "glsl_type(input_dtype)", "f16;"},
    {"glsl_type(f32,vec)", "glsl_type(f32, vec)", "f32;4;"},
    {"half(vec)", "half(vec)", "2.0"},
    {"glsl_type(f32) == glsl_type(input_dtype)", "glsl_type(f32) == glsl_type(input_dtype)", "false"},
};

TEST(Expression, IsPrintedWithTheFewestParenthesesAndEvaluated) {
  const Scope scope = scope_for_tests();
  const auto environment = environment_for_tests();
  for (const Case& row : kCases) {
    SCOPED_TRACE(row.written);
    const auto parsed = parse(row.written, {"", 1, 1}, scope);
    ASSERT_TRUE(parsed) << to_text(parsed.error(), {});
    EXPECT_EQ(to_text(*parsed), row.canonical);
    EXPECT_EQ(to_text(evaluate(*parsed, environment)), row.value);
    const auto again = parse(row.canonical, {"", 1, 1}, scope);
    ASSERT_TRUE(again) << to_text(again.error(), {});
    EXPECT_EQ(to_text(*again), row.canonical);
  }
}

TEST(Expression, KnowsItsTypeItsPlaceAndItsSymbols) {
  const Scope scope = scope_for_tests();
  const auto parsed = parse(" width % vec == 0 and (storage == buffer)", {"op.yaml", 3, 10}, scope);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->type(), Type::boolean);
  EXPECT_EQ(parsed->where(), (SourceLocation{"op.yaml", 3, 11, 40}));
  EXPECT_EQ(symbols_of(*parsed), (std::vector<size_t>{2, 3, 7}));
}

TEST(Expression, NamesTheDivisionsThatRoundAndGoOnAsNumbers) {
  Scope scope = scope_for_tests();
  scope.define("half_width", *parse("width / 2", {}, scope));
  const auto rounded = [&](std::string_view text) {
    std::vector<std::string> texts;
    for (const RoundingDivision& division : rounding_divisions(*parse(text, {}, scope))) texts.push_back(division.text);
    return fmt::format("{}", fmt::join(texts, "; "));
  };
  EXPECT_EQ(rounded("1.0 + numel / 10"), "numel / 10");
  EXPECT_TEXT(rounded("numel / vec / 2 * eps"), "numel / vec / 2; numel / vec");
  EXPECT_EQ(rounded("choose(numel / 2 > 3, -(vec / 2), min(1, width / 4))"), "vec / 2; width / 4");
  EXPECT_EQ(rounded("numel / 10.0 + eps / 2"), "");
  EXPECT_EQ(rounded("ceil_div(numel / 2, vec) + numel / 2 % 3"), "");
  EXPECT_EQ(rounded("half_width * eps"), "");
}

TEST(Expression, KnowsTheDefinitionBehindItsOtherNames) {
  Scope scope = scope_for_tests();
  scope.define("half_width", *parse("width / 2", {}, scope));
  scope.define("half", *parse("half_width", {}, scope));
  scope.define("size", *parse("numel", {}, scope));
  EXPECT_EQ(definitions_of(*parse("half + size", {}, scope)), (std::set<std::string, std::less<>>{"half_width"}));
}

TEST(Expression, OfAWantedTypeTakesAnIntegerForARealAndABareNameForAWord) {
  const Scope scope = scope_for_tests();
  EXPECT_TRUE(parse("numel * 2", {}, scope, Type::real));
  EXPECT_TRUE(parse("vec == 2", {}, scope, Type::boolean));
  const auto word = parse("shared", {}, scope, Type::word);
  ASSERT_TRUE(word);
  EXPECT_EQ(to_text(evaluate(*word, {})), "shared");
}

TEST(Expression, MayBeNestedSixtyFourDeepAndFiveHundredLong) {
  const Scope scope = scope_for_tests();
  const auto nested = [](size_t depth) { return std::string(depth, '(') + "vec" + std::string(depth, ')'); };
  EXPECT_TRUE(parse(nested(64), {}, scope));
  EXPECT_FALSE(parse(nested(65), {}, scope));
  EXPECT_FALSE(parse(nested(1'000'000), {}, scope));
  EXPECT_FALSE(parse(std::string(1'000'000, '-') + "1", {}, scope));
  std::string chain = "vec";
  for (int i = 0; i < 499; ++i) chain += " - vec";
  const auto long_one = parse(chain, {}, scope);
  ASSERT_TRUE(long_one);
  EXPECT_EQ(to_text(evaluate(*long_one, environment_for_tests())), "-1992");
  EXPECT_EQ(to_text(*long_one), chain);
  EXPECT_FALSE(parse(chain + chain, {}, scope));
}

TEST(Expression, OfFunctionsThatNameTheirArgumentTwiceStaysSmall) {
  const Scope scope = scope_for_tests();
  std::string nested = "vec";
  for (int i = 0; i < 60; ++i) nested = "overlapped_waves(" + nested + ")";
  const auto parsed = parse(nested, {}, scope);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().size(), 1u);
}

struct PartCase {
  std::string_view written;
  std::string_view left;  // with the values of parameters, and of nothing else
};

// vec = 4, input_dtype = f16
constexpr PartCase kParts[] = {
    {"numel % vec == 0", "numel % 4 == 0"},
    {"numel % (vec / 4) == 0", "true"},
    {"vec == 4", "true"},
    {"vec != 4 and numel > 1", "false"},
    {"numel > 1 and vec == 4", "numel > 1"},
    {"numel > 1 or input_dtype == f16", "true"},
    {"input_dtype in (f32, f32) or numel > 1", "numel > 1"},
    {"not (vec > 1) or not (numel > 1)", "not numel > 1"},
    {"numel / (vec - 3) > ceil_div(numel, vec / 4) * bytes(input_dtype)", "numel > numel * 2"},
    {"choose(vec == 4, numel, 1) > 7", "numel > 7"},
    {"choose(numel > 1, vec, bytes(input_dtype)) > 7", "choose(numel > 1, 4, 2) > 7"},
    {"numel * 1.0 > 2", "numel * 1.0 > 2"},
    {"numel > 1", "numel > 1"},
};

TEST(WithValues, LeavesWhatIsNotKnown) {
  const Scope scope = scope_for_tests();
  std::vector<std::optional<Value>> values(scope.symbols().size());
  values[*scope.index_of("vec")] = Integer(4);
  values[*scope.index_of("input_dtype")] = Word{"f16"};
  for (const PartCase& row : kParts) {
    const auto expression = parse(row.written, {}, scope);
    ASSERT_TRUE(expression) << row.written;
    const Expression left = with_values(*expression, values);
    EXPECT_EQ(to_text(left), row.left) << row.written;
    EXPECT_EQ(value_of(left).has_value(), row.left == "true" || row.left == "false") << row.written;
  }
}

}  // namespace
}  // namespace qgen::expression
