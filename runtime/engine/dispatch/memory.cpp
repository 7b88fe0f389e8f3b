// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/dispatch/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <vector>

#include "runtime/engine/dispatch/vma.h"

namespace qgen::dispatch {
namespace {

using namespace vma;

Error out_of_memory(const SharedAllocator& allocator, uint64_t wanted_bytes, VkResult result) {
  if (result != VK_ERROR_OUT_OF_DEVICE_MEMORY || !allocator->handle()) {
    return vulkan::error_of(result, fmt::format("allocating {} bytes", wanted_bytes));
  }
  VmaTotalStatistics statistics{};
  vmaCalculateStatistics(allocator->handle(), &statistics);
  return {Error::Kind::device,
          fmt::format("out of device memory: {} bytes were requested, this executor uses {}, and '{}' has {}",
                      wanted_bytes, statistics.total.statistics.allocationBytes, allocator->device().profile.name,
                      allocator->device().profile.device_memory_bytes),
          "free tensors, or split the work"};
}

// Undefined: texture_extent() refuses the dtype.
constexpr VkFormat kFormats[] = {
#define QGEN_DTYPE(name, long_name, size_bytes, kind, glsl, image_format) image_format,
#include "vocabulary/dtype_rows.inc"
};
VkFormat format_of(DType dtype) { return row_of(kFormats, dtype, VK_FORMAT_UNDEFINED); }

constexpr VkImageUsageFlags kImageUsage =
    VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;

Done check_image(const Device::Handles& device, DType dtype, const Extent& extent) {
  VkImageFormatProperties limits{};
  const VkResult result = device.instance.functions().vkGetPhysicalDeviceImageFormatProperties(
      device.physical, format_of(dtype), VK_IMAGE_TYPE_3D, VK_IMAGE_TILING_OPTIMAL, kImageUsage, 0, &limits);
  if (result != VK_SUCCESS) {
    return Error{Error::Kind::unsupported,
                 fmt::format("'{}' has no 3-D storage images of {}", device.profile.name, name(dtype)),
                 "keep the tensor in a buffer"};
  }
  const VkExtent3D& max = limits.maxExtent;
  if (extent[0] > max.width || extent[1] > max.height || extent[2] > max.depth) {
    return Error{Error::Kind::unsupported,
                 fmt::format("a texture of {} x {} x {} texels exceeds the device's limit of {} x {} x {}", extent[0],
                             extent[1], extent[2], max.width, max.height, max.depth),
                 "keep the tensor in a buffer, or pack along its longest dimension"};
  }
  return std::monostate{};
}

VkImageCreateInfo image_info(DType dtype, const Extent& extent) {
  VkImageCreateInfo info{VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
  info.imageType = VK_IMAGE_TYPE_3D;
  info.format = format_of(dtype);
  info.extent = {static_cast<uint32_t>(extent[0]), static_cast<uint32_t>(extent[1]), static_cast<uint32_t>(extent[2])};
  info.mipLevels = 1;
  info.arrayLayers = 1;
  info.samples = VK_SAMPLE_COUNT_1_BIT;
  info.tiling = VK_IMAGE_TILING_OPTIMAL;
  info.usage = kImageUsage;
  info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  info.initialLayout = VK_IMAGE_LAYOUT_UNDEFINED;
  return info;
}

VkBufferUsageFlags usage_of(BufferUse use) {
  constexpr VkBufferUsageFlags kCopies = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  switch (use) {
    case BufferUse::device: return VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | kCopies;
    case BufferUse::staging: return kCopies;
    case BufferUse::block:  // bound as one of both (binds_blocks_as_storage)
      return VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  }
  return 0;
}

VmaAllocationCreateInfo allocation_info(BufferUse use) {
  VmaAllocationCreateInfo info{};
  switch (use) {
    case BufferUse::device: info.usage = VMA_MEMORY_USAGE_AUTO_PREFER_DEVICE; break;
    case BufferUse::staging:  // cached memory: the host reads results from it
      info.usage = VMA_MEMORY_USAGE_AUTO_PREFER_HOST;
      info.flags = VMA_ALLOCATION_CREATE_HOST_ACCESS_RANDOM_BIT | VMA_ALLOCATION_CREATE_MAPPED_BIT;
      break;
    case BufferUse::block:
      info.usage = VMA_MEMORY_USAGE_AUTO;
      info.flags = VMA_ALLOCATION_CREATE_HOST_ACCESS_SEQUENTIAL_WRITE_BIT | VMA_ALLOCATION_CREATE_MAPPED_BIT;
      break;
  }
  return info;
}

uint64_t most_bytes_of_one_allocation(const Device::Handles& device) {
  VkPhysicalDeviceMaintenance3Properties limits{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &limits};
  device.instance.functions().vkGetPhysicalDeviceProperties2(device.physical, &properties);
  return limits.maxMemoryAllocationSize;
}

}  // namespace

Expected<std::shared_ptr<const Allocator>> Allocator::create(std::shared_ptr<const Device::Handles> device,
                                                             const MemoryCallbacks& callbacks) {
  if (!callbacks.is_whole()) {
    return refused("MemoryCallbacks has some of its four functions and lacks others",
                   "give make_buffer, free_buffer, make_image and free_image, or none of them");
  }
  const std::shared_ptr<Allocator> made(new Allocator(std::move(device), callbacks));
  made->most_bytes_ = most_bytes_of_one_allocation(made->device());
  if (callbacks.make_buffer) return SharedAllocator(made);
  VmaVulkanFunctions functions{};
  functions.vkGetInstanceProcAddr = made->device_->instance.get_proc_addr();
  functions.vkGetDeviceProcAddr = made->device_->instance.functions().vkGetDeviceProcAddr;
  VmaAllocatorCreateInfo info{};
  info.instance = made->device_->instance.handle();
  info.physicalDevice = made->device_->physical;
  info.device = made->device_->device;
  info.pVulkanFunctions = &functions;
  info.vulkanApiVersion = std::min(made->device_->profile.api_version, vulkan::kApiVersion);
  const auto lock = vulkan::lock_loader();  // it queries functions by name
  const VkResult result = vmaCreateAllocator(&info, &made->handle_);
  if (result != VK_SUCCESS) return vulkan::error_of(result, "creating the memory allocator");
  return SharedAllocator(made);
}

Allocator::~Allocator() {
  if (handle_) vmaDestroyAllocator(handle_);
}

Expected<Buffer> Buffer::make(const SharedAllocator& allocator, uint64_t size_bytes, BufferUse use) {
  // Drivers on the host's memory hand out more than there is, and fail at the first touch.
  if (size_bytes > allocator->device().profile.device_memory_bytes && use != BufferUse::staging) {
    return out_of_memory(allocator, size_bytes, VK_ERROR_OUT_OF_DEVICE_MEMORY);
  }
  if (size_bytes > allocator->most_bytes()) {
    return Error{Error::Kind::unsupported,
                 fmt::format("a buffer of {} bytes was requested, and '{}' has at most {} in one", size_bytes,
                             allocator->device().profile.name, allocator->most_bytes()),
                 "split the work"};
  }
  VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = size_bytes;
  info.usage = usage_of(use);
  info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  Buffer buffer;
  buffer.allocator_ = allocator;
  buffer.size_bytes_ = size_bytes;
  const VkResult result = allocator->handle() ? buffer.make_by_vma(info, use) : buffer.make_by_callback(info, use);
  if (result == VK_SUCCESS) return buffer;
  buffer.handle_ = VK_NULL_HANDLE;
  return out_of_memory(allocator, size_bytes, result);
}

VkResult Buffer::make_by_vma(const VkBufferCreateInfo& info, BufferUse use) {
  const VmaAllocationCreateInfo memory = allocation_info(use);
  VmaAllocationInfo allocated{};
  const VkResult result = vmaCreateBuffer(allocator_->handle(), &info, &memory, &handle_, &allocation_, &allocated);
  mapped_ = static_cast<std::byte*>(allocated.pMappedData);
  return result;
}

VkResult Buffer::make_by_callback(const VkBufferCreateInfo& info, BufferUse use) {
  MadeBuffer made;
  const auto result = static_cast<VkResult>(allocator_->callbacks().make_buffer(info, use, made));
  handle_ = made.buffer;
  token_ = made.token;
  mapped_ = static_cast<std::byte*>(made.mapped);
  const bool is_whole = handle_ && (mapped_ || use == BufferUse::device);
  return result == VK_SUCCESS && !is_whole ? VK_ERROR_UNKNOWN : result;
}

Buffer Buffer::lent(const SharedAllocator& allocator, VkBuffer handle, uint64_t size_bytes) {
  Buffer buffer;
  buffer.allocator_ = allocator;
  buffer.handle_ = handle;
  buffer.size_bytes_ = size_bytes;
  buffer.is_lent_ = true;
  return buffer;
}

// Memory of callbacks is coherent.
VkResult Buffer::flush() const {
  return allocation_ ? vmaFlushAllocation(allocator_->handle(), allocation_, 0, VK_WHOLE_SIZE) : VK_SUCCESS;
}
VkResult Buffer::invalidate() const {
  return allocation_ ? vmaInvalidateAllocation(allocator_->handle(), allocation_, 0, VK_WHOLE_SIZE) : VK_SUCCESS;
}

Buffer::~Buffer() {
  if (!handle_ || is_lent_) return;
  allocator_->device().settle();
  if (allocation_) vmaDestroyBuffer(allocator_->handle(), handle_, allocation_);
  else allocator_->callbacks().free_buffer({handle_, mapped_, token_});
}

Expected<Image> Image::make(const SharedAllocator& allocator, DType dtype, const Extent& extent) {
  const Device::Handles& device = allocator->device();
  if (const Done fits = check_image(device, dtype, extent); !fits) return fits.error();
  const uint64_t size_bytes = extent[0] * extent[1] * extent[2] * 4 * static_cast<uint64_t>(bytes(dtype));
  if (size_bytes > device.profile.device_memory_bytes) {
    return out_of_memory(allocator, size_bytes, VK_ERROR_OUT_OF_DEVICE_MEMORY);
  }
  Image image;
  image.allocator_ = allocator;
  image.extent_ = extent;
  if (const VkResult made = image.make_memory(image_info(dtype, extent)); made != VK_SUCCESS) {
    image.handle_ = VK_NULL_HANDLE;
    return out_of_memory(allocator, size_bytes, made);
  }
  if (const VkResult viewed = image.make_view(dtype); viewed != VK_SUCCESS)
    return vulkan::error_of(viewed, "creating the view of a texture");
  return image;
}

VkResult Image::make_memory(const VkImageCreateInfo& info) {
  if (allocator_->handle()) {
    VmaAllocationCreateInfo memory{};
    memory.usage = VMA_MEMORY_USAGE_AUTO_PREFER_DEVICE;
    return vmaCreateImage(allocator_->handle(), &info, &memory, &handle_, &allocation_, nullptr);
  }
  MadeImage made;
  const auto result = static_cast<VkResult>(allocator_->callbacks().make_image(info, made));
  handle_ = made.image;
  token_ = made.token;
  return result == VK_SUCCESS && !handle_ ? VK_ERROR_UNKNOWN : result;
}

VkResult Image::make_view(DType dtype) {
  const Device::Handles& device = allocator_->device();
  VkImageViewCreateInfo view{VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO};
  view.image = handle_;
  view.viewType = VK_IMAGE_VIEW_TYPE_3D;
  view.format = format_of(dtype);
  view.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  return device.vk.vkCreateImageView(device.device, &view, nullptr, &view_);
}

Expected<Image> Image::lent(const SharedAllocator& allocator, const LentImage& from, DType dtype,
                            const Extent& extent) {
  // An image does not tell its extent. Its memory may be larger than its texels, but not smaller.
  const Device::Handles& device = allocator->device();
  VkMemoryRequirements needs{};
  device.vk.vkGetImageMemoryRequirements(device.device, from.image, &needs);
  const uint64_t size_bytes = extent[0] * extent[1] * extent[2] * 4 * static_cast<uint64_t>(bytes(dtype));
  if (size_bytes > needs.size) {
    return refused(fmt::format("a tensor of {} x {} x {} texels takes {} bytes, and the lent image has {}", extent[0],
                               extent[1], extent[2], size_bytes, needs.size));
  }
  Image image;
  image.allocator_ = allocator;
  image.extent_ = extent;
  image.handle_ = from.image;
  image.is_lent_ = true;
  image.view_ = from.view;
  image.is_view_lent_ = from.view != VK_NULL_HANDLE;
  if (image.view_) return image;
  if (const VkResult viewed = image.make_view(dtype); viewed != VK_SUCCESS)
    return vulkan::error_of(viewed, "creating the view of the caller's image");
  return image;
}

Image::~Image() {
  if (!handle_) return;
  const Device::Handles& device = allocator_->device();
  device.settle();
  if (view_ && !is_view_lent_) device.vk.vkDestroyImageView(device.device, view_, nullptr);
  if (is_lent_) return;
  if (allocation_) vmaDestroyImage(allocator_->handle(), handle_, allocation_);
  else allocator_->callbacks().free_image({handle_, token_});
}

Expected<std::vector<std::byte>> host_bytes(uint64_t size_bytes) {
  try {
    return std::vector<std::byte>(size_bytes);
  } catch (const std::exception&) {  // bad_alloc or length_error: the container has no other way to report it
    return Error{Error::Kind::system, fmt::format("the host cannot allocate {} bytes of memory", size_bytes),
                 "split the work"};
  }
}

}  // namespace qgen::dispatch
