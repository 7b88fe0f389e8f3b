// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A Vulkan instance, its functions, and what the validation layer said through it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/device/vulkan_api.h"

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

// Null where the loader or the drivers do not know the function.
struct InstanceFunctions {
#define QGEN_MEMBER(function) PFN_##function function = nullptr;
  QGEN_INSTANCE_FUNCTIONS(QGEN_MEMBER)
#undef QGEN_MEMBER
};

class Instance {
 public:
  // Errors: no loader, no driver, no validation layer where one is asked for.
  static Expected<Instance> create(bool validation);

  VkInstance handle() const;
  const InstanceFunctions& functions() const;
  // Errors: a driver that fails, or no device at all.
  Expected<std::vector<VkPhysicalDevice>> physical_devices() const;
  std::vector<std::string> messages() const;  // warnings and errors of the validation layer, so far

  Instance(Instance&&) noexcept;
  Instance& operator=(Instance&&) noexcept;
  ~Instance();

 private:
  struct State;
  explicit Instance(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace qgen::vulkan
