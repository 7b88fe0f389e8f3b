// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The Vulkan handles of an open device, for runtime/engine/dispatch. Nothing outside these two rooms includes this.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>

#include "runtime/engine/device/device.h"
#include "runtime/engine/device/instance.h"

namespace qgen {
namespace vulkan {

#define QGEN_DEVICE_FUNCTIONS(X)          \
  X(vkAllocateCommandBuffers)             \
  X(vkAllocateDescriptorSets)             \
  X(vkBeginCommandBuffer)                 \
  X(vkCmdBindDescriptorSets)              \
  X(vkCmdBindPipeline)                    \
  X(vkCmdCopyBuffer)                      \
  X(vkCmdCopyBufferToImage)               \
  X(vkCmdCopyImageToBuffer)               \
  X(vkCmdDispatch)                        \
  X(vkCmdDispatchIndirect)                \
  X(vkCmdFillBuffer)                      \
  X(vkCmdPipelineBarrier)                 \
  X(vkCmdPushConstants)                   \
  X(vkCmdPushDescriptorSetKHR)            \
  X(vkCmdResetQueryPool)                  \
  X(vkCmdWriteTimestamp)                  \
  X(vkCreateCommandPool)                  \
  X(vkCreateComputePipelines)             \
  X(vkCreateDescriptorPool)               \
  X(vkCreateDescriptorSetLayout)          \
  X(vkCreateFence)                        \
  X(vkCreateImageView)                    \
  X(vkCreatePipelineCache)                \
  X(vkCreatePipelineLayout)               \
  X(vkCreateQueryPool)                    \
  X(vkCreateSemaphore)                    \
  X(vkCreateShaderModule)                 \
  X(vkDestroyCommandPool)                 \
  X(vkDestroyDescriptorPool)              \
  X(vkDestroyDescriptorSetLayout)         \
  X(vkDestroyDevice)                      \
  X(vkDestroyFence)                       \
  X(vkDestroyImageView)                   \
  X(vkDestroyPipeline)                    \
  X(vkDestroyPipelineCache)               \
  X(vkDestroyPipelineLayout)              \
  X(vkDestroyQueryPool)                   \
  X(vkDestroySemaphore)                   \
  X(vkDestroyShaderModule)                \
  X(vkDeviceWaitIdle)                     \
  X(vkEndCommandBuffer)                   \
  X(vkFreeCommandBuffers)                 \
  X(vkGetBufferMemoryRequirements)        \
  X(vkGetDeviceQueue)                     \
  X(vkGetFenceStatus)                     \
  X(vkGetImageMemoryRequirements)         \
  X(vkGetPipelineCacheData)               \
  X(vkGetPipelineExecutablePropertiesKHR) \
  X(vkGetPipelineExecutableStatisticsKHR) \
  X(vkGetQueryPoolResults)                \
  X(vkGetSemaphoreCounterValue)           \
  X(vkQueueSubmit)                        \
  X(vkQueueWaitIdle)                      \
  X(vkResetDescriptorPool)                \
  X(vkResetFences)                        \
  X(vkUpdateDescriptorSets)               \
  X(vkWaitForFences)                      \
  X(vkWaitSemaphores)

// Null where the device lacks the extension that has the function.
struct DeviceFunctions {
#define QGEN_MEMBER(function) PFN_##function function = nullptr;
  QGEN_DEVICE_FUNCTIONS(QGEN_MEMBER)
#undef QGEN_MEMBER

  // Before Vulkan 1.2, functions of timeline semaphores have the names of the extension.
  void load(PFN_vkGetDeviceProcAddr function_of, VkDevice device, uint32_t api_version);
};

// Held while the queue is used: several Executors may share it, and those who lent it.
class QueueLock {
 public:
  QueueLock() = default;
  QueueLock(std::function<void()> lock, std::function<void()> unlock)
      : lock_(std::move(lock)), unlock_(std::move(unlock)) {}

  void lock() {
    mutex_.lock();
    if (lock_) lock_();
  }
  void unlock() {
    if (unlock_) unlock_();
    mutex_.unlock();
  }

 private:
  std::mutex mutex_;
  std::function<void()> lock_, unlock_;
};

}  // namespace vulkan

struct Device::Handles {
  Handles(vulkan::Instance owner, VkPhysicalDevice physical_device)
      : instance(std::move(owner)), physical(physical_device) {}
  Handles(vulkan::Instance owner, VkPhysicalDevice physical_device, std::function<void()> lock,
          std::function<void()> unlock)
      : instance(std::move(owner)), physical(physical_device), queue_lock(std::move(lock), std::move(unlock)) {}
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles();

  vulkan::Instance instance;  // destroyed last
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  bool is_adopted = false;  // the caller's: neither destroyed nor waited for
  vulkan::DeviceFunctions vk;
  VkQueue queue = VK_NULL_HANDLE;  // null: the caller submits
  uint32_t queue_family = 0;
  uint32_t timestamp_bits = 0;
  bool has_robust_buffer_access = false;  // enabled
  bool has_pipeline_statistics = false;   // the same
  bool has_push_descriptors = false;      // the same
  bool has_timeline_semaphores = false;   // the same
  mutable vulkan::QueueLock queue_lock;
  mutable std::atomic<bool> is_unsettled = false;  // a wait has failed, so the queue may still be at work
  DeviceProfile profile;

  // If a wait has failed, waits for the queue. To be called before memory and commands are destroyed.
  void settle() const;
};

}  // namespace qgen
