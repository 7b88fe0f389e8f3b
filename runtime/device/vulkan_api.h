// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Vulkan as the runtime sees it: loaded at run time by volk, never linked, and its results as words.
//
//   if (VkResult r = vk.vkQueueSubmit(...); r != VK_SUCCESS) return error_of(r, "submitting the recording");
//
// volk's global function pointers belong to one instance and one device; qgen opens several, from several threads.
// So an instance has its InstanceFunctions and a device its VolkDeviceTable, and the globals are left alone.
#pragma once

#include <volk.h>

#include <mutex>
#include <string_view>

#include "runtime/library/error.h"

namespace qgen::vulkan {

constexpr uint32_t kApiVersion = VK_API_VERSION_1_3;

std::string_view name(VkResult result);  // "VK_ERROR_DEVICE_LOST"

// "submitting the recording failed: VK_ERROR_DEVICE_LOST (-4)", with a hint where one helps.
Error error_of(VkResult result, std::string_view doing);

// Loads libvulkan, once in a process. Errors: there is none, or it is older than Vulkan 1.3.
Done load_loader();

// Held while instances and devices are made, unmade and loaded: the loader's vkGetDeviceProcAddr walks its list of all
// of them unguarded (1.3.239 crashes when another thread changes the list).
[[nodiscard]] std::unique_lock<std::mutex> lock_loader();

}  // namespace qgen::vulkan
