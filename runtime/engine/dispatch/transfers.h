// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Copies between host and device memory, through one staging buffer that grows to kMaxStagingBytes and is then reused:
// larger copies go in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "runtime/engine/dispatch/memory.h"
#include "runtime/engine/dispatch/submission.h"

namespace qgen::dispatch {

constexpr uint64_t kMaxStagingBytes = uint64_t{64} << 20;

// The device's copies become readable by the host.
void barrier_to_host(const vulkan::DeviceFunctions& vk, VkCommandBuffer commands);

class Transfers {
 public:
  Transfers(SharedAllocator allocator, Submission& submission)
      : allocator_(std::move(allocator)), submission_(&submission) {}

  // Hands out or takes in the bytes from `offset` on.
  using Fill = std::function<void(std::span<std::byte> piece, uint64_t offset)>;
  using Drain = std::function<void(std::span<const std::byte> piece, uint64_t offset)>;

  // Sizes in bytes, multiples of 4.
  Done to_buffer(VkBuffer buffer, uint64_t offset, uint64_t size, const Fill& fill);
  Done from_buffer(VkBuffer buffer, uint64_t offset, uint64_t size, const Drain& drain);
  // All texels, as texels.h orders them.
  Done to_image(const Image& image, uint64_t texel_bytes, const Fill& fill);
  Done from_image(const Image& image, uint64_t texel_bytes, const Drain& drain);

  // From undefined to GENERAL; its contents are lost.
  Done initialize(const Image& image);
  Done fill_buffer(VkBuffer buffer, uint64_t offset, uint64_t size, uint32_t word);

 private:
  Done reserve(uint64_t size);
  Done push(std::span<std::byte> piece, uint64_t offset, const Fill& fill,
            const std::function<void(VkCommandBuffer)>& copy);
  Done pull(std::span<std::byte> piece, uint64_t offset, const Drain& drain,
            const std::function<void(VkCommandBuffer)>& copy);

  SharedAllocator allocator_;
  Submission* submission_;
  Buffer staging_;
};

}  // namespace qgen::dispatch
