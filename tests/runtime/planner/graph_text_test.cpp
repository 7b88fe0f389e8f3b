// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What is read from YAML, what is printed to it, and what is said of a text that is no graph.
#include "runtime/planner/graph_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "tests/runtime/planner/random_graph.h"

namespace qgen::planner {
namespace {

Representation form(std::string_view name) { return *find_representation(name); }

TEST(GraphText, ReadsEveryField) {
  const auto text = read_graph(R"(
device: {image_extent: [4096, 2048, 1024], buffer_bytes: 1000000, bytes_per_us: 4.0e6, launch_us: 2, preferred: texture3d}
tensors:
  x: {shape: [2, 3], dtype: f32, arrives_as: [buffer.strided, texture3d.*]}
  y: {shape: [], dtype: i8, leaves_as: buffer.packed_4c*}
operators:
  twice:
    op: add
    reads: [x, x]
    writes: [y]
    kernels:
      plain: {takes: [any, buffer.strided, buffer.packed_*], synced: [[0, 1], [y]], cost_us: 1.5}
conversions:
  - {tensor: x, from: texture3d.*, to: buffer.strided, cost_us: none}
  - {from: any, to: any, cost_us: 3}
)",
                               "text");
  ASSERT_TRUE(text) << text.error().message;
  GraphText expected;
  expected.device = {{4096, 2048, 1024}, 1000000, 4e6, 2, Storage::texture3d};
  expected.graph.tensors = {{"x", {2, 3}, DType::f32, any_of(Storage::texture3d) | form("buffer.strided"), {}},
                            {"y", {}, DType::i8, {}, {form("buffer.packed_4c"), form("buffer.packed_4c1w")}}};
  expected.graph.nodes = {
      {"twice",
       "add",
       {"x", "x"},
       {"y"},
       {{"plain", {any_representation(), form("buffer.strided"), any_packed_int8()}, {{0, 1}, {2}}, 1.5}}}};
  expected.conversions = {{"x", any_of(Storage::texture3d), form("buffer.strided"), std::nullopt},
                          {"", any_representation(), any_representation(), 3}};
  EXPECT_EQ(*text, expected);
}

TEST(GraphText, WhatIsPrintedReadsBackTheSame) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    GraphText text;
    text.graph = testing::RandomGraph(seed).make(1 + seed % 12, 4);
    if (seed % 2 == 1) text.device.launch_us = seed / 7.0;
    if (seed % 3 == 1) {
      text.conversions = {{"t0", any_of(Storage::buffer), form("buffer.packed_4w"), seed / 3.0},
                          {"", any_representation(), any_packed_int8(), std::nullopt}};
    }
    const std::string yaml = to_yaml(text);
    const auto again = read_graph(yaml, "text");
    ASSERT_TRUE(again) << again.error().message << "\n" << yaml;
    ASSERT_EQ(*again, text) << yaml;
    ASSERT_EQ(to_yaml(*again), yaml);
  }
}

TEST(GraphText, NamesMayBeAnything) {
  GraphText text;
  for (const auto* name :
       {"", "null", "a: b", "\"", "\\", "tab\tand\nline", "x[0]", "*x", "-", "ü", "1", "true", "~", "#"}) {
    text.graph.tensors.push_back({name, {1}, DType::i8, {}, {}});
  }
  const auto again = read_graph(to_yaml(text), "text");
  ASSERT_TRUE(again) << again.error().message << "\n" << to_yaml(text);
  EXPECT_EQ(*again, text);
}

TEST(GraphText, RulesDecideInTheirOrder) {
  const auto text = read_graph(R"(
device: {bytes_per_us: 10, launch_us: 1}
tensors:
  x: {shape: [4, 4], dtype: i8}
  y: {shape: [4, 4], dtype: i8}
operators: {}
conversions:
  - {tensor: x, from: any, to: buffer.packed_4w, cost_us: none}
  - {from: buffer.*, to: buffer.packed_*, cost_us: 7}
)",
                               "text");
  ASSERT_TRUE(text) << text.error().message;
  const auto cost = plan_options(*text).conversion;
  const Tensor &x = text->graph.tensors[0], &y = text->graph.tensors[1];
  EXPECT_EQ(cost(x, form("buffer.strided"), form("buffer.packed_4w")), std::nullopt);
  EXPECT_EQ(cost(x, form("buffer.strided"), form("buffer.packed_4c")), 7);
  EXPECT_EQ(cost(y, form("buffer.strided"), form("buffer.packed_4w")), 7);
  EXPECT_EQ(cost(y, form("buffer.packed_4w"), form("buffer.strided")), 1 + (16 + 16) / 10.0);
}

struct BadCase {
  std::string_view name, yaml, report;
};

const BadCase kBad[] = {
    {"keys", R"(
devise: {}
device: {launch: 1}
tensors:
  x: {shape: [1], dtype: i8}
  x: {shape: [1], dtype: i8}
  y: {dtype: i8}
  z: [1, 2]
operators: {}
)",
     R"(
graph:2:1: error: unknown key 'devise' in a graph
    2 | devise: {}
      | ^~~~~~
  expected: one of device, tensors, operators, conversions
  hint: did you mean 'device'?
graph:3:10: error: unknown key 'launch' in device
    3 | device: {launch: 1}
      |          ^~~~~~
  expected: one of image_extent, buffer_bytes, bytes_per_us, launch_us, preferred
graph:6:3: error: 'x' is given twice
    6 |   x: {shape: [1], dtype: i8}
      |   ^
  hint: first in line 5
graph:7:6: error: tensor 'y' lacks 'shape'
    7 |   y: {dtype: i8}
      |      ^
graph:8:6: error: tensor 'z' must be a map
    8 |   z: [1, 2]
      |      ^
  expected: key: value
)"},
    {"values", R"(
device: {launch_us: soon, preferred: image, image_extent: [1, 2], buffer_bytes: 0}
tensors:
  x: {shape: [1, -64], dtype: i9, arrives_as: buffer.stridet}
  y: {shape: [1, 1, 1, 1, 1, 1, 1, 1, 1], dtype: [i8], leaves_as: []}
operators: {}
)",
     R"(
graph:2:21: error: launch_us is 'soon'
    2 | device: {launch_us: soon, preferred: image, image_extent: [1, 2], buffer_bytes: 0}
      |                     ^~~~
  expected: a number from 0 to 1e+06
graph:2:38: error: unknown storage 'image'
    2 | device: {launch_us: soon, preferred: image, image_extent: [1, 2], buffer_bytes: 0}
      |                                      ^~~~~
  expected: one of buffer, texture3d
graph:2:59: error: image_extent has 2 sides
    2 | device: {launch_us: soon, preferred: image, image_extent: [1, 2], buffer_bytes: 0}
      |                                                           ^
  expected: [width, height, depth]
graph:2:81: error: buffer_bytes is '0'
    2 | device: {launch_us: soon, preferred: image, image_extent: [1, 2], buffer_bytes: 0}
      |                                                                                 ^
  expected: a whole number from 1
graph:4:18: error: a side is '-64'
    4 |   x: {shape: [1, -64], dtype: i9, arrives_as: buffer.stridet}
      |                  ^~~
  expected: a whole number from 0
graph:4:31: error: unknown dtype 'i9'
    4 |   x: {shape: [1, -64], dtype: i9, arrives_as: buffer.stridet}
      |                               ^~
  expected: one of f32, f16, bf16, i8, u8, i16, u16, i32, u32
  hint: did you mean 'i8'?
graph:4:47: error: unknown representation 'buffer.stridet'
    4 |   x: {shape: [1, -64], dtype: i9, arrives_as: buffer.stridet}
      |                                               ^~~~~~~~~~~~~~
  expected: one of [every representation]; a name cut short by '*'; any
  hint: did you mean 'buffer.strided'?
graph:5:14: error: shape [1, 1, 1, 1, 1, 1, 1, 1, 1] has rank 9, and the highest is 8
    5 |   y: {shape: [1, 1, 1, 1, 1, 1, 1, 1, 1], dtype: [i8], leaves_as: []}
      |              ^
graph:5:50: error: dtype must be a single value
    5 |   y: {shape: [1, 1, 1, 1, 1, 1, 1, 1, 1], dtype: [i8], leaves_as: []}
      |                                                  ^
graph:5:67: error: this set names no representation
    5 |   y: {shape: [1, 1, 1, 1, 1, 1, 1, 1, 1], dtype: [i8], leaves_as: []}
      |                                                                   ^
)"},
    {"operators", R"(
tensors:
  x: {shape: [1], dtype: i8}
  y: {shape: [1], dtype: i8}
operators:
  a:
    op: relu
    reads: [x, yy]
    writes: [y]
    kernels:
      short: {takes: [any], cost_us: 3.5}
      words: {takes: [any, any, any], cost_us: -6, synced: [x, qq]}
  b: {op: relu, reads: [x], writes: [y], kernels: }
  c: {op: add, reads: [x, x], writes: [], kernels: {k: {takes: [any, any], cost_us: 1, synced: [x]}}}
conversions:
  - {tensor: v, from: any, to: any, cost_us: none}
  - {from: any}
)",
     R"(
graph:12:48: error: cost_us is '-6'
   12 |       words: {takes: [any, any, any], cost_us: -6, synced: [x, qq]}
      |                                                ^~
  expected: a number from 0 to 1e+09
graph:12:64: error: 'qq' is no operand of 'a'
   12 |       words: {takes: [any, any, any], cost_us: -6, synced: [x, qq]}
      |                                                                ^~
  expected: one of x, yy, y
graph:13:51: error: kernels must be a map
   13 |   b: {op: relu, reads: [x], writes: [y], kernels: }
      |                                                   ^
  expected: key: value
graph:14:97: error: 'x' is an operand of 'c' 2 times
   14 |   c: {op: add, reads: [x, x], writes: [], kernels: {k: {takes: [any, any], cost_us: 1, synced: [x]}}}
      |                                                                                                 ^
  expected: a number from 0 to 1
graph:16:14: error: unknown tensor 'v'
   16 |   - {tensor: v, from: any, to: any, cost_us: none}
      |              ^
  expected: a name under tensors
  hint: did you mean 'x'?
graph:17:5: error: a conversion lacks 'cost_us'
   17 |   - {from: any}
      |     ^
graph:17:5: error: a conversion lacks 'to'
   17 |   - {from: any}
      |     ^
)"},
    {"nothing", "", "\ngraph: error: the text holds 0 YAML documents, not one\n"},
    {"two documents", "a: 1\n---\nb: 2\n", "\ngraph: error: the text holds 2 YAML documents, not one\n"},
    {"no YAML", "tensors:\n  a: *b\n", R"(
graph:2:6: error: this is not YAML: the referenced anchor is not defined
    2 |   a: *b
      |      ^
)"},
};

std::string with_every_representation(std::string_view report) {
  constexpr std::string_view kBlank = "[every representation]";
  std::string filled(report);
  std::vector<std::string> names;
  for (Representation r : any_representation()) names.push_back(name(r));
  if (const size_t at = filled.find(kBlank); at != std::string::npos) {
    filled.replace(at, kBlank.size(), fmt::format("{}", fmt::join(names, ", ")));
  }
  return filled;
}

TEST(GraphText, SaysWhatIsWrongAndWhere) {
  for (const BadCase& bad : kBad) {
    const auto text = read_graph(bad.yaml, "graph");
    ASSERT_FALSE(text) << bad.name;
    EXPECT_EQ("\n" + text.error().message + "\n", with_every_representation(bad.report)) << bad.name;
  }
}

// 2000 operators that share 2000 kernels.
TEST(GraphText, AliasesCannotMakeASmallTextLarge) {
  std::string yaml = "tensors: {}\noperators:\n  base:\n    op: x\n    kernels: &k\n";
  for (int i = 0; i < 2000; ++i) yaml += "      k" + std::to_string(i) + ": {takes: [], cost_us: 1}\n";
  for (int i = 0; i < 2000; ++i) yaml += "  o" + std::to_string(i) + ": {op: x, kernels: *k}\n";
  const auto text = read_graph(yaml, "graph");
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().message.find("the text stands for more than 4000000 values"), std::string::npos)
      << text.error().message.substr(0, 300);
}

}  // namespace
}  // namespace qgen::planner
