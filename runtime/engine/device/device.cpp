// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Device::open(): instance -> describe every device -> choose one -> create it with the features it was described with.
#include "runtime/engine/device/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/engine/device/choose_device.h"
#include "runtime/engine/device/handles.h"
#include "runtime/engine/device/physical_device.h"

namespace qgen {
namespace {

using vulkan::Instance;
using vulkan::PhysicalDevice;

Expected<std::vector<PhysicalDevice>> describe_all(const Instance& instance, bool trusts_driver) {
  const auto handles = instance.physical_devices();
  if (!handles) return handles.error();
  std::vector<PhysicalDevice> devices;
  for (const VkPhysicalDevice handle : *handles) {
    devices.push_back(describe(instance, handle, trusts_driver));
  }
  return devices;
}

std::vector<DeviceProfile> profiles_of(const std::vector<PhysicalDevice>& devices) {
  std::vector<DeviceProfile> profiles;
  for (const PhysicalDevice& device : devices) profiles.push_back(device.profile);
  return profiles;
}

Done check_usable(const PhysicalDevice& device, const DeviceProfile& profile) {
  if (Done checked = check_vulkan_version(profile); !checked) return checked;
  if (!device.compute_family) {
    return Error{Error::Kind::unsupported, fmt::format("device '{}' has no compute queue", profile.name),
                 "choose another device"};
  }
  return std::monostate{};
}

// Under a mask of an older version, nothing newer is used of Vulkan, and the validation layer holds us to that.
uint32_t instance_version(const DeviceMask& mask) {
  uint32_t version = vulkan::kApiVersion;
  if (mask.api_version) version = std::min(version, mask.api_version);
  if (mask.as && mask.as->api_version) version = std::min(version, mask.as->api_version);
  return std::max(VK_MAKE_API_VERSION(0, VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version), 0),
                  vulkan::kLeastApiVersion);
}

// Makes the device and loads its functions.
VkResult create_device(const PhysicalDevice& from, const OpenOptions& options, Device::Handles& to) {
  const uint32_t api_version = from.profile.api_version;
  vulkan::FeatureChain offered(from.extensions, api_version), wanted(from.extensions, api_version);
  to.instance.functions().vkGetPhysicalDeviceFeatures2(from.handle, &offered.features);
  offered.gather();
  enable_granted(offered, wanted, to.profile.features);
  if (options.robust_buffer_access) enable_robust_buffer_access(offered, wanted);
  to.has_robust_buffer_access = wanted.features.features.robustBufferAccess == VK_TRUE;
  if (options.pipeline_statistics) enable_pipeline_statistics(offered, wanted);
  to.has_pipeline_statistics = wanted.executables.pipelineExecutableInfo == VK_TRUE;
  std::vector<const char*> extensions = vulkan::linked_extensions(from.extensions, api_version);
  to.has_timeline_semaphores = wanted.vulkan12.timelineSemaphore == VK_TRUE;
  to.has_push_descriptors = options.push_descriptors && from.extensions.has(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME);
  if (to.has_push_descriptors) extensions.push_back(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME);

  const float priority = 1;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = to.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  info.pNext = &wanted.features;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();

  const auto lock = vulkan::lock_loader();
  const VkResult created = to.instance.functions().vkCreateDevice(from.handle, &info, nullptr, &to.device);
  if (created != VK_SUCCESS) return created;
  to.vk.load(to.instance.functions().vkGetDeviceProcAddr, to.device, api_version);
  return VK_SUCCESS;
}

}  // namespace

void vulkan::DeviceFunctions::load(PFN_vkGetDeviceProcAddr function_of, VkDevice device, uint32_t api_version) {
#define QGEN_LOAD(function) function = reinterpret_cast<PFN_##function>(function_of(device, #function));
  QGEN_DEVICE_FUNCTIONS(QGEN_LOAD)
#undef QGEN_LOAD
  if (api_version >= VK_API_VERSION_1_2) return;
#define QGEN_LOAD(function) function = reinterpret_cast<PFN_##function>(function_of(device, #function "KHR"));
  QGEN_LOAD(vkGetSemaphoreCounterValue)
  QGEN_LOAD(vkWaitSemaphores)
#undef QGEN_LOAD
}

Device::Handles::~Handles() {
  if (!device || is_adopted) return;
  vk.vkDeviceWaitIdle(device);
  const auto lock = vulkan::lock_loader();
  vk.vkDestroyDevice(device, nullptr);
}

void Device::Handles::settle() const {
  if (!is_unsettled || !queue) return;
  const std::lock_guard lock(queue_lock);
  vk.vkQueueWaitIdle(queue);
}

Expected<std::vector<DeviceProfile>> list_devices() {
  const auto instance = Instance::create(false);
  if (!instance) return instance.error();
  const auto devices = describe_all(*instance, false);
  if (!devices) return devices.error();
  return profiles_of(*devices);
}

Expected<Device> Device::open(std::string_view which, const OpenOptions& options) {
  auto instance = Instance::create(options.validation, instance_version(options.mask));
  if (!instance) return instance.error();
  const auto devices = describe_all(*instance, options.trusts_driver);
  if (!devices) return devices.error();
  const auto index = choose_device(profiles_of(*devices), which);
  if (!index) return index.error();
  const PhysicalDevice& chosen = (*devices)[*index];
  DeviceProfile profile = masked(chosen.profile, options.mask);
  if (const Done usable = check_usable(chosen, profile); !usable) return usable.error();

  auto handles = std::make_shared<Handles>(std::move(*instance), chosen.handle);
  handles->profile = std::move(profile);
  handles->queue_family = *chosen.compute_family;
  handles->timestamp_bits = chosen.timestamp_bits;
  if (const VkResult created = create_device(chosen, options, *handles); created != VK_SUCCESS) {
    return vulkan::error_of(created, fmt::format("creating the device '{}'", chosen.profile.name));
  }
  handles->vk.vkGetDeviceQueue(handles->device, handles->queue_family, 0, &handles->queue);
  return Device(std::move(handles));
}

const DeviceProfile& Device::profile() const {
  static const DeviceProfile kMovedFrom{.name = "a device that was moved from"};
  return handles_ ? handles_->profile : kMovedFrom;
}
std::vector<std::string> Device::validation_messages() const {
  return handles_ ? handles_->instance.messages() : std::vector<std::string>();
}
bool Device::has_robust_buffer_access() const { return handles_ && handles_->has_robust_buffer_access; }
bool Device::has_pipeline_statistics() const { return handles_ && handles_->has_pipeline_statistics; }
bool Device::is_adopted() const { return handles_ && handles_->is_adopted; }

Device::Device(std::shared_ptr<const Handles> handles) : handles_(std::move(handles)) {}
Device::Device(Device&&) noexcept = default;
Device& Device::operator=(Device&&) noexcept = default;
Device::~Device() = default;

}  // namespace qgen
