// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#define VMA_IMPLEMENTATION
#define VMA_STATIC_VULKAN_FUNCTIONS 1
#define VMA_DYNAMIC_VULKAN_FUNCTIONS 0
#define VMA_VULKAN_VERSION 1003000
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"
#endif
#include "own_vulkan.h"
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#include <array>
#include <cstdio>
#include <cstdlib>

#include "qgen/adopt.h"
#include "twice.h"

namespace engine {

void check(VkResult result, const char* doing) {
  if (result == VK_SUCCESS) return;
  std::fprintf(stderr, "%s: VkResult %d\n", doing, result);
  std::exit(1);
}

// ---- instance, device, allocator ------------------------------------------------------------------------------------

struct Base::Recommended {
  qgen::RecommendedFeatures features;
};

namespace {

VKAPI_ATTR VkBool32 VKAPI_CALL collect(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                       const VkDebugUtilsMessengerCallbackDataEXT* data, void* messages) {
  std::fprintf(stderr, "validation: %s\n", data->pMessage);
  static_cast<std::vector<std::string>*>(messages)->emplace_back(data->pMessage);
  return VK_FALSE;
}

template <typename Function>
Function function_of(VkInstance instance, const char* name) {
  return reinterpret_cast<Function>(vkGetInstanceProcAddr(instance, name));
}

}  // namespace

Base::Base() {
  make_instance();
  make_device();
  VmaAllocatorCreateInfo info{};
  info.instance = instance;
  info.physicalDevice = gpu;
  info.device = device;
  info.vulkanApiVersion = VK_API_VERSION_1_3;
  check(vmaCreateAllocator(&info, &memory), "making the engine's allocator");
}

Base::~Base() {
  vmaDestroyAllocator(memory);
  vkDestroyDevice(device, nullptr);
  if (messenger_)
    function_of<PFN_vkDestroyDebugUtilsMessengerEXT>(instance, "vkDestroyDebugUtilsMessengerEXT")(instance, messenger_,
                                                                                                  nullptr);
  vkDestroyInstance(instance, nullptr);
  delete recommended_;
}

void Base::make_instance() {
  const char* wanted = std::getenv("QGEN_VALIDATION");
  const bool is_validated = wanted && *wanted;
  VkDebugUtilsMessengerCreateInfoEXT listener{};
  listener.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
  listener.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  listener.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  listener.pfnUserCallback = collect;
  listener.pUserData = &messages_;
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.apiVersion = VK_API_VERSION_1_3;
  const char* layer = "VK_LAYER_KHRONOS_validation";
  const char* extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  if (is_validated) {
    info.enabledLayerCount = info.enabledExtensionCount = 1;
    info.ppEnabledLayerNames = &layer;
    info.ppEnabledExtensionNames = &extension;
    info.pNext = &listener;
  }
  check(vkCreateInstance(&info, nullptr, &instance), "making the engine's instance");
  if (!is_validated) return;
  const auto listen = function_of<PFN_vkCreateDebugUtilsMessengerEXT>(instance, "vkCreateDebugUtilsMessengerEXT");
  check(listen(instance, &listener, nullptr, &messenger_), "listening to the validation layer");
}

// The first device, and its first queue that computes. Enables timeline semaphores, and the features that qgen
// recommends.
void Base::make_device() {
  uint32_t count = 1;
  vkEnumeratePhysicalDevices(instance, &count, &gpu);
  if (count == 0) std::exit(1);
  uint32_t family_count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(gpu, &family_count, nullptr);
  std::vector<VkQueueFamilyProperties> families(family_count);
  vkGetPhysicalDeviceQueueFamilyProperties(gpu, &family_count, families.data());
  while (queue_family + 1 < family_count && !(families[queue_family].queueFlags & VK_QUEUE_COMPUTE_BIT)) ++queue_family;

  auto recommended = qgen::RecommendedFeatures::of(vkGetInstanceProcAddr, instance, gpu);
  if (!recommended) {
    std::fprintf(stderr, "%s\n", to_text(recommended.error()).c_str());
    std::exit(1);
  }
  recommended_ = new Recommended{*std::move(recommended)};
  features12_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  features12_.timelineSemaphore = VK_TRUE;
  const auto chain = recommended_->features.joined(&features12_);
  if (!chain) std::exit(1);
  extensions_.assign(recommended_->features.extensions().begin(), recommended_->features.extensions().end());

  queue_info_.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue_info_.queueFamilyIndex = queue_family;
  queue_info_.queueCount = 1;
  queue_info_.pQueuePriorities = &priority_;
  device_info_.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  device_info_.pNext = *chain;
  device_info_.queueCreateInfoCount = 1;
  device_info_.pQueueCreateInfos = &queue_info_;
  device_info_.enabledExtensionCount = static_cast<uint32_t>(extensions_.size());
  device_info_.ppEnabledExtensionNames = extensions_.data();
  check(vkCreateDevice(gpu, &device_info_, nullptr, &device), "making the engine's device");
  vkGetDeviceQueue(device, queue_family, 0, &queue);
}

// ---- buffers --------------------------------------------------------------------------------------------------------

Buffer::Buffer(const Base& base, uint64_t bytes) : base_(base), bytes_(bytes) {
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  VmaAllocationCreateInfo how{};
  how.usage = VMA_MEMORY_USAGE_AUTO;
  how.flags = VMA_ALLOCATION_CREATE_HOST_ACCESS_RANDOM_BIT | VMA_ALLOCATION_CREATE_MAPPED_BIT;
  how.requiredFlags = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  VmaAllocationInfo got{};
  check(vmaCreateBuffer(base.memory, &info, &how, &handle, &allocation_, &got), "making a buffer");
  mapped_ = static_cast<float*>(got.pMappedData);
}

Buffer::~Buffer() { vmaDestroyBuffer(base_.memory, handle, allocation_); }

// ---- the engine's shader --------------------------------------------------------------------------------------------

Twice::Twice(const Base& base) : base_(base) {
  std::array<VkDescriptorSetLayoutBinding, 2> bindings{};
  for (uint32_t i = 0; i < bindings.size(); ++i)
    bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
  VkDescriptorSetLayoutCreateInfo set{};
  set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  set.bindingCount = bindings.size();
  set.pBindings = bindings.data();
  check(vkCreateDescriptorSetLayout(base.device, &set, nullptr, &set_layout_), "making a set layout");
  VkPipelineLayoutCreateInfo layout{};
  layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &set_layout_;
  check(vkCreatePipelineLayout(base.device, &layout, nullptr, &layout_), "making a pipeline layout");

  VkShaderModuleCreateInfo code{};
  code.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  code.codeSize = sizeof(kTwice);
  code.pCode = kTwice;
  VkShaderModule module = VK_NULL_HANDLE;
  check(vkCreateShaderModule(base.device, &code, nullptr, &module), "loading a shader");
  VkComputePipelineCreateInfo pipeline{};
  pipeline.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  pipeline.layout = layout_;
  pipeline.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  pipeline.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  pipeline.stage.module = module;
  pipeline.stage.pName = "main";
  check(vkCreateComputePipelines(base.device, VK_NULL_HANDLE, 1, &pipeline, nullptr, &pipeline_), "making a pipeline");
  vkDestroyShaderModule(base.device, module, nullptr);

  const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 16};
  VkDescriptorPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  pool.maxSets = 8;
  pool.poolSizeCount = 1;
  pool.pPoolSizes = &size;
  check(vkCreateDescriptorPool(base.device, &pool, nullptr, &pool_), "making a descriptor pool");
}

Twice::~Twice() {
  vkDestroyDescriptorPool(base_.device, pool_, nullptr);
  vkDestroyPipeline(base_.device, pipeline_, nullptr);
  vkDestroyPipelineLayout(base_.device, layout_, nullptr);
  vkDestroyDescriptorSetLayout(base_.device, set_layout_, nullptr);
}

VkDescriptorSet Twice::make_set(VkDescriptorBufferInfo from, VkDescriptorBufferInfo to) const {
  VkDescriptorSetAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  info.descriptorPool = pool_;
  info.descriptorSetCount = 1;
  info.pSetLayouts = &set_layout_;
  VkDescriptorSet set = VK_NULL_HANDLE;
  check(vkAllocateDescriptorSets(base_.device, &info, &set), "making a descriptor set");
  std::array<VkWriteDescriptorSet, 2> writes{};
  for (uint32_t i = 0; i < writes.size(); ++i) {
    writes[i].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    writes[i].dstSet = set;
    writes[i].dstBinding = i;
    writes[i].descriptorCount = 1;
    writes[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    writes[i].pBufferInfo = i == 0 ? &from : &to;
  }
  vkUpdateDescriptorSets(base_.device, writes.size(), writes.data(), 0, nullptr);
  return set;
}

void Twice::record(VkCommandBuffer commands, VkDescriptorSet set, uint32_t count) const {
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
  vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout_, 0, 1, &set, 0, nullptr);
  vkCmdDispatch(commands, count / 64, 1, 1);
}

// ---- frames ---------------------------------------------------------------------------------------------------------

Frame::Frame(const Base& base) : base_(base) {
  VkCommandPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = base.queue_family;
  check(vkCreateCommandPool(base.device, &pool, nullptr, &pool_), "making a command pool");
  VkCommandBufferAllocateInfo commands{};
  commands.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  commands.commandPool = pool_;
  commands.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  commands.commandBufferCount = 1;
  check(vkAllocateCommandBuffers(base.device, &commands, &commands_), "making a command buffer");
  VkFenceCreateInfo fence{};
  fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
  fence.flags = VK_FENCE_CREATE_SIGNALED_BIT;
  check(vkCreateFence(base.device, &fence, nullptr, &done_), "making a fence");
}

Frame::~Frame() {
  vkDestroyFence(base_.device, done_, nullptr);
  vkDestroyCommandPool(base_.device, pool_, nullptr);
}

VkCommandBuffer Frame::begin() {
  wait();
  VkCommandBufferBeginInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  check(vkBeginCommandBuffer(commands_, &info), "beginning a command buffer");
  return commands_;
}

void Frame::submit() {
  check(vkEndCommandBuffer(commands_), "ending a command buffer");
  check(vkResetFences(base_.device, 1, &done_), "resetting a fence");
  VkSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands_;
  check(vkQueueSubmit(base_.queue, 1, &info, done_), "submitting a frame");
}

void Frame::wait() { check(vkWaitForFences(base_.device, 1, &done_, VK_TRUE, UINT64_MAX), "waiting for a frame"); }

void full_barrier(VkCommandBuffer commands) {
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &barrier,
                       0, nullptr, 0, nullptr);
}

}  // namespace engine
