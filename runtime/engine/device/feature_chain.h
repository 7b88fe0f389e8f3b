// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The Vulkan feature structs of qgen's features, to query a device, and to enable its features.
//
//   FeatureChain offered(extensions, api_version);
//   vkGetPhysicalDeviceFeatures2(physical, &offered.features);
//   offered.gather();
//   FeatureMask mask = granted(offered, {properties11, properties12});  // for the profile
//   FeatureChain wanted(extensions, api_version);
//   enable_granted(offered, wanted);              // for VkDeviceCreateInfo::pNext: exactly those, nothing else
//
// Every reader finds a bit in the struct of its version, as vulkan12.shaderInt8, for any version of the device. On a
// device that does not know this struct, Vulkan reads and writes structs of one feature; gather() and spread() copy
// between the two.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/device/vulkan_api.h"
#include "vocabulary/features.h"

// In Vulkan's registry since 1.4.317; older headers lack it.
#ifndef VK_KHR_shader_bfloat16
#define VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME "VK_KHR_shader_bfloat16"
constexpr auto VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR =
    static_cast<VkStructureType>(1000141000);
constexpr auto VK_COMPONENT_TYPE_BFLOAT16_KHR = static_cast<VkComponentTypeKHR>(1000141000);
struct VkPhysicalDeviceShaderBfloat16FeaturesKHR {
  VkStructureType sType;
  void* pNext;
  VkBool32 shaderBFloat16Type;
  VkBool32 shaderBFloat16DotProduct;
  VkBool32 shaderBFloat16CooperativeMatrix;
};
#endif

namespace qgen::vulkan {

// The names of the device extensions a driver offers.
class ExtensionSet {
 public:
  ExtensionSet() = default;
  explicit ExtensionSet(std::vector<std::string> names);
  bool has(std::string_view name) const;

 private:
  std::vector<std::string> names_;  // sorted
};

// Zeroed. The chain has the structs of the device's Vulkan version and of its extensions. If the version's own struct
// is too new, it has structs of one feature each.
struct FeatureChain {
  explicit FeatureChain(const ExtensionSet& extensions, uint32_t version = kApiVersion);
  FeatureChain(const FeatureChain&) = delete;  // the structs point at one another
  FeatureChain& operator=(const FeatureChain&) = delete;

  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  VkPhysicalDeviceVulkan11Features vulkan11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES};
  VkPhysicalDeviceVulkan12Features vulkan12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceVulkan13Features vulkan13{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
#define QGEN_FEATURE_STRUCT(member, type, structure_type, extension) type member{structure_type};
#define QGEN_PROMOTED_STRUCT(member, type, structure_type, extension, version) type member{structure_type};
#include "vocabulary/feature_rows.inc"
  uint32_t api_version;
  bool has_spirv_1_4;  // by its version or by an extension

  void gather();  // from the structs of one feature, once Vulkan has filled them
  void spread();  // into them, before Vulkan reads them

  // The bits that a feature rests on, all of them; none where properties grant it.
  std::vector<std::reference_wrapper<VkBool32>> bits_of(Feature feature);
};

// The same bits as a program writes them, "vulkan12.shaderInt8, ..."; empty where properties grant it.
std::string_view spelled_bits(Feature feature);
// The bits that are no qgen feature but that the dispatcher and kernels use.
struct SpelledBit {
  std::string_view text;  // "vulkan13.maintenance4"
  bool is_set;
};
std::vector<SpelledBit> companions_of(FeatureChain& chain);

// The structs of versions, which devices of older ones do not know: vulkan13 since Vulkan 1.3.
constexpr uint32_t kSince_vulkan11 = VK_API_VERSION_1_2;
constexpr uint32_t kSince_vulkan12 = VK_API_VERSION_1_2;
constexpr uint32_t kSince_vulkan13 = VK_API_VERSION_1_3;

// How a device of this version spells a bit: "vulkan12.shaderInt8" is "small_numbers.shaderInt8" on Vulkan 1.1.
std::string spelled_for(uint32_t api_version, std::string_view bit);

// The device properties on which features depend.
struct FeatureProperties {
  const VkPhysicalDeviceVulkan11Properties& vulkan11;
  const VkPhysicalDeviceVulkan12Properties& vulkan12;

  bool computes_in_subgroups(VkSubgroupFeatureFlagBits operation) const;
  // Kernels say how halves treat denormals and leave the other widths open, which needs widths that are independent.
  bool preserves_float16_denormals() const;

  // Whether nothing here speaks against a feature.
  bool allow(Feature feature) const;
};

// The features of a device: their bits are offered, and its properties allow them.
FeatureMask granted(FeatureChain& offered, const FeatureProperties& properties);

// Sets in `wanted` the bits of every allowed feature whose bits are all offered, and the bits that the dispatcher
// itself uses.
void enable_granted(FeatureChain& offered, FeatureChain& wanted, FeatureMask allowed = ~FeatureMask{0});
// Bits that nothing needs, and that cost time: only on request.
void enable_robust_buffer_access(const FeatureChain& offered, FeatureChain& wanted);
void enable_pipeline_statistics(const FeatureChain& offered, FeatureChain& wanted);
// The extensions to enable: those whose structs are linked, and those that have none.
std::vector<const char*> linked_extensions(const ExtensionSet& extensions, uint32_t api_version = kApiVersion);

}  // namespace qgen::vulkan
