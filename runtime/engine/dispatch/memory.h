// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Buffers and images that free themselves, and the caller's, which are not freed. Each keeps its Allocator, and the
// Allocator keeps the device. So a program may destroy its objects in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/engine/device/handles.h"
#include "runtime/engine/dispatch/lent_memory.h"
#include "runtime/engine/dispatch/texels.h"
#include "runtime/engine/library/kernel_info.h"

// Of the Vulkan Memory Allocator, which memory.cpp alone includes.
namespace qgen::vma {
struct VmaAllocator_T;
struct VmaAllocation_T;
}  // namespace qgen::vma

namespace qgen::dispatch {

class Allocator {
 public:
  // With callbacks, all memory is the caller's to make.
  static Expected<std::shared_ptr<const Allocator>> create(std::shared_ptr<const Device::Handles> device,
                                                           const MemoryCallbacks& callbacks);
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;
  ~Allocator();

  vma::VmaAllocator_T* handle() const { return handle_; }  // null: there are callbacks
  const MemoryCallbacks& callbacks() const { return callbacks_; }
  const Device::Handles& device() const { return *device_; }
  const std::shared_ptr<const Device::Handles>& shared_device() const { return device_; }
  uint64_t most_bytes() const { return most_bytes_; }  // of one allocation

 private:
  Allocator(std::shared_ptr<const Device::Handles> device, MemoryCallbacks callbacks)
      : device_(std::move(device)), callbacks_(std::move(callbacks)) {}

  std::shared_ptr<const Device::Handles> device_;
  MemoryCallbacks callbacks_;
  vma::VmaAllocator_T* handle_ = nullptr;
  uint64_t most_bytes_ = 0;
};
using SharedAllocator = std::shared_ptr<const Allocator>;

using BufferUse = MemoryUse;

class Buffer {
 public:
  Buffer() = default;
  // Errors: out of memory, more than the device has in one allocation; with the requested bytes.
  static Expected<Buffer> make(const SharedAllocator& allocator, uint64_t size_bytes, BufferUse use);
  // The caller's, which is not freed.
  static Buffer lent(const SharedAllocator& allocator, VkBuffer handle, uint64_t size_bytes);

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
    std::swap(token_, other.token_);
    std::swap(is_lent_, other.is_lent_);
    std::swap(mapped_, other.mapped_);
    std::swap(size_bytes_, other.size_bytes_);
  }
  VkResult make_by_vma(const VkBufferCreateInfo& info, BufferUse use);
  VkResult make_by_callback(const VkBufferCreateInfo& info, BufferUse use);

  SharedAllocator allocator_;
  VkBuffer handle_ = VK_NULL_HANDLE;
  vma::VmaAllocation_T* allocation_ = nullptr;
  void* token_ = nullptr;  // of the callbacks
  bool is_lent_ = false;
  std::byte* mapped_ = nullptr;
  uint64_t size_bytes_ = 0;
};

// A 3-D storage image of four lanes a texel. Its layout is undefined at first, and GENERAL from the first use on.
class Image {
 public:
  Image() = default;
  // Errors: extents past the device's, a format that it cannot store to, out of memory; each with the numbers.
  static Expected<Image> make(const SharedAllocator& allocator, DType dtype, const Extent& extent);
  // The caller's, which is not freed; without a view, it is given one. Errors: the errors of making the view.
  static Expected<Image> lent(const SharedAllocator& allocator, const LentImage& image, DType dtype,
                              const Extent& extent);

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
    std::swap(token_, other.token_);
    std::swap(is_lent_, other.is_lent_);
    std::swap(is_view_lent_, other.is_view_lent_);
    std::swap(extent_, other.extent_);
  }
  VkResult make_memory(const VkImageCreateInfo& info);
  VkResult make_view(DType dtype);

  SharedAllocator allocator_;
  VkImage handle_ = VK_NULL_HANDLE;
  VkImageView view_ = VK_NULL_HANDLE;
  vma::VmaAllocation_T* allocation_ = nullptr;
  void* token_ = nullptr;  // of the callbacks
  bool is_lent_ = false;
  bool is_view_lent_ = false;
  Extent extent_{};
};

// Bytes of host memory, or an error instead of an exception.
Expected<std::vector<std::byte>> host_bytes(uint64_t size_bytes);

}  // namespace qgen::dispatch
