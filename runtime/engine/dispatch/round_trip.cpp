// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/dispatch/round_trip.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "runtime/engine/dispatch/device_tensor.h"
#include "runtime/engine/dispatch/recorder.h"

namespace qgen {
namespace {

// A tensor's bytes, in its buffer and in the staging buffer.
struct Piece {
  VkBuffer buffer;
  VkBufferCopy region;     // from the staging buffer
  uint64_t element_bytes;  // the rest of the region is padding
};

Done add_pieces(const std::vector<const DeviceTensor*>& tensors, std::vector<Piece>& pieces, uint64_t& size) {
  for (const DeviceTensor* tensor : tensors) {
    const DeviceTensor::Memory& memory = tensor->memory();
    if (memory.storage != Storage::buffer || memory.layout != Layout::strided)
      return refused(fmt::format("a tensor is {} in a {}", name(memory.layout), name(memory.storage)),
                     "it must be row-major, in a buffer");
    pieces.push_back({memory.buffer_handle(), {size, memory.offset, memory.tensor_bytes}, memory.dense_bytes});
    size += memory.tensor_bytes;
  }
  return std::monostate{};
}

}  // namespace

struct RoundTrip::State {
  std::shared_ptr<Recording::State> recording;
  dispatch::Buffer staging;
  std::vector<Piece> inputs, outputs;
  VkCommandBuffer before = VK_NULL_HANDLE, after = VK_NULL_HANDLE;

  ~State() {
    recording->submission->free_commands(before);
    recording->submission->free_commands(after);
  }
  Done record();
  std::span<std::byte> bytes_of(const Piece& piece) const {
    return staging.mapped().subspan(piece.region.srcOffset, piece.element_bytes);
  }
};

RoundTrip::RoundTrip(std::unique_ptr<State> state) : state_(std::move(state)) {}
RoundTrip::RoundTrip(RoundTrip&&) noexcept = default;
RoundTrip& RoundTrip::operator=(RoundTrip&&) noexcept = default;
RoundTrip::~RoundTrip() = default;

Expected<RoundTrip> RoundTrip::create(Recording& recording, const std::vector<const DeviceTensor*>& inputs,
                                      const std::vector<const DeviceTensor*>& outputs) {
  auto state = std::make_unique<State>();
  state->recording = recording.shared_state();
  uint64_t size = 0;
  if (Done added = add_pieces(inputs, state->inputs, size); !added) return added.error();
  if (Done added = add_pieces(outputs, state->outputs, size); !added) return added.error();
  if (size == 0) return refused("a round trip has no bytes to copy");
  const DeviceTensor& any = inputs.empty() ? *outputs.front() : *inputs.front();
  auto staging = dispatch::Buffer::make(any.memory().allocator, size, dispatch::BufferUse::staging);
  if (!staging) return staging.error();
  state->staging = *std::move(staging);
  std::ranges::fill(state->staging.mapped(), std::byte{0});  // padding too
  if (Done ready = state->recording->prepare_commands(); !ready) return ready.error();
  if (Done recorded = state->record(); !recorded) return recorded.error();
  return RoundTrip(std::move(state));
}

Done RoundTrip::State::record() {
  dispatch::Submission& submission = *recording->submission;
  const auto& vk = recording->device().vk;
  for (VkCommandBuffer* commands : {&before, &after}) {
    const auto made = submission.make_commands();
    if (!made) return made.error();
    *commands = *made;
  }
  const auto writing = [&](VkCommandBuffer to) {
    for (const Piece& piece : inputs) vk.vkCmdCopyBuffer(to, staging.handle(), piece.buffer, 1, &piece.region);
  };
  const auto reading = [&](VkCommandBuffer to) {
    for (const Piece& piece : outputs) {
      const VkBufferCopy region{piece.region.dstOffset, piece.region.srcOffset, piece.region.size};
      vk.vkCmdCopyBuffer(to, piece.buffer, staging.handle(), 1, &region);
    }
    VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
    barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
    vk.vkCmdPipelineBarrier(to, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr,
                            0, nullptr);
  };
  constexpr auto kRepeated = dispatch::Submission::Usage::repeated;
  if (Done recorded = submission.record(before, kRepeated, writing); !recorded) return recorded;
  return submission.record(after, kRepeated, reading);
}

std::span<std::byte> RoundTrip::input(size_t index) const { return state_->bytes_of(state_->inputs[index]); }
std::span<const std::byte> RoundTrip::output(size_t index) const { return state_->bytes_of(state_->outputs[index]); }

Done RoundTrip::run() {
  if (const VkResult flushed = state_->staging.flush(); flushed != VK_SUCCESS)
    return vulkan::error_of(flushed, "flushing the staging buffer");
  const std::array commands{state_->before, state_->recording->commands, state_->after};
  if (Done ran = state_->recording->submission->run(commands); !ran) return ran;
  if (const VkResult invalidated = state_->staging.invalidate(); invalidated != VK_SUCCESS)
    return vulkan::error_of(invalidated, "invalidating the staging buffer");
  return std::monostate{};
}

}  // namespace qgen
