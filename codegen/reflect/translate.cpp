// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <spirv_cross/spirv_hlsl.hpp>
#include <spirv_cross/spirv_msl.hpp>

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

std::string to_hlsl(std::span<const uint32_t> spirv) {
  spirv_cross::CompilerHLSL compiler(spirv.data(), spirv.size());
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
