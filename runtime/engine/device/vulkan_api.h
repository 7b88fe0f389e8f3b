// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The Vulkan functions of the runtime: loaded at run time, never linked. Their results have names for messages.
//
//   if (VkResult r = vk.vkQueueSubmit(...); r != VK_SUCCESS) return error_of(r, "submitting the recording");
//
// The loader, each instance and each device have a table of their functions. qgen defines no symbol of Vulkan. So a
// program may also link libvulkan, or use another loader such as volk.
#pragma once

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <vulkan/vulkan.h>

#include <mutex>
#include <string_view>

#include "runtime/engine/library/error.h"

namespace qgen::vulkan {

constexpr uint32_t kApiVersion = VK_API_VERSION_1_3;       // the newest that qgen knows
constexpr uint32_t kLeastApiVersion = VK_API_VERSION_1_1;  // that a device and the loader must have

std::string_view name(VkResult result);  // "VK_ERROR_DEVICE_LOST"

// "submitting the recording failed: VK_ERROR_DEVICE_LOST (-4)", with a hint where one helps.
Error error_of(VkResult result, std::string_view doing);

// The functions that the loader gives without an instance.
struct LoaderFunctions {
  PFN_vkGetInstanceProcAddr vkGetInstanceProcAddr = nullptr;
  PFN_vkCreateInstance vkCreateInstance = nullptr;
  PFN_vkEnumerateInstanceVersion vkEnumerateInstanceVersion = nullptr;  // null: Vulkan 1.0
  PFN_vkEnumerateInstanceLayerProperties vkEnumerateInstanceLayerProperties = nullptr;
};

// Loads libvulkan, once in a process. Errors: there is none, or it is older than Vulkan 1.1.
Done load_loader();
// Null before load_loader(). Tests insert their own functions there.
LoaderFunctions& loader();

// Held while instances and devices are made, destroyed and loaded: the loader's vkGetDeviceProcAddr reads its list of
// all of them without a lock (1.3.239 crashes when another thread changes the list).
[[nodiscard]] std::unique_lock<std::mutex> lock_loader();

}  // namespace qgen::vulkan
