// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Works -> a recording: dispatches that are put into command buffers again and again, qgen's or the caller's.
//
//   check      each work against what its choice was made for (work_checks.h)
//   plan       every launch becomes a Dispatch with its operands (plan.h)
//   allocate   memory for scratch (as large as the neediest work without its own; they share it) and one buffer of
//              problem blocks
//   describe   a descriptor set a dispatch, unless the device has push descriptors
//   encode     when it is first run: a command buffer; others for submit(), and with timestamps for time()
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/engine/dispatch/executor.h"
#include "runtime/engine/dispatch/plan.h"
#include "runtime/engine/dispatch/submission.h"
#include "runtime/engine/dispatch/timestamps.h"

namespace qgen {

namespace dispatch {

class Recorder {
 public:
  Recorder(SharedAllocator allocator, std::shared_ptr<Submission> submission, std::shared_ptr<Pipelines> pipelines,
           Absentees& absentees);
  Expected<std::unique_ptr<Recording::State>> record(std::span<const Work> works);

 private:
  Done keep(std::span<const DeviceTensor* const> operands);
  Done plan(const Work& work);
  Done allocate();
  Done describe();

  const Device::Handles& device() const { return allocator_->device(); }

  SharedAllocator allocator_;
  std::shared_ptr<Submission> submission_;
  std::shared_ptr<Pipelines> pipelines_;
  Absentees* absentees_;
  std::unique_ptr<Recording::State> state_;
  uint64_t scratch_bytes_ = 0;
  std::vector<std::byte> blocks_;
};

// Writes blocks into a separate buffer.
Expected<Buffer> make_blocks(const SharedAllocator& allocator, std::span<const std::byte> blocks);

}  // namespace dispatch

struct Recording::State {
  State(std::shared_ptr<dispatch::Submission> queue, std::shared_ptr<const dispatch::Pipelines> made)
      : submission(std::move(queue)), pipelines(std::move(made)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  void encode(VkCommandBuffer to) const;
  // With a timestamp before the first dispatch, and one after each chain of them.
  void encode_timed(VkCommandBuffer to) const;
  Done prepare(VkCommandBuffer& commands_of, dispatch::Submission::Usage usage);  // encodes it, if that is null
  Done prepare_commands();
  Done prepare_submitting();
  Done prepare_timing(uint32_t chain);
  Expected<Timing> read_timing() const;

  const Device::Handles& device() const { return pipelines->device(); }

  // The objects that the commands use. They are kept so that the commands may be submitted, or freed, after everything
  // else is gone.
  std::shared_ptr<dispatch::Submission> submission;
  std::shared_ptr<const dispatch::Pipelines> pipelines;
  std::vector<std::shared_ptr<const void>> kept;  // memory of operands and stand-ins
  std::vector<dispatch::Dispatch> dispatches;     // their launches are gone
  dispatch::Buffer scratch;
  dispatch::Buffer blocks;
  VkDescriptorPool descriptors = VK_NULL_HANDLE;
  VkCommandBuffer commands = VK_NULL_HANDLE;            // of run()
  VkCommandBuffer submitted_commands = VK_NULL_HANDLE;  // of submit()
  uint64_t last_submitted = 0;                          // the timeline's value; 0: never
  VkCommandBuffer timed_commands = VK_NULL_HANDLE;
  uint32_t timed_chain = 0;  // of timed_commands
  std::optional<dispatch::Timestamps> timestamps;
};

}  // namespace qgen
