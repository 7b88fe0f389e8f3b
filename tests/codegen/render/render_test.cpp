// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/codegen/render/run_template.h"
#include "tests/support/expected_text.h"

namespace qgen::render {
namespace {

// Operands of every kind, so that one spec serves every row.
constexpr std::string_view kSpec = R"(operator: sample
summary: for tests
template: sample.comp
operands:
  input:      {access: read,       dtype: $dtype, storage: $storage}
  zero_point: {access: read_write, dtype: i32}
  output:     {access: write,      dtype: u8,     storage: $storage}
problem:
  numel: u32
  first: i32
  scale: f32
  sizes: u32[4]
parameters:
  dtype:   [f32, f16, i8]
  storage: [buffer, texture3d]
  vec:     [1, 4]
  fast:    [true, false]
  shape:   [{m: 8, inner: i8}]
specialization:
  workgroup: [64, 128]
  tiles:     [2, 4]
  grain:     [{rows: 1, columns: 2}]
constants: {is_wide: numel > 16, rest: numel % 4}
grid: [ceil_div(numel, vec * workgroup), 1, 1]
cost: numel / device.bytes_per_us
)";

struct Rig {
  spec::Spec spec;
  std::vector<expand::Variant> variants;
};

const Rig& rig() {
  static const Rig made = [] {
    auto spec = spec::parse_spec(kSpec, "specs/sample.yaml");
    EXPECT_TRUE(spec) << to_text(spec.error(), {});
    auto variants = expand::expand(*spec, 1000);
    return Rig{*spec, *variants};
  }();
  return made;
}

const expand::Variant& variant(std::string_view id) {
  for (const expand::Variant& one : rig().variants) {
    if (one.id == id) return one;
  }
  ADD_FAILURE() << "no variant " << id;
  return rig().variants.front();
}

// Names every parameter and constant in a comment, so that no row must.
constexpr std::string_view kUseAll =
    "// ${dtype} ${storage} ${vec} ${fast} ${shape.m} ${workgroup} ${tiles} ${grain.rows} ${is_wide} ${rest}\n";

constexpr std::string_view kPieces = R"(// A file in parts
whole
$part low  // the first
low ${vec}

  $part high
$include "lib/pieces.glsl" low
high
)";

TemplateSet templates_of(std::string_view text) {
  TemplateSet templates;
  tests::add_template(templates, "sample.comp", "#version 450\n" + std::string(text) + "\n" + std::string(kUseAll));
  tests::add_template(templates, "lib/one.glsl", "one ${vec}\n");
  tests::add_template(templates, "lib/two.glsl", "$include \"lib/one.glsl\"\ntwo\n");
  tests::add_template(templates, "lib/pieces.glsl", std::string(kPieces));
  return templates;
}

Result<Rendered> rendered(std::string_view text, std::string_view id) {
  const auto parsed = parse_template(rig().spec, templates_of(text));
  if (!parsed) return parsed.error();
  return render(*parsed, rig().spec, variant(id));
}

// What `text` becomes, without the lines around it.
std::string filled(std::string_view text, std::string_view id) {
  const auto result = rendered(text, id);
  if (!result) return to_text(result.error(), {});
  std::string glsl = result->text;
  glsl.resize(glsl.rfind("// "));
  std::istringstream lines(glsl);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("#version") && line.find("constant_id") == line.npos) kept += line + "\n";
  }
  return kept;
}

struct Row {
  std::string_view name;
  std::string_view text;
  std::string_view id;
  std::string_view expected;
};

constexpr std::string_view kFloat4 = "sample.f32.buffer.vec4.fast.m8_i8";
constexpr std::string_view kHalf1 = "sample.f16.buffer.vec1.not_fast.m8_i8";
constexpr std::string_view kInt8 = "sample.i8.buffer.vec4.fast.m8_i8";
constexpr std::string_view kImage = "sample.i8.texture3d.vec4.fast.m8_i8";

// clang-format off
constexpr Row kRows[] = {
    // ---- ${...}
    {"parameters are their literals", "a ${dtype} ${vec} ${fast}", kFloat4, "a f32 4 true\n"},
    {"constants are their names", "a ${workgroup}, ${tiles}", kFloat4, "a workgroup, tiles\n"},
    {"constants of the problem are too", "a ${is_wide} ${rest}", kFloat4, "a is_wide rest\n"},
    {"fields of records", "a ${2 * shape.m} ${glsl_type(shape.inner)} ${grain.rows}", kFloat4, "a 16 int8_t grain_rows\n"},
    {"operands are their names", "a ${input}", kFloat4, "a input\n"},
    {"arithmetic", "a ${vec * 2 + bytes(dtype)}", kFloat4, "a 12\n"},
    {"comparisons", "a ${vec == 4} ${dtype in (f16, i8)}", kFloat4, "a true false\n"},
    {"side by side", "unpack_${dtype}x${vec}()", kInt8, "unpack_i8x4()\n"},
    {"a dollar alone", "a $ b $c", kFloat4, "a $ b $c\n"},
    {"blanks inside", "a ${ vec }", kFloat4, "a 4\n"},
    // ---- types
    {"scalar", "${glsl_type(dtype)}", kHalf1, "float16_t\n"},
    {"vector", "${glsl_type(dtype, vec)}", kInt8, "i8vec4\n"},
    {"a vector of one", "${glsl_type(dtype, vec)}", kHalf1, "float16_t\n"},
    {"a fixed type", "${glsl_type(u32, bytes(dtype))}", kFloat4, "uvec4\n"},
    {"bfloat16 is its bits", "${glsl_type(bf16, 2)}", kFloat4, "u16vec2\n"},
    {"predicates", "${is_float(dtype)} ${is_signed(dtype)} ${is_signed(u8)}", kInt8, "false true false\n"},
    {"image format", "${image_format(dtype)}", kHalf1, "rgba16f\n"},
    // ---- declarations
    {"extensions of bytes", "${extensions()}", kInt8,
     "#extension GL_EXT_shader_8bit_storage : require\n"
     "#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require\n"},
    {"extensions of halves and bytes", "${extensions()}", kHalf1,
     "#extension GL_EXT_shader_16bit_storage : require\n"
     "#extension GL_EXT_shader_8bit_storage : require\n"
     "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require\n"
     "#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require\n"},
    {"images need no storage extension", "${extensions()}", kImage,
     "#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require\n"},
    {"workgroup by number", "${local_size(8 * vec, 2)}", kFloat4,
     "layout(local_size_x = 32, local_size_y = 2) in;\n"},
    {"workgroup by constant", "${local_size(4, 2, workgroup)}", kFloat4,
     "layout(local_size_x = 4, local_size_y = 2, local_size_z = 64, local_size_z_id = 0) in;\n"},
    {"workgroup by a field", "${local_size(grain.columns, shape.m)}", kFloat4,
     "layout(local_size_x = 2, local_size_x_id = 3, local_size_y = 8) in;\n"},
    {"a buffer", "${declare(input, vec)}", kFloat4,
     "layout(set = 0, binding = 0, std430) readonly restrict buffer InputBuffer { vec4 input_data[]; };\n"},
    {"a buffer of scalars", "${declare(input)}", kInt8,
     "layout(set = 0, binding = 0, std430) readonly restrict buffer InputBuffer { int8_t input_data[]; };\n"},
    {"read and written", "${declare(zero_point)}", kFloat4,
     "layout(set = 0, binding = 1, std430) restrict buffer ZeroPointBuffer { int zero_point_data[]; };\n"},
    {"written", "${declare(output, vec)}", kFloat4,
     "layout(set = 0, binding = 2, std430) writeonly restrict buffer OutputBuffer { u8vec4 output_data[]; };\n"},
    {"an image", "${declare(input, vec)}", kImage,
     "layout(set = 0, binding = 0, rgba8i) uniform readonly restrict iimage3D input_image;\n"},
    {"an unsigned image", "${declare(output)}", kImage,
     "layout(set = 0, binding = 2, rgba8ui) uniform writeonly restrict uimage3D output_image;\n"},
    {"the problem", "${declare_problem()}", kFloat4,
     "layout(push_constant, std430) uniform Problem { uint numel; int first; float scale; uint sizes[4]; } problem;\n"},
    // ---- blocks
    {"if", "$if vec == 4\nfour\n$end", kFloat4, "four\n"},
    {"if not", "$if vec == 4\nfour\n$end", kHalf1, ""},
    {"else", "$if vec == 4\nfour\n$else\none\n$end", kHalf1, "one\n"},
    {"elif", "$if dtype == f32\nfloat\n$elif dtype == f16\nhalf\n$elif fast\nfast\n$else\nslow\n$end", kHalf1, "half\n"},
    {"the first that holds", "$if vec > 0\na\n$elif vec > 1\nb\n$end", kFloat4, "a\n"},
    {"nested", "$if fast\n$if vec == 1\na\n$else\nb\n$end\n$else\nc\n$end", kFloat4, "b\n"},
    {"indented directives", "  $if fast\n    a\n  $end", kFloat4, "    a\n"},
    {"a comment after a directive", "$if fast  // of both\na\n$end // fast", kFloat4, "a\n"},
    {"a range", "$for i in range(vec)\nx${i}\n$end", kFloat4, "x0\nx1\nx2\nx3\n"},
    {"an empty range", "$for i in range(vec - 4)\nx\n$end", kFloat4, ""},
    {"a range below zero", "$for i in range(vec - 9)\nx\n$end", kFloat4, ""},
    {"a list of words", "$for t in (f16, i8)\n${glsl_type(t, 2)}\n$end", kFloat4, "f16vec2\ni8vec2\n"},
    {"a list of numbers", "$for n in (1, vec, 2 * vec)\n${n}\n$end", kFloat4, "1\n4\n8\n"},
    {"loops in loops", "$for i in range(2)\n$for j in range(i + 1)\n${i}${j}\n$end\n$end", kFloat4, "00\n10\n11\n"},
    {"a variable in a condition", "$for t in (f32, f16)\n$if t == dtype\n${t}\n$end\n$end", kHalf1, "f16\n"},
    // ---- includes
    {"include", "$include \"lib/one.glsl\"\nafter", kFloat4, "one 4\nafter\n"},
    {"include of an include", "$include \"lib/two.glsl\"", kFloat4, "one 4\ntwo\n"},
    {"a file is included once", "$include \"lib/one.glsl\"\n$include \"lib/two.glsl\"\n$include \"lib/one.glsl\"", kFloat4,
     "one 4\ntwo\n"},
    {"include in a branch", "$if vec == 1\n$include \"lib/one.glsl\"\n$end\n$include \"lib/two.glsl\"", kFloat4,
     "one 4\ntwo\n"},
    // ---- parts
    {"a part", "$include \"lib/pieces.glsl\" low", kFloat4, "low 4\n\n"},
    {"a part that includes a part", "$include \"lib/pieces.glsl\" high  // and low", kFloat4, "low 4\n\nhigh\n"},
    {"a part is included once", "$include \"lib/pieces.glsl\" low\n$include \"lib/pieces.glsl\" high", kFloat4,
     "low 4\n\nhigh\n"},
    {"the text before the parts", "$include \"lib/pieces.glsl\"\n$include \"lib/pieces.glsl\" low", kFloat4,
     "// A file in parts\nwhole\nlow 4\n\n"},
    // ---- requirements
    {"a requirement that holds", "$require vec == 4\na", kFloat4, "a\n"},
    {"a requirement that fails", "$require vec == 4\na", kHalf1,
     "templates/sample.comp:2:10: error: the template requires vec == 4\n"
     "  hint: exclude the variant in the spec, under require\n"},
    // ---- values that a function cannot take
    {"a workgroup of nothing", "${local_size(vec - 1)}", kHalf1,
     "templates/sample.comp:2:3: error: a workgroup cannot have 0 invocations along a dimension\n"},
    {"a buffer of threes", "${declare(input, vec - 1)}", kFloat4,
     "templates/sample.comp:2:3: error: a buffer is declared with elements of 1, 2 or 4, and 'input' is declared "
     "with 3\n"},
    // ---- lines
    {"carriage returns", "a\r\nb ${vec}\r\n$if fast\r\nc\r\n$end\r", kFloat4, "a\nb 4\nc\n"},
};
// clang-format on

TEST(Render, rows) {
  for (const Row& row : kRows) EXPECT_EQ(filled(row.text, row.id), row.expected) << row.name;
}

// The output's declaration, and those of inputs that it may replace in memory.
TEST(Render, buffers_that_may_share_bytes_say_so) {
  constexpr std::string_view kInPlace = R"yaml(
operator: sample
template: sample.comp
operands:
  input:  {access: read, dtype: f32}
  other:  {access: read, dtype: f32}
  output: {access: write, dtype: f32, in_place: [input]}
grid: [1, 1, 1]
)yaml";
  const auto spec = spec::parse_spec(kInPlace, "specs/sample.yaml");
  ASSERT_TRUE(spec) << to_text(spec.error(), {});
  TemplateSet templates;
  tests::add_template(templates, "sample.comp",
                      "#version 450\n${declare(input)}\n${declare_words(other, 4)}\n${declare_words(output)}\n"
                      "${declare_vectors(other)}\n${declare_vectors(output)}\n");
  const auto parsed = parse_template(*spec, templates);
  ASSERT_TRUE(parsed) << to_text(parsed.error(), {});
  const auto result = render(*parsed, *spec, expand::expand(*spec, 1)->front());
  ASSERT_TRUE(result) << to_text(result.error(), {});
  EXPECT_TEXT(
      result->text,
      "#version 450\n"
      "#extension GL_EXT_spirv_intrinsics : require  // spirv_decorate(20): Aliased\n"
      "layout(set = 0, binding = 0, std430) readonly spirv_decorate(20) buffer InputBuffer { float input_data[]; };\n"
      "layout(set = 0, binding = 1, std430) readonly restrict buffer OtherWords { uvec4 other_words[]; };\n"
      "#extension GL_EXT_spirv_intrinsics : require  // spirv_decorate(20): Aliased\n"
      "layout(set = 0, binding = 2, std430) writeonly spirv_decorate(20) buffer OutputWords { uint output_words[]; "
      "};\n"
      "layout(set = 0, binding = 1, std430) readonly restrict buffer OtherVectors { uvec4 other_vectors[]; };\n"
      "#extension GL_EXT_spirv_intrinsics : require  // spirv_decorate(20): Aliased\n"
      "layout(set = 0, binding = 2, std430) writeonly spirv_decorate(20) buffer OutputVectors { uvec4 "
      "output_vectors[]; };\n");
}

// ---- whole texts ----------------------------------------------------------------------------------------------------

TEST(Render, constants_are_declared_after_the_extensions) {
  const auto result =
      rendered("#extension GL_EXT_control_flow_attributes : require\n// of the kernel\nvoid main() {}", kHalf1);
  ASSERT_TRUE(result);
  EXPECT_TEXT(result->text,
              "#version 450\n"
              "#extension GL_EXT_control_flow_attributes : require\n"
              "// of the kernel\n"
              "layout(constant_id = 0) const uint workgroup = 64u;\n"
              "layout(constant_id = 1) const uint tiles = 2u;\n"
              "layout(constant_id = 2) const uint grain_rows = 1u;\n"
              "layout(constant_id = 4) const bool is_wide = false;\n"
              "layout(constant_id = 5) const uint rest = 0u;\n"
              "void main() {}\n"
              "// f16 buffer 1 false 8 workgroup tiles grain_rows is_wide rest\n");
}

struct Place {
  std::string_view name;
  std::string_view text;
  size_t line;  // where the first declaration stands
};

constexpr Place kPlaces[] = {
    {"nothing but the version", "", 4},  // after the blank line and the comment
    {"code at once", "void main() {}", 2},
    {"block comments", "/* one\n two */ /* three */\nint x;", 4},
    {"code after a comment", "/* one */ int x;", 2},
    {"continued directives", "#define A \\\n  b\nint x;", 4},
    {"before the outermost condition", "#ifdef A\n#ifdef B\nint x;\n#endif\n#endif", 2},
    {"after a closed condition", "#ifdef A\n#define B\n#endif\nint x;", 5},
};

TEST(Render, constants_are_declared_before_the_first_code) {
  for (const Place& place : kPlaces) {
    const auto result = rendered(place.text, kFloat4);
    ASSERT_TRUE(result) << place.name;
    const std::string before = result->text.substr(0, result->text.find("layout(constant_id = 0)"));
    EXPECT_EQ(static_cast<size_t>(std::count(before.begin(), before.end(), '\n')) + 1, place.line) << place.name;
  }
}

std::string origins_of(const Rendered& result) {
  std::string text;
  for (const LineOrigin origin : result.origins)
    text += result.files[origin.file].display + ":" + std::to_string(origin.line) + "\n";
  return text;
}

TEST(Render, every_line_knows_its_origin) {
  const auto result =
      rendered("${extensions()}\n$if fast\n$include \"lib/two.glsl\"\n$for i in range(2)\n  x ${i}\n$end\n$end", kInt8);
  ASSERT_TRUE(result);
  EXPECT_EQ(origins_of(*result),
            "templates/sample.comp:1\n"
            "templates/sample.comp:2\n"
            "templates/sample.comp:2\n"
            "specs/sample.yaml:20\n"
            "specs/sample.yaml:21\n"
            "specs/sample.yaml:22\n"
            "specs/sample.yaml:23\n"
            "specs/sample.yaml:23\n"
            "templates/lib/one.glsl:1\n"
            "templates/lib/two.glsl:2\n"
            "templates/sample.comp:6\n"
            "templates/sample.comp:6\n"
            "templates/sample.comp:9\n");
  EXPECT_EQ(static_cast<size_t>(std::count(result->text.begin(), result->text.end(), '\n')), result->origins.size());
}

TEST(Render, files_are_the_template_and_what_it_includes) {
  const auto parsed = parse_template(rig().spec, templates_of("$include \"lib/two.glsl\""));
  ASSERT_TRUE(parsed);
  EXPECT_THAT(parsed->files(),
              testing::ElementsAre("templates/lib/one.glsl", "templates/lib/two.glsl", "templates/sample.comp"));
}

TEST(Render, parts_have_the_lines_of_their_file) {
  const auto parsed = parse_template(rig().spec, templates_of("$include \"lib/pieces.glsl\" high"));
  ASSERT_TRUE(parsed);
  EXPECT_THAT(parsed->files(), testing::ElementsAre("templates/lib/pieces.glsl", "templates/sample.comp"));
  const auto result = render(*parsed, rig().spec, variant(kFloat4));
  ASSERT_TRUE(result);
  EXPECT_THAT(origins_of(*result), testing::HasSubstr("templates/lib/pieces.glsl:4\n"
                                                      "templates/lib/pieces.glsl:5\n"
                                                      "templates/lib/pieces.glsl:8\n"
                                                      "templates/sample.comp:3\n"));
}

TEST(Render, a_byte_order_mark_is_no_part_of_a_template) {
  TemplateSet templates = templates_of("a ${vec}");
  const auto plain = parse_template(rig().spec, templates);
  templates["sample.comp"].text.insert(0, "\xef\xbb\xbf");
  const auto marked = parse_template(rig().spec, templates);
  ASSERT_TRUE(plain && marked);
  const auto& any = rig().variants.front();
  EXPECT_EQ(render(*marked, rig().spec, any)->text, render(*plain, rig().spec, any)->text);
}

TEST(Render, a_missing_template_says_where_it_was_looked_for) {
  const std::vector<std::string> roots = {"templates", "/usr/share/more"};
  const auto parsed = parse_template(rig().spec, templates_of("$include \"lib/grid.glsl\""), roots);
  ASSERT_FALSE(parsed);
  EXPECT_TEXT(to_text(parsed.error(), {}),
              "templates/sample.comp:2:11: error: there is no template 'lib/grid.glsl'\n"
              "  hint: did you mean 'lib/one.glsl'?\n"
              "  searched below templates, /usr/share/more; --templates DIR names one more, such as the "
              "share/qgen/templates of an installed qgen\n");
}

TEST(Render, a_large_problem_is_a_buffer) {
  std::string text(kSpec);
  text.replace(text.find("u32[4]"), 6, "u32[32]");
  const auto spec = spec::parse_spec(text, "specs/sample.yaml");
  ASSERT_TRUE(spec);
  const auto parsed = parse_template(*spec, templates_of("${declare_problem()}"));
  ASSERT_TRUE(parsed);
  EXPECT_THAT(render(*parsed, *spec, variant(kFloat4))->text,
              testing::AllOf(testing::HasSubstr("#extension GL_EXT_scalar_block_layout : require\n"),
                             testing::HasSubstr("layout(set = 0, binding = 3, std430) uniform ProblemBuffer { "
                                                "uint numel; int first; float scale; uint sizes[32]; } problem;\n")));
}

TEST(Render, words_of_the_problem_are_constants) {
  std::string text(kSpec);
  text.replace(text.find("u32[4]"), 6, "{words: [near, to_zero]}");
  const auto spec = spec::parse_spec(text, "specs/sample.yaml");
  ASSERT_TRUE(spec);
  const auto parsed =
      parse_template(*spec, templates_of("${declare_problem()}\nif (problem.sizes == kSizesToZero) {}"));
  ASSERT_TRUE(parsed);
  const auto result = render(*parsed, *spec, variant(kFloat4));
  EXPECT_THAT(result->text, testing::HasSubstr("float scale; uint sizes; } problem;\n"
                                               "const uint kSizesNear = 0u, kSizesToZero = 1u;\n"
                                               "if (problem.sizes == kSizesToZero) {}\n"));
}

TEST(Render, a_text_past_its_bound_is_refused) {
  const std::string wide(5000, 'x');
  const auto result = rendered("$for i in range(1024)\n" + wide + "\n$end", kFloat4);
  ASSERT_FALSE(result);
  EXPECT_TEXT(to_text(result.error(), {}),
              "templates/sample.comp: error: the rendered text exceeds 4 MiB, or takes more than 1048576 steps\n");
}

TEST(Render, deep_includes_are_refused) {
  TemplateSet templates = templates_of("$include \"0.glsl\"");
  for (int i = 0; i < 20; ++i) {
    tests::add_template(templates, std::to_string(i) + ".glsl", "$include \"" + std::to_string(i + 1) + ".glsl\"\n");
  }
  tests::add_template(templates, "20.glsl", "");
  const auto parsed = parse_template(rig().spec, templates);
  ASSERT_FALSE(parsed);
  EXPECT_THAT(to_text(parsed.error(), {}),
              testing::StartsWith("templates/14.glsl:1:11: error: includes are nested deeper than 16\n"));
}

TEST(Render, deep_blocks_are_refused) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "$if fast\n";
  const auto result = rendered(text, kFloat4);
  ASSERT_FALSE(result);
  EXPECT_TEXT(to_text(result.error(), {}), "templates/sample.comp:66:1: error: blocks are nested deeper than 64\n");
}

// ---- blame ----------------------------------------------------------------------------------------------------------

TEST(Blame, the_whole_text_has_no_line) {
  const auto result = rendered("void main() {}", kFloat4);
  EXPECT_TEXT(to_text(blame(*result, 0, "no entry point"), {}), "templates/sample.comp: error: no entry point\n");
  EXPECT_TEXT(to_text(blame(*result, 99, "unexpected end"), {}),
              "templates/sample.comp: error: unexpected end (at the end of the text)\n");
}

TEST(Blame, one_fault_is_one_report) {
  const auto error_at = [](uint32_t line, std::string message) {
    Diagnostic diagnostic;
    diagnostic.where = {"a.comp", line, 0, 0};
    diagnostic.message = std::move(message);
    return diagnostic;
  };
  const std::vector<VariantErrors> variants{
      {"op.b", "vec=4", {error_at(7, "shared"), error_at(3, "mine")}},
      {"op.a", "", {error_at(7, "shared")}},
      {"op.c", "vec=8", {error_at(7, "shared")}},
  };
  EXPECT_TEXT(to_text(gather(variants), {}),
              "a.comp:3: error: mine\n"
              "  in variant op.b (vec=4)\n"
              "a.comp:7: error: shared\n"
              "  in variant op.a, and in 2 more\n");
}

}  // namespace
}  // namespace qgen::render
