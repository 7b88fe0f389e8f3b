// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A Vulkan device before it is opened: its profile, and the data that opening it needs.
#pragma once

#include <optional>

#include "runtime/engine/device/device_profile.h"
#include "runtime/engine/device/feature_chain.h"
#include "runtime/engine/device/instance.h"

namespace qgen::vulkan {

struct PhysicalDevice {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  DeviceProfile profile;
  ExtensionSet extensions;
  std::optional<uint32_t> compute_family;  // the queue family to use
  uint32_t timestamp_bits = 0;             // of that family; 0: no timestamps
};

// The Vulkan version that it may be used as: its own, or an older instance's.
uint32_t version_of(const Instance& instance, VkPhysicalDevice handle);

// A device older than Vulkan 1.1 is described by name and version only: qgen cannot open it.
// Without the features that the driver is known to get wrong, unless it is trusted.
PhysicalDevice describe(const Instance& instance, VkPhysicalDevice handle, bool trusts_driver);

// A device that is open already: its enabled features, and its queue family.
struct OpenedAs {
  FeatureChain& features;
  uint32_t queue_family = 0;
  bool trusts_driver = false;
};
PhysicalDevice describe(const Instance& instance, VkPhysicalDevice handle, const OpenedAs& opened);

}  // namespace qgen::vulkan
