// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/dispatch/submission.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "common/stopwatch.h"

namespace qgen::dispatch {
namespace {

// How long the fence is asked before the thread sleeps. A wait that sleeps ends when the driver wakes it: on an NVIDIA
// H200 in a virtual machine that was after 10 to 13 ms, however short the work.
constexpr auto kPollingTime = std::chrono::milliseconds(10);

}  // namespace

Done Submission::init() {
  VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = device_->queue_family;
  VkResult result = device_->vk.vkCreateCommandPool(device_->device, &pool, nullptr, &pool_);
  if (result != VK_SUCCESS) return vulkan::error_of(result, "making a command pool");
  VkFenceCreateInfo fence{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  result = device_->vk.vkCreateFence(device_->device, &fence, nullptr, &fence_);
  if (result != VK_SUCCESS) return vulkan::error_of(result, "making a fence");
  const auto commands = make_commands();
  if (!commands) return commands.error();
  one_time_ = *commands;
  return std::monostate{};
}

Submission::~Submission() {
  settle();
  if (fence_) device_->vk.vkDestroyFence(device_->device, fence_, nullptr);
  if (pool_) device_->vk.vkDestroyCommandPool(device_->device, pool_, nullptr);
}

Expected<VkCommandBuffer> Submission::make_commands() {
  VkCommandBufferAllocateInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  info.commandPool = pool_;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  const VkResult result = device_->vk.vkAllocateCommandBuffers(device_->device, &info, &commands);
  if (result != VK_SUCCESS) return vulkan::error_of(result, "making a command buffer");
  return commands;
}

void Submission::settle() const {
  if (is_broken_) device_->vk.vkDeviceWaitIdle(device_->device);
}

void Submission::free_commands(VkCommandBuffer commands) {
  if (!commands) return;
  settle();
  device_->vk.vkFreeCommandBuffers(device_->device, pool_, 1, &commands);
}

Done Submission::record(VkCommandBuffer commands, bool is_one_time,
                        const std::function<void(VkCommandBuffer)>& record) {
  VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  begin.flags = is_one_time ? VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT : 0;
  VkResult result = device_->vk.vkBeginCommandBuffer(commands, &begin);
  if (result != VK_SUCCESS) return fail(result, "beginning a command buffer");
  full_barrier(commands);
  record(commands);
  result = device_->vk.vkEndCommandBuffer(commands);
  if (result != VK_SUCCESS) return fail(result, "recording commands");
  return std::monostate{};
}

VkResult Submission::wait() {
  // A driver that computes on the CPU needs it for the work.
  const auto start = std::chrono::steady_clock::now();
  while (!device_->profile.numbers.is_cpu && std::chrono::steady_clock::now() - start < kPollingTime) {
    const VkResult status = device_->vk.vkGetFenceStatus(device_->device, fence_);
    if (status != VK_NOT_READY) return status;
    std::this_thread::yield();
  }
  return device_->vk.vkWaitForFences(device_->device, 1, &fence_, VK_TRUE, timeout_ms_ * 1'000'000);
}

Done Submission::run(VkCommandBuffer commands) {
  if (is_broken_) {
    return Error{Error::Kind::device, "an earlier submission failed or did not end, so nothing more is submitted",
                 "close the Executor and the Device, and open them again"};
  }
  VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  VkResult result = VK_SUCCESS;
  {
    const std::lock_guard lock(device_->queue_mutex);
    Stopwatch watch;
    result = device_->vk.vkQueueSubmit(device_->queue, 1, &info, fence_);
    submit_us_ = 1e3 * watch.lap_ms();
  }
  if (result != VK_SUCCESS) return fail(result, "submitting commands");
  result = wait();
  if (result == VK_TIMEOUT) {
    is_broken_ = true;
    return Error{Error::Kind::device, fmt::format("the device did not finish within {} ms", timeout_ms_),
                 "a kernel hangs, or ExecutorOptions::timeout_ms is too short for this work"};
  }
  if (result != VK_SUCCESS) return fail(result, "waiting for the device");
  result = device_->vk.vkResetFences(device_->device, 1, &fence_);
  if (result != VK_SUCCESS) return fail(result, "resetting a fence");
  return std::monostate{};
}

Done Submission::run_now(const std::function<void(VkCommandBuffer)>& record_commands) {
  if (const Done recorded = record(one_time_, true, record_commands); !recorded) return recorded.error();
  return run(one_time_);
}

void Submission::full_barrier(VkCommandBuffer commands) const {
  VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  barrier.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  device_->vk.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0,
                                   1, &barrier, 0, nullptr, 0, nullptr);
}

Done Submission::fail(VkResult result, std::string_view doing) {
  if (result == VK_ERROR_DEVICE_LOST) is_broken_ = true;
  return vulkan::error_of(result, doing);
}

}  // namespace qgen::dispatch
