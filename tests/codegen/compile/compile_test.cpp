// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/compile/compile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "tests/codegen/compile/shaders.h"

namespace qgen::compile {
namespace {

std::string to_text(const std::vector<Message>& messages) {
  std::string text;
  for (const Message& message : messages) text += std::to_string(message.line) + ": " + message.text + "\n";
  return text;
}

std::string messages_of(std::string_view glsl) {
  const auto compiled = compile(glsl, Optimization::performance);
  return compiled ? "" : to_text(compiled.error());
}

struct Fault {
  std::string_view name;
  std::string_view glsl;
  std::string_view expected;
};

// clang-format off
constexpr Fault kFaults[] = {
    {"undeclared", "#version 450\nvoid main() {\n  acc += 1;\n}\n", "3: 'acc': undeclared identifier\n"},
    {"syntax", "#version 450\nvoid main() {\n  int i = ;\n}\n", "3: syntax error, unexpected SEMICOLON\n"},
    {"an echo", "#version 450\nvoid main() {\n  float x = unknown[3];\n}\n", "3: 'unknown': undeclared identifier\n"},
    {"types", "#version 450\nvoid main() {\n  ivec2 i = ivec2(0);\n  float x = i;\n}\n",
     "4: '=': cannot convert from '2-component vector of int' to 'float'\n"},
    // glslang assumes 100 and refuses the rest of the text.
    {"no version", "layout(local_size_x = 1) in;\nvoid main() {}\n",
     "0: #version: compute shaders require es profile with version 310 or above, or non-es profile with version 420 "
     "or above\n0: #version: statement must appear first in es-profile shader; before comments or newlines\n"},
    {"no main", "#version 450\nvoid other() {}\n",
     "0: Linking compute stage: Missing entry point: Each stage requires one entry point\n"},
    {"include", "#version 450\n#include \"other.glsl\"\nvoid main() {}\n",
     "2: '#include': required extension not requested: Possible extensions include: GL_GOOGLE_include_directive "
     "GL_ARB_shading_language_include\n"},
    {"error directive", "#version 450\n#error too small\nvoid main() {}\n", "2: '#error': too small\n"},
    {"unknown extension", "#version 450\n#extension GL_NO_such : require\nvoid main() {}\n",
     "2: '#extension': extension not supported: GL_NO_such\n"},
    {"unclosed", "#version 450\nvoid main() {\n", "3: syntax error, unexpected end of file\n"},
    // No capability needs scalar block layout, so it could select no device.
    {"scalar layout",
     "#version 450\n"
     "#extension GL_EXT_scalar_block_layout : require\n"
     "layout(binding = 0, scalar) buffer B { vec3 v[2]; float f; };\n"
     "void main() { f = v[1].x; }\n",
     "0: the SPIR-V validator: Structure id 11 decorated as Block for variable in StorageBuffer storage class must follow "
     "relaxed storage buffer layout rules: member 0 contains an array with stride 12 not satisfying alignment to 16; "
     "%B = OpTypeStruct %_arr_v3float_uint_2 %float\n"},
    // A known fault of glslang 15.1; that it is caught is why the validator is not optional.
    {"type and use of a matrix changed at once",
     "#version 450\n"
     "#extension GL_KHR_cooperative_matrix : require\n"
     "#extension GL_NV_cooperative_matrix2 : require\n"
     "#extension GL_KHR_memory_scope_semantics : require\n"
     "#extension GL_EXT_shader_explicit_arithmetic_types : require\n"
     "layout(local_size_x = 32) in;\n"
     "layout(binding = 0) buffer A { int8_t a_data[]; };\n"
     "layout(binding = 1) buffer C { int c_data[]; };\n"
     "void main() {\n"
     "  coopmat<int8_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> a;\n"
     "  coopMatLoad(a, a_data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);\n"
     "  coopmat<int32_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> c =\n"
     "      coopmat<int32_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(a);\n"
     "  coopMatStore(c, c_data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);\n"
     "}\n",
     "0: the SPIR-V validator: Expected Use of Matrix type and Result Type to be identical; %30 = OpSConvert %26 %22 "
     "(glslang needs two steps: change the matrix's component type first, then its use)\n"},
};
// clang-format on

TEST(Compile, faults_are_placed_and_tidied) {
  for (const Fault& fault : kFaults) EXPECT_EQ(messages_of(fault.glsl), fault.expected) << fault.name;
}

constexpr std::string_view kShaders[] = {tests::kReduce, tests::kTexture, tests::kCooperative, tests::kCooperative2};

TEST(Compile, every_optimization_gives_a_valid_module) {
  for (const std::string_view glsl : kShaders) {
    for (const auto optimization : {Optimization::none, Optimization::size, Optimization::performance}) {
      const auto spirv = compile(glsl, optimization);
      ASSERT_TRUE(spirv) << to_text(spirv.error());
      EXPECT_EQ((*spirv)[0], 0x07230203u);
      EXPECT_EQ((*spirv)[1], 0x00010600u) << "SPIR-V 1.6";
    }
  }
}

TEST(Compile, the_optimiser_makes_modules_smaller) {
  const auto raw = compile(tests::kReduce, Optimization::none);
  EXPECT_LT(compile(tests::kReduce, Optimization::performance)->size(), raw->size());
  EXPECT_LT(compile(tests::kReduce, Optimization::size)->size(), raw->size());
}

TEST(Compile, a_specialization_constant_that_nothing_uses_is_kept) {
  constexpr std::string_view kUnused =
      "#version 450\nlayout(constant_id = 3) const uint unused = 7u;\nlayout(local_size_x = 1) in;\nvoid main() {}\n";
  constexpr uint32_t kOpSpecConstant = 50;
  const auto spirv = compile(kUnused, Optimization::performance);
  ASSERT_TRUE(spirv);
  size_t found = 0;
  for (size_t at = 5; at < spirv->size(); at += (*spirv)[at] >> 16) found += ((*spirv)[at] & 0xffff) == kOpSpecConstant;
  EXPECT_EQ(found, 1u);
}

// Results of floating-point sums and products, and those that must not be contracted.
struct Arithmetic {
  size_t all = 0, exact = 0;
};
Arithmetic arithmetic_of(const Spirv& spirv) {
  constexpr uint32_t kOpDecorate = 71, kNoContraction = 42, kOpFAdd = 129, kOpFMul = 133;
  std::set<uint32_t> exact;
  Arithmetic arithmetic;
  for (size_t at = 5; at < spirv.size(); at += spirv[at] >> 16) {
    const uint32_t opcode = spirv[at] & 0xffff;
    if (opcode == kOpDecorate && spirv[at + 2] == kNoContraction) exact.insert(spirv[at + 1]);
    if (opcode != kOpFAdd && opcode != kOpFMul) continue;
    ++arithmetic.all;
    arithmetic.exact += exact.count(spirv[at + 2]);
  }
  return arithmetic;
}

// Sixteen copies of two operations, in functions, in loops that are unrolled, one within the other.
constexpr std::string_view kExact = R"glsl(#version 450
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Data { float data[]; };
float exact(float x) {
  precise const float product = x * data[16];
  precise const float sum = product + data[17];
  return sum;
}
void main() {
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    [[unroll]] for (uint j = 0u; j < 4u; ++j) data[4u * i + j] = exact(data[4u * i + j]);
  }
}
)glsl";

TEST(Compile, what_is_precise_stays_so_in_every_copy_of_a_loop) {
  for (const auto optimization : {Optimization::size, Optimization::performance}) {
    const auto spirv = compile(kExact, optimization);
    ASSERT_TRUE(spirv) << to_text(spirv.error());
    for (const Spirv& module : {*spirv, strip(*spirv)}) {
      EXPECT_EQ(arithmetic_of(module).all, 32u);
      EXPECT_EQ(arithmetic_of(module).exact, 32u);
    }
  }
}

TEST(Compile, what_is_not_precise_stays_free) {
  std::string text(kExact);
  for (size_t at = text.find("precise "); at != std::string::npos; at = text.find("precise ")) text.erase(at, 8);
  const auto spirv = compile(text, Optimization::performance);
  ASSERT_TRUE(spirv);
  EXPECT_EQ(arithmetic_of(*spirv).all, 32u);
  EXPECT_EQ(arithmetic_of(*spirv).exact, 0u);
}

bool has_names(const Spirv& spirv) {
  constexpr uint32_t kOpName = 5, kOpMemberName = 6, kOpString = 7;
  for (size_t at = 5; at < spirv.size(); at += spirv[at] >> 16) {
    const uint32_t opcode = spirv[at] & 0xffff;
    if (opcode == kOpName || opcode == kOpMemberName || opcode == kOpString) return true;
  }
  return false;
}

TEST(Compile, names_stay_until_they_are_stripped) {
  for (const std::string_view glsl : kShaders) {
    const auto spirv = compile(glsl, Optimization::performance);
    EXPECT_TRUE(has_names(*spirv));
    EXPECT_FALSE(has_names(strip(*spirv)));
  }
}

// Two texts of one meaning: they differ only in names, so the stored modules are equal.
TEST(Compile, modules_that_differ_in_names_strip_to_the_same_words) {
  std::string renamed(tests::kReduce);
  for (size_t at = 0; (at = renamed.find("partial", at)) != std::string::npos; at += 4) renamed.replace(at, 7, "rest");
  const auto original = compile(tests::kReduce, Optimization::performance);
  const auto other = compile(renamed, Optimization::performance);
  ASSERT_TRUE(original && other);
  EXPECT_NE(*original, *other);
  EXPECT_EQ(strip(*original), strip(*other));
}

TEST(Compile, many_threads_give_the_same_words) {
  const auto expected = compile(tests::kReduce, Optimization::performance);
  std::vector<Spirv> found(4);
  std::vector<std::thread> threads;
  for (Spirv& mine : found) {
    threads.emplace_back([&mine] { mine = *compile(tests::kReduce, Optimization::performance); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(found, testing::Each(*expected));
}

TEST(Compile, versions_name_both_libraries) {
  EXPECT_THAT(versions(), testing::StartsWith("glslang 1"));
  EXPECT_THAT(versions(), testing::HasSubstr(", SPIRV-Tools v20"));
}

// SPIR-V's version is its second word.
TEST(Compile, MakesModulesForTheVersionOfVulkan) {
  for (const auto optimization : {Optimization::none, Optimization::size, Optimization::performance}) {
    const auto version = [&](Target target) { return (*compile(tests::kReduce, {optimization, target}))[1]; };
    EXPECT_EQ(version(Target::vulkan1_1), 0x00010300u);
    EXPECT_EQ(version(Target::vulkan1_2), 0x00010500u);
    EXPECT_EQ(version(Target::vulkan1_3), 0x00010600u);
  }
  const auto module = compile(tests::kReduce, {Optimization::performance, Target::vulkan1_1});
  EXPECT_EQ(strip(*module)[1], 0x00010300u);
}

// Vulkan 1.1 has them as an extension, which the text does not declare.
TEST(Compile, DeclaresModesOfFloatingPointForOlderModules) {
  constexpr std::string_view kKeepsSubnormals =
      "#version 450\n#extension GL_EXT_spirv_intrinsics : require\n"
      "spirv_execution_mode(capabilities = [4464], 4459, 16);\n"
      "layout(binding = 0) buffer Words { uint words[]; };\n"
      "void main() { words[0] = floatBitsToUint(unpackHalf2x16(words[1]).x); }\n";
  for (const auto target : {Target::vulkan1_1, Target::vulkan1_2, Target::vulkan1_3}) {
    for (const auto optimization : {Optimization::none, Optimization::size, Optimization::performance}) {
      const auto module = compile(kKeepsSubnormals, {optimization, target});
      EXPECT_TRUE(module) << to_text(module.error());
    }
  }
}

TEST(Compile, RefusesWhatTheVersionOfVulkanLacks) {
  constexpr std::string_view kSharedBlock =
      "#version 450\n#extension GL_EXT_shared_memory_block : require\n"
      "shared Block { uint words[64]; };\nvoid main() { words[0] = 1u; }\n";
  EXPECT_TRUE(compile(kSharedBlock, {Optimization::none, Target::vulkan1_2}));
  const auto refused = compile(kSharedBlock, {Optimization::none, Target::vulkan1_1});
  ASSERT_FALSE(refused);
  EXPECT_THAT(to_text(refused.error()), testing::HasSubstr("requires at least SPIR-V 1.4"));
}

}  // namespace
}  // namespace qgen::compile
