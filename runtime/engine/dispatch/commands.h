// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Records works into the caller's command buffer, between the caller's commands. It neither submits nor waits.
//
//   Commands frames[] = {*executor.commands({.arena = &arenas[0]}), *executor.commands({.arena = &arenas[1]})};
//   ...
//   Commands& frame = frames[number % 2];           // the caller has waited until the device is done with it
//   vkBeginCommandBuffer(mine, ...);
//   frame.begin(mine);
//   Context context{device.profile(), library, executor, .commands = &frame};
//   auto h = q8ta_linear(context, {.input = x, .weight = w, .weight_scales = s}, {...});    // recorded, not run
//   softmax(context, {.input = *h, .output = &y});                                           // into the caller's tensor
//   frame.end();
//   vkCmdDispatch(mine, ...);                       // the caller's own, which may read y
//
// Barriers: works that access the same bytes wait for each other, byte range by byte range. A barrier from
// `edges.before` precedes the first work, and end() records one to `edges.after`. With the defaults, qgen sees
// everything that the caller recorded or submitted earlier, and all later commands see everything that qgen wrote. Call
// begin() once in a frame. After end(), resume() continues the frame, in this command buffer or another one.
//
// State that it changes: the compute pipeline, its descriptor set 0 and its push constants.
//
// Lifetime: it keeps the tensors and pipelines of its commands until begin() is called again, or it is destroyed. The
// caller must wait until the device has finished these commands. It belongs to one thread at a time. Several threads
// each have a Commands, and share pipelines.
#pragma once

#include <memory>
#include <span>

#include "runtime/engine/dispatch/executor.h"

namespace qgen {

namespace dispatch {
class Allocator;
class Pipelines;
}  // namespace dispatch

// Pipeline stages and kinds of access, as Vulkan's flags of the same names.
struct Edge {
  uint32_t stages = 0;  // VkPipelineStageFlags; 0: no barrier, the caller sets its own
  uint32_t access = 0;  // VkAccessFlags
};
struct Edges {
  Edge before = {0x10000, 0x10000};          // ALL_COMMANDS, MEMORY_WRITE: earlier writes may be read
  Edge after = {0x10000, 0x8000 | 0x10000};  // ALL_COMMANDS, MEMORY_READ | MEMORY_WRITE
};

struct CommandsOptions {
  // The memory of tensors that are not given, and scratch, consecutive from its beginning in each frame. Any tensor in
  // a buffer that is in no other arena, such as one of wrap(). Null: memory of qgen's, made when it is needed.
  const DeviceTensor* arena = nullptr;
  // The caller's pool: sets are allocated from it and never freed, so it is reset before begin(). Null: pools of qgen's.
  // A device with push descriptors needs none.
  VkDescriptorPool descriptor_pool = {};
  Edges edges = {};
};

// A tensor of a recording, and its replacement; both have the same description.
struct Rebinding {
  const DeviceTensor* from = nullptr;
  const DeviceTensor* to = nullptr;
};

class Commands {
 public:
  // A frame: its earlier recording is no longer in use. `into` is in the recording state until end(). Errors: of
  // resetting its pools.
  Done begin(VkCommandBuffer into);
  // The same frame again, after commands of the caller.
  Done resume(VkCommandBuffer into);
  // The edges make writes visible.
  Done end();

  // A choice with its operands, as in a Work. It is planned at the first call, and kept: each further one writes a
  // descriptor set, at most one barrier a launch, and dispatches. Errors: the errors of Executor::record(); the arena
  // is full.
  Done record(const std::shared_ptr<const Choice>& choice, std::span<const DeviceTensor* const> operands,
              const DeviceTensor* scratch = nullptr);
  // The same, planned each time.
  Done record(const Work& work);
  // All works of a recording, in their order. Nothing is planned again. Errors: another executor's recording; a
  // replacement with another description, or one that shares written bytes with another operand.
  Done record(const Recording& recording, std::span<const Rebinding> rebindings = {});

  // A tensor of this frame: in the arena, or with separate memory. Its contents are undefined.
  Expected<DeviceTensor> allocate(DType dtype, const Shape& shape, Storage storage, Layout layout = Layout::strided);
  uint64_t arena_bytes_used() const;  // since begin()

  Commands(Commands&&) noexcept;
  Commands& operator=(Commands&&) noexcept;
  ~Commands();

 private:
  friend class Executor;
  static Expected<Commands> create(const std::shared_ptr<const dispatch::Allocator>& allocator,
                                   const std::shared_ptr<dispatch::Pipelines>& pipelines,
                                   const CommandsOptions& options);
  struct State;
  explicit Commands(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace qgen
