// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Buffers and images that free themselves. Each keeps the Allocator it came from, and that the device: whatever order
// a program destroys its objects in, memory is freed before what it belongs to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/device/handles.h"
#include "runtime/dispatch/texels.h"
#include "runtime/dispatch/vma.h"
#include "runtime/library/kernel_info.h"

namespace qgen::dispatch {

class Allocator {
 public:
  static Expected<std::shared_ptr<const Allocator>> create(std::shared_ptr<const Device::Handles> device);
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;
  ~Allocator();

  VmaAllocator handle() const { return handle_; }
  const Device::Handles& device() const { return *device_; }
  const std::shared_ptr<const Device::Handles>& shared_device() const { return device_; }

 private:
  explicit Allocator(std::shared_ptr<const Device::Handles> device) : device_(std::move(device)) {}

  std::shared_ptr<const Device::Handles> device_;
  VmaAllocator handle_ = VK_NULL_HANDLE;
};
using SharedAllocator = std::shared_ptr<const Allocator>;

enum class BufferUse : uint8_t {
  device,   // storage in device memory, filled by copies
  staging,  // in host memory, mapped, for copies both ways
  block,    // uniform buffer that the host writes once and kernels read
};

class Buffer {
 public:
  Buffer() = default;
  // Errors: out of memory, with the bytes asked for.
  static Expected<Buffer> make(const SharedAllocator& allocator, uint64_t size_bytes, BufferUse use);

  VkBuffer handle() const { return handle_; }
  uint64_t size_bytes() const { return size_bytes_; }
  explicit operator bool() const { return handle_ != VK_NULL_HANDLE; }

  // Of staging and block buffers.
  std::span<std::byte> mapped() const { return {mapped_, size_bytes_}; }
  VkResult flush() const;       // the host wrote
  VkResult invalidate() const;  // the host will read

  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer();

 private:
  void swap(Buffer& other) noexcept {
    std::swap(allocator_, other.allocator_);
    std::swap(handle_, other.handle_);
    std::swap(allocation_, other.allocation_);
    std::swap(mapped_, other.mapped_);
    std::swap(size_bytes_, other.size_bytes_);
  }

  SharedAllocator allocator_;
  VkBuffer handle_ = VK_NULL_HANDLE;
  VmaAllocation allocation_ = VK_NULL_HANDLE;
  std::byte* mapped_ = nullptr;
  uint64_t size_bytes_ = 0;
};

// A 3-D storage image of four lanes a texel. Its layout is undefined at first, and GENERAL from the first use on.
class Image {
 public:
  Image() = default;
  // Errors: extents past the device's, a format that it cannot store to, out of memory; each with the numbers.
  static Expected<Image> make(const SharedAllocator& allocator, DType dtype, const Extent& extent);

  VkImage handle() const { return handle_; }
  VkImageView view() const { return view_; }
  const Extent& extent() const { return extent_; }
  explicit operator bool() const { return handle_ != VK_NULL_HANDLE; }

  Image(Image&& other) noexcept { swap(other); }
  Image& operator=(Image&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Image();

 private:
  void swap(Image& other) noexcept {
    std::swap(allocator_, other.allocator_);
    std::swap(handle_, other.handle_);
    std::swap(view_, other.view_);
    std::swap(allocation_, other.allocation_);
    std::swap(extent_, other.extent_);
  }

  SharedAllocator allocator_;
  VkImage handle_ = VK_NULL_HANDLE;
  VkImageView view_ = VK_NULL_HANDLE;
  VmaAllocation allocation_ = VK_NULL_HANDLE;
  Extent extent_{};
};

// Bytes of host memory, or an error instead of an exception.
Expected<std::vector<std::byte>> host_bytes(uint64_t size_bytes);

}  // namespace qgen::dispatch
