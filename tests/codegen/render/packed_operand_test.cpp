// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// declare_packed() and declare_blocks(): the example of templates/README.md, every layout compiled, and the refusals.
#include "codegen/render/packed_operand.h"

#include <gtest/gtest.h>

#include "tests/codegen/render/run_template.h"
#include "tests/support/document.h"

namespace qgen::render {
namespace {

const std::string kPath = "templates/README.md";

TEST(PackedOperand, TheExampleBecomesWhatThePageShows) {
  const auto examples = tests::examples_of(tests::read_document(kPath));
  TemplateSet templates;
  tests::add_template(templates, "invert.comp", tests::example(examples, "templates/invert.comp"));
  tests::Run run = tests::run("specs/invert.yaml", tests::example(examples, "specs/invert.yaml"), templates);
  EXPECT_EQ(run.errors, "");
  EXPECT_EQ(run.modules, 3U * 2 + 3 * 3);
  const std::string shown = tests::example(examples, "invert.packed_4c.packed_4w4c");
  ASSERT_FALSE(shown.empty());
  EXPECT_NE(run.rendered["invert.packed_4c.packed_4w4c"].find(shown), std::string::npos)
      << run.rendered["invert.packed_4c.packed_4w4c"];
}

TEST(PackedOperand, ThePageNamesEveryFunctionOfLayouts) {
  const std::string page = tests::read_document(kPath);
  for (const auto& function : layout_functions())
    EXPECT_NE(page.find("`" + function.name + "("), page.npos) << function.name;
}

// ---- text -----------------------------------------------------------------------------------------------------------

struct TextCase {
  PackedOperand operand;
  std::string_view text;
};

const TextCase kTexts[] = {
    {{"x", 2, Access::read, DType::i8, Layout::strided, "sides", std::nullopt}, R"(
// x: strided, blocks in the order [N][C][H][W] of bytes
layout(set = 0, binding = 2, std430) readonly restrict buffer XBuffer { uint x_data[]; };
uint x_byte(uvec4 at) { return at.w * problem.x_strides[3] + at.z * problem.x_strides[2] + at.y * problem.x_strides[1] + at.x; }
uint x_load(uvec4 at) {
  const uint byte = x_byte(at);
  const uint lanes = 4u - byte % 4u;
  const uint low = x_data[byte / 4u] >> (32u - 8u * lanes);
  // The other lanes are in the next word, if the row goes on.
  if (lanes == 4u || at.x + lanes >= problem.sides[0]) return low;
  return low | x_data[byte / 4u + 1u] << (8u * lanes);
}
uint x_element(uvec4 at) { return x_data[x_byte(at) / 4u] >> (8u * (x_byte(at) % 4u)) & 0xffu; })"},
    // Whose bytes may be another operand's.
    {{"x", 1, Access::read, DType::i8, Layout::packed_4c, "sides", std::nullopt, true}, R"(
// x: packed_4c, blocks in the order [N][H][W][C/4] of [4 C]
#extension GL_EXT_spirv_intrinsics : require  // spirv_decorate(20): Aliased
layout(set = 0, binding = 1, std430) readonly spirv_decorate(20) buffer XBuffer { uint x_data[]; };
uint x_word(uvec4 at) { return at.w * problem.x_strides[3] + at.y * problem.x_strides[1] + at.x * problem.x_strides[0] + at.z / 4u; }
uint x_load(uvec4 at) { return x_data[x_word(at)]; }
uint x_element(uvec4 at) { return x_data[x_word(at)] >> (8u * (at.z % 4u)) & 0xffu; })"},
    {{"x", 0, Access::write, DType::u8, Layout::strided, "x_sides", Dim::channels}, R"(
// x: strided, blocks in the order [N][C][H][W] of bytes
layout(set = 0, binding = 0, std430) writeonly restrict buffer XBuffer { uint x_data[]; };
layout(set = 0, binding = 0, std430) writeonly restrict buffer XBytes { uint8_t x_bytes[]; };
uint x_byte(uvec4 at) { return at.w * problem.x_strides[3] + at.z * problem.x_strides[2] + at.y * problem.x_strides[1] + at.x; }
void x_store(uvec4 at, uint word) {
  const uint byte = x_byte(at);
  const uint lanes = min(4u, problem.x_sides[0] - at.x);
  if (byte % 4u == 0u && lanes == 4u) {
    x_data[byte / 4u] = word;
    return;
  }
  // The words at a row's ends hold bytes of other rows, which other invocations write.
  for (uint i = 0u; i < lanes; ++i) x_bytes[byte + i] = uint8_t(uint(word >> (8u * i)));
}
void x_store_rows(uvec4 at, uvec4 rows) {
  const uint count = problem.x_sides[2] - at.z;
  const uint byte = x_byte(at);
  const uint word = byte / 4u, next = problem.x_strides[2] / 4u;
  const bool are_words = (byte | problem.x_strides[2]) % 4u == 0u;
  if (count >= 4u && are_words && problem.x_sides[0] - at.x >= 4u) {
    x_data[word] = rows.x;
    x_data[word + next] = rows.y;
    x_data[word + 2u * next] = rows.z;
    x_data[word + 3u * next] = rows.w;
    return;
  }
  x_store(at, rows.x);
  ++at.z; if (count > 1u) x_store(at, rows.y);
  ++at.z; if (count > 2u) x_store(at, rows.z);
  ++at.z; if (count > 3u) x_store(at, rows.w);
})"},
    {{"x", 0, Access::read, DType::i8, Layout::packed_4c1w, "sides", Dim::width}, R"(
// x: packed_4c1w, blocks in the order [N][H][C/4][W] of [4 C]
layout(set = 0, binding = 0, std430) readonly restrict buffer XBuffer { uint x_data[]; };
layout(set = 0, binding = 0, std430) readonly restrict buffer XBlocks { uvec4 x_blocks[]; };
uint x_word(uvec4 at) { return at.w * problem.x_strides[3] + at.y * problem.x_strides[1] + at.z / 4u * problem.x_strides[2] + at.x; }
uint x_load(uvec4 at) { return x_data[x_word(at)]; }
uint x_element(uvec4 at) { return x_data[x_word(at)] >> (8u * (at.z % 4u)) & 0xffu; }
uint x_row(uvec4 at, uint i) { at.x += min(i, problem.sides[0] - 1u - at.x); return x_load(at); }
uvec4 x_rows(uvec4 at) {
  const uint count = problem.sides[0] - at.x;
  const uint word = x_word(at), next = 1u;
  if (word % 4u == 0u) return x_blocks[word / 4u];
  if (count >= 4u) {
    return uvec4(x_data[word], x_data[word + next], x_data[word + 2u * next], x_data[word + 3u * next]);
  }
  return uvec4(x_row(at, 0u), x_row(at, 1u), x_row(at, 2u), x_row(at, 3u));
})"},
    // For blocks in any order: neighbours along the width may be adjacent, and no dimension is known to be the fastest.
    {{"x", 0, Access::write, DType::i8, Layout::packed_4c, "sides", Dim::width, false, true}, R"(
// x: [4 C], in any order
layout(set = 0, binding = 0, std430) writeonly restrict buffer XBuffer { uint x_data[]; };
layout(set = 0, binding = 0, std430) writeonly restrict buffer XBlocks { uvec4 x_blocks[]; };
uint x_word(uvec4 at) { return at.w * problem.x_strides[3] + at.z / 4u * problem.x_strides[2] + at.y * problem.x_strides[1] + at.x * problem.x_strides[0]; }
void x_store(uvec4 at, uint word) { x_data[x_word(at)] = word; }
void x_store_rows(uvec4 at, uvec4 rows) {
  const uint count = problem.sides[0] - at.x;
  const uint word = x_word(at), next = problem.x_strides[0];
  if (next == 1u && word % 4u == 0u && count >= 4u) {
    x_blocks[word / 4u] = rows;
    return;
  }
  if (count >= 4u) {
    x_data[word] = rows.x;
    x_data[word + next] = rows.y;
    x_data[word + 2u * next] = rows.z;
    x_data[word + 3u * next] = rows.w;
    return;
  }
  x_store(at, rows.x);
  ++at.x; if (count > 1u) x_store(at, rows.y);
  ++at.x; if (count > 2u) x_store(at, rows.z);
  ++at.x; if (count > 3u) x_store(at, rows.w);
})"},
};

TEST(PackedOperand, IsPrintedFromItsLayout) {
  for (const TextCase& c : kTexts) EXPECT_EQ("\n" + print(c.operand), c.text);
}

// Layouts with the same blocks have one text; the text of any other is its own.
TEST(PackedOperand, OfTwinsHasOneText) {
  const auto text = [](Layout layout, bool is_in_any_order) {
    return print({"x", 0, Access::read, DType::i8, layout, "sides", {}, false, is_in_any_order});
  };
  EXPECT_EQ(text(Layout::packed_4c, true), text(Layout::packed_4c1w, true));
  EXPECT_NE(text(Layout::packed_4c, false), text(Layout::packed_4c1w, false));
  for (const LayoutInfo& row : kLayouts) {
    if (!row.is_packed_bytes() && row.layout != Layout::strided) continue;
    EXPECT_EQ(text(row.layout, true) == text(row.layout, false), !has_twin(row.layout)) << row.name;
  }
}

// ---- refusals -------------------------------------------------------------------------------------------------------

constexpr std::string_view kSpec = R"(operator: copy
summary: for tests
template: copy.comp
operands:
  input:  {access: read,  dtype: i8,  layout: packed_4c}
  real:   {access: read,  dtype: f32}
  output: {access: write, dtype: i8,  layout: packed_4c}
problem:
  sides:         u32[4]
  input_strides: u32[4]
  real_strides:  u32[4]
grid: [1, 1, 1]
)";

struct RefusalCase {
  std::string_view line;
  std::string_view report;
};

const RefusalCase kRefusals[] = {
    {"${declare_packed(inptu)}", R"(
templates/copy.comp:2:18: error: 'inptu' is not an operand of 'copy'
    2 | ${declare_packed(inptu)}
      |                  ^~~~~
  expected: one of input, output, real
  hint: did you mean 'input'?
)"},
    {"${declare_packed(output)}", R"(
templates/copy.comp:2:18: error: 'declare_packed' reads problem field 'output_strides', which 'copy' lacks
    2 | ${declare_packed(output)}
      |                  ^~~~~~
  expected: output_strides: u32[4]
)"},
    {"${declare_packed(real)}", R"(
templates/copy.comp:2:3: error: operand 'real' is not a buffer of i8 or u8 in a layout of buffers
    2 | ${declare_packed(real)}
      |   ^~~~~~~~~~~~~~~~~~~~
  in variant copy
)"},
    {"${declare_packed(input, 2)}", R"(
templates/copy.comp:2:3: error: rows of 'input' are along width 0, height 1 or channels 2, but not along the packed dimension, and 2 is given
    2 | ${declare_packed(input, 2)}
      |   ^~~~~~~~~~~~~~~~~~~~~~~~
  in variant copy
)"},
};

TEST(PackedOperand, SaysWhatItCannotDeclare) {
  for (const RefusalCase& c : kRefusals) {
    TemplateSet templates;
    tests::add_template(templates, "copy.comp", "#version 450\n" + std::string(c.line) + "\n");
    EXPECT_EQ("\n" + tests::run("specs/copy.yaml", std::string(kSpec), templates).errors, c.report);
  }
}

}  // namespace
}  // namespace qgen::render
