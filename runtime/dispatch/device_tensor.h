// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What is behind a DeviceTensor: a buffer or an image.
#pragma once

#include "runtime/dispatch/executor.h"
#include "runtime/dispatch/memory.h"

namespace qgen {

struct DeviceTensor::Memory {
  dispatch::SharedAllocator allocator;  // of the Executor that made it; null: moved away
  DType dtype = DType::f32;
  Shape shape;
  Storage storage = Storage::buffer;
  Layout layout = Layout::strided;
  dispatch::Buffer buffer;              // of Storage::buffer: the tensor, then the guards; of one in an arena: none
  std::shared_ptr<const Memory> arena;  // whose buffer has the tensor `offset` bytes from its beginning; null: its own
  uint64_t offset = 0;
  uint64_t tensor_bytes = 0;  // of the buffer, rounded up to 16
  uint64_t stored_bytes = 0;  // of the elements in their layout, padding too
  uint64_t dense_bytes = 0;   // of the elements alone
  dispatch::Image image;      // of Storage::texture3d

  uint64_t texel_bytes() const { return 4 * static_cast<uint64_t>(bytes(dtype)); }
  VkBuffer buffer_handle() const { return arena ? arena->buffer.handle() : buffer.handle(); }
  // What a kernel may touch from `offset` on. Guards may reach past what one binding holds; they are still checked.
  uint64_t bound_bytes() const { return arena ? tensor_bytes : buffer.size_bytes(); }
};

namespace dispatch {

// Whether a byte of one is a byte of the other.
bool share_memory(const DeviceTensor::Memory& a, const DeviceTensor::Memory& b);

// Whether they are the same bytes: from one beginning on, as many.
bool are_same_memory(const DeviceTensor::Memory& a, const DeviceTensor::Memory& b);

// Error: the tensor came from another allocator, so from another Executor; or it was moved from.
Done check_is_from(const Allocator& allocator, const DeviceTensor::Memory& memory);

}  // namespace dispatch

}  // namespace qgen
