// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Modules in older versions of SPIR-V, checked by the validator of Vulkan 1.1 and 1.2: kernels of the tests, each about
// one rewriting, and all shipped ones.
#include "runtime/engine/library/older_spirv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <spirv-tools/libspirv.hpp>
#include <string>

#include "codegen/compile/compile.h"
#include "common/sanitizers.h"
#include "registry.h"
#include "runtime/engine/library/kernel_library.h"

namespace qgen {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Version {
  const char* name;
  uint32_t spirv;
  spv_target_env environment;
};
constexpr Version kVersions[] = {
    {"Vulkan 1.1", kSpirv1_3, SPV_ENV_VULKAN_1_1},
    {"Vulkan 1.1 with SPIR-V 1.4", kSpirv1_4, SPV_ENV_VULKAN_1_1_SPIRV_1_4},
    {"Vulkan 1.2", kSpirv1_5, SPV_ENV_VULKAN_1_2},
};

// Empty: it is valid.
std::string fault_of(const std::vector<uint32_t>& module, const Version& version, bool has_uniform_layout = true) {
  std::string fault;
  spvtools::SpirvTools tools(version.environment);
  tools.SetMessageConsumer([&](spv_message_level_t, const char*, const spv_position_t&, const char* text) {
    fault += std::string(fault.empty() ? "" : "; ") + text;
  });
  spvtools::ValidatorOptions options;
  options.SetUniformBufferStandardLayout(has_uniform_layout);
  if (!tools.Validate(module.data(), module.size(), options) && fault.empty()) fault = "it is not valid";
  return fault;
}

std::string text_of(const std::vector<uint32_t>& module) {
  std::string text;
  spvtools::SpirvTools(SPV_ENV_UNIVERSAL_1_6).Disassemble(module, &text, SPV_BINARY_TO_TEXT_OPTION_NO_HEADER);
  return text;
}

std::vector<uint32_t> compiled(const std::string& glsl, compile::Optimization optimization) {
  auto module = compile::compile("#version 460\n" + glsl, optimization);
  if (!module) {
    ADD_FAILURE() << module.error().front().text;
    return {};
  }
  return compile::strip(*module);
}

struct Case {
  const char* name;
  const char* glsl;
  const char* has;  // of the module in SPIR-V 1.3
  const char* has_no;
};
constexpr Case kCases[] = {
    {"a workgroup by specialization", R"(
layout(local_size_x_id = 0, local_size_y = 2) in;
layout(binding = 0) buffer Y { uint y[]; };
void main() { y[gl_GlobalInvocationID.x] = 1; })",
     "BuiltIn WorkgroupSize", "LocalSizeId"},
    {"a workgroup that the shader reads", R"(
layout(local_size_x_id = 0) in;
layout(binding = 0) buffer Y { uint y[]; };
void main() { y[gl_LocalInvocationIndex] = gl_WorkGroupSize.x; })",
     "BuiltIn WorkgroupSize", "LocalSizeId"},
    {"bytes", R"(
#extension GL_EXT_shader_8bit_storage : require
layout(local_size_x = 64) in;
layout(binding = 0) buffer X { int8_t x[]; };
layout(binding = 1) buffer Y { int y[]; };
void main() { y[gl_LocalInvocationIndex] = int(x[gl_LocalInvocationIndex]); })",
     "SPV_KHR_8bit_storage", "LocalSizeId"},
    {"a dot product", R"(
#extension GL_EXT_integer_dot_product : require
layout(local_size_x = 64) in;
layout(binding = 0) buffer X { int x[]; };
void main() { x[gl_LocalInvocationIndex] = dotPacked4x8EXT(x[0], x[1]); })",
     "SPV_KHR_integer_dot_product", "LocalSizeId"},
    {"a copy of a struct whose layout changes", R"(
layout(local_size_x = 64) in;
struct Shape { uint sides[3]; vec2 scale; };
layout(binding = 0, std430) buffer X { Shape x[]; };
layout(binding = 1) uniform B { Shape shape; };
void main() { x[gl_LocalInvocationIndex] = shape; })",
     "OpCompositeExtract", "OpCopyLogical"},
    {"a choice between vectors by one condition", R"(
layout(local_size_x = 64) in;
layout(binding = 0) buffer X { vec4 x[]; };
void main() {
  const vec4 a = x[gl_LocalInvocationIndex], b = x[gl_LocalInvocationIndex + 64];
  x[gl_LocalInvocationIndex] = a.x < b.x ? a : b;
})",
     "OpSelect", "LocalSizeId"},
    {"a choice between structs", R"(
layout(local_size_x = 64) in;
struct Pair { vec2 a; int b[2]; };
layout(binding = 0) buffer X { Pair x[]; };
void main() {
  const Pair a = x[gl_LocalInvocationIndex], b = x[gl_LocalInvocationIndex + 64];
  x[gl_LocalInvocationIndex] = a.b[1] < b.b[0] ? a : b;
})",
     "OpCompositeConstruct", "OpCopyLogical"},
    {"texels of integers", R"(
layout(local_size_x = 64) in;
layout(binding = 0, rgba8i) uniform readonly iimage3D x;
layout(binding = 1, rgba8i) uniform writeonly iimage3D y;
void main() { imageStore(y, ivec3(gl_GlobalInvocationID), imageLoad(x, ivec3(gl_GlobalInvocationID))); })",
     "OpImageWrite", "SignExtend"},
    {"a table that nobody writes", R"(
layout(local_size_x = 64) in;
layout(binding = 0) buffer X { uint x[]; };
const uint kTable[4] = {3, 1, 4, 1};
void main() { x[gl_LocalInvocationIndex] = kTable[x[gl_LocalInvocationIndex] & 3]; })",
     "OpEntryPoint", "NonWritable"},
    {"a hint about a loop", R"(
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x = 64) in;
layout(binding = 0) buffer X { uint x[]; };
layout(push_constant) uniform P { uint count; };
void main() {
  [[min_iterations(2), unroll]] for (uint i = 0; i < count; ++i) x[i * 64 + gl_LocalInvocationIndex] += i;
})",
     "OpLoopMerge", "MinIterations"},
    {"the memory model of Vulkan", R"(
#extension GL_KHR_memory_scope_semantics : require
#pragma use_vulkan_memory_model
layout(local_size_x = 64) in;
layout(binding = 0) workgroupcoherent buffer X { uint x[]; };
void main() { atomicAdd(x[0], x[gl_LocalInvocationIndex]); })",
     "SPV_KHR_vulkan_memory_model", "LocalSizeId"},
};

TEST(OlderSpirvTest, IsValidInEachVersion) {
  for (const Case& row : kCases) {
    for (const auto optimization : {compile::Optimization::none, compile::Optimization::performance}) {
      const std::vector<uint32_t> module = compiled(row.glsl, optimization);
      for (const Version& version : kVersions) {
        const auto older = older_spirv(module, version.spirv);
        ASSERT_TRUE(older) << row.name << ": " << older.error().message;
        EXPECT_EQ((*older)[1], version.spirv);
        EXPECT_EQ(fault_of(*older, version), "") << row.name << " for " << version.name << "\n" << text_of(*older);
        if (version.spirv != kSpirv1_3) continue;
        EXPECT_THAT(text_of(*older), HasSubstr(row.has)) << row.name;
        EXPECT_THAT(text_of(*older), Not(HasSubstr(row.has_no))) << row.name;
      }
    }
  }
}

TEST(OlderSpirvTest, IsOfTheVersionThatTheDeviceReads) {
  const auto vulkan = [](uint32_t minor) { return 1U << 22 | minor << 12; };
  EXPECT_EQ(spirv_version(vulkan(1), 0), kSpirv1_3);
  EXPECT_EQ(spirv_version(vulkan(1), bit(Feature::shared_memory_explicit_layout_8bit)), kSpirv1_4);
  EXPECT_EQ(spirv_version(vulkan(2), 0), kSpirv1_5);
  EXPECT_EQ(spirv_version(vulkan(3) + 230, 0), kSpirv1_6);
  EXPECT_EQ(spirv_version(vulkan(4), 0), kSpirv1_6);
}

TEST(OlderSpirvTest, BindsUniformBlocksAsStorageBuffers) {
  const std::vector<uint32_t> module = compiled(R"(
#extension GL_EXT_scalar_block_layout : require
layout(local_size_x_id = 0) in;
layout(binding = 0) buffer X { uint x[]; };
layout(binding = 1, std430) uniform B { uint sizes[6]; };
void main() { x[gl_GlobalInvocationID.x] = sizes[x[0]]; })",
                                                compile::Optimization::performance);
  for (const Version& version : kVersions) {
    const auto uniform = older_spirv(module, version.spirv);
    ASSERT_TRUE(uniform);
    EXPECT_THAT(fault_of(*uniform, version, false), HasSubstr("array with stride 4"));
    const auto storage = older_spirv(module, version.spirv, UniformBlocks::become_storage_buffers);
    ASSERT_TRUE(storage);
    EXPECT_EQ(fault_of(*storage, version, false), "") << version.name;
    EXPECT_THAT(text_of(*storage), Not(HasSubstr("Uniform ")));
  }
  const auto newest = older_spirv(module, kSpirv1_6, UniformBlocks::become_storage_buffers);
  ASSERT_TRUE(newest);
  EXPECT_EQ((*newest)[1], kSpirv1_6);
  EXPECT_THAT(text_of(*newest), HasSubstr("LocalSizeId"));
}

TEST(OlderSpirvTest, LeavesModulesThatAreOldEnough) {
  const std::vector<uint32_t> module = compiled(kCases[0].glsl, compile::Optimization::performance);
  const auto same = older_spirv(module, kSpirv1_6);
  ASSERT_TRUE(same);
  EXPECT_EQ(*same, module);
  const auto older = older_spirv(module, kSpirv1_3);
  ASSERT_TRUE(older);
  const auto again = older_spirv(*older, kSpirv1_5);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *older);
}

TEST(OlderSpirvTest, RefusesWordsThatAreNoModule) {
  const std::vector<uint32_t> module = compiled(kCases[0].glsl, compile::Optimization::none);
  std::vector<uint32_t> other_head = module;
  other_head[0] = 7;
  std::vector<uint32_t> too_many_ids = module;
  too_many_ids[3] = ~0U;
  for (const auto& words : {other_head, too_many_ids, {module.begin(), module.begin() + 3}}) {
    const auto older = older_spirv(words, kSpirv1_3);
    ASSERT_FALSE(older);
    EXPECT_THAT(older.error().message, HasSubstr("the words are no SPIR-V module"));
  }
  // With any damage, they are refused or rewritten; nothing is read outside them.
  for (size_t length = 5; length < module.size(); ++length)
    (void)older_spirv(std::span(module).first(length), kSpirv1_3);
  for (size_t at = 5; at < module.size(); ++at) {
    for (const uint32_t word : {0U, ~0U, module[at] + 1, module[at] ^ 0x10000U}) {
      std::vector<uint32_t> damaged = module;
      damaged[at] = word;
      (void)older_spirv(damaged, kSpirv1_3);
    }
  }
}

TEST(OlderSpirvTest, IsValidForAllShippedModules) {
  const auto library = KernelLibrary::open(generated::library());
  ASSERT_TRUE(library);
  constexpr size_t kEvery = QGEN_SANITIZED ? 50 : 1;  // they make the validator slow
  std::set<uint64_t> seen;
  for (const OperatorInfo* op : library->operators()) {
    for (const KernelInfo& kernel : op->kernels) {
      if (!seen.insert(library->digest(kernel)).second || seen.size() % kEvery != 0) continue;
      const auto module = library->blob().module(kernel.module);
      ASSERT_TRUE(module);
      for (const Version& version : {kVersions[0], kVersions[2]}) {
        const auto older = older_spirv(*module, version.spirv);
        ASSERT_TRUE(older) << kernel.id << ": " << older.error().message;
        EXPECT_EQ(fault_of(*older, version), "") << kernel.id << " for " << version.name;
      }
      const auto barest = older_spirv(*module, kSpirv1_3, UniformBlocks::become_storage_buffers);
      ASSERT_TRUE(barest) << kernel.id << ": " << barest.error().message;
      EXPECT_EQ(fault_of(*barest, kVersions[0], false), "") << kernel.id << " with its block in a storage buffer";
    }
  }
  EXPECT_GT(seen.size(), 1000U);
}

}  // namespace
}  // namespace qgen
