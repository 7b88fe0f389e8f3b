// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Command buffers, handed to the queue and waited for, one at a time.
//
// Every command buffer begins with full_barrier(): whatever earlier submissions wrote is visible to it. Within it, the
// code that records decides.
#pragma once

#include <functional>
#include <memory>

#include "runtime/device/handles.h"

namespace qgen::dispatch {

class Submission {
 public:
  Submission(std::shared_ptr<const Device::Handles> device, uint64_t timeout_ms)
      : device_(std::move(device)), timeout_ms_(timeout_ms) {}
  Done init();
  const std::shared_ptr<const Device::Handles>& device() const { return device_; }
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;
  ~Submission();

  Expected<VkCommandBuffer> make_commands();
  void free_commands(VkCommandBuffer commands);  // null: none
  // After a timeout the device still works on what was submitted, and nothing of it may be freed before this.
  void settle() const;

  // Records through `record`, which is given the buffer with full_barrier() already in it.
  Done record(VkCommandBuffer commands, bool is_one_time, const std::function<void(VkCommandBuffer)>& record);
  // Submits and waits. Errors: a lost device, a submission that took too long; after either, nothing else is accepted.
  Done run(VkCommandBuffer commands);
  double submit_us() const { return submit_us_; }  // of the last run(), until the device had it
  // Both, with a command buffer of its own.
  Done run_now(const std::function<void(VkCommandBuffer)>& record);

  void full_barrier(VkCommandBuffer commands) const;

 private:
  VkResult wait();
  Done fail(VkResult result, std::string_view doing);

  std::shared_ptr<const Device::Handles> device_;
  uint64_t timeout_ms_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer one_time_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  bool is_broken_ = false;
  double submit_us_ = 0;
};

}  // namespace qgen::dispatch
