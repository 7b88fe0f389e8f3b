// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A feature struct is a header followed by VkBool32 values only, so the structs of FeatureChain are copied whole.
// Structs of extensions that became part of a version are read bit by bit, as the table says.
#include "runtime/engine/device/enabled_features.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstring>

namespace qgen::vulkan {
namespace {

// A struct of FeatureChain.
struct Struct {
  VkStructureType type;
  size_t bytes;
  VkBaseOutStructure* (*in)(FeatureChain& chain);
};

template <auto member>
VkBaseOutStructure* in(FeatureChain& chain) {
  return reinterpret_cast<VkBaseOutStructure*>(&(chain.*member));
}

constexpr Struct kStructs[] = {
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, sizeof(VkPhysicalDeviceFeatures2), in<&FeatureChain::features>},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, sizeof(VkPhysicalDeviceVulkan11Features),
     in<&FeatureChain::vulkan11>},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, sizeof(VkPhysicalDeviceVulkan12Features),
     in<&FeatureChain::vulkan12>},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, sizeof(VkPhysicalDeviceVulkan13Features),
     in<&FeatureChain::vulkan13>},
#define QGEN_FEATURE_STRUCT(member, type, structure_type, extension) \
  {structure_type, sizeof(type), in<&FeatureChain::member>},
#include "vocabulary/feature_rows.inc"
};

// A bit of a struct of one feature, and where a version's struct has it.
struct Promoted {
  VkStructureType type;
  size_t offset;
  VkBool32& (*bit)(FeatureChain& chain);
};

#define QGEN_PROMOTED(structure, type, version, member)                                                          \
  {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##structure##_FEATURES, offsetof(VkPhysicalDevice##type##Features, member), \
   [](FeatureChain& chain) -> VkBool32& { return chain.version.member; }},
constexpr Promoted kPromoted[] = {
    QGEN_PROMOTED(16BIT_STORAGE, 16BitStorage, vulkan11, storageBuffer16BitAccess) QGEN_PROMOTED(
        16BIT_STORAGE, 16BitStorage, vulkan11,
        uniformAndStorageBuffer16BitAccess) QGEN_PROMOTED(16BIT_STORAGE, 16BitStorage, vulkan11, storagePushConstant16)
        QGEN_PROMOTED(VARIABLE_POINTERS, VariablePointers, vulkan11, variablePointersStorageBuffer) QGEN_PROMOTED(
            VARIABLE_POINTERS, VariablePointers, vulkan11,
            variablePointers) QGEN_PROMOTED(8BIT_STORAGE, 8BitStorage, vulkan12, storageBuffer8BitAccess)
            QGEN_PROMOTED(8BIT_STORAGE, 8BitStorage, vulkan12, uniformAndStorageBuffer8BitAccess) QGEN_PROMOTED(
                8BIT_STORAGE, 8BitStorage, vulkan12,
                storagePushConstant8) QGEN_PROMOTED(SHADER_FLOAT16_INT8, ShaderFloat16Int8, vulkan12, shaderFloat16)
                QGEN_PROMOTED(SHADER_FLOAT16_INT8, ShaderFloat16Int8, vulkan12, shaderInt8) QGEN_PROMOTED(
                    SHADER_ATOMIC_INT64, ShaderAtomicInt64, vulkan12,
                    shaderBufferInt64Atomics) QGEN_PROMOTED(SHADER_ATOMIC_INT64, ShaderAtomicInt64, vulkan12,
                                                            shaderSharedInt64Atomics)
                    QGEN_PROMOTED(VULKAN_MEMORY_MODEL, VulkanMemoryModel, vulkan12, vulkanMemoryModel) QGEN_PROMOTED(
                        VULKAN_MEMORY_MODEL, VulkanMemoryModel, vulkan12, vulkanMemoryModelDeviceScope)
                        QGEN_PROMOTED(BUFFER_DEVICE_ADDRESS, BufferDeviceAddress, vulkan12, bufferDeviceAddress)
                            QGEN_PROMOTED(UNIFORM_BUFFER_STANDARD_LAYOUT, UniformBufferStandardLayout, vulkan12,
                                          uniformBufferStandardLayout)
                                QGEN_PROMOTED(SHADER_SUBGROUP_EXTENDED_TYPES, ShaderSubgroupExtendedTypes, vulkan12,
                                              shaderSubgroupExtendedTypes)
                                    QGEN_PROMOTED(TIMELINE_SEMAPHORE, TimelineSemaphore, vulkan12, timelineSemaphore)
                                        QGEN_PROMOTED(SHADER_INTEGER_DOT_PRODUCT, ShaderIntegerDotProduct, vulkan13,
                                                      shaderIntegerDotProduct)
                                            QGEN_PROMOTED(MAINTENANCE_4, Maintenance4, vulkan13, maintenance4)
                                                QGEN_PROMOTED(SUBGROUP_SIZE_CONTROL, SubgroupSizeControl, vulkan13,
                                                              subgroupSizeControl)
                                                    QGEN_PROMOTED(SUBGROUP_SIZE_CONTROL, SubgroupSizeControl, vulkan13,
                                                                  computeFullSubgroups)};
#undef QGEN_PROMOTED

constexpr size_t kHeader = sizeof(VkBaseOutStructure);

size_t bit_count(const Struct& row) { return (row.bytes - kHeader) / sizeof(VkBool32); }
VkBool32* bits_in(VkBaseOutStructure* structure) {
  return reinterpret_cast<VkBool32*>(reinterpret_cast<std::byte*>(structure) + kHeader);
}

void read_struct(const VkBaseInStructure& structure, FeatureChain& to) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&structure);
  for (const Struct& row : kStructs) {
    if (row.type == structure.sType) std::memcpy(bits_in(row.in(to)), bytes + kHeader, row.bytes - kHeader);
  }
  for (const Promoted& row : kPromoted) {
    if (row.type == structure.sType) std::memcpy(&row.bit(to), bytes + row.offset, sizeof(VkBool32));
  }
#ifdef VK_VERSION_1_4
  if (structure.sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_4_FEATURES)
    to.rotate.shaderSubgroupRotate =
        reinterpret_cast<const VkPhysicalDeviceVulkan14Features&>(structure).shaderSubgroupRotate;
#endif
}

VkBaseOutStructure* find(VkBaseOutStructure* chain, VkStructureType type) {
  while (chain && chain->sType != type) chain = chain->pNext;
  return chain;
}

Done check_joins(VkBaseOutStructure* chain) {
  for (const Promoted& row : kPromoted) {
    if (find(chain, row.type) == nullptr) continue;
    return refused(
        fmt::format("the chain has a struct of one feature, VkStructureType {}, beside which Vulkan allows no "
                    "VkPhysicalDeviceVulkan11Features to 13Features",
                    static_cast<int>(row.type)),
        "set its bits in the struct of the version instead");
  }
  return std::monostate{};
}

}  // namespace

ExtensionSet enabled_extensions(const VkDeviceCreateInfo& info) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < info.enabledExtensionCount; ++i) names.emplace_back(info.ppEnabledExtensionNames[i]);
  return ExtensionSet(std::move(names));
}

void read_enabled(const VkDeviceCreateInfo& info, FeatureChain& to) {
  if (info.pEnabledFeatures) to.features.features = *info.pEnabledFeatures;
  for (auto* next = static_cast<const VkBaseInStructure*>(info.pNext); next; next = next->pNext) read_struct(*next, to);
}

Expected<const void*> join(FeatureChain& from, void* chain) {
  auto* const theirs = static_cast<VkBaseOutStructure*>(chain);
  if (!theirs) return static_cast<const void*>(&from.features);
  if (const Done joins = check_joins(theirs); !joins) return joins.error();
  VkBaseOutStructure* last = theirs;
  while (last->pNext) last = last->pNext;
  auto* next = reinterpret_cast<VkBaseOutStructure*>(&from.features);
  while (next) {
    VkBaseOutStructure* const ours = next;
    next = ours->pNext;
    VkBaseOutStructure* const known = find(theirs, ours->sType);
    if (!known) {
      ours->pNext = nullptr;
      last->pNext = ours;
      last = ours;
      continue;
    }
    for (const Struct& row : kStructs) {
      for (size_t i = 0; row.type == ours->sType && i < bit_count(row); ++i) bits_in(known)[i] |= bits_in(ours)[i];
    }
  }
  return static_cast<const void*>(theirs);
}

}  // namespace qgen::vulkan
