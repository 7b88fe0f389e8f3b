// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A feature struct is a header followed by VkBool32 values only, so the structs of FeatureChain are copied whole. The
// bits of a struct of one feature are then copied to the struct of its version, where all bits are read.
#include "runtime/engine/device/enabled_features.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace qgen::vulkan {
namespace {

// A struct of FeatureChain.
struct Struct {
  VkStructureType type;
  size_t bytes;
  VkBaseOutStructure* (*in)(FeatureChain& chain);
  uint32_t until = ~0U;  // for a struct of one feature: the version whose own struct excludes it
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
#define QGEN_PROMOTED_STRUCT(member, type, structure_type, extension, version) \
  {structure_type, sizeof(type), in<&FeatureChain::member>, kSince_##version},
#include "vocabulary/feature_rows.inc"
};

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
#define QGEN_PROMOTED_BIT(member, version, bit) \
  if (structure.sType == to.member.sType) to.version.bit = to.member.bit;
#include "vocabulary/feature_rows.inc"
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

Done check_joins(VkBaseOutStructure* chain, uint32_t api_version) {
  for (const Struct& row : kStructs) {
    if (api_version < row.until || find(chain, row.type) == nullptr) continue;
    return refused(fmt::format("the chain has a struct of one feature, VkStructureType {}, and Vulkan then forbids "
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
  if (const Done joins = check_joins(theirs, from.api_version); !joins) return joins.error();
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
