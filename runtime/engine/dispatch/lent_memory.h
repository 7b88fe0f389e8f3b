// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Memory of the caller: tensors in its buffers and images, and its functions that allocate memory for qgen.
//
//   DeviceTensor x = *executor.wrap(LentBuffer{.buffer = mine, .offset = 1024, .bytes = 131072}, DType::f16, {64, 1024});
//
//   ExecutorOptions options;                                    // all that qgen allocates, by the caller's VMA
//   options.memory.make_buffer = [&](const VkBufferCreateInfo& info, MemoryUse use, MadeBuffer& made) {
//     VmaAllocationCreateInfo how{};
//     how.usage = VMA_MEMORY_USAGE_AUTO;
//     if (use != MemoryUse::device)
//       how.flags = VMA_ALLOCATION_CREATE_HOST_ACCESS_RANDOM_BIT | VMA_ALLOCATION_CREATE_MAPPED_BIT;
//     if (use != MemoryUse::device) how.requiredFlags = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
//     VmaAllocationInfo got{};
//     const VkResult result = vmaCreateBuffer(vma, &info, &how, &made.buffer, (VmaAllocation*)&made.token, &got);
//     made.mapped = got.pMappedData;
//     return static_cast<int32_t>(result);
//   };
#pragma once

#include <cstdint>
#include <functional>

#include "runtime/engine/device/vulkan_handles.h"

namespace qgen {

// A part of the caller's buffer, which has the usage VK_BUFFER_USAGE_STORAGE_BUFFER_BIT; for upload(), write(),
// download(), fill() and the buffers of a model the two of transfers too. It must outlive the tensors in it, and the device's work.
struct LentBuffer {
  VkBuffer buffer = {};
  uint64_t offset = 0;  // a multiple of DeviceProfile::storage_buffer_alignment_bytes
  uint64_t bytes = 0;   // from there on; buffer_bytes() of the tensor at least
};

// The caller's image: three-dimensional, with the extent of the tensor in its layout (dispatch/texels.h), the dtype's
// format with four lanes, and the usage VK_IMAGE_USAGE_STORAGE_BIT. It is in VK_IMAGE_LAYOUT_GENERAL whenever a kernel
// uses it.
struct LentImage {
  VkImage image = {};
  VkImageView view = {};  // a 3-D view of all of it; null: qgen makes one, and destroys it with the tensor
};

enum class MemoryUse : uint8_t {
  device,   // storage in device memory, filled by copies
  staging,  // in host memory, mapped, for copies both ways
  block,    // uniform buffer that the host writes once and kernels read
};

struct MadeBuffer {
  VkBuffer buffer = {};
  void* mapped = nullptr;  // all of it, coherent; of MemoryUse::device it may be null
  void* token = nullptr;   // the caller's
};
struct MadeImage {
  VkImage image = {};
  void* token = nullptr;
};

// All four, or none: qgen then has its own allocator. They are called by every thread that allocates or frees, as long
// as anything lives that an Executor made. Results are VkResult values; 0 is VK_SUCCESS.
struct MemoryCallbacks {
  std::function<int32_t(const VkBufferCreateInfo& info, MemoryUse use, MadeBuffer& made)> make_buffer = {};
  std::function<void(const MadeBuffer& made)> free_buffer = {};
  std::function<int32_t(const VkImageCreateInfo& info, MadeImage& made)> make_image = {};
  std::function<void(const MadeImage& made)> free_image = {};

  bool is_whole() const {
    const int given = !!make_buffer + !!free_buffer + !!make_image + !!free_image;
    return given == 0 || given == 4;
  }
};

}  // namespace qgen
