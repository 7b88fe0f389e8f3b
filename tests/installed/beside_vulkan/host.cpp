// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// An engine in small: its own instance, device and memory, then a kernel by qgen, then its own memory again. It calls
// Vulkan through libvulkan, or through volk's variables, which have the same names.
#ifdef HOST_HAS_VOLK
#define VOLK_IMPLEMENTATION
#include <volk.h>
#define VMA_STATIC_VULKAN_FUNCTIONS 0
#define VMA_DYNAMIC_VULKAN_FUNCTIONS 1
#else
#include <vulkan/vulkan.h>
#define VMA_STATIC_VULKAN_FUNCTIONS 1
#define VMA_DYNAMIC_VULKAN_FUNCTIONS 0
#endif
#define VMA_IMPLEMENTATION
#define VMA_VULKAN_VERSION 1003000
#include <vk_mem_alloc.h>

#include <cstdio>
#include <cstdlib>

#include "axpy.h"
#include "qgen/executor.h"
#include "registry.h"

namespace {

void check(VkResult result) {
  if (result == VK_SUCCESS) return;
  std::fprintf(stderr, "the program: VkResult %d\n", result);
  std::exit(1);
}

template <typename T>
T or_exit(qgen::Expected<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "%s\n", to_text(result.error()).c_str());
  std::exit(1);
}

class Engine {
 public:
  Engine() {
#ifdef HOST_HAS_VOLK
    check(volkInitialize());
#endif
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = VK_API_VERSION_1_3;
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    check(vkCreateInstance(&info, nullptr, &instance_));
#ifdef HOST_HAS_VOLK
    volkLoadInstance(instance_);
#endif
    uint32_t count = 1;
    if (vkEnumeratePhysicalDevices(instance_, &count, &physical_) < 0 || count == 0) std::exit(1);
    const float priority = 1;
    VkDeviceQueueCreateInfo queue{};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo device{};
    device.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    device.queueCreateInfoCount = 1;
    device.pQueueCreateInfos = &queue;
    check(vkCreateDevice(physical_, &device, nullptr, &device_));

    VmaVulkanFunctions functions{};
    VmaAllocatorCreateInfo allocator{};
    allocator.instance = instance_;
    allocator.physicalDevice = physical_;
    allocator.device = device_;
    allocator.vulkanApiVersion = VK_API_VERSION_1_3;
#ifdef HOST_HAS_VOLK
    functions.vkGetInstanceProcAddr = vkGetInstanceProcAddr;
    functions.vkGetDeviceProcAddr = vkGetDeviceProcAddr;
    allocator.pVulkanFunctions = &functions;
#endif
    check(vmaCreateAllocator(&allocator, &allocator_));
  }
  ~Engine() {
    vmaDestroyAllocator(allocator_);
    vkDestroyDevice(device_, nullptr);
    vkDestroyInstance(instance_, nullptr);
  }

  // Makes a buffer and lets it go; gives the bytes that were its own.
  unsigned allocate() const {
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = 4096;
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    VmaAllocationCreateInfo how{};
    how.usage = VMA_MEMORY_USAGE_AUTO;
    VkBuffer buffer = VK_NULL_HANDLE;
    VmaAllocation memory = nullptr;
    VmaAllocationInfo got{};
    check(vmaCreateBuffer(allocator_, &info, &how, &buffer, &memory, &got));
    vmaDestroyBuffer(allocator_, buffer, memory);
    return static_cast<unsigned>(got.size);
  }

 private:
  VkInstance instance_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VmaAllocator allocator_ = nullptr;
};

// The last element of y = 3 * x + y, where x counts and y is all ones.
double run_a_kernel() {
  using namespace qgen;
  const KernelLibrary library = or_exit(KernelLibrary::open(example::library()));
  const Device device = or_exit(Device::open());
  Executor executor = or_exit(Executor::create(device, library, {}));
  HostTensor x = zeros(DType::f32, {1000}), y = x;
  for (int64_t i = 0; i < 1000; ++i) {
    set_element(x, i, static_cast<double>(i));
    set_element(y, i, 1);
  }
  const DeviceTensor device_x = or_exit(executor.upload(x, Storage::buffer));
  const DeviceTensor device_y = or_exit(executor.upload(y, Storage::buffer));
  const example::axpy::Problem fields{.numel = 1000, .a = 3};
  const Problem problem = make_problem(fields, {.x = device_x.desc(), .y = device_y.desc()});
  const Selection selection = select(problem, device.profile(), library);
  if (selection.ranked.empty()) return 0;
  const example::axpy::Operands<const DeviceTensor*> tensors{.x = &device_x, .y = &device_y};
  const Work work{&selection.ranked.front(), in_order(tensors)};
  Recording recording = or_exit(executor.record({&work, 1}));
  or_exit(executor.run(recording));
  return element(or_exit(executor.download(device_y)), 999);
}

}  // namespace

int main() {
  const Engine engine;
  std::printf("the program: an instance, a device, %u bytes\n", engine.allocate());
  std::printf("qgen: %g\n", run_a_kernel());
  std::printf("the program again: %u bytes\n", engine.allocate());
}
