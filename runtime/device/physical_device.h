// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// One Vulkan device before it is opened: its profile, and what opening it needs to know.
#pragma once

#include <optional>

#include "runtime/device/device_profile.h"
#include "runtime/device/feature_chain.h"
#include "runtime/device/instance.h"

namespace qgen::vulkan {

struct PhysicalDevice {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  DeviceProfile profile;
  ExtensionSet extensions;
  std::optional<uint32_t> compute_family;  // the queue family to use
  uint32_t timestamp_bits = 0;             // of that family; 0: no timestamps
};

// A device older than Vulkan 1.3 is described by name and version only: qgen cannot open it.
PhysicalDevice describe(const Instance& instance, VkPhysicalDevice handle);

}  // namespace qgen::vulkan
