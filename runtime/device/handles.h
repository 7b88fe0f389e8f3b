// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// An open device as runtime/dispatch needs it: Vulkan's own handles. Nothing outside these two rooms includes this.
#pragma once

#include <mutex>

#include "runtime/device/device.h"
#include "runtime/device/instance.h"

namespace qgen {

struct Device::Handles {
  Handles(vulkan::Instance owner, VkPhysicalDevice physical_device)
      : instance(std::move(owner)), physical(physical_device) {}
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles();

  vulkan::Instance instance;  // destroyed last
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VolkDeviceTable vk{};  // the device's functions
  VkQueue queue = VK_NULL_HANDLE;
  uint32_t queue_family = 0;
  uint32_t timestamp_bits = 0;
  bool has_robust_buffer_access = false;  // enabled
  bool has_pipeline_statistics = false;   // the same
  mutable std::mutex queue_mutex;         // held while submitting: several Executors may share the queue
  DeviceProfile profile;
};

}  // namespace qgen
