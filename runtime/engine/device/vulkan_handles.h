// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Vulkan's handles, declared as in its header. Public headers of qgen name handles of the caller, and need nothing else
// of Vulkan. So they work with any version of <vulkan/vulkan.h>, with volk, and without either:
//
//   #include <volk.h>                                // or <vulkan/vulkan.h>, before or after qgen, or not at all
//   #include "runtime/engine/device/adopt.h"
#pragma once

#include <cstdint>

#define QGEN_VULKAN_HANDLE(name) typedef struct name##_T* name;
// On 32-bit machines, handles of objects that a device makes are numbers.
#if UINTPTR_MAX > 0xffffffffu
#define QGEN_VULKAN_DEVICE_HANDLE(name) typedef struct name##_T* name;
#else
#define QGEN_VULKAN_DEVICE_HANDLE(name) typedef uint64_t name;
#endif

QGEN_VULKAN_HANDLE(VkInstance)
QGEN_VULKAN_HANDLE(VkPhysicalDevice)
QGEN_VULKAN_HANDLE(VkDevice)
QGEN_VULKAN_HANDLE(VkQueue)
QGEN_VULKAN_HANDLE(VkCommandBuffer)
QGEN_VULKAN_DEVICE_HANDLE(VkBuffer)
QGEN_VULKAN_DEVICE_HANDLE(VkImage)
QGEN_VULKAN_DEVICE_HANDLE(VkImageView)
QGEN_VULKAN_DEVICE_HANDLE(VkSemaphore)
QGEN_VULKAN_DEVICE_HANDLE(VkDescriptorPool)
QGEN_VULKAN_DEVICE_HANDLE(VkPipelineCache)

typedef void (*PFN_vkVoidFunction)(void);
typedef PFN_vkVoidFunction (*PFN_vkGetInstanceProcAddr)(VkInstance instance, const char* name);
struct VkDeviceCreateInfo;
struct VkBufferCreateInfo;
struct VkImageCreateInfo;

#undef QGEN_VULKAN_HANDLE
#undef QGEN_VULKAN_DEVICE_HANDLE
