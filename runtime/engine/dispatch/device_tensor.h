// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The memory of a DeviceTensor: a buffer or an image.
#pragma once

#include "runtime/engine/dispatch/executor.h"
#include "runtime/engine/dispatch/memory.h"

namespace qgen {

struct DeviceTensor::Memory {
  dispatch::SharedAllocator allocator;  // of the Executor that made it; null: moved away
  DType dtype = DType::f32;
  Shape shape;
  Storage storage = Storage::buffer;
  Layout layout = Layout::strided;
  dispatch::Buffer buffer;              // of Storage::buffer: the tensor, then the guards; of one in an arena: none
  std::shared_ptr<const Memory> arena;  // whose buffer has the tensor; null: its own
  bool is_lent = false;                 // the caller's buffer or image: no guards
  uint64_t offset = 0;                  // from the beginning of the buffer
  uint64_t tensor_bytes = 0;            // of the buffer, rounded up to 16
  uint64_t stored_bytes = 0;            // of the elements in their layout, padding too
  uint64_t dense_bytes = 0;             // of the elements alone
  dispatch::Image image;                // of Storage::texture3d

  uint64_t texel_bytes() const { return 4 * static_cast<uint64_t>(bytes(dtype)); }
  VkBuffer buffer_handle() const { return arena ? arena->buffer.handle() : buffer.handle(); }
  // Whether an indirect dispatch may read it. A caller's buffer may lack VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT.
  bool may_be_indirect() const { return arena ? !arena->is_lent : !is_lent; }
  // The bytes that a kernel may access from `offset` on. Guards may be outside one binding; they are still checked.
  uint64_t bound_bytes() const { return arena || is_lent ? tensor_bytes : buffer.size_bytes(); }
};

namespace dispatch {

// A tensor without memory yet.
std::shared_ptr<DeviceTensor::Memory> described(const SharedAllocator& allocator, DType dtype, const Shape& shape,
                                                Storage storage, Layout layout);
// Sets the sizes of a tensor in a buffer. Errors: the errors of check_buffer().
Done size_buffer(DeviceTensor::Memory& memory);
// Executor::place(), of an arena of the same allocator.
Expected<DeviceTensor> place(const DeviceTensor& arena, uint64_t offset, DType dtype, const Shape& shape,
                             Layout layout);

// Whether they share a byte.
bool share_memory(const DeviceTensor::Memory& a, const DeviceTensor::Memory& b);

// Whether they begin at the same byte and have the same size.
bool are_same_memory(const DeviceTensor::Memory& a, const DeviceTensor::Memory& b);

// Error: the tensor came from another allocator, so from another Executor; or it was moved from.
Done check_is_from(const Allocator& allocator, const DeviceTensor::Memory& memory);

}  // namespace dispatch

}  // namespace qgen
