/* SPDX-License-Identifier: Apache-2.0
   SPDX-FileCopyrightText: qgen authors

   An engine in C99 on whose device qgen is a guest (docs/c_api.md): instance, device, buffers and command buffers are the
   engine's. It records y = softmax(x) * x by the typed functions, and a model, into one command buffer for each of two
   frames. Values are checked. With --engine-first the engine frees its command buffers and memory before qgen's objects.

     c_engine_guest [--engine-first] [MODEL.onnx] */
#include <math.h>
#include <qgen_operators.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

enum { kRows = 6, kColumns = 40, kCount = kRows * kColumns, kFrames = 2 };

static void check(VkResult result, const char* doing) {
  if (result == VK_SUCCESS) return;
  fprintf(stderr, "%s: VkResult %d\n", doing, (int)result);
  exit(1);
}
static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "expected %s\n", what);
  exit(1);
}
/* `error` by its address: C may evaluate arguments in any order. */
static void qgen_check(qgen_code code, qgen_error** error) {
  if (code == QGEN_OK) return;
  fprintf(stderr, "%s\n%s\n", qgen_error_message(*error), qgen_error_hint(*error));
  exit(1);
}

/* ---- the engine's own Vulkan ------------------------------------------------------------------------------------ */

typedef struct Engine {
  VkInstance instance;
  VkPhysicalDevice gpu;
  VkDevice device;
  VkQueue queue;
  uint32_t family;
  int locks;
  VkCommandPool pool;
  VkCommandBuffer commands[kFrames];
  VkFence fences[kFrames];
} Engine;

static void lock_queue(void* engine) { ++((Engine*)engine)->locks; }
static void unlock_queue(void* engine) { --((Engine*)engine)->locks; }

static void make_instance(Engine* engine) {
  const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_3};
  const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
  uint32_t count = 1, family_count = 16;
  VkQueueFamilyProperties families[16];
  check(vkCreateInstance(&info, NULL, &engine->instance), "making an instance");
  vkEnumeratePhysicalDevices(engine->instance, &count, &engine->gpu);
  expect(count > 0, "a device");
  vkGetPhysicalDeviceQueueFamilyProperties(engine->gpu, &family_count, families);
  while (engine->family + 1 < family_count && !(families[engine->family].queueFlags & VK_QUEUE_COMPUTE_BIT))
    ++engine->family;
}

/* Makes the device, and lends it to qgen. */
static qgen_device* lend_device(Engine* engine) {
  VkPhysicalDeviceVulkan13Features features13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                                                 .maintenance4 = VK_TRUE};
  VkPhysicalDeviceVulkan12Features features12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                                 .pNext = &features13,
                                                 .storageBuffer8BitAccess = VK_TRUE,
                                                 .shaderInt8 = VK_TRUE,
                                                 .uniformBufferStandardLayout = VK_TRUE,
                                                 .shaderSubgroupExtendedTypes = VK_TRUE};
  const float priority = 1;
  const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                         .queueFamilyIndex = engine->family,
                                         .queueCount = 1,
                                         .pQueuePriorities = &priority};
  const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                   .pNext = &features12,
                                   .queueCreateInfoCount = 1,
                                   .pQueueCreateInfos = &queue};
  check(vkCreateDevice(engine->gpu, &info, NULL, &engine->device), "making a device");
  vkGetDeviceQueue(engine->device, engine->family, 0, &engine->queue);

  const qgen_adopt_info lent = {.instance = engine->instance,
                                .physical_device = engine->gpu,
                                .device = engine->device,
                                .get_instance_proc_addr = (void (*)(void))vkGetInstanceProcAddr,
                                .created_with = &info,
                                .queue = engine->queue,
                                .queue_family = engine->family,
                                .lock_queue = lock_queue,
                                .unlock_queue = unlock_queue,
                                .data = engine};
  qgen_error* error = NULL;
  qgen_device* device = NULL;
  qgen_check(qgen_device_adopt(&lent, &device, &error), &error);
  return device;
}

static void make_frames(Engine* engine) {
  const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                        .queueFamilyIndex = engine->family};
  check(vkCreateCommandPool(engine->device, &pool, NULL, &engine->pool), "making a command pool");
  const VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = engine->pool,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = kFrames};
  check(vkAllocateCommandBuffers(engine->device, &info, engine->commands), "making command buffers");
  for (int i = 0; i < kFrames; ++i) {
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO,
                                     .flags = VK_FENCE_CREATE_SIGNALED_BIT};
    check(vkCreateFence(engine->device, &fence, NULL, &engine->fences[i]), "making a fence");
  }
}

static void destroy_frames(Engine* engine) {
  for (int i = 0; i < kFrames; ++i) vkDestroyFence(engine->device, engine->fences[i], NULL);
  vkDestroyCommandPool(engine->device, engine->pool, NULL);
}

typedef struct Buffer {
  VkBuffer handle;
  VkDeviceMemory memory;
  void* mapped;
  uint64_t bytes;
} Buffer;

static Buffer make_buffer(const Engine* engine, uint64_t bytes) {
  Buffer buffer = {.bytes = (bytes + 15) / 16 * 16}; /* kernels write 16 bytes at a time */
  /* A model copies, too. */
  const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                   .size = buffer.bytes,
                                   .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                            VK_BUFFER_USAGE_TRANSFER_DST_BIT};
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
  check(vkMapMemory(engine->device, buffer.memory, 0, VK_WHOLE_SIZE, 0, &buffer.mapped), "mapping memory");
  return buffer;
}

static void free_buffer(const Engine* engine, Buffer buffer) {
  vkDestroyBuffer(engine->device, buffer.handle, NULL);
  vkFreeMemory(engine->device, buffer.memory, NULL);
}

static void begin(const Engine* engine, int frame) {
  check(vkWaitForFences(engine->device, 1, &engine->fences[frame], VK_TRUE, UINT64_MAX), "waiting");
  vkResetFences(engine->device, 1, &engine->fences[frame]);
  const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  check(vkBeginCommandBuffer(engine->commands[frame], &info), "beginning a command buffer");
}

static void submit(const Engine* engine, int frame) {
  check(vkEndCommandBuffer(engine->commands[frame]), "ending a command buffer");
  const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                             .commandBufferCount = 1,
                             .pCommandBuffers = &engine->commands[frame]};
  check(vkQueueSubmit(engine->queue, 1, &info, engine->fences[frame]), "submitting");
}

/* ---- two operators ---------------------------------------------------------------------------------------------- */

static qgen_tensor* wrapped(qgen_device* device, Buffer buffer) {
  const int64_t shape[] = {kRows, kColumns};
  qgen_error* error = NULL;
  qgen_tensor* tensor = NULL;
  qgen_check(
      qgen_tensor_wrap(device, (uint64_t)buffer.handle, 0, buffer.bytes, "f32", 2, shape, &tensor, &error), &error);
  return tensor;
}

/* y = softmax(x) * x. The shares lie in memory of the frame. */
static void record_two(qgen_device* device, qgen_frame* frame, const qgen_tensor* x, const qgen_tensor* y) {
  qgen_error* error = NULL;
  qgen_results* shares = NULL;
  qgen_softmax_args softmax = qgen_softmax_defaults();
  softmax.input = x;
  qgen_check(qgen_softmax(device, frame, &softmax, &shares, &error), &error);
  qgen_fused_mul_args mul = qgen_fused_mul_defaults();
  mul.input = qgen_results_tensor(shares, 0);
  mul.other = x;
  mul.output = y;
  qgen_check(qgen_fused_mul(device, frame, &mul, NULL, &error), &error);
  qgen_results_free(shares);
}

static void expect_products(const float* x, const float* y) {
  for (int row = 0; row < kRows; ++row) {
    double sum = 0;
    for (int i = 0; i < kColumns; ++i) sum += exp(x[row * kColumns + i]);
    for (int i = row * kColumns; i < (row + 1) * kColumns; ++i)
      expect(fabs(y[i] - exp(x[i]) / sum * x[i]) < 1e-5, "softmax(x) * x");
  }
}

/* Two frames in flight; each has a command buffer of the engine's, and objects of qgen's. */
static void run_frames(Engine* engine, qgen_device* device, int is_engine_first) {
  Buffer x[kFrames], y[kFrames];
  qgen_tensor *lent_x[kFrames], *lent_y[kFrames];
  qgen_frame* frames[kFrames];
  qgen_error* error = NULL;
  for (int i = 0; i < kFrames; ++i) {
    x[i] = make_buffer(engine, kCount * sizeof(float));
    y[i] = make_buffer(engine, kCount * sizeof(float));
    lent_x[i] = wrapped(device, x[i]);
    lent_y[i] = wrapped(device, y[i]);
    qgen_check(qgen_frame_create(device, NULL, &frames[i], &error), &error);
  }
  for (int number = 0; number < 6; ++number) {
    const int i = number % kFrames;
    begin(engine, i);
    if (number >= kFrames) expect_products(x[i].mapped, y[i].mapped);
    for (int j = 0; j < kCount; ++j) ((float*)x[i].mapped)[j] = (float)((j * 7 + number) % 11) / 4 - 1;
    qgen_check(qgen_frame_begin(frames[i], engine->commands[i], &error), &error);
    record_two(device, frames[i], lent_x[i], lent_y[i]);
    qgen_check(qgen_frame_end(frames[i], &error), &error);
    submit(engine, i);
  }
  vkDeviceWaitIdle(engine->device);
  for (int i = 0; i < kFrames; ++i) expect_products(x[i].mapped, y[i].mapped);

  /* A tensor in too few bytes is refused in words. */
  const int64_t shape[] = {kRows, kColumns};
  qgen_tensor* small = NULL;
  expect(qgen_tensor_wrap(device, (uint64_t)x[0].handle, 0, 64, "f32", 2, shape, &small, &error) ==
             QGEN_INVALID_ARGUMENT,
         "a tensor in 64 bytes to be refused");
  printf("%s\n", qgen_error_message(error));
  qgen_error_free(error);

  for (int order = 0; order < 2; ++order) {
    for (int i = 0; i < kFrames; ++i) {
      if (order == is_engine_first) {
        qgen_frame_free(frames[i]);
        qgen_tensor_free(lent_x[i]);
        qgen_tensor_free(lent_y[i]);
      } else {
        free_buffer(engine, x[i]);
        free_buffer(engine, y[i]);
      }
    }
  }
  printf("two operators: 6 frames, values right\n");
}

/* ---- a model ---------------------------------------------------------------------------------------------------- */

/* In an arena of the engine's, whose size is asked beforehand; the same values as when qgen runs it. */
static void run_model(Engine* engine, qgen_device* device, const char* path) {
  qgen_error* error = NULL;
  qgen_model* model = NULL;
  qgen_check(qgen_model_load(device, path, &model, &error), &error);
  qgen_device* models = qgen_model_device(model);
  const int64_t shape[] = {1, 3, 256, 384};
  const size_t count = 3 * 256 * 384;
  Buffer x = make_buffer(engine, count * sizeof(float));
  for (size_t i = 0; i < count; ++i) ((float*)x.mapped)[i] = (float)(i % 97) / 97;
  const qgen_array picture = {"f32", 4, shape, x.mapped, count * sizeof(float)};
  const qgen_argument inputs[] = {{qgen_model_input_name(model, 0), &picture, NULL, NULL}};

  uint64_t arena_bytes = 0;
  qgen_check(qgen_model_arena_bytes(model, inputs, 1, &arena_bytes, &error), &error);
  Buffer memory = make_buffer(engine, arena_bytes);
  const int64_t arena_shape[] = {(int64_t)memory.bytes};
  qgen_tensor* arena = NULL;
  qgen_check(qgen_tensor_wrap(models, (uint64_t)memory.handle, 0, memory.bytes, "u8", 1, arena_shape, &arena, &error),
             &error);
  qgen_check(qgen_model_prepare(model, inputs, 1, arena, &error), &error);

  qgen_results* results = NULL;
  qgen_check(qgen_model_run(model, inputs, 1, &results, &error), &error);
  const qgen_tensor* expected = qgen_results_tensor(results, 0);
  const size_t bytes = qgen_tensor_bytes(expected);
  void* at_once = malloc(bytes);
  qgen_check(qgen_tensor_read(expected, at_once, bytes, &error), &error);

  Buffer y = make_buffer(engine, bytes);
  qgen_tensor *lent_x = NULL, *lent_y = NULL;
  qgen_check(qgen_tensor_wrap(models, (uint64_t)x.handle, 0, x.bytes, "f32", 4, shape, &lent_x, &error), &error);
  qgen_check(qgen_tensor_wrap(models, (uint64_t)y.handle, 0, y.bytes, qgen_tensor_dtype(expected),
                              qgen_tensor_rank(expected), qgen_tensor_shape(expected), &lent_y, &error),
             &error);
  const qgen_argument lent_inputs[] = {{qgen_model_input_name(model, 0), NULL, lent_x, NULL}};
  const qgen_argument lent_outputs[] = {{qgen_model_output_name(model, 0), NULL, lent_y, NULL}};
  qgen_frame* frame = NULL;
  qgen_check(qgen_frame_create(models, NULL, &frame, &error), &error);
  begin(engine, 0);
  qgen_check(qgen_frame_begin(frame, engine->commands[0], &error), &error);
  qgen_check(qgen_model_record(model, frame, lent_inputs, 1, lent_outputs, 1, &error), &error);
  qgen_check(qgen_frame_end(frame, &error), &error);
  submit(engine, 0);
  vkDeviceWaitIdle(engine->device);
  expect(memcmp(y.mapped, at_once, bytes) == 0, "the values that qgen_model_run() gave");

  qgen_frame_free(frame);
  qgen_tensor_free(lent_x);
  qgen_tensor_free(lent_y);
  qgen_results_free(results);
  qgen_model_free(model);
  qgen_tensor_free(arena);
  free(at_once);
  free_buffer(engine, x);
  free_buffer(engine, y);
  free_buffer(engine, memory);
  printf("model: recorded, bits equal\n");
}

int main(int argc, char** argv) {
  const int is_engine_first = argc > 1 && strcmp(argv[1], "--engine-first") == 0;
  const char* model = argc > 1 + is_engine_first ? argv[1 + is_engine_first] : NULL;
  Engine engine = {0};
  make_instance(&engine);
  qgen_device* device = lend_device(&engine);
  make_frames(&engine);
  printf("qgen %s, a guest on \"%s\"\n", qgen_version(), qgen_device_name(device));
  run_frames(&engine, device, is_engine_first);
  if (model) run_model(&engine, device, model);
  expect(engine.locks == 0, "the queue to be unlocked as often as it was locked");
  if (is_engine_first) destroy_frames(&engine);
  qgen_device_free(device);
  if (!is_engine_first) destroy_frames(&engine);
  vkDestroyDevice(engine.device, NULL);
  vkDestroyInstance(engine.instance, NULL);
  return 0;
}
