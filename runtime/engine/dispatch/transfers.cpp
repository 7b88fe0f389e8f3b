// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/dispatch/transfers.h"

#include <algorithm>
#include <vector>

namespace qgen::dispatch {
namespace {

constexpr uint64_t kMinStagingBytes = uint64_t{64} << 10;

// A box of an image that fits the staging buffer, and where its texels start in the order of all texels.
struct Piece {
  VkOffset3D offset{};
  VkExtent3D extent{};
  uint64_t first_texel = 0;
  uint64_t texel_count = 0;
};

// Whole slices if one fits, else rows of a slice. A row always fits: 16384 texels of 16 bytes are 256 KiB.
std::vector<Piece> pieces_of(const Extent& extent, uint64_t texel_bytes) {
  const uint64_t row = extent[0], slice = extent[0] * extent[1];
  const uint64_t max_texels = kMaxStagingBytes / texel_bytes;
  const uint64_t slices_at_once = std::min(extent[2], std::max<uint64_t>(1, max_texels / slice));
  const uint64_t rows_at_once = slice <= max_texels ? extent[1] : std::max<uint64_t>(1, max_texels / row);
  std::vector<Piece> pieces;
  for (uint64_t z = 0; z < extent[2]; z += slices_at_once) {
    const uint64_t depth = std::min(slices_at_once, extent[2] - z);
    for (uint64_t y = 0; y < extent[1]; y += rows_at_once) {
      const uint64_t height = std::min(rows_at_once, extent[1] - y);
      Piece piece;
      piece.offset = {0, static_cast<int32_t>(y), static_cast<int32_t>(z)};
      piece.extent = {static_cast<uint32_t>(row), static_cast<uint32_t>(height), static_cast<uint32_t>(depth)};
      piece.first_texel = z * slice + y * row;
      piece.texel_count = row * height * depth;
      pieces.push_back(piece);
    }
  }
  return pieces;
}

VkBufferImageCopy region_of(const Piece& piece) {
  VkBufferImageCopy region{};
  region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
  region.imageOffset = piece.offset;
  region.imageExtent = piece.extent;
  return region;
}

}  // namespace

void barrier_to_host(const vulkan::DeviceFunctions& vk, VkCommandBuffer commands) {
  VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  vk.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0,
                          nullptr, 0, nullptr);
}

Done Transfers::reserve(uint64_t size) {
  if (staging_.size_bytes() >= size) return std::monostate{};
  uint64_t grown = std::max(kMinStagingBytes, staging_.size_bytes());
  while (grown < size) grown *= 2;
  auto buffer = Buffer::make(allocator_, grown, BufferUse::staging);
  if (!buffer) return buffer.error();
  staging_ = *std::move(buffer);
  return std::monostate{};
}

Done Transfers::push(std::span<std::byte> piece, uint64_t offset, const Fill& fill,
                     const std::function<void(VkCommandBuffer)>& copy) {
  fill(piece, offset);
  if (const VkResult flushed = staging_.flush(); flushed != VK_SUCCESS) {
    return vulkan::error_of(flushed, "flushing the staging buffer");
  }
  return submission_->run_now(copy);
}

Done Transfers::pull(std::span<std::byte> piece, uint64_t offset, const Drain& drain,
                     const std::function<void(VkCommandBuffer)>& copy) {
  const Done copied = submission_->run_now([&](VkCommandBuffer commands) {
    copy(commands);
    barrier_to_host(allocator_->device().vk, commands);
  });
  if (!copied) return copied.error();
  if (const VkResult invalidated = staging_.invalidate(); invalidated != VK_SUCCESS) {
    return vulkan::error_of(invalidated, "invalidating the staging buffer");
  }
  drain(piece, offset);
  return std::monostate{};
}

Done Transfers::to_buffer(VkBuffer buffer, uint64_t offset, uint64_t size, const Fill& fill) {
  if (const Done ready = reserve(std::min(size, kMaxStagingBytes)); !ready) return ready.error();
  for (uint64_t done = 0; done < size; done += kMaxStagingBytes) {
    const uint64_t count = std::min(kMaxStagingBytes, size - done);
    const Done pushed = push(staging_.mapped().first(count), done, fill, [&](VkCommandBuffer commands) {
      const VkBufferCopy region{0, offset + done, count};
      allocator_->device().vk.vkCmdCopyBuffer(commands, staging_.handle(), buffer, 1, &region);
    });
    if (!pushed) return pushed.error();
  }
  return std::monostate{};
}

Done Transfers::from_buffer(VkBuffer buffer, uint64_t offset, uint64_t size, const Drain& drain) {
  if (const Done ready = reserve(std::min(size, kMaxStagingBytes)); !ready) return ready.error();
  for (uint64_t done = 0; done < size; done += kMaxStagingBytes) {
    const uint64_t count = std::min(kMaxStagingBytes, size - done);
    const Done pulled = pull(staging_.mapped().first(count), done, drain, [&](VkCommandBuffer commands) {
      const VkBufferCopy region{offset + done, 0, count};
      allocator_->device().vk.vkCmdCopyBuffer(commands, buffer, staging_.handle(), 1, &region);
    });
    if (!pulled) return pulled.error();
  }
  return std::monostate{};
}

Done Transfers::to_image(const Image& image, uint64_t texel_bytes, const Fill& fill) {
  for (const Piece& piece : pieces_of(image.extent(), texel_bytes)) {
    const uint64_t size = piece.texel_count * texel_bytes;
    if (const Done ready = reserve(size); !ready) return ready.error();
    const auto copy = [&](VkCommandBuffer commands) {
      const VkBufferImageCopy region = region_of(piece);
      allocator_->device().vk.vkCmdCopyBufferToImage(commands, staging_.handle(), image.handle(),
                                                     VK_IMAGE_LAYOUT_GENERAL, 1, &region);
    };
    const Done pushed = push(staging_.mapped().first(size), piece.first_texel * texel_bytes, fill, copy);
    if (!pushed) return pushed.error();
  }
  return std::monostate{};
}

Done Transfers::from_image(const Image& image, uint64_t texel_bytes, const Drain& drain) {
  for (const Piece& piece : pieces_of(image.extent(), texel_bytes)) {
    const uint64_t size = piece.texel_count * texel_bytes;
    if (const Done ready = reserve(size); !ready) return ready.error();
    const auto copy = [&](VkCommandBuffer commands) {
      const VkBufferImageCopy region = region_of(piece);
      allocator_->device().vk.vkCmdCopyImageToBuffer(commands, image.handle(), VK_IMAGE_LAYOUT_GENERAL,
                                                     staging_.handle(), 1, &region);
    };
    const Done pulled = pull(staging_.mapped().first(size), piece.first_texel * texel_bytes, drain, copy);
    if (!pulled) return pulled.error();
  }
  return std::monostate{};
}

Done Transfers::initialize(const Image& image) {
  return submission_->run_now([&](VkCommandBuffer commands) {
    VkImageMemoryBarrier barrier{VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER};
    barrier.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    barrier.oldLayout = VK_IMAGE_LAYOUT_UNDEFINED;
    barrier.newLayout = VK_IMAGE_LAYOUT_GENERAL;
    barrier.srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    barrier.image = image.handle();
    barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    allocator_->device().vk.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
                                                 VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, nullptr, 0, nullptr, 1,
                                                 &barrier);
  });
}

Done Transfers::fill_buffer(VkBuffer buffer, uint64_t offset, uint64_t size, uint32_t word) {
  return submission_->run_now(
      [&](VkCommandBuffer commands) { allocator_->device().vk.vkCmdFillBuffer(commands, buffer, offset, size, word); });
}

}  // namespace qgen::dispatch
