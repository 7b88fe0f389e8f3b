// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Uses a Vulkan device that the caller has created (docs/engines.md):
//
//   auto recommended = RecommendedFeatures::of(vkGetInstanceProcAddr, instance, gpu);
//   VkDeviceCreateInfo info = ...;                       // the caller's, with its own features and extensions
//   info.pNext = *recommended->joined(&my_features);     // optional: what the best kernels need, as far as there
//   vkCreateDevice(gpu, &info, nullptr, &vk_device);
//
//   Expected<Device> device = Device::adopt({.instance = instance,
//                                            .physical_device = gpu,
//                                            .device = vk_device,
//                                            .get_instance_proc_addr = vkGetInstanceProcAddr,
//                                            .created_with = &info,
//                                            .queue = queue,
//                                            .queue_family = family});
//
// qgen destroys no object of the caller, and these must outlive all objects that qgen makes on the device. Kernels are
// chosen by the features in `created_with`, even if the card has more.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "runtime/engine/device/device.h"
#include "runtime/engine/device/vulkan_handles.h"

namespace qgen {

struct AdoptInfo {
  VkInstance instance = nullptr;
  VkPhysicalDevice physical_device = nullptr;
  VkDevice device = nullptr;
  // The caller's loader; qgen loads no other. Each device has a separate table of the functions that this one returns.
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
  // The create info of vkCreateDevice(); it is read only during adopt().
  const VkDeviceCreateInfo* created_with = nullptr;
  // VkApplicationInfo::apiVersion of the instance. An older version limits the use of the device; below Vulkan 1.1 it
  // is refused.
  uint32_t api_version = (1U << 22) | (3U << 12);
  // Where qgen submits its uploads, downloads and runs. Null: it submits nothing, and all of these are refused.
  VkQueue queue = nullptr;
  uint32_t queue_family = 0;   // of `queue`, or of the command buffers that qgen records into
  bool trusts_driver = false;  // as OpenOptions::trusts_driver
  // As OpenOptions::push_descriptors, where VK_KHR_push_descriptor is enabled. A launch takes 0.2 us longer with them on
  // an H100, and none less to record; so RecommendedFeatures leaves the extension out.
  bool push_descriptors = false;
  // Called around each use of the queue, where others use it too. Both or neither.
  std::function<void()> lock_queue = {};
  std::function<void()> unlock_queue = {};
};

// A device's profile with the enabled features: for programs that use only tables and select(). Of `info` it reads the
// instance, the physical device, get_instance_proc_addr, created_with, api_version and queue_family. Errors: a null
// handle, a device or an instance older than Vulkan 1.1, a disabled feature that every kernel needs.
Expected<DeviceProfile> profile_of(const AdoptInfo& info);

// The features and extensions that qgen's kernels use, as far as a device has them. It owns the structs.
class RecommendedFeatures {
 public:
  // `api_version`: AdoptInfo::api_version.
  static Expected<RecommendedFeatures> of(PFN_vkGetInstanceProcAddr get_instance_proc_addr, VkInstance instance,
                                          VkPhysicalDevice physical_device,
                                          uint32_t api_version = (1U << 22) | (3U << 12));
  // No more than a mask leaves of it.
  static Expected<RecommendedFeatures> of(const Device& device);

  // VkPhysicalDeviceFeatures2 and the structs after it: for VkDeviceCreateInfo::pNext, whose pEnabledFeatures is then
  // null.
  const void* chain() const;
  // For callers with their own feature structs: sets the missing bits in `chain`, and links the missing structs after
  // its last one. The result is for VkDeviceCreateInfo::pNext. Errors: a struct of one feature, if Vulkan forbids it
  // next to the version's own VkPhysicalDeviceVulkan1XFeatures.
  Expected<const void*> joined(void* chain);
  // For VkDeviceCreateInfo::ppEnabledExtensionNames.
  std::span<const char* const> extensions() const;

  // The same as C++ that sets them, one line each.
  std::string to_text() const;

  RecommendedFeatures(RecommendedFeatures&&) noexcept;
  RecommendedFeatures& operator=(RecommendedFeatures&&) noexcept;
  ~RecommendedFeatures();

 private:
  struct State;
  static Expected<RecommendedFeatures> among(FeatureMask allowed, PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                             VkInstance instance, VkPhysicalDevice physical_device,
                                             uint32_t api_version);
  explicit RecommendedFeatures(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace qgen
