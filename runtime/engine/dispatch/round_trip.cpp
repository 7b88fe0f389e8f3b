// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/dispatch/round_trip.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "runtime/engine/dispatch/device_tensor.h"
#include "runtime/engine/dispatch/recorder.h"
#include "runtime/engine/dispatch/transfers.h"

namespace qgen {
namespace {

// A tensor's bytes, in its buffer and in a slot of the staging buffer.
struct Piece {
  VkBuffer buffer;
  VkBufferCopy region;     // from slot 0
  uint64_t element_bytes;  // the rest of the region is padding
};

Done add_pieces(const std::vector<const DeviceTensor*>& tensors, std::vector<Piece>& pieces, uint64_t& size) {
  for (const DeviceTensor* tensor : tensors) {
    const DeviceTensor::Memory& memory = tensor->memory();
    if (!memory.allocator) return moved_from("tensor");
    if (memory.storage != Storage::buffer || memory.layout != Layout::strided)
      return refused(fmt::format("a tensor is {} in a {}", name(memory.layout), name(memory.storage)),
                     "it must be row-major, in a buffer");
    pieces.push_back({memory.buffer_handle(), {size, memory.offset, memory.tensor_bytes}, memory.dense_bytes});
    size += memory.tensor_bytes;
  }
  return std::monostate{};
}

// Command buffers, each made when it is first run: with all inputs from the host, and with the fed one from the other
// slot. Each has the copies and the recording's dispatches: three command buffers took longer on an H200. `submitted` is
// the point of the timeline at which the last run is done.
struct Slot {
  VkCommandBuffer plain = VK_NULL_HANDLE, fed = VK_NULL_HANDLE;
  uint64_t submitted = 0;
};

// Between copies and dispatches, in either order.
void barrier(const vulkan::DeviceFunctions& vk, VkCommandBuffer to) {
  constexpr VkPipelineStageFlags kStages = VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  memory.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  memory.dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  vk.vkCmdPipelineBarrier(to, kStages, kStages, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

}  // namespace

struct RoundTrip::State {
  std::shared_ptr<Recording::State> recording;
  dispatch::Buffer staging;
  uint64_t slot_bytes = 0;
  std::vector<Piece> inputs, outputs;
  std::optional<Fed> fed;
  std::array<Slot, kSlots> slots;

  ~State() {
    for (const Slot& slot : slots) {
      (void)recording->submission->wait_for(slot.submitted);
      recording->submission->free_commands(slot.plain);
      recording->submission->free_commands(slot.fed);
    }
  }
  Expected<VkCommandBuffer> commands(size_t slot, bool is_fed);
  void copy_in(VkCommandBuffer to, size_t slot, bool is_fed) const;
  void copy_out(VkCommandBuffer to, size_t slot) const;
  std::span<std::byte> bytes_of(const Piece& piece, size_t slot) const {
    return staging.mapped().subspan(slot * slot_bytes + piece.region.srcOffset, piece.element_bytes);
  }
  Done flush() {
    const VkResult flushed = staging.flush();
    if (flushed != VK_SUCCESS) return vulkan::error_of(flushed, "flushing the staging buffer");
    return std::monostate{};
  }
  Done invalidate() {
    const VkResult seen = staging.invalidate();
    if (seen != VK_SUCCESS) return vulkan::error_of(seen, "invalidating the staging buffer");
    return std::monostate{};
  }
};

RoundTrip::RoundTrip(std::unique_ptr<State> state) : state_(std::move(state)) {}
RoundTrip::RoundTrip(RoundTrip&&) noexcept = default;
RoundTrip& RoundTrip::operator=(RoundTrip&&) noexcept = default;
RoundTrip::~RoundTrip() = default;

Expected<RoundTrip> RoundTrip::create(Recording& recording, const std::vector<const DeviceTensor*>& inputs,
                                      const std::vector<const DeviceTensor*>& outputs, std::optional<Fed> fed) {
  if (!recording.state()) return moved_from("recording");
  auto state = std::make_unique<State>();
  state->recording = recording.shared_state();
  uint64_t size = 0;
  if (Done added = add_pieces(inputs, state->inputs, size); !added) return added.error();
  if (Done added = add_pieces(outputs, state->outputs, size); !added) return added.error();
  if (size == 0) return refused("a round trip has no bytes to copy");
  if (fed) {
    const uint64_t to = state->inputs[fed->input].element_bytes, from = state->outputs[fed->output].element_bytes;
    if (to != from) return refused(fmt::format("an input has {} bytes, and the output that it gets {}", to, from));
  }
  state->fed = fed;
  state->slot_bytes = size;
  const DeviceTensor& any = inputs.empty() ? *outputs.front() : *inputs.front();
  auto staging = dispatch::Buffer::make(any.memory().allocator, kSlots * size, dispatch::BufferUse::staging);
  if (!staging) return staging.error();
  state->staging = *std::move(staging);
  std::ranges::fill(state->staging.mapped(), std::byte{0});  // padding too
  if (const auto recorded = state->commands(0, false); !recorded) return recorded.error();
  return RoundTrip(std::move(state));
}

void RoundTrip::State::copy_in(VkCommandBuffer to, size_t slot, bool is_fed) const {
  const auto copy = [&](const Piece& piece, uint64_t from) {
    const VkBufferCopy region{from, piece.region.dstOffset, piece.region.size};
    recording->device().vk.vkCmdCopyBuffer(to, staging.handle(), piece.buffer, 1, &region);
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!is_fed || i != fed->input) copy(inputs[i], slot * slot_bytes + inputs[i].region.srcOffset);
  }
  // The run before has copied its output out; the output's own memory may hold inputs by now.
  const size_t other = (slot + 1) % kSlots;
  if (is_fed) copy(inputs[fed->input], other * slot_bytes + outputs[fed->output].region.srcOffset);
}

void RoundTrip::State::copy_out(VkCommandBuffer to, size_t slot) const {
  const auto& vk = recording->device().vk;
  for (const Piece& piece : outputs) {
    const VkBufferCopy region{piece.region.dstOffset, slot * slot_bytes + piece.region.srcOffset, piece.region.size};
    vk.vkCmdCopyBuffer(to, piece.buffer, staging.handle(), 1, &region);
  }
  dispatch::barrier_to_host(vk, to);
}

Expected<VkCommandBuffer> RoundTrip::State::commands(size_t slot, bool is_fed) {
  VkCommandBuffer& kept = is_fed ? slots[slot].fed : slots[slot].plain;
  if (kept) return kept;
  dispatch::Submission& submission = *recording->submission;
  const auto made = submission.make_commands();
  if (!made) return made.error();
  const auto all = [&](VkCommandBuffer to) {
    copy_in(to, slot, is_fed);
    barrier(recording->device().vk, to);
    recording->encode(to);
    barrier(recording->device().vk, to);
    copy_out(to, slot);
  };
  if (Done done = submission.record(*made, dispatch::Submission::Usage::repeated, all); !done) {
    submission.free_commands(*made);
    return done.error();
  }
  return kept = *made;
}

std::span<std::byte> RoundTrip::input(size_t index, size_t slot) const {
  return state_ ? state_->bytes_of(state_->inputs[index], slot) : std::span<std::byte>();
}
std::span<const std::byte> RoundTrip::output(size_t index, size_t slot) const {
  return state_ ? state_->bytes_of(state_->outputs[index], slot) : std::span<std::byte>();
}

Done RoundTrip::run() {
  if (Done free = wait(0); !free) return free;
  if (Done flushed = state_->flush(); !flushed) return flushed;
  if (Done ran = state_->recording->submission->run(state_->slots[0].plain); !ran) return ran;
  return state_->invalidate();
}

bool RoundTrip::can_submit() const {
  return state_ && state_->recording->submission->device()->has_timeline_semaphores;
}

Done RoundTrip::submit(size_t slot, bool is_fed) {
  if (!state_) return moved_from("round trip");
  if (is_fed && !state_->fed) return refused("the round trip was made without an input that an output feeds");
  if (Done free = wait(slot); !free) return free;
  const auto commands = state_->commands(slot, is_fed);
  if (!commands) return commands.error();
  if (Done flushed = state_->flush(); !flushed) return flushed;
  const auto submitted = state_->recording->submission->submit(*commands, {});
  if (!submitted) return submitted.error();
  state_->recording->last_submitted = state_->slots[slot].submitted = submitted->value;
  return std::monostate{};
}

Done RoundTrip::wait(size_t slot) {
  if (!state_) return moved_from("round trip");
  const uint64_t value = std::exchange(state_->slots[slot].submitted, 0);
  if (Done ended = state_->recording->submission->wait_for(value); !ended) return ended;
  return state_->invalidate();
}

}  // namespace qgen
