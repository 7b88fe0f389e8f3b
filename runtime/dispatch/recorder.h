// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Works -> a recording: command buffers that can be submitted again and again.
//
//   check      each work against what its choice was made for (work_checks.h)
//   plan       every launch becomes a Dispatch: its pipeline, what it binds, its push constants, whether it must wait
//   allocate   memory for scratch (as large as the neediest work without its own; they share it) and one buffer of
//              problem blocks
//   describe   a descriptor set a dispatch
//   encode     the command buffer; a second one with timestamps when time() asks
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/dispatch/dependencies.h"
#include "runtime/dispatch/executor.h"
#include "runtime/dispatch/memory.h"
#include "runtime/dispatch/pipelines.h"
#include "runtime/dispatch/submission.h"
#include "runtime/dispatch/timestamps.h"
#include "runtime/dispatch/transfers.h"

namespace qgen {

namespace dispatch {

struct BoundResource {
  enum class Source : uint8_t { tensor, scratch, block } source = Source::tensor;
  const BindingInfo* binding = nullptr;
  VkBuffer buffer = VK_NULL_HANDLE;  // of scratch and blocks: known after allocating
  uint64_t offset = 0;
  uint64_t range = 0;
  VkImageView view = VK_NULL_HANDLE;  // of images
};

struct Dispatch {
  const Pipeline* pipeline = nullptr;
  VkDescriptorSet set = VK_NULL_HANDLE;
  std::vector<BoundResource> resources;
  std::vector<std::byte> push_constants;
  std::array<uint32_t, 3> groups{};  // 0 anywhere: nothing is dispatched
  bool needs_barrier = false;

  bool is_empty() const { return groups[0] == 0 || groups[1] == 0 || groups[2] == 0; }
};

// Stand-ins for optional operands that are left out: kernels read nothing from them, but Vulkan wants something bound.
class Absentees {
 public:
  Absentees(SharedAllocator allocator, Transfers& transfers)
      : allocator_(std::move(allocator)), transfers_(&transfers) {}
  Expected<std::shared_ptr<const Buffer>> buffer();
  Expected<std::shared_ptr<const Image>> image(DType dtype);

 private:
  SharedAllocator allocator_;
  Transfers* transfers_;
  std::shared_ptr<const Buffer> buffer_;
  std::map<DType, std::shared_ptr<const Image>> images_;
};
constexpr uint64_t kAbsentBytes = 16;

class Recorder {
 public:
  Recorder(SharedAllocator allocator, std::shared_ptr<Submission> submission, std::shared_ptr<Pipelines> pipelines,
           Absentees& absentees);
  Expected<std::unique_ptr<Recording::State>> record(std::span<const Work> works);

 private:
  Done keep(std::span<const DeviceTensor* const> operands);
  Done plan(const Work& work);
  Done plan(const Work& work, const Launch& launch, std::span<const Region> scratch);
  Expected<std::vector<Region>> place_scratch(const Work& work);
  Expected<BoundResource> bind(const Work& work, const Launch& launch, const BindingInfo& binding,
                               std::span<const Region> scratch);
  Expected<BoundResource> bind_tensor(const DeviceTensor& tensor, const Launch& launch, const BindingInfo& binding);
  Expected<BoundResource> bind_absent(const Launch& launch, const BindingInfo& binding);
  BoundResource bind_block(const Launch& launch, const BindingInfo& binding);
  Done allocate();
  Done describe();

  const Device::Handles& device() const { return allocator_->device(); }

  SharedAllocator allocator_;
  std::shared_ptr<Submission> submission_;
  std::shared_ptr<Pipelines> pipelines_;
  Absentees* absentees_;
  std::unique_ptr<Recording::State> state_;
  Dependencies dependencies_;
  uint64_t scratch_bytes_ = 0;
  std::vector<std::byte> blocks_;
};

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
  Done prepare_timing(uint32_t chain);
  Expected<Timing> read_timing() const;

  const Device::Handles& device() const { return pipelines->device(); }

  // What the commands use, kept so that they may be submitted, or freed, after everything else is gone.
  std::shared_ptr<dispatch::Submission> submission;
  std::shared_ptr<const dispatch::Pipelines> pipelines;
  std::vector<std::shared_ptr<const void>> kept;  // memory of operands and stand-ins
  std::vector<dispatch::Dispatch> dispatches;
  dispatch::Buffer scratch;
  dispatch::Buffer blocks;
  VkDescriptorPool descriptors = VK_NULL_HANDLE;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  VkCommandBuffer timed_commands = VK_NULL_HANDLE;
  uint32_t timed_chain = 0;  // of timed_commands
  std::optional<dispatch::Timestamps> timestamps;
};

}  // namespace qgen
