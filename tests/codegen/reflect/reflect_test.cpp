// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "codegen/compile/compile.h"
#include "codegen/reflect/interface.h"
#include "tests/codegen/compile/shaders.h"
#include "tests/support/expected_text.h"

namespace qgen::reflect {
namespace {

using compile::Optimization;

std::vector<uint32_t> spirv_of(std::string_view glsl, compile::Options options = Optimization::performance) {
  const auto spirv = compile::compile(glsl, options);
  if (spirv) return *spirv;
  ADD_FAILURE() << spirv.error().front().line << ": " << spirv.error().front().text;
  return {};
}

std::string reflected(const std::vector<uint32_t>& spirv) {
  const auto interface = reflect(spirv);
  return interface ? to_text(*interface) : to_text(interface.error(), {});
}

struct Whole {
  std::string_view name;
  std::string_view glsl;
  std::string_view expected;
};

// clang-format off
constexpr Whole kWholes[] = {
    {"reduce", tests::kReduce, R"(binding 0.0 storage_buffer read InputBuffer
binding 0.1 storage_buffer write OutputBuffer
push constants, 28 bytes
       0 numel: u32
       4 zero_point: i32
       8 scale: f32
      12 sizes: u32[4]
specialization 0 workgroup = 64
specialization 2 rows = 2
workgroup 64x1x1
shared 128 bytes
needs storage_buffer_8bit, subgroup_basic, subgroup_arithmetic
)"},
    {"texture", tests::kTexture, R"(binding 0.0 storage_image read input_image
binding 0.1 storage_image write output_image
binding 0.2 uniform_buffer read Table
       0 scale: other
binding 0.3 storage_buffer read ProblemBuffer
       0 width: u32
       4 bias: f32[8]
binding 0.4 storage_buffer read_write CountBuffer
workgroup 4x4x2
shared 0 bytes
needs nothing
)"},
    {"cooperative", tests::kCooperative, R"(binding 0.0 storage_buffer read ABuffer
binding 0.1 storage_buffer read BBuffer
binding 0.2 storage_buffer write COutBuffer
push constants, 4 bytes
       0 k: u32
specialization 0 columns = 16
workgroup 32x1x1
shared 512 bytes
cooperative_matrix 16x16x32 i8 * i8 + i32 -> i32 of a subgroup
needs shader_int8, storage_buffer_8bit, vulkan_memory_model, cooperative_matrix
)"},
    {"cooperative2", tests::kCooperative2, R"(binding 0.0 storage_buffer read ABuffer
binding 0.1 storage_buffer read BBuffer
binding 0.2 storage_buffer write COutBuffer
push constants, 12 bytes
       0 m: u32
       4 n: u32
       8 k: u32
workgroup 128x1x1
shared 0 bytes
cooperative_matrix 64x64x32 i8 * i8 + i32 -> i32 of a workgroup
needs shader_int8, storage_buffer_8bit, vulkan_memory_model, buffer_device_address, cooperative_matrix, )"
     "cooperative_matrix2_per_element, cooperative_matrix2_tensor_addressing, cooperative_matrix2_block_loads\n"},
    // Two variables at one binding are two views of one buffer.
    {"views", R"(#version 450
layout(local_size_x = 1) in;
layout(set = 0, binding = 0, std430) readonly buffer Words { uvec4 words[]; };
layout(set = 0, binding = 0, std430) readonly buffer Elements { uint elements[]; };
layout(set = 0, binding = 1, std430) writeonly buffer OutputBuffer { uint output_data[]; };
void main() { output_data[0] = words[0].x + elements[5]; }
)",
     R"(binding 0.0 storage_buffer read Words
binding 0.1 storage_buffer write OutputBuffer
workgroup 1x1x1
shared 0 bytes
needs nothing
)"},
};
// clang-format on

TEST(Reflect, whole_interfaces) {
  for (const Whole& whole : kWholes) EXPECT_EQ(reflected(spirv_of(whole.glsl)), whole.expected) << whole.name;
}

TEST(Reflect, optimization_changes_no_interface) {
  for (const Whole& whole : kWholes) {
    EXPECT_EQ(reflected(spirv_of(whole.glsl, Optimization::none)), whole.expected) << whole.name;
    EXPECT_EQ(reflected(spirv_of(whole.glsl, Optimization::size)), whole.expected) << whole.name;
  }
}

TEST(Reflect, a_stripped_module_says_the_same_without_names) {
  const auto named = reflect(spirv_of(tests::kReduce));
  const auto stripped = reflect(compile::strip(spirv_of(tests::kReduce)));
  ASSERT_TRUE(named && stripped);
  EXPECT_EQ(stripped->needs, named->needs);
  EXPECT_EQ(stripped->bindings.size(), named->bindings.size());
  EXPECT_EQ(stripped->push_constants_bytes, named->push_constants_bytes);
}

// ---- one line of an interface ---------------------------------------------------------------------------------------

struct Line {
  std::string_view name;
  std::string_view globals;
  std::string_view body;
  std::string_view expected;  // a line of the text form, or of the diagnostic
};

constexpr std::string_view kExtensions =
    "#extension GL_EXT_shader_explicit_arithmetic_types : require\n"
    "#extension GL_KHR_cooperative_matrix : require\n"
    "#extension GL_KHR_memory_scope_semantics : require\n"
    "#extension GL_EXT_shader_8bit_storage : require\n"
    "#extension GL_EXT_shader_16bit_storage : require\n"
    "#extension GL_EXT_null_initializer : enable\n";

std::string shader(std::string_view globals, std::string_view body) {
  std::string text = "#version 450\n" + std::string(kExtensions);
  if (globals.find("local_size") == globals.npos) text += "layout(local_size_x = 1) in;\n";
  return text + std::string(globals) + "\nvoid main() {\n" + std::string(body) + "\n}\n";
}

constexpr std::string_view kPlain = "layout(binding = 0) buffer Data { uint data[]; };";

// clang-format off
constexpr Line kLines[] = {
    // For a buffer without readonly or writeonly, the code decides.
    {"only read", "layout(binding = 0) buffer A { uint a[]; }; layout(binding = 1) buffer B { uint b[]; };", "b[0] = a[1];",
     "binding 0.0 storage_buffer read A"},
    {"only written", "layout(binding = 0) buffer A { uint a[]; }; layout(binding = 1) buffer B { uint b[]; };",
     "b[0] = a[1];", "binding 0.1 storage_buffer write B"},
    {"read and written", kPlain, "data[0] += 1u;", "binding 0.0 storage_buffer read_write Data"},
    {"atomics are both", kPlain, "atomicMax(data[3], 1u);", "binding 0.0 storage_buffer read_write Data"},
    {"image without a word", "layout(binding = 0, rgba32f) uniform image3D picture;",
     "imageStore(picture, ivec3(0), vec4(1));", "binding 0.0 storage_image write picture"},
    {"image with atomics", "layout(binding = 0, r32ui) uniform uimage3D picture;",
     "imageAtomicAdd(picture, ivec3(0), 1u);", "binding 0.0 storage_image read_write picture"},
    {"set", "layout(set = 2, binding = 7) buffer Data { uint data[]; };", "data[0] = 1u;",
     "binding 2.7 storage_buffer write Data"},
    // Workgroup memory, by std430.
    {"vec3 is padded", "shared vec3 s[4]; shared float t;", "s[0] = vec3(1); t = s[1].x; s[2].x = t;", "shared 68 bytes"},
    {"bytes", "shared int8_t s[5]; shared uint t;", "s[0] = int8_t(1); t = uint(s[1]); s[2] = int8_t(t);",
     "shared 12 bytes"},
    {"structures", "struct P { uint8_t a; uvec2 b; uint8_t c; }; shared P s[2];", "s[0].b = s[1].b;", "shared 48 bytes"},
    {"length by specialization", "layout(constant_id = 1) const uint n = 6u; shared uint s[(n * 3u + 2u) % 64u << 1];",
     "s[0] = s[1];", "shared 160 bytes"},
    {"length by a choice", "layout(constant_id = 1) const bool wide = true; shared uint s[wide ? 32 : 8];", "s[0] = s[1];",
     "shared 128 bytes"},
    {"a boolean constant", "layout(constant_id = 1) const bool wide = true; shared uint s[wide ? 32 : 8];", "s[0] = s[1];",
     "specialization 1 wide = 1"},
    {"nothing shared", kPlain, "data[0] = 1u;", "shared 0 bytes"},
    // Workgroup sizes.
    {"three literal sides", "layout(local_size_x = 4, local_size_y = 3, local_size_z = 2) in;", "", "workgroup 4x3x2"},
    {"specialized sides", "layout(local_size_x = 8, local_size_x_id = 0, local_size_y = 2, local_size_y_id = 4) in;", "",
     "workgroup 8x2x1"},
    // Needs.
    {"dot product",
     "#extension GL_EXT_integer_dot_product : require\nlayout(binding = 0) buffer Data { int data[]; };",
     "data[0] = dotPacked4x8EXT(data[1], data[2]);", "needs integer_dot_product"},
    {"half floats", "layout(binding = 0) buffer Data { float16_t data[]; };", "data[0] += data[1];",
     "needs shader_float16, storage_buffer_16bit"},
    {"a sum of bytes in a subgroup",
     "#extension GL_KHR_shader_subgroup_arithmetic : require\n#extension GL_EXT_shader_subgroup_extended_types_int8 : "
     "require\nlayout(binding = 0) buffer Data { int8_t data[]; };",
     "data[0] = subgroupAdd(data[gl_LocalInvocationIndex]);",
     "needs shader_int8, storage_buffer_8bit, subgroup_basic, subgroup_arithmetic, subgroup_extended_types"},
    {"a vote about halves",
     "#extension GL_KHR_shader_subgroup_vote : require\n#extension GL_EXT_shader_subgroup_extended_types_float16 : "
     "require\nlayout(binding = 0) buffer Data { float16_t data[]; };",
     "if (subgroupAllEqual(data[gl_LocalInvocationIndex])) data[0] = data[1] + data[2];",
     "needs shader_float16, storage_buffer_16bit, subgroup_basic, subgroup_vote, subgroup_extended_types"},
    {"a vote about words",
     "#extension GL_KHR_shader_subgroup_vote : require\nlayout(binding = 0) buffer Data { uint data[]; };",
     "if (subgroupAllEqual(data[gl_LocalInvocationIndex])) data[0] = data[1];", "needs subgroup_basic, subgroup_vote"},
    // Cooperative matrices that are never multiplied.
    {"a matrix that is only moved", kPlain,
     "coopmat<uint, gl_ScopeSubgroup, 8, 16, gl_MatrixUseB> m; coopMatLoad(m, data, 0, 16, 0); coopMatStore(m, data, 0, "
     "16, 0);",
     "cooperative_matrix anyx16x8 u32 * u32 + u32 -> u32 of a subgroup"},
    {"a converted accumulator", "layout(binding = 0) buffer Data { float data[]; };",
     "coopmat<int, gl_ScopeSubgroup, 8, 8, gl_MatrixUseAccumulator> m = coopmat<int, gl_ScopeSubgroup, 8, 8, "
     "gl_MatrixUseAccumulator>(3); coopMatStore(coopmat<float, gl_ScopeSubgroup, 8, 8, gl_MatrixUseAccumulator>(m), data, "
     "0, 8, 0);",
     "cooperative_matrix 8x8xany f32 * f32 + f32 -> f32 of a subgroup"},
    // Modules that qgen refuses.
    {"sampler", "layout(binding = 0) uniform sampler2D picture; layout(binding = 1) buffer Data { vec4 data[]; };",
     "data[0] = texelFetch(picture, ivec2(0), 0);",
     "error: 'picture' is a combined image and sampler, which qgen cannot bind"},
    {"array of bindings", "layout(binding = 0) buffer Data { uint data[]; } all[2];", "all[0].data[0] = all[1].data[0];",
     "error: 'Data' is an array of bindings, which qgen cannot bind"},
    {"an unknown capability",
     "#extension GL_EXT_shader_realtime_clock : require\nlayout(binding = 0) buffer Data { uvec2 data[]; };",
     "data[0] = clockRealtime2x32EXT();",
     "error: the module needs the SPIR-V capability ShaderClockKHR (5055), which qgen does not know as a feature"},
};
// clang-format on

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Reflect, lines) {
  for (const Line& line : kLines) {
    // Unoptimised: memory that a test only pretends to use is still there.
    const std::string text = reflected(spirv_of(shader(line.globals, line.body), Optimization::none));
    EXPECT_THAT(lines_of(text), testing::Contains(line.expected)) << line.name;
  }
}

// ---- specialization -------------------------------------------------------------------------------------------------

struct Specialized {
  uint32_t workgroup;
  uint32_t rows;
  uint32_t shared_bytes;
};

TEST(Reflect, specialization_moves_workgroup_and_shared_memory) {
  const auto spirv = spirv_of(tests::kReduce);
  for (const Specialized& row : {Specialized{64, 2, 128}, {128, 2, 256}, {256, 1, 256}, {32, 0, 0}}) {
    const uint32_t ids[] = {0, 2};
    const uint32_t values[] = {row.workgroup, row.rows};
    const auto resources = resources_with(spirv, ids, values);
    ASSERT_TRUE(resources) << to_text(resources.error(), {});
    EXPECT_EQ(resources->workgroup, (std::array<uint32_t, 3>{row.workgroup, 1, 1}));
    EXPECT_EQ(resources->shared_bytes, row.shared_bytes);
  }
}

TEST(Reflect, specialization_moves_the_shapes_of_matrices) {
  const auto spirv = spirv_of(
      shader("layout(constant_id = 0) const uint side = 16u; const uint half_side = side / 2u; "
             "layout(binding = 0) buffer Data { uint data[]; };",
             "coopmat<uint, gl_ScopeSubgroup, side, half_side, gl_MatrixUseB> m; coopMatLoad(m, data, 0, 16, 0); "
             "coopMatStore(m, data, 0, 16, 0);"));
  const uint32_t ids[] = {0};
  for (const uint32_t side : {16u, 8u}) {
    const uint32_t values[] = {side};
    const auto resources = resources_with(spirv, ids, values);
    ASSERT_TRUE(resources) << to_text(resources.error(), {});
    ASSERT_EQ(resources->cooperative_matrices.size(), 1u);
    const CooperativeMatrixShape& shape = resources->cooperative_matrices[0];
    EXPECT_EQ(shape.k, side);
    EXPECT_EQ(shape.n, side / 2);
  }
}

TEST(Reflect, specialization_survives_stripping) {
  const uint32_t ids[] = {0};
  const uint32_t values[] = {256};
  const auto resources = resources_with(compile::strip(spirv_of(tests::kReduce)), ids, values);
  ASSERT_TRUE(resources);
  EXPECT_EQ(resources->workgroup[0], 256u);
  EXPECT_EQ(resources->shared_bytes, 512u);
}

TEST(Reflect, an_array_length_past_four_gigabytes_is_refused) {
  const auto spirv = spirv_of(shader("layout(constant_id = 1) const uint n = 6u; shared uint s[n];", "s[0] = s[1];"),
                              Optimization::none);
  const uint32_t ids[] = {1};
  const uint32_t values[] = {0xffffffffu};
  const auto resources = resources_with(spirv, ids, values);
  ASSERT_FALSE(resources);
  EXPECT_TEXT(to_text(resources.error(), {}),
              "error: the size of a shared variable is not integer arithmetic over constants, or exceeds 4 GiB\n");
}

// ---- other languages ------------------------------------------------------------------------------------------------

TEST(Translate, plain_modules_have_both_languages) {
  const auto msl = translate(spirv_of(tests::kTexture), Language::msl);
  ASSERT_TRUE(msl) << msl.error().reason;
  EXPECT_THAT(*msl, testing::HasSubstr("kernel void main0("));
  const auto hlsl = translate(spirv_of(tests::kTexture), Language::hlsl);
  ASSERT_TRUE(hlsl) << hlsl.error().reason;
  EXPECT_THAT(*hlsl, testing::HasSubstr("[numthreads(4, 4, 2)]"));
}

// Of a buffer that is seen as two types, both have to say so.
TEST(Reflect, bytes_may_be_shared_where_every_view_is_aliased) {
  constexpr std::string_view kHead = "#version 450\n#extension GL_EXT_spirv_intrinsics : require\n";
  constexpr std::string_view kWords =
      "layout(set = 0, binding = 0, std430) spirv_decorate(20) buffer W { uint words[]; };\n";
  constexpr std::string_view kMain = "layout(local_size_x = 1) in;\nvoid main() { words[0] = uint(pairs[0].x); }\n";
  for (const bool is_aliased : {true, false}) {
    const std::string pairs = fmt::format("layout(set = 0, binding = 0, std430) {}buffer P {{ vec2 pairs[]; }};\n",
                                          is_aliased ? "spirv_decorate(20) " : "restrict ");
    const auto interface = reflect(spirv_of(fmt::format("{}{}{}{}", kHead, kWords, pairs, kMain)));
    ASSERT_TRUE(interface) << to_text(interface.error(), {});
    ASSERT_EQ(interface->bindings.size(), 1U);
    EXPECT_EQ(interface->bindings[0].is_aliased, is_aliased);
  }
}

TEST(Translate, a_large_problem_is_a_buffer_in_hlsl) {
  constexpr std::string_view kGlsl = R"(#version 450
#extension GL_EXT_scalar_block_layout : require
layout(local_size_x = 1) in;
layout(set = 0, binding = 0, std430) writeonly restrict buffer OutputBuffer { uint output_data[]; };
layout(set = 0, binding = 1, std430) uniform ProblemBuffer { uint sides[40]; } problem;
void main() { output_data[0] = problem.sides[3]; }
)";
  const auto hlsl = translate(spirv_of(kGlsl), Language::hlsl);
  ASSERT_TRUE(hlsl) << hlsl.error().reason;
  EXPECT_THAT(*hlsl, testing::ContainsRegex("\nByteAddressBuffer problem"));
  EXPECT_THAT(*hlsl, testing::HasSubstr("problem.Load<uint>(12)"));
}

TEST(Translate, a_module_past_the_language_has_a_reason) {
  for (const std::string_view glsl : {tests::kCooperative, tests::kCooperative2}) {
    for (const Language language : {Language::msl, Language::hlsl}) {
      const auto translated = translate(spirv_of(glsl), language);
      ASSERT_FALSE(translated);
      EXPECT_FALSE(translated.error().reason.empty());
    }
  }
}

// ---- damage ---------------------------------------------------------------------------------------------------------

// Whatever the words, there is an answer or a reason; run under ASan and UBSan in CI.
void look_at(const std::vector<uint32_t>& spirv) {
  const auto interface = reflect(spirv);
  if (interface) EXPECT_FALSE(to_text(*interface).empty());
  else EXPECT_FALSE(interface.error().empty());
  const uint32_t ids[] = {0, 2};
  const uint32_t values[] = {128, 4};
  (void)resources_with(spirv, ids, values);
}

TEST(Damage, flipped_words) {
  std::mt19937 random(1);
  for (const Whole& whole : kWholes) {
    const auto spirv = spirv_of(whole.glsl);
    for (size_t at = 0; at < spirv.size(); ++at) {
      auto damaged = spirv;
      damaged[at] ^= 1u << random() % 32;
      look_at(damaged);
      damaged[at] = static_cast<uint32_t>(random());
      look_at(damaged);
      damaged[at] = spirv[random() % spirv.size()];
      look_at(damaged);
    }
  }
}

TEST(Damage, truncated_modules) {
  const auto spirv = spirv_of(tests::kReduce);
  for (size_t size = 0; size < spirv.size(); ++size) {
    const std::vector<uint32_t> cut(spirv.begin(), spirv.begin() + static_cast<ptrdiff_t>(size));
    look_at(cut);
  }
}

TEST(Damage, random_words_after_a_good_header) {
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    std::vector<uint32_t> words{0x07230203, 0x00010600, 0, 64, 0};
    for (int i = 0; i < 200; ++i) words.push_back((1u + random() % 5u) << 16 | random() % 400u);
    look_at(words);
  }
}

TEST(Damage, is_said_in_words) {
  EXPECT_TEXT(reflected({}), "error: the SPIR-V is damaged: it ends within the header\n");
  EXPECT_TEXT(reflected({1, 2, 3, 4, 5}), "error: the SPIR-V is damaged: it starts with 0x00000001\n");
  auto spirv = spirv_of(tests::kReduce);
  spirv.resize(spirv.size() - 1);
  spirv.push_back(0xffff0000);
  EXPECT_THAT(reflected(spirv), testing::StartsWith("error: the SPIR-V is damaged: the instruction at word "));
}

// A workgroup's size is a constant before SPIR-V 1.6, and an execution mode since.
TEST(Reflect, ModulesOfEveryVersionOfVulkanHaveOneInterface) {
  for (const std::string_view glsl : {tests::kReduce, tests::kTexture, tests::kCooperative}) {
    const std::string newest = reflected(spirv_of(glsl));
    for (const auto target : {compile::Target::vulkan1_1, compile::Target::vulkan1_2}) {
      EXPECT_EQ(reflected(spirv_of(glsl, {Optimization::performance, target})), newest);
    }
  }
  const std::vector<std::vector<uint32_t>> rows = {{64, 2}, {256, 2}};
  const compile::Options oldest(Optimization::performance, compile::Target::vulkan1_1);
  const auto older = resources_of_rows(spirv_of(tests::kReduce, oldest), rows);
  const auto newer = resources_of_rows(spirv_of(tests::kReduce), rows);
  ASSERT_TRUE(older && newer);
  EXPECT_EQ(older->at(1).workgroup, newer->at(1).workgroup);
  EXPECT_EQ(older->at(1).shared_bytes, newer->at(1).shared_bytes);
}

}  // namespace
}  // namespace qgen::reflect
