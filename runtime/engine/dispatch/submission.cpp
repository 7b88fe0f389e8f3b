// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/dispatch/submission.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "common/stopwatch.h"

namespace qgen::dispatch {
namespace {

// How long a fence or semaphore is polled before the thread sleeps. A sleeping wait ends when the driver wakes it: on
// an NVIDIA H200 in a virtual machine that was after 10 to 13 ms, however short the work.
constexpr auto kPollingTime = std::chrono::milliseconds(10);

}  // namespace

// A device that is lent without a queue is submitted to by its owner alone.
Done Submission::init() {
  if (!device_->queue) return std::monostate{};
  VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = device_->queue_family;
  VkResult result = device_->vk.vkCreateCommandPool(device_->device, &pool, nullptr, &pool_);
  if (result != VK_SUCCESS) return vulkan::error_of(result, "creating a command pool");
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
  if (timeline_) {
    if (!wait_for(last_value_)) settle();
    device_->vk.vkDestroySemaphore(device_->device, timeline_, nullptr);
  }
  if (fence_) device_->vk.vkDestroyFence(device_->device, fence_, nullptr);
  if (pool_) device_->vk.vkDestroyCommandPool(device_->device, pool_, nullptr);
}

Expected<VkCommandBuffer> Submission::make_commands() {
  if (const Done may = check_may_submit(); !may) return may.error();
  VkCommandBufferAllocateInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  info.commandPool = pool_;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  const VkResult result = device_->vk.vkAllocateCommandBuffers(device_->device, &info, &commands);
  if (result != VK_SUCCESS) return vulkan::error_of(result, "creating a command buffer");
  return commands;
}

void Submission::settle() const { device_->settle(); }

void Submission::free_commands(VkCommandBuffer commands) {
  if (!commands) return;
  settle();
  device_->vk.vkFreeCommandBuffers(device_->device, pool_, 1, &commands);
}

Done Submission::record(VkCommandBuffer commands, Usage usage, const std::function<void(VkCommandBuffer)>& record) {
  VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  if (usage == Usage::one_time) begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  if (usage == Usage::simultaneous) begin.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
  VkResult result = device_->vk.vkBeginCommandBuffer(commands, &begin);
  if (result != VK_SUCCESS) return fail(result, "beginning a command buffer");
  full_barrier(commands);
  record(commands);
  result = device_->vk.vkEndCommandBuffer(commands);
  if (result != VK_SUCCESS) return fail(result, "recording commands");
  return std::monostate{};
}

// The last status: VK_NOT_READY after kPollingTime. A driver that computes on the CPU needs it for the work.
VkResult Submission::poll(const std::function<VkResult()>& status_of) const {
  const auto start = std::chrono::steady_clock::now();
  while (!device_->profile.numbers.is_cpu && std::chrono::steady_clock::now() - start < kPollingTime) {
    const VkResult status = status_of();
    if (status != VK_NOT_READY) return status;
    std::this_thread::yield();
  }
  return VK_NOT_READY;
}

VkResult Submission::wait() {
  const VkResult polled = poll([&] { return device_->vk.vkGetFenceStatus(device_->device, fence_); });
  if (polled != VK_NOT_READY) return polled;
  return device_->vk.vkWaitForFences(device_->device, 1, &fence_, VK_TRUE, timeout_ms_ * 1'000'000);
}

Done Submission::check_may_submit() const {
  if (!device_->queue) {
    return Error{Error::Kind::unsupported, "the device was lent without a queue, so qgen submits nothing to it",
                 "lend a queue too, or record into a command buffer of your own"};
  }
  if (process_ != ::getpid()) {
    return Error{Error::Kind::unsupported, "the device belongs to the process that opened it, and this is another one",
                 "open a device after the fork"};
  }
  if (!is_broken_) return std::monostate{};
  return Error{Error::Kind::device, "an earlier submission failed or did not end, so nothing more is submitted",
               "close the Executor and the Device, and open them again"};
}

Done Submission::run(VkCommandBuffer commands) {
  if (Done may = check_may_submit(); !may) return may;
  VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  // Here, where nothing is in flight: if it fails, the next submission can be made all the same.
  VkResult result = device_->vk.vkResetFences(device_->device, 1, &fence_);
  if (result != VK_SUCCESS) return fail(result, "resetting a fence");
  {
    const std::lock_guard lock(device_->queue_lock);
    Stopwatch watch;
    result = device_->vk.vkQueueSubmit(device_->queue, 1, &info, fence_);
    submit_us_ = 1e3 * watch.lap_ms();
  }
  if (result != VK_SUCCESS) return fail(result, "submitting commands");
  result = wait();
  if (result == VK_TIMEOUT) return timed_out();
  if (result != VK_SUCCESS) return wait_failed(result, "waiting for the device");
  return std::monostate{};
}

Done Submission::run_now(const std::function<void(VkCommandBuffer)>& record_commands) {
  if (Done may = check_may_submit(); !may) return may;
  if (const Done recorded = record(one_time_, Usage::one_time, record_commands); !recorded) return recorded.error();
  return run(one_time_);
}

// ---- without waiting ------------------------------------------------------------------------------------------------

VkResult Submission::make_timeline() {
  VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
  info.pNext = &type;
  return device_->vk.vkCreateSemaphore(device_->device, &info, nullptr, &timeline_);
}

Expected<Submitted> Submission::submit(VkCommandBuffer commands, const SubmitOptions& options) {
  if (const Done may = check_may_submit(); !may) return may.error();
  if (!device_->has_timeline_semaphores) {
    return Error{Error::Kind::unsupported, "the device was made without timelineSemaphore, which submit() needs",
                 "enable it, or use run(), or record into a command buffer of your own"};
  }
  if (!timeline_) {
    const VkResult made = make_timeline();
    if (made != VK_SUCCESS) return vulkan::error_of(made, "creating a timeline semaphore");
  }
  const VkResult result = submit_with_semaphores(commands, options);
  if (result != VK_SUCCESS) return fail(result, "submitting commands").error();
  return Submitted{timeline_, last_value_};
}

VkResult Submission::submit_with_semaphores(VkCommandBuffer commands, const SubmitOptions& options) {
  std::vector<VkSemaphore> waits, signals = {timeline_};
  std::vector<uint64_t> wait_values, signal_values = {last_value_ + 1};
  for (const SemaphoreValue& wait : options.wait) {
    waits.push_back(wait.semaphore);
    wait_values.push_back(wait.value);
  }
  for (const SemaphoreValue& signal : options.signal) {
    signals.push_back(signal.semaphore);
    signal_values.push_back(signal.value);
  }
  const std::vector<VkPipelineStageFlags> stages(waits.size(), VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
  VkTimelineSemaphoreSubmitInfo values{VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
  values.waitSemaphoreValueCount = static_cast<uint32_t>(wait_values.size());
  values.pWaitSemaphoreValues = wait_values.data();
  values.signalSemaphoreValueCount = static_cast<uint32_t>(signal_values.size());
  values.pSignalSemaphoreValues = signal_values.data();
  VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  info.pNext = &values;
  info.waitSemaphoreCount = static_cast<uint32_t>(waits.size());
  info.pWaitSemaphores = waits.data();
  info.pWaitDstStageMask = stages.data();
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  info.signalSemaphoreCount = static_cast<uint32_t>(signals.size());
  info.pSignalSemaphores = signals.data();
  const std::lock_guard lock(device_->queue_lock);
  const VkResult result = device_->vk.vkQueueSubmit(device_->queue, 1, &info, VK_NULL_HANDLE);
  if (result == VK_SUCCESS) ++last_value_;
  return result;
}

Done Submission::wait_for(uint64_t value) {
  if (!timeline_ || value == 0) return std::monostate{};
  const VkResult polled = poll([&] {
    uint64_t reached = 0;
    const VkResult read = device_->vk.vkGetSemaphoreCounterValue(device_->device, timeline_, &reached);
    return read == VK_SUCCESS && reached < value ? VK_NOT_READY : read;
  });
  if (polled == VK_SUCCESS) return std::monostate{};
  if (polled != VK_NOT_READY) return wait_failed(polled, "waiting for a submission");
  VkSemaphoreWaitInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
  info.semaphoreCount = 1;
  info.pSemaphores = &timeline_;
  info.pValues = &value;
  const VkResult result = device_->vk.vkWaitSemaphores(device_->device, &info, timeout_ms_ * 1'000'000);
  if (result == VK_SUCCESS) return std::monostate{};
  if (result == VK_TIMEOUT) return timed_out();
  return wait_failed(result, "waiting for a submission");
}

Expected<bool> Submission::is_done(uint64_t value) const {
  if (!timeline_ || value == 0) return true;
  uint64_t reached = 0;
  const VkResult result = device_->vk.vkGetSemaphoreCounterValue(device_->device, timeline_, &reached);
  if (result != VK_SUCCESS) return vulkan::error_of(result, "asking a timeline semaphore");
  return reached >= value;
}

void Submission::full_barrier(VkCommandBuffer commands) const {
  VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  barrier.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  device_->vk.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0,
                                   1, &barrier, 0, nullptr, 0, nullptr);
}

Error Submission::timed_out() {
  is_broken_ = device_->is_unsettled = true;
  return {Error::Kind::device, fmt::format("the device did not finish within {} ms", timeout_ms_),
          "a kernel hangs, or ExecutorOptions::timeout_ms is too short for this work"};
}

Done Submission::wait_failed(VkResult result, std::string_view doing) {
  is_broken_ = device_->is_unsettled = true;
  return vulkan::error_of(result, doing);
}

Done Submission::fail(VkResult result, std::string_view doing) {
  if (result == VK_ERROR_DEVICE_LOST) is_broken_ = true;
  return vulkan::error_of(result, doing);
}

}  // namespace qgen::dispatch
