// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen on an engine's Vulkan device (docs/engines.md). Each frame's command buffer has the engine's shader, two
// operators and a model of qgen, and the engine's shader again. Two frames are in flight. All tensors are in the
// engine's buffers, all memory comes from its allocator, and qgen neither submits nor waits. The results are compared
// with float values.
//
//   engine [--engine-first]      destroys the engine's objects before qgen's; by default qgen's are first
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>

#include "graph_nodes.h"
#include "own_vulkan.h"
#include "qgen/model.h"
#include "registry.h"
#include "two_operators.h"

using namespace qgen;
using namespace qgen::generated::operators;

namespace {

constexpr int64_t kRows = 16, kColumns = 64, kOutputs = 32;
constexpr uint32_t kCount = kRows * kColumns, kScores = kRows * kOutputs;
constexpr uint64_t kBytes = kCount * sizeof(float), kScoreBytes = kScores * sizeof(float);
constexpr size_t kFrames = 2;

// ---- qgen's objects on the engine's device --------------------------------------------------------------------------

// qgen allocates all memory by these functions, from the engine's VMA.
MemoryCallbacks memory_of(VmaAllocator vma) {
  MemoryCallbacks callbacks;
  callbacks.make_buffer = [vma](const VkBufferCreateInfo& info, MemoryUse use, MadeBuffer& made) {
    VmaAllocationCreateInfo how{};
    how.usage = VMA_MEMORY_USAGE_AUTO;
    if (use != MemoryUse::device) {
      how.flags = VMA_ALLOCATION_CREATE_HOST_ACCESS_RANDOM_BIT | VMA_ALLOCATION_CREATE_MAPPED_BIT;
      how.requiredFlags = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    }
    VmaAllocation allocation = nullptr;
    VmaAllocationInfo got{};
    const VkResult result = vmaCreateBuffer(vma, &info, &how, &made.buffer, &allocation, &got);
    made.mapped = got.pMappedData;
    made.token = allocation;
    return static_cast<int32_t>(result);
  };
  callbacks.free_buffer = [vma](const MadeBuffer& made) {
    vmaDestroyBuffer(vma, made.buffer, static_cast<VmaAllocation>(made.token));
  };
  callbacks.make_image = [vma](const VkImageCreateInfo& info, MadeImage& made) {
    VmaAllocationCreateInfo how{};
    how.usage = VMA_MEMORY_USAGE_AUTO;
    VmaAllocation allocation = nullptr;
    const VkResult result = vmaCreateImage(vma, &info, &how, &made.image, &allocation, nullptr);
    made.token = allocation;
    return static_cast<int32_t>(result);
  };
  callbacks.free_image = [vma](const MadeImage& made) {
    vmaDestroyImage(vma, made.image, static_cast<VmaAllocation>(made.token));
  };
  return callbacks;
}

HostTensor weight_of_model() {
  HostTensor weight = zeros(DType::i8, {kOutputs, kColumns});
  for (int64_t i = 0; i < kOutputs * kColumns; ++i) set_element(weight, i, static_cast<double>((i * 7 + 3) % 15 - 7));
  return weight;
}

constexpr double kInputScale = 1.0 / 64, kWeightScale = 1.0 / 8;

// A linear layer in int8 with floats around it: y [rows, 64] -> scores [rows, 32].
graph::Graph make_graph() {
  graph::Builder net;
  HostTensor scales = zeros(DType::f32, {kOutputs});
  for (float& scale : scales.as<float>()) scale = static_cast<float>(kWeightScale);
  const auto y = net.input("y", DType::f32, {kRows, kColumns});
  const auto codes = q8ta_quantize(net, {.input = y}, {.output_scale = kInputScale});
  const auto scores = q8ta_linear_dequantize(
      net, {.input = codes, .weight = net.constant(weight_of_model()), .weight_scales = net.constant(scales)},
      {.input_scale = kInputScale});
  net.output("scores", scores);
  return std::move(net).graph();
}

// The engine's memory as qgen's tensors, and the commands of one frame.
struct GuestFrame {
  DeviceTensor x, y, scores;
  Commands commands;
};

struct Guest {
  explicit Guest(const engine::Base& base)
      : device(adopt(base)),
        library(or_exit(KernelLibrary::open(generated::library()))),
        executor(or_exit(Executor::create(device, library, {.memory = memory_of(base.memory)}))),
        decisions(device.profile(), library),
        context{.profile = device.profile(), .library = library, .executor = executor, .decisions = &decisions},
        model(graph::Model::create(context, entries(), make_graph(), {})) {}

  Device device;
  KernelLibrary library;
  Executor executor;
  DecisionCache decisions;
  Context context;
  graph::Model model;
  std::vector<GuestFrame> frames;
};

// ---- the engine -----------------------------------------------------------------------------------------------------

// The buffers of one frame: source -> x -> y -> scores -> answer.
struct Slot {
  explicit Slot(const engine::Base& base)
      : frame(base),
        source(base, kBytes),
        tensors(base, 2 * kBytes + kScoreBytes),
        answer(base, kScoreBytes),
        arena(base, 2 * kBytes) {}
  engine::Frame frame;
  engine::Buffer source, tensors, answer, arena;
  VkDescriptorSet before = VK_NULL_HANDLE, after = VK_NULL_HANDLE;
};

struct Engine {
  Engine(const engine::Base& base, uint64_t model_bytes) : twice(base), model_arena(base, model_bytes) {
    for (size_t i = 0; i < kFrames; ++i) {
      slots.push_back(std::make_unique<Slot>(base));
      Slot& slot = *slots.back();
      slot.before = twice.make_set({slot.source.handle, 0, kBytes}, {slot.tensors.handle, 0, kBytes});
      slot.after = twice.make_set({slot.tensors.handle, 2 * kBytes, kScoreBytes}, {slot.answer.handle, 0, kScoreBytes});
    }
  }
  engine::Twice twice;
  engine::Buffer model_arena;  // one frame after the other, since they are on one queue
  std::vector<std::unique_ptr<Slot>> slots;
};

DeviceTensor all_of(Executor& executor, const engine::Buffer& buffer) {
  const auto bytes = static_cast<int64_t>(buffer.bytes());
  return or_exit(executor.wrap(LentBuffer{buffer.handle, 0, buffer.bytes()}, DType::u8, {bytes}));
}

// The engine's buffers as tensors, and commands for each frame.
void lend(Guest& guest, const Engine& engine) {
  Executor& executor = guest.executor;
  for (const auto& slot : engine.slots) {
    const auto part = [&](uint64_t offset, uint64_t bytes, const Shape& shape) {
      return or_exit(executor.wrap(LentBuffer{slot->tensors.handle, offset, bytes}, DType::f32, shape));
    };
    const DeviceTensor arena = all_of(executor, slot->arena);
    guest.frames.push_back({part(0, kBytes, {kRows, kColumns}), part(kBytes, kBytes, {kRows, kColumns}),
                            part(2 * kBytes, kScoreBytes, {kRows, kOutputs}),
                            or_exit(executor.commands({.arena = &arena}))});
  }
  const DeviceTensor model_arena = all_of(executor, engine.model_arena);
  or_exit(guest.model.prepare({{"y", {kRows, kColumns}}}, &model_arena));
}

void record_frame(Guest& guest, Engine& engine, size_t number) {
  Slot& slot = *engine.slots[number];
  GuestFrame& frame = guest.frames[number];
  const VkCommandBuffer commands = slot.frame.begin();
  engine.twice.record(commands, slot.before, kCount);  // x = 2 * source
  guest.context.commands = &frame.commands;
  record_two(guest.context, commands, frame.x, frame.y);
  or_exit(frame.commands.resume(commands));
  or_exit(guest.model.record(frame.commands, {{"y", &frame.y}}, {{"scores", &frame.scores}}));
  or_exit(frame.commands.end());
  engine.twice.record(commands, slot.after, kScores);  // answer = 2 * scores
  engine::full_barrier(commands);
  slot.frame.submit();
}

// ---- values ---------------------------------------------------------------------------------------------------------

double source_at(size_t frame, int64_t i) {
  return std::sin(0.37 * static_cast<double>(i) + static_cast<double>(frame));
}

// The largest distance of an answer from the result in floats.
double distance(std::span<const float> answer, size_t frame) {
  const HostTensor weight = weight_of_model();
  double most = 0;
  for (int64_t row = 0; row < kRows; ++row) {
    double sum = 0, codes[kColumns];
    for (int64_t c = 0; c < kColumns; ++c) sum += std::exp(2 * source_at(frame, row * kColumns + c));
    for (int64_t c = 0; c < kColumns; ++c) {
      const double x = 2 * source_at(frame, row * kColumns + c);
      codes[c] = std::clamp(std::nearbyint(std::exp(x) / sum * x / kInputScale), -128.0, 127.0);
    }
    for (int64_t n = 0; n < kOutputs; ++n) {
      double score = 0;
      for (int64_t c = 0; c < kColumns; ++c) score += codes[c] * element(weight, n * kColumns + c);
      const double expected = 2 * score * kInputScale * kWeightScale;
      most = std::max(most, std::abs(expected - static_cast<double>(answer[static_cast<size_t>(row * kOutputs + n)])));
    }
  }
  return most;
}

// An input next to a tie may be rounded the other way. This changes a product by at most one step.
bool is_near(std::span<const float> answer, size_t frame) {
  return distance(answer, frame) < 14 * kInputScale * kWeightScale * 2;
}

bool run_frames(Guest& guest, Engine& engine, size_t count) {
  bool is_right = true;
  const auto read = [&](size_t number) {
    const Slot& slot = *engine.slots[number % kFrames];
    is_right = is_right && is_near(slot.answer.values(), number);
  };
  for (size_t number = 0; number < count; ++number) {
    Slot& slot = *engine.slots[number % kFrames];
    slot.frame.wait();
    if (number >= kFrames) read(number - kFrames);
    for (int64_t i = 0; i < kCount; ++i)
      slot.source.values()[static_cast<size_t>(i)] = static_cast<float>(source_at(number, i));
    record_frame(guest, engine, number % kFrames);
  }
  for (const auto& slot : engine.slots) slot->frame.wait();
  for (size_t number = count - kFrames; number < count; ++number) read(number);
  return is_right;
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_engine_first = argc > 1 && std::string_view(argv[1]) == "--engine-first";
  engine::Base base;
  auto guest = std::make_unique<Guest>(base);
  auto engine = std::make_unique<Engine>(base, or_exit(guest->model.arena_bytes({{"y", {kRows, kColumns}}})));
  lend(*guest, *engine);
  const bool is_right = run_frames(*guest, *engine, 6);
  std::printf("%s: 6 frames, values %s\n", guest->device.profile().name.c_str(), is_right ? "right" : "wrong");
  if (is_engine_first) engine.reset();
  guest.reset();
  engine.reset();
  if (base.validation_messages() > 0) std::printf("the validation layer has something to say\n");
  return is_right && base.validation_messages() == 0 ? 0 : 1;
}
