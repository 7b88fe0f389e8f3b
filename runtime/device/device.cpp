// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Device::open(): instance -> describe every device -> choose one -> create it with the features it was described with.
#include "runtime/device/device.h"

#include <fmt/format.h>

#include <utility>

#include "runtime/device/choose_device.h"
#include "runtime/device/handles.h"
#include "runtime/device/physical_device.h"

namespace qgen {
namespace {

using vulkan::Instance;
using vulkan::PhysicalDevice;

Expected<std::vector<PhysicalDevice>> describe_all(const Instance& instance) {
  const auto handles = instance.physical_devices();
  if (!handles) return handles.error();
  std::vector<PhysicalDevice> devices;
  for (const VkPhysicalDevice handle : *handles) devices.push_back(describe(instance, handle));
  return devices;
}

std::vector<DeviceProfile> profiles_of(const std::vector<PhysicalDevice>& devices) {
  std::vector<DeviceProfile> profiles;
  for (const PhysicalDevice& device : devices) profiles.push_back(device.profile);
  return profiles;
}

Done check_usable(const PhysicalDevice& device) {
  const DeviceProfile& profile = device.profile;
  if (profile.api_version < vulkan::kApiVersion) {
    return Error{Error::Kind::unsupported,
                 fmt::format("device '{}' offers Vulkan {}.{}, and qgen needs 1.3", profile.name,
                             VK_API_VERSION_MAJOR(profile.api_version), VK_API_VERSION_MINOR(profile.api_version)),
                 "update its driver"};
  }
  if (!device.compute_family) {
    return Error{Error::Kind::unsupported, fmt::format("device '{}' has no compute queue", profile.name),
                 "choose another device"};
  }
  return std::monostate{};
}

// Makes the device and loads its functions.
VkResult create_device(const PhysicalDevice& from, const OpenOptions& options, Device::Handles& to) {
  vulkan::FeatureChain offered(from.extensions), wanted(from.extensions);
  to.instance.functions().vkGetPhysicalDeviceFeatures2(from.handle, &offered.features);
  enable_granted(offered, wanted);
  if (options.robust_buffer_access) enable_robust_buffer_access(offered, wanted);
  to.has_robust_buffer_access = wanted.features.features.robustBufferAccess == VK_TRUE;
  if (options.pipeline_statistics) enable_pipeline_statistics(offered, wanted);
  to.has_pipeline_statistics = wanted.executables.pipelineExecutableInfo == VK_TRUE;
  const std::vector<const char*> extensions = vulkan::linked_extensions(from.extensions);

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
  // volk fills a table through its global vkGetDeviceProcAddr, which belongs to the instance loaded last.
  vkGetDeviceProcAddr = to.instance.functions().vkGetDeviceProcAddr;
  volkLoadDeviceTable(&to.vk, to.device);
  return VK_SUCCESS;
}

}  // namespace

Device::Handles::~Handles() {
  if (!device) return;
  vk.vkDeviceWaitIdle(device);
  const auto lock = vulkan::lock_loader();
  vk.vkDestroyDevice(device, nullptr);
}

Expected<std::vector<DeviceProfile>> list_devices() {
  const auto instance = Instance::create(false);
  if (!instance) return instance.error();
  const auto devices = describe_all(*instance);
  if (!devices) return devices.error();
  return profiles_of(*devices);
}

Expected<Device> Device::open(std::string_view which, const OpenOptions& options) {
  auto instance = Instance::create(options.validation);
  if (!instance) return instance.error();
  const auto devices = describe_all(*instance);
  if (!devices) return devices.error();
  const auto index = choose_device(profiles_of(*devices), which);
  if (!index) return index.error();
  const PhysicalDevice& chosen = (*devices)[*index];
  if (const Done usable = check_usable(chosen); !usable) return usable.error();

  auto handles = std::make_shared<Handles>(std::move(*instance), chosen.handle);
  handles->profile = chosen.profile;
  handles->queue_family = *chosen.compute_family;
  handles->timestamp_bits = chosen.timestamp_bits;
  if (const VkResult created = create_device(chosen, options, *handles); created != VK_SUCCESS) {
    return vulkan::error_of(created, fmt::format("creating the device '{}'", chosen.profile.name));
  }
  handles->vk.vkGetDeviceQueue(handles->device, handles->queue_family, 0, &handles->queue);
  return Device(std::move(handles));
}

const DeviceProfile& Device::profile() const { return handles_->profile; }
std::vector<std::string> Device::validation_messages() const { return handles_->instance.messages(); }
bool Device::has_robust_buffer_access() const { return handles_->has_robust_buffer_access; }
bool Device::has_pipeline_statistics() const { return handles_->has_pipeline_statistics; }

Device::Device(std::shared_ptr<const Handles> handles) : handles_(std::move(handles)) {}
Device::Device(Device&&) noexcept = default;
Device& Device::operator=(Device&&) noexcept = default;
Device::~Device() = default;

}  // namespace qgen
