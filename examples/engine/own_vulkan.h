// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The engine's part of the example: an instance, a device with a queue, memory by a separate VMA, a shader, and two
// frames that may be in flight. It links libvulkan. With QGEN_VALIDATION=1 it uses the validation layer.
#pragma once

#include <vk_mem_alloc.h>
#include <vulkan/vulkan.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace engine {

void check(VkResult result, const char* doing);  // exits if it is not success

// Instance, device and allocator. They must outlive everything else.
class Base {
 public:
  Base();
  ~Base();
  Base(const Base&) = delete;
  Base& operator=(const Base&) = delete;

  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice gpu = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  uint32_t queue_family = 0;
  VmaAllocator memory = nullptr;

  // The structure that vkCreateDevice() got. It is valid as long as this object, with its features and extensions.
  const VkDeviceCreateInfo& created_with() const { return device_info_; }
  size_t validation_messages() const { return messages_.size(); }

 private:
  void make_instance();
  void make_device();

  std::vector<std::string> messages_;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  std::vector<const char*> extensions_;
  VkPhysicalDeviceVulkan12Features features12_{};
  float priority_ = 1;
  VkDeviceQueueCreateInfo queue_info_{};
  VkDeviceCreateInfo device_info_{};
  struct Recommended;
  Recommended* recommended_ = nullptr;
};

// A buffer that the host can read and write. A real engine would copy to memory that is faster for the device.
class Buffer {
 public:
  Buffer(const Base& base, uint64_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  VkBuffer handle = VK_NULL_HANDLE;
  std::span<float> values() const { return {mapped_, bytes_ / sizeof(float)}; }
  uint64_t bytes() const { return bytes_; }

 private:
  const Base& base_;
  uint64_t bytes_;
  VmaAllocation allocation_ = nullptr;
  float* mapped_ = nullptr;
};

// twice.comp, from one range of a buffer to another. Each has `count` floats, a multiple of 64.
class Twice {
 public:
  explicit Twice(const Base& base);
  ~Twice();
  Twice(const Twice&) = delete;
  Twice& operator=(const Twice&) = delete;

  VkDescriptorSet make_set(VkDescriptorBufferInfo from, VkDescriptorBufferInfo to) const;
  void record(VkCommandBuffer commands, VkDescriptorSet set, uint32_t count) const;

 private:
  const Base& base_;
  VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkPipeline pipeline_ = VK_NULL_HANDLE;
  VkDescriptorPool pool_ = VK_NULL_HANDLE;
};

// A command buffer, and the fence that the device signals when it has finished.
class Frame {
 public:
  explicit Frame(const Base& base);
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  VkCommandBuffer begin();  // waits until the device has finished the previous commands
  void submit();
  void wait();

 private:
  const Base& base_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkFence done_ = VK_NULL_HANDLE;  // signalled at first
};

// Commands after it wait for all commands before it, and see everything that these wrote.
void full_barrier(VkCommandBuffer commands);

}  // namespace engine
