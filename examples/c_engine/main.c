/* SPDX-License-Identifier: Apache-2.0
   SPDX-FileCopyrightText: qgen authors

   An engine in C99 that dispatches two kernels of qgen with nothing but the files of `qgen --emit c`: no library of
   qgen, no C++ (docs/engines.md). y = layer_norm(softmax(x)), both in one command buffer, compared with floats. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

#include "layer_norm.h"
#include "softmax.h"

enum { kRows = 7, kColumns = 200, kCount = kRows * kColumns };
static const float kEpsilon = 1e-5f;

static void check(VkResult result, const char* doing) {
  if (result == VK_SUCCESS) return;
  fprintf(stderr, "%s: VkResult %d\n", doing, (int)result);
  exit(1);
}

/* ---- the engine's own Vulkan ------------------------------------------------------------------------------------ */

typedef struct Engine {
  VkInstance instance;
  VkPhysicalDevice gpu;
  VkDevice device;
  VkQueue queue;
  uint32_t family;
  VkCommandPool commands;
  VkDescriptorPool sets;
  qgen_device facts;
} Engine;

/* What this engine enables, and rough speeds of the device: enough to rank kernels. */
static void learn_facts(Engine* engine) {
  VkPhysicalDeviceSubgroupProperties subgroup = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
  VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &subgroup};
  vkGetPhysicalDeviceProperties2(engine->gpu, &all);
  const VkPhysicalDeviceLimits* limits = &all.properties.limits;
  qgen_device* facts = &engine->facts;
  memset(facts, 0, sizeof *facts);
  if (subgroup.supportedOperations & VK_SUBGROUP_FEATURE_BASIC_BIT) facts->features |= QGEN_FEATURE_subgroup_basic;
  if (subgroup.supportedOperations & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT)
    facts->features |= QGEN_FEATURE_subgroup_arithmetic;
  memcpy(facts->most_groups, limits->maxComputeWorkGroupCount, sizeof facts->most_groups);
  facts->subgroup_size = subgroup.subgroupSize;
  facts->max_workgroup_invocations = limits->maxComputeWorkGroupInvocations;
  facts->max_workgroup_size_x = limits->maxComputeWorkGroupSize[0];
  facts->shared_memory_bytes = limits->maxComputeSharedMemorySize;
  facts->max_storage_buffer_bytes = limits->maxStorageBufferRange;
  facts->is_cpu = all.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  facts->compute_units = 8;
  facts->bytes_per_us = facts->cache_bytes_per_us = 1e5;
  facts->f32_ops_per_us = facts->f16_ops_per_us = 1e6;
  facts->launch_us = 5;
  facts->barrier_us = 1;
}

static Engine make_engine(void) {
  Engine engine = {0};
  const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_3};
  const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
  check(vkCreateInstance(&info, NULL, &engine.instance), "making an instance");
  uint32_t count = 1;
  vkEnumeratePhysicalDevices(engine.instance, &count, &engine.gpu);
  if (count == 0) check(VK_ERROR_INITIALIZATION_FAILED, "looking for a device");
  VkQueueFamilyProperties families[16];
  uint32_t family_count = 16;
  vkGetPhysicalDeviceQueueFamilyProperties(engine.gpu, &family_count, families);
  while (engine.family + 1 < family_count && !(families[engine.family].queueFlags & VK_QUEUE_COMPUTE_BIT))
    ++engine.family;
  /* Kernels rely on these three features, which Vulkan 1.3 guarantees. */
  VkPhysicalDeviceVulkan13Features features13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                                                 .maintenance4 = VK_TRUE};
  VkPhysicalDeviceVulkan12Features features12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                                 .pNext = &features13,
                                                 .uniformBufferStandardLayout = VK_TRUE,
                                                 .shaderSubgroupExtendedTypes = VK_TRUE};
  const float priority = 1;
  const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                         .queueFamilyIndex = engine.family,
                                         .queueCount = 1,
                                         .pQueuePriorities = &priority};
  const VkDeviceCreateInfo device = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &features12,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue};
  check(vkCreateDevice(engine.gpu, &device, NULL, &engine.device), "making a device");
  vkGetDeviceQueue(engine.device, engine.family, 0, &engine.queue);
  const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .queueFamilyIndex = engine.family};
  check(vkCreateCommandPool(engine.device, &pool, NULL, &engine.commands), "making a command pool");
  const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 32}};
  const VkDescriptorPoolCreateInfo sets = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                           .maxSets = 2,
                                           .poolSizeCount = 1,
                                           .pPoolSizes = sizes};
  check(vkCreateDescriptorPool(engine.device, &sets, NULL, &engine.sets), "making a descriptor pool");
  learn_facts(&engine);
  return engine;
}

typedef struct Buffer {
  VkBuffer handle;
  VkDeviceMemory memory;
  float* values;
} Buffer;

static Buffer make_buffer(const Engine* engine) {
  Buffer buffer;
  const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                   .size = (kCount * sizeof(float) + 15) / 16 * 16, /* kernels write whole 16 bytes */
                                   .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
  check(vkCreateBuffer(engine->device, &info, NULL, &buffer.handle), "making a buffer");
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(engine->device, buffer.handle, &needs);
  VkPhysicalDeviceMemoryProperties types;
  vkGetPhysicalDeviceMemoryProperties(engine->gpu, &types);
  const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  uint32_t type = 0;
  while (!((needs.memoryTypeBits >> type & 1) && (types.memoryTypes[type].propertyFlags & wanted) == wanted)) ++type;
  const VkMemoryAllocateInfo memory = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size, .memoryTypeIndex = type};
  check(vkAllocateMemory(engine->device, &memory, NULL, &buffer.memory), "allocating memory");
  vkBindBufferMemory(engine->device, buffer.handle, buffer.memory, 0);
  void* mapped = NULL;
  check(vkMapMemory(engine->device, buffer.memory, 0, VK_WHOLE_SIZE, 0, &mapped), "mapping memory");
  buffer.values = mapped;
  return buffer;
}

static void free_buffer(const Engine* engine, Buffer buffer) {
  vkDestroyBuffer(engine->device, buffer.handle, NULL);
  vkFreeMemory(engine->device, buffer.memory, NULL);
}

/* ---- a kernel of qgen ------------------------------------------------------------------------------------------- */

typedef struct Kernel {
  VkShaderModule module;
  VkDescriptorSetLayout set_layout;
  VkPipelineLayout layout;
  VkPipeline pipeline;
} Kernel;

static VkPipeline make_pipeline(const Engine* engine, const qgen_choice* choice, const Kernel* kernel) {
  VkSpecializationMapEntry entries[QGEN_MOST_CONSTANTS];
  for (uint32_t i = 0; i < choice->constant_count; ++i) {
    const VkSpecializationMapEntry entry = {i, i * 4, 4};
    entries[i] = entry;
  }
  const VkSpecializationInfo constants = {(uint32_t)choice->constant_count, entries, choice->constant_count * 4,
                                          choice->constants};
  const VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                            .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                      .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                      .module = kernel->module,
                                                      .pName = "main",
                                                      .pSpecializationInfo = &constants},
                                            .layout = kernel->layout};
  VkPipeline pipeline;
  check(vkCreateComputePipelines(engine->device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline), "making a pipeline");
  return pipeline;
}

static Kernel make_kernel(const Engine* engine, const qgen_choice* choice) {
  Kernel made;
  const qgen_kernel* kernel = choice->kernel;
  const VkShaderModuleCreateInfo module = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                           .codeSize = kernel->word_bytes,
                                           .pCode = kernel->words};
  check(vkCreateShaderModule(engine->device, &module, NULL, &made.module), "making a module");
  VkDescriptorSetLayoutBinding bindings[16];
  for (size_t i = 0; i < kernel->binding_count; ++i) {
    const VkDescriptorSetLayoutBinding binding = {.binding = kernel->bindings[i].binding,
                                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                  .descriptorCount = 1,
                                                  .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    bindings[i] = binding;
  }
  const VkDescriptorSetLayoutCreateInfo sets = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                                .bindingCount = (uint32_t)kernel->binding_count,
                                                .pBindings = bindings};
  check(vkCreateDescriptorSetLayout(engine->device, &sets, NULL, &made.set_layout), "making a set layout");
  const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, (uint32_t)kernel->push_constants.bytes};
  const VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                             .setLayoutCount = 1,
                                             .pSetLayouts = &made.set_layout,
                                             .pushConstantRangeCount = range.size ? 1 : 0,
                                             .pPushConstantRanges = &range};
  check(vkCreatePipelineLayout(engine->device, &layout, NULL, &made.layout), "making a pipeline layout");
  made.pipeline = make_pipeline(engine, choice, &made);
  return made;
}

static void free_kernel(const Engine* engine, Kernel kernel) {
  vkDestroyPipeline(engine->device, kernel.pipeline, NULL);
  vkDestroyPipelineLayout(engine->device, kernel.layout, NULL);
  vkDestroyDescriptorSetLayout(engine->device, kernel.set_layout, NULL);
  vkDestroyShaderModule(engine->device, kernel.module, NULL);
}

/* `operands`: a buffer for each operand of the operator. An operand that is left out may have any buffer. */
static void dispatch(const Engine* engine, VkCommandBuffer commands, const Kernel* made, const qgen_choice* choice,
                     const void* problem, const Buffer* const* operands) {
  const qgen_kernel* kernel = choice->kernel;
  const VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorPool = engine->sets,
                                            .descriptorSetCount = 1,
                                            .pSetLayouts = &made->set_layout};
  VkDescriptorSet set;
  check(vkAllocateDescriptorSets(engine->device, &info, &set), "allocating a set");
  for (size_t i = 0; i < kernel->binding_count; ++i) {
    const VkDescriptorBufferInfo buffer = {operands[kernel->bindings[i].operand]->handle, 0, VK_WHOLE_SIZE};
    const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .dstSet = set,
                                        .dstBinding = kernel->bindings[i].binding,
                                        .descriptorCount = 1,
                                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                        .pBufferInfo = &buffer};
    vkUpdateDescriptorSets(engine->device, 1, &write, 0, NULL);
  }
  unsigned char block[256];
  qgen_write_block(&kernel->push_constants, problem, block);
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, made->pipeline);
  vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, made->layout, 0, 1, &set, 0, NULL);
  if (kernel->push_constants.bytes)
    vkCmdPushConstants(commands, made->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, (uint32_t)kernel->push_constants.bytes,
                       block);
  vkCmdDispatch(commands, choice->groups[0], choice->groups[1], choice->groups[2]);
  const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                   .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                   .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_HOST_READ_BIT};
  vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                       VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, NULL, 0,
                       NULL);
}

static qgen_choice choose(const Engine* engine, const qgen_operator* op, const void* problem, const qgen_form* forms) {
  qgen_choice choice;
  if (!qgen_choose(op, problem, forms, &engine->facts, &choice)) {
    fprintf(stderr, "no kernel of %s fits\n", op->name);
    exit(1);
  }
  printf("%s: %u x %u x %u workgroups\n", choice.kernel->id, choice.groups[0], choice.groups[1], choice.groups[2]);
  return choice;
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

static float x_at(int i) { return (float)sin(0.37 * i); }

/* The largest distance from the results in double precision. */
static double distance(const float* y) {
  double most = 0;
  for (int row = 0; row < kRows; ++row) {
    double shares[kColumns], sum = 0, mean = 0, variance = 0;
    for (int c = 0; c < kColumns; ++c) sum += shares[c] = exp((double)x_at(row * kColumns + c));
    for (int c = 0; c < kColumns; ++c) mean += (shares[c] /= sum) / kColumns;
    for (int c = 0; c < kColumns; ++c) variance += (shares[c] - mean) * (shares[c] - mean) / kColumns;
    for (int c = 0; c < kColumns; ++c) {
      const double expected = (shares[c] - mean) / sqrt(variance + (double)kEpsilon);
      most = fmax(most, fabs(expected - (double)y[row * kColumns + c]));
    }
  }
  return most;
}

int main(void) {
  Engine engine = make_engine();
  Buffer x = make_buffer(&engine), shares = make_buffer(&engine), y = make_buffer(&engine);
  for (int i = 0; i < kCount; ++i) x.values[i] = x_at(i);

  const qgen_form real = {"f32", "buffer", "strided"}, none = {NULL, NULL, NULL};
  const softmax_problem softmax = {.rows = kRows, .columns = kColumns};
  const layer_norm_problem norm = {
      .rows = kRows, .columns = kColumns, .epsilon = kEpsilon, .inverse_columns = 1.0f / kColumns};
  const qgen_form softmax_forms[] = {real, real}, norm_forms[] = {real, none, none, real};
  const qgen_choice first = choose(&engine, &softmax_operator, &softmax, softmax_forms);
  const qgen_choice second = choose(&engine, &layer_norm_operator, &norm, norm_forms);
  const Kernel first_kernel = make_kernel(&engine, &first), second_kernel = make_kernel(&engine, &second);

  VkCommandBuffer commands;
  const VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                .commandPool = engine.commands,
                                                .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                .commandBufferCount = 1};
  check(vkAllocateCommandBuffers(engine.device, &allocate, &commands), "allocating commands");
  const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  vkBeginCommandBuffer(commands, &begin);
  const Buffer* const softmax_operands[] = {&x, &shares};
  const Buffer* const norm_operands[] = {&shares, &shares, &shares, &y};
  dispatch(&engine, commands, &first_kernel, &first, &softmax, softmax_operands);
  dispatch(&engine, commands, &second_kernel, &second, &norm, norm_operands);
  vkEndCommandBuffer(commands);
  const VkSubmitInfo submit = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
  check(vkQueueSubmit(engine.queue, 1, &submit, VK_NULL_HANDLE), "submitting");
  check(vkQueueWaitIdle(engine.queue), "waiting");
  const double most = distance(y.values);
  printf("values %s: %.1e off\n", most < 1e-4 ? "right" : "wrong", most);

  free_kernel(&engine, first_kernel);
  free_kernel(&engine, second_kernel);
  free_buffer(&engine, x);
  free_buffer(&engine, shares);
  free_buffer(&engine, y);
  vkDestroyDescriptorPool(engine.device, engine.sets, NULL);
  vkDestroyCommandPool(engine.device, engine.commands, NULL);
  vkDestroyDevice(engine.device, NULL);
  vkDestroyInstance(engine.instance, NULL);
  return most < 1e-4 ? 0 : 1;
}
