// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <algorithm>
#include <spirv_cross/spirv_hlsl.hpp>
#include <spirv_cross/spirv_msl.hpp>
#include <vector>

#include "codegen/reflect/interface.h"

namespace qgen::reflect {
namespace {

constexpr uint32_t kNumWorkgroupsSpace = 1;

std::string to_msl(std::span<const uint32_t> spirv) {
  spirv_cross::CompilerMSL compiler(spirv.data(), spirv.size());
  spirv_cross::CompilerMSL::Options options;
  options.set_msl_version(3, 0);
  compiler.set_msl_options(options);
  return compiler.compile();
}

// In HLSL, each element of a constant array begins in a separate register, unlike std430. So a uniform buffer becomes a
// storage buffer, with the same bytes as in Vulkan. Returns the variables that did.
std::vector<uint32_t> move_uniforms_to_storage(std::vector<uint32_t>& spirv) {
  constexpr size_t kHeaderWords = 5;
  std::vector<uint32_t> variables;
  for (size_t at = kHeaderWords; at < spirv.size(); at += std::max(spirv[at] >> 16, 1u)) {
    const uint32_t op = spirv[at] & 0xffffu;
    const size_t storage_class = op == spv::OpTypePointer ? at + 2 : op == spv::OpVariable ? at + 3 : 0;
    if (storage_class == 0 || storage_class >= spirv.size()) continue;
    if (spirv[storage_class] != spv::StorageClassUniform) continue;
    spirv[storage_class] = spv::StorageClassStorageBuffer;
    if (op == spv::OpVariable) variables.push_back(spirv[at + 2]);
  }
  return variables;
}

std::string to_hlsl(std::span<const uint32_t> module) {
  std::vector<uint32_t> spirv(module.begin(), module.end());
  const std::vector<uint32_t> problems = move_uniforms_to_storage(spirv);
  spirv_cross::CompilerHLSL compiler(spirv);
  for (const uint32_t problem : problems) compiler.set_decoration(problem, spv::DecorationNonWritable);
  spirv_cross::CompilerHLSL::Options options;
  options.shader_model = 62;
  options.enable_16bit_types = true;
  compiler.set_hlsl_options(options);
  // HLSL does not say how many workgroups there are: the caller does, in the first constants of a space that Vulkan's
  // descriptor sets leave free.
  if (const spirv_cross::VariableID count = compiler.remap_num_workgroups_builtin(); count != 0) {
    compiler.set_decoration(count, spv::DecorationDescriptorSet, kNumWorkgroupsSpace);
    compiler.set_decoration(count, spv::DecorationBinding, 0);
  }
  return compiler.compile();
}

}  // namespace

Outcome<std::string, NoTranslation> translate(std::span<const uint32_t> spirv, Language language) {
  try {
    return language == Language::msl ? to_msl(spirv) : to_hlsl(spirv);
  } catch (const std::exception& exception) {
    return NoTranslation{exception.what()};
  }
}

}  // namespace qgen::reflect
