// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A Vulkan instance, qgen's or the caller's, its functions, and the messages of the validation layer to qgen's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/engine/device/vulkan_api.h"

namespace qgen::vulkan {

#define QGEN_INSTANCE_FUNCTIONS(X)                     \
  X(vkDestroyInstance)                                 \
  X(vkEnumeratePhysicalDevices)                        \
  X(vkEnumerateDeviceExtensionProperties)              \
  X(vkGetPhysicalDeviceProperties)                     \
  X(vkGetPhysicalDeviceProperties2)                    \
  X(vkGetPhysicalDeviceFeatures2)                      \
  X(vkGetPhysicalDeviceMemoryProperties)               \
  X(vkGetPhysicalDeviceQueueFamilyProperties)          \
  X(vkGetPhysicalDeviceImageFormatProperties)          \
  X(vkCreateDevice)                                    \
  X(vkGetDeviceProcAddr)                               \
  X(vkCreateDebugUtilsMessengerEXT)                    \
  X(vkDestroyDebugUtilsMessengerEXT)                   \
  X(vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR) \
  X(vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV)

// Null: the loader or the drivers do not know the function.
struct InstanceFunctions {
#define QGEN_MEMBER(function) PFN_##function function = nullptr;
  QGEN_INSTANCE_FUNCTIONS(QGEN_MEMBER)
#undef QGEN_MEMBER
};

class Instance {
 public:
  // Errors: no loader, no driver, or no validation layer if one is requested. `api_version`: the version as which
  // devices are used, even if they are newer.
  static Expected<Instance> create(bool validation, uint32_t api_version = kApiVersion);
  // The caller's, made for `api_version`, which is not destroyed. Errors: a function that its loader lacks.
  static Expected<Instance> adopt(PFN_vkGetInstanceProcAddr get_instance_proc_addr, VkInstance handle,
                                  uint32_t api_version);

  VkInstance handle() const;
  uint32_t api_version() const;                     // VkApplicationInfo::apiVersion
  PFN_vkGetInstanceProcAddr get_proc_addr() const;  // of the loader that it is from
  const InstanceFunctions& functions() const;
  // Errors: a driver that fails, or no device at all.
  Expected<std::vector<VkPhysicalDevice>> physical_devices() const;
  std::vector<std::string> messages() const;  // warnings and errors of the validation layer, so far; ours alone

  Instance(Instance&&) noexcept;
  Instance& operator=(Instance&&) noexcept;
  ~Instance();

 private:
  struct State;
  explicit Instance(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace qgen::vulkan
