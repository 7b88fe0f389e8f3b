// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Submits command buffers to the queue. Either it waits for each one, or each one signals the next value of a timeline
// semaphore.
//
// Every command buffer begins with full_barrier(): it sees everything that earlier submissions wrote. The code that
// records it sets all other barriers.
#pragma once

#include <unistd.h>

#include <functional>
#include <memory>

#include "runtime/engine/device/handles.h"
#include "runtime/engine/dispatch/executor.h"

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
  // After a failed wait the device may still work on the submission, and nothing of it may be freed before this.
  void settle() const;

  // Records through `record`, which is given the buffer with full_barrier() already in it.
  enum class Usage : uint8_t { repeated, one_time, simultaneous };  // simultaneous: again while it runs
  Done record(VkCommandBuffer commands, Usage usage, const std::function<void(VkCommandBuffer)>& record);
  // Submits and waits. Errors: a lost device, a submission that took too long; after either, nothing else is accepted.
  Done run(VkCommandBuffer commands);
  double submit_us() const { return submit_us_; }  // of the last run(), until the device had it
  // Submits without waiting. Errors: the errors of run(), and a device without timeline semaphores.
  Expected<Submitted> submit(VkCommandBuffer commands, const SubmitOptions& options);
  Done wait_for(uint64_t value);
  Expected<bool> is_done(uint64_t value) const;
  // Both, with a separate command buffer.
  Done run_now(const std::function<void(VkCommandBuffer)>& record);

  void full_barrier(VkCommandBuffer commands) const;

 private:
  VkResult poll(const std::function<VkResult()>& status_of) const;
  VkResult wait();
  Done check_may_submit() const;
  VkResult make_timeline();
  VkResult submit_with_semaphores(VkCommandBuffer commands, const SubmitOptions& options);
  Error timed_out();                                          // nothing more is submitted
  Done wait_failed(VkResult result, std::string_view doing);  // the same, since the device may still be at work
  Done fail(VkResult result, std::string_view doing);

  std::shared_ptr<const Device::Handles> device_;
  uint64_t timeout_ms_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer one_time_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  VkSemaphore timeline_ = VK_NULL_HANDLE;  // made by the first submit()
  uint64_t last_value_ = 0;
  bool is_broken_ = false;
  pid_t process_ = ::getpid();  // a forked child lacks the driver's threads, and would wait forever
  double submit_us_ = 0;
};

}  // namespace qgen::dispatch
