// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Checks that the installation of scripts/setup works on this machine.
//
//   check                      compiles, optimises, validates and reflects one shader per feature that qgen needs
//   check --device             finds a Vulkan device
//   check --device EXTENSION   finds one that has the extension
#define VOLK_IMPLEMENTATION
#include <glslang/Public/ResourceLimits.h>
#include <glslang/Public/ShaderLang.h>
#include <glslang/SPIRV/GlslangToSpv.h>
#include <glslang/build_info.h>
#include <volk.h>

#include <cstdio>
#include <cstring>
#include <spirv-tools/libspirv.hpp>
#include <spirv-tools/optimizer.hpp>
#include <spirv_cross/spirv_cross.hpp>
#include <string>
#include <vector>

namespace {

using Spirv = std::vector<uint32_t>;

const char* const kHead = R"(#version 460
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { int8_t a[]; };
layout(set = 0, binding = 1) readonly buffer B { int8_t b[]; };
layout(set = 0, binding = 2) buffer C { int32_t c[]; };
)";

struct Shader {
  const char* name;
  const char* body;
  bool reflects;  // SPIRV-Cross reads whole modules without cooperative matrices only
};

const Shader kShaders[] = {
    {"integer dot product", R"(
#extension GL_EXT_integer_dot_product : require
void main() {
  uint i = gl_GlobalInvocationID.x;
  int32_t p = pack32(i8vec4(a[4 * i], a[4 * i + 1], a[4 * i + 2], a[4 * i + 3]));
  int32_t q = pack32(i8vec4(b[4 * i], b[4 * i + 1], b[4 * i + 2], b[4 * i + 3]));
  c[i] = dotPacked4x8AccSatEXT(p, q, dotPacked4x8EXT(p, q));
})",
     true},
    {"cooperative matrix", R"(
#extension GL_KHR_cooperative_matrix : require
void main() {
  coopmat<int8_t, gl_ScopeSubgroup, 16, 32, gl_MatrixUseA> x;
  coopmat<int8_t, gl_ScopeSubgroup, 32, 16, gl_MatrixUseB> y;
  coopMatLoad(x, a, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
  coopMatLoad(y, b, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
  coopmat<int32_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> z =
      coopmat<int32_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0);
  coopMatStore(coopMatMulAdd(x, y, z), c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
})",
     false},
    {"cooperative matrix 2", R"(
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
int32_t relu(const in uint32_t row, const in uint32_t column, const in int32_t element) { return max(element, 0); }
void main() {
  tensorLayoutNV<2> whole = setTensorLayoutDimensionNV(createTensorLayoutNV(2), 64, 32);
  coopmat<int32_t, gl_ScopeWorkgroup, 64, 32, gl_MatrixUseAccumulator> x, y;
  coopMatLoadTensorNV(x, c, 0, sliceTensorLayoutNV(whole, 0, 64, 0, 32));
  coopMatPerElementNV(y, x, relu);
  coopMatStoreTensorNV(y, c, 0, sliceTensorLayoutNV(whole, 0, 64, 0, 32));
})",
     false},
};

Spirv compile(const Shader& shader) {
  const std::string text = std::string(kHead) + shader.body;
  const char* pointer = text.c_str();
  glslang::TShader source(EShLangCompute);
  source.setStrings(&pointer, 1);
  source.setEnvInput(glslang::EShSourceGlsl, EShLangCompute, glslang::EShClientVulkan, 100);
  source.setEnvClient(glslang::EShClientVulkan, glslang::EShTargetVulkan_1_3);
  source.setEnvTarget(glslang::EShTargetSpv, glslang::EShTargetSpv_1_6);
  glslang::TProgram program;
  Spirv spirv;
  if (!source.parse(GetDefaultResources(), 460, false, EShMsgDefault)) {
    std::fprintf(stderr, "%s: %s\n", shader.name, source.getInfoLog());
    return spirv;
  }
  program.addShader(&source);
  if (!program.link(EShMsgDefault)) {
    std::fprintf(stderr, "%s: %s\n", shader.name, program.getInfoLog());
    return spirv;
  }
  glslang::GlslangToSpv(*program.getIntermediate(EShLangCompute), spirv);
  return spirv;
}

bool optimize_and_validate(const Shader& shader, Spirv& spirv) {
  const auto report = [&](spv_message_level_t, const char*, const spv_position_t&, const char* message) {
    std::fprintf(stderr, "%s: %s\n", shader.name, message);
  };
  spvtools::Optimizer optimizer(SPV_ENV_VULKAN_1_3);
  optimizer.SetMessageConsumer(report);
  optimizer.RegisterPerformancePasses();
  spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_3);
  tools.SetMessageConsumer(report);
  return optimizer.Run(spirv.data(), spirv.size(), &spirv) && tools.Validate(spirv);
}

bool reflects(const Shader& shader, const Spirv& spirv) {
  const spirv_cross::Compiler compiler(spirv);
  const size_t buffers = compiler.get_shader_resources().storage_buffers.size();
  if (buffers != 3) std::fprintf(stderr, "%s: expected 3 reflected buffers, got %zu\n", shader.name, buffers);
  return buffers == 3;
}

bool shader_works(const Shader& shader) {
  Spirv spirv = compile(shader);
  return !spirv.empty() && optimize_and_validate(shader, spirv) && (!shader.reflects || reflects(shader, spirv));
}

bool all_shaders_work() {
  glslang::InitializeProcess();
  bool all = true;
  for (const Shader& shader : kShaders) all = shader_works(shader) && all;
  glslang::FinalizeProcess();
  std::printf("  glslang %d.%d.%d, %s: %s\n", GLSLANG_VERSION_MAJOR, GLSLANG_VERSION_MINOR, GLSLANG_VERSION_PATCH,
              spvSoftwareVersionString(), all ? "compiled, optimised, validated, reflected" : "FAILED");
  return all;
}

bool has_extension(VkPhysicalDevice device, const char* wanted) {
  uint32_t count = 0;
  vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> extensions(count);
  vkEnumerateDeviceExtensionProperties(device, nullptr, &count, extensions.data());
  for (const VkExtensionProperties& extension : extensions) {
    if (!std::strcmp(extension.extensionName, wanted)) return true;
  }
  return false;
}

bool finds_device(const char* wanted_extension) {
  if (volkInitialize() != VK_SUCCESS) return false;
  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.apiVersion = VK_API_VERSION_1_3;
  VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &application;
  VkInstance instance = VK_NULL_HANDLE;
  if (vkCreateInstance(&info, nullptr, &instance) != VK_SUCCESS) return false;
  volkLoadInstance(instance);
  uint32_t count = 0;
  vkEnumeratePhysicalDevices(instance, &count, nullptr);
  std::vector<VkPhysicalDevice> devices(count);
  vkEnumeratePhysicalDevices(instance, &count, devices.data());
  bool found = false;
  for (VkPhysicalDevice device : devices) {
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(device, &properties);
    const bool fits = !wanted_extension || has_extension(device, wanted_extension);
    std::printf("  %s, Vulkan %u.%u.%u%s%s\n", properties.deviceName, VK_API_VERSION_MAJOR(properties.apiVersion),
                VK_API_VERSION_MINOR(properties.apiVersion), VK_API_VERSION_PATCH(properties.apiVersion),
                !wanted_extension ? ""
                : fits            ? ", has "
                                  : ", lacks ",
                wanted_extension ? wanted_extension : "");
    found = found || fits;
  }
  vkDestroyInstance(instance, nullptr);
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  const bool device = argc > 1 && !std::strcmp(argv[1], "--device");
  return (device ? finds_device(argc > 2 ? argv[2] : nullptr) : all_shaders_work()) ? 0 : 1;
}
