// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Rows: the parameters of a spec, and its variants or the whole report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/expand/variant.h"
#include "codegen/spec/parse_spec.h"
#include "tests/support/expected_text.h"

namespace qgen::expand {
namespace {

constexpr std::string_view kHead =
    "operator: op\n"
    "template: op.comp\n"
    "operands: {out: {access: write, dtype: f32}}\n"
    "grid: [1, 1, 1]\n";

struct Case {
  std::string_view name;
  std::string_view yaml;
  std::string_view expected;
};

// clang-format off
constexpr Case kCases[] = {
    {"no parameters", "", "op\n"},
    {"words stand alone", "parameters: {dtype: [f32, f16]}", "op.f16\nop.f32\n"},
    {"numbers carry the name", "parameters: {vec: [1, 4]}", "op.vec1\nop.vec4\n"},
    {"booleans are the name or its opposite", "parameters: {fast: [true, false]}", "op.fast\nop.not_fast\n"},
    {"ids are in byte order, whatever the order of values", "parameters: {dtype: [i8, f32], vec: [16, 2, 1]}",
     "op.f32.vec1\nop.f32.vec16\nop.f32.vec2\nop.i8.vec1\nop.i8.vec16\nop.i8.vec2\n"},
    {"a word that begins another comes first", "parameters: {mode: [ab, a, a_b], vec: [1]}",
     "op.a.vec1\nop.a_b.vec1\nop.ab.vec1\n"},
    {"native storage access is not spelt", "parameters: {dtype: [i8, f32], storage_access: [native, by_words]}",
     "op.f32\nop.f32.by_words\nop.i8\nop.i8.by_words\n"},
    {"storage access is the last parameter", "parameters:\n  storage_access: [native, by_words]\n  vec: [1]",
     "op.yaml:6:3: error: 'storage_access' is not the last parameter\n"
     "    6 |   storage_access: [native, by_words]\n      |   ^~~~~~~~~~~~~~\n"},
    {"storage access has two words", "parameters:\n  storage_access: [native, words]",
     "op.yaml:6:28: error: unknown storage_access 'words'\n"
     "    6 |   storage_access: [native, words]\n      |                            ^~~~~\n"
     "  expected: native or by_words\n"},
    {"specialization makes no variants", "parameters: {vec: [4]}\nspecialization: {workgroup: [64, 128]}", "op.vec4\n"},
    {"a record is one choice", "parameters: {shape: [{m: 16, n: 16, k: 32}, {m: 8, n: 8, k: 8}], vec: [1, 4]}",
     "op.m16n16k32.vec1\nop.m16n16k32.vec4\nop.m8n8k8.vec1\nop.m8n8k8.vec4\n"},
    {"the first record says the order of fields", "parameters: {shape: [{m: 1, k: 2}, {k: 4, m: 3}]}", "op.m1k2\nop.m3k4\n"},
    {"words of a record stand apart", "parameters: {types: [{load: f32, acc: f32, k: 4, n: 2, fast: true}, {load: f16, acc: f32, k: 4, n: 2, fast: false}]}",
     "op.f16_f32_k4n2_not_fast\nop.f32_f32_k4n2_fast\n"},
    {"require reads fields", "parameters: {a: [1, 2], shape: [{m: 1, k: 2}, {m: 2, k: 2}]}\nrequire: [shape.m == a]",
     "op.a1.m1k2\nop.a2.m2k2\n"},
    // Constraints remove combinations; they never reorder the rest.
    {"require removes", "parameters: {dtype: [f32, f16], vec: [1, 4]}\nrequire: [not (dtype == f16 and vec == 1)]",
     "op.f16.vec4\nop.f32.vec1\nop.f32.vec4\n"},
    {"all of several conditions", "parameters: {a: [1, 2, 3], b: [1, 2, 3]}\nrequire: [a <= b, a + b != 4, true]",
     "op.a1.b1\nop.a1.b2\nop.a2.b3\nop.a3.b3\n"},
    {"nothing is left", "parameters:\n  vec: [1, 4]\nrequire:\n  - vec > 1\n  - vec < 4",
     "op.yaml:8:5: error: no combination of the parameters of 'op' meets 'require'\n"
     "    8 |   - vec > 1\n"
     "      |     ^~~~~~~\n"
     "op.yaml:9:5: note: this condition removes some of them\n"},
    {"a condition that reads nothing and fails", "parameters: {vec: [1, 4]}\nrequire: [1 > 2]",
     "op.yaml:6:11: error: no combination of the parameters of 'op' meets 'require'\n"
     "    6 | require: [1 > 2]\n"
     "      |           ^~~~~\n"},
    {"a value that never survives",
     "parameters:\n  storage: [buffer, texture3d]\n  vec: [1, 2, 4]\nrequire:\n  - vec == 1 or vec == 2 and storage == "
     "buffer",
     "op.yaml:7:15: error: no variant has the value 4 of parameter 'vec': 'require' removes all\n"
     "    7 |   vec: [1, 2, 4]\n"
     "      |               ^\n"
     "  hint: remove the value, or loosen a condition\n"
     "op.yaml:9:5: note: 'vec' is read here\n"},
    {"too many", "parameters:\n  a: [1, 2, 3, 4]\n  b: [1, 2, 3, 4]",
     "op.yaml:6:3: error: 'op' expands to 16 variants\n"
     "    6 |   a: [1, 2, 3, 4]\n"
     "      |   ^\n"
     "  expected: at most 9\n"
     "  hint: move numbers to 'specialization', which makes no modules; or raise --max-variants\n"},
    {"a subgroup of no possible size", "parameters: {lanes: [16, 24]}\nsubgroup_size: lanes",
     "op.yaml:6:16: error: a subgroup has 24 invocations\n"
     "    6 | subgroup_size: lanes\n"
     "      |                ^~~~~\n"
     "  expected: a power of two, at most 128\n"
     "  in variant op.lanes24\n"},
    {"ids that are one identifier", "parameters:\n  a: [x, x_y]\n  b: [y_z, z]",
     "op.yaml:6:3: error: 'op.x.y_z' and 'op.x_y.z' become the same identifier in C++\n"
     "    6 |   a: [x, x_y]\n"
     "      |   ^\n"
     "  hint: rename a word\n"},
};
// clang-format on

TEST(Expand, IsTheProductMinusRequire) {
  for (const Case& row : kCases) {
    SCOPED_TRACE(row.name);
    const std::string yaml = std::string(kHead) + std::string(row.yaml);
    const auto spec = spec::parse_spec(yaml, "op.yaml");
    ASSERT_TRUE(spec) << to_text(spec.error(), {});
    const auto variants = expand(*spec, 9);
    EXPECT_EQ(variants ? to_text(*spec, *variants) : to_text(variants.error(), {{"op.yaml", yaml}}), row.expected);
  }
}

TEST(Expand, DescribesAVariantByItsParameters) {
  const auto spec =
      spec::parse_spec(std::string(kHead) + "parameters: {dtype: [f16], vec: [4], fast: [false]}", "op.yaml");
  ASSERT_TRUE(spec);
  const auto variants = expand(*spec, 9);
  ASSERT_TRUE(variants);
  EXPECT_EQ(variants->front().id, "op.f16.vec4.not_fast");
  EXPECT_EQ(describe(*spec, variants->front()), "dtype=f16 vec=4 fast=false");
}

TEST(Expand, DescribesARecordByItsFields) {
  const auto spec = spec::parse_spec(std::string(kHead) + "parameters: {shape: [{m: 8, k: 4}]}", "op.yaml");
  ASSERT_TRUE(spec);
  const auto variants = expand(*spec, 9);
  ASSERT_TRUE(variants);
  EXPECT_EQ(describe(*spec, variants->front()), "shape.m=8 shape.k=4");
}

TEST(Expand, HasNoVariantsOfRecipes) {
  const auto spec = spec::parse_spec(
      "operator: op\n"
      "operands: {out: {access: write, dtype: f32}}\n"
      "recipes: {both: {steps: [{kernel: other, operands: {out: out}}]}}\n",
      "op.yaml");
  ASSERT_TRUE(spec) << to_text(spec.error(), {});
  const auto variants = expand(*spec, 9);
  ASSERT_TRUE(variants);
  EXPECT_TRUE(variants->empty());
}

// Each of four million steps may check a condition of a thousand parts: this cost is counted, not only the steps.
TEST(Expand, CountsWhatConditionsCost) {
  std::string yaml(kHead);
  std::string sum = "0";
  yaml += "parameters:\n";
  for (const char name : std::string_view("abcdefgh")) {
    yaml += std::string("  ") + name + ": [0";
    for (int value = 1; value < 100; ++value) yaml += ", " + std::to_string(value);
    yaml += "]\n";
  }
  for (int i = 0; i < 120; ++i) sum += std::string(" + ") + "abcdefgh"[i % 8] + " * " + std::to_string(i);
  yaml += "require: [" + sum + " == 3000000]\n";
  const auto spec = spec::parse_spec(yaml, "op.yaml");
  ASSERT_TRUE(spec);
  const auto variants = expand(*spec, 1000);
  ASSERT_FALSE(variants);
  EXPECT_TEXT(variants.error().front().message,
              "trying the combinations of 'op' takes more than "
              "4000000 steps");
}

// Combinations that no condition cuts are multiplied, not visited; nothing is kept before all are counted.
TEST(Expand, RefusesAProductThatHasNoEnd) {
  std::string yaml = std::string(kHead) + "parameters:\n";
  for (char axis = 'a'; axis < 'm'; ++axis) yaml += std::string("  ") + axis + ": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n";
  struct Row {
    std::string_view require, message, expected;
    size_t most;
  };
  for (const Row& row : {
           Row{"", "'op' expands to 1000000000000 variants", "at most 1000", 1000},
           Row{"", "'op' expands to 1000000000000 variants", "at most 4000000", size_t{1} << 62},
           Row{"require: [a < 3]\n", "'op' expands to 300000000000 variants", "at most 1000", 1000},
           Row{"require: [a + b + c + d + e + f + g + h + i + j + k + l == 90]\n",
               "trying the combinations of 'op' takes more than 4000000 steps", "", 1000},
       }) {
    const auto spec = spec::parse_spec(yaml + std::string(row.require), "op.yaml");
    ASSERT_TRUE(spec);
    const auto variants = expand(*spec, row.most);
    ASSERT_FALSE(variants);
    EXPECT_THAT(variants.error().front().message, testing::StartsWith(std::string(row.message)));
    EXPECT_EQ(variants.error().front().expected, row.expected);
  }
}

}  // namespace
}  // namespace qgen::expand
