// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Compares a model on qgen's own device with the same model as a guest: on a device, in buffers and in command buffers
// that the engine of examples/engine has created. Prints the median time of each by the device's clock, and whether all
// outputs have equal bits.
//
//   guest_bench build/models/resnet50.onnx [batch] [replays]
#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>

#include "common/log.h"
#include "examples/engine/two_operators.h"
#include "graph_nodes.h"
#include "registry.h"
#include "runtime/models/graph/model.h"
#include "runtime/models/onnx/import.h"

using namespace qgen;

namespace {

constexpr int kTurns = 10;

// The objects that run a model on some device.
struct Host {
  Host(Device on, const graph::Graph& graph)
      : device(std::move(on)),
        library(or_exit(KernelLibrary::open(generated::library()))),
        executor(or_exit(Executor::create(device, library, {}))),
        decisions(device.profile(), library),
        context{.profile = device.profile(), .library = library, .executor = executor, .decisions = &decisions},
        model(graph::Model::create(context, generated::operators::entries(), graph, {})) {}

  Device device;
  KernelLibrary library;
  Executor executor;
  DecisionCache decisions;
  Context context;
  graph::Model model;
};

// A buffer of the engine's, in the device's own memory.
class Memory {
 public:
  Memory(const engine::Base& base, uint64_t bytes) : base_(base), bytes_(std::max<uint64_t>(bytes, 4)) {
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = bytes_;
    info.usage =
        VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    VmaAllocationCreateInfo how{};
    how.usage = VMA_MEMORY_USAGE_AUTO_PREFER_DEVICE;
    if (vmaCreateBuffer(base.memory, &info, &how, &handle_, &allocation_, nullptr) != VK_SUCCESS) std::exit(1);
  }
  ~Memory() { vmaDestroyBuffer(base_.memory, handle_, allocation_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  DeviceTensor tensor(Executor& executor, DType dtype, const Shape& shape) const {
    return or_exit(executor.wrap(LentBuffer{handle_, 0, bytes_}, dtype, shape));
  }
  DeviceTensor bytes(Executor& executor) const { return tensor(executor, DType::u8, {static_cast<int64_t>(bytes_)}); }

 private:
  const engine::Base& base_;
  uint64_t bytes_;
  VkBuffer handle_ = VK_NULL_HANDLE;
  VmaAllocation allocation_ = nullptr;
};

// A command buffer of the engine's with a timestamp at its begin and at its end, submitted once or many times.
class Frame {
 public:
  explicit Frame(const engine::Base& base) : base_(base) {
    VkCommandPoolCreateInfo pool{};
    pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool.queueFamilyIndex = base.queue_family;
    check(vkCreateCommandPool(base.device, &pool, nullptr, &pool_));
    VkCommandBufferAllocateInfo commands{};
    commands.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    commands.commandPool = pool_;
    commands.commandBufferCount = 1;
    check(vkAllocateCommandBuffers(base.device, &commands, &commands_));
    VkQueryPoolCreateInfo queries{};
    queries.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    queries.queryType = VK_QUERY_TYPE_TIMESTAMP;
    queries.queryCount = 2;
    check(vkCreateQueryPool(base.device, &queries, nullptr, &queries_));
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(base.gpu, &properties);
    us_of_tick_ = static_cast<double>(properties.limits.timestampPeriod) / 1e3;
  }
  ~Frame() {
    vkDestroyQueryPool(base_.device, queries_, nullptr);
    vkDestroyCommandPool(base_.device, pool_, nullptr);
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  template <typename Record>
  void record(const Record& model) {
    VkCommandBufferBeginInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    check(vkBeginCommandBuffer(commands_, &info));
    vkCmdResetQueryPool(commands_, queries_, 0, 2);
    vkCmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, queries_, 0);
    model(commands_);
    vkCmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, queries_, 1);
    check(vkEndCommandBuffer(commands_));
  }

  // Microseconds by the device's clock.
  double run() const {
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands_;
    check(vkQueueSubmit(base_.queue, 1, &info, nullptr));
    check(vkQueueWaitIdle(base_.queue));
    uint64_t ticks[2] = {};
    check(vkGetQueryPoolResults(base_.device, queries_, 0, 2, sizeof ticks, ticks, sizeof ticks[0],
                                VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
    return static_cast<double>(ticks[1] - ticks[0]) * us_of_tick_;
  }

 private:
  static void check(VkResult result) {
    if (result != VK_SUCCESS) std::exit(1);
  }

  const engine::Base& base_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkQueryPool queries_ = VK_NULL_HANDLE;
  double us_of_tick_ = 1;
};

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

// A tensor of the model and the engine's memory for it.
struct Lent {
  std::string name;
  std::unique_ptr<Memory> memory;
  DeviceTensor tensor;
};
using LentList = std::vector<Lent>;

Lent lend(const engine::Base& base, Executor& executor, const std::string& name, DType dtype, const Shape& shape) {
  auto memory = std::make_unique<Memory>(base, static_cast<uint64_t>(element_count(shape) * bytes(dtype)));
  DeviceTensor tensor = memory->tensor(executor, dtype, shape);
  return {name, std::move(memory), std::move(tensor)};
}

graph::LentTensors by_name(const LentList& list) {
  graph::LentTensors tensors;
  for (const Lent& lent : list) tensors[lent.name] = &lent.tensor;
  return tensors;
}

HostTensor made_up(DType dtype, const Shape& shape) {
  HostTensor tensor = zeros(dtype, shape);
  std::mt19937 random(7);
  std::uniform_real_distribution<double> drawn(is_real(dtype) ? -2.0 : -100.0, is_real(dtype) ? 2.0 : 100.0);
  for (int64_t i = 0; i < element_count(shape); ++i) {
    const double value = drawn(random);
    set_element(tensor, i, is_real(dtype) ? value : std::nearbyint(dtype == DType::u8 ? std::abs(value) : value));
  }
  return tensor;
}

graph::Graph graph_of(const std::string& path) {
  return std::move(or_exit(onnx::import_model(std::filesystem::path(path))).graph);
}

Tensors inputs_of(const graph::Graph& graph, int64_t batch) {
  Tensors inputs;
  for (const graph::ValueId input : graph.inputs) {
    const graph::Value& value = graph.values[input];
    Shape shape = value.shape;
    for (int64_t& side : shape) side = side < 0 ? batch : side;
    inputs[value.name] = made_up(value.dtype, shape);
  }
  return inputs;
}

bool is_equal(const HostTensor& a, const HostTensor& b) { return a.shape == b.shape && a.data == b.data; }

// The model on the engine's device, with all its tensors in the engine's memory.
class Guest {
 public:
  Guest(const graph::Graph& graph, const Tensors& inputs, const Tensors& outputs)
      : host_(adopt(base_), graph),
        arena_memory_(base_, or_exit(host_.model.arena_bytes(graph::shapes_of(inputs)))),
        arena_(arena_memory_.bytes(host_.executor)),
        inputs_(lend_all(inputs)),
        outputs_(lend_all(outputs)),
        once_(base_),
        anew_(base_),
        commands_once_(or_exit(host_.executor.commands(alone()))),
        commands_anew_(or_exit(host_.executor.commands(alone()))) {
    or_exit(host_.model.prepare(graph::shapes_of(inputs), &arena_));
    for (const Lent& input : inputs_) or_exit(host_.executor.write(input.tensor, inputs.at(input.name)));
    record(once_, commands_once_);
  }

  // Microseconds of a replay that was recorded once, and of one that is recorded each time.
  double run_once() const { return once_.run(); }
  double run_anew() {
    record(anew_, commands_anew_);
    return anew_.run();
  }

  bool has(const Tensors& expected) {
    return std::ranges::all_of(outputs_, [&](const Lent& output) {
      return is_equal(or_exit(host_.executor.download(output.tensor)), expected.at(output.name));
    });
  }

 private:
  // The command buffer contains only the model, so there is nothing to wait for.
  static CommandsOptions alone() { return {.edges = {.before = {0, 0}, .after = {0, 0}}}; }

  LentList lend_all(const Tensors& tensors) {
    LentList all;
    for (const auto& [name, tensor] : tensors)
      all.push_back(lend(base_, host_.executor, name, tensor.dtype, tensor.shape));
    return all;
  }

  void record(Frame& frame, Commands& commands) {
    frame.record([&](VkCommandBuffer into) {
      or_exit(commands.begin(into));
      or_exit(host_.model.record(commands, by_name(inputs_), by_name(outputs_)));
      or_exit(commands.end());
    });
  }

  engine::Base base_;
  Host host_;
  Memory arena_memory_;
  DeviceTensor arena_;
  LentList inputs_, outputs_;
  Frame once_, anew_;
  Commands commands_once_, commands_anew_;
};

// Microseconds of replays.
struct Times {
  std::vector<double> own, once, anew;
};

// In turns, so that the clock is the same for all; the first turn brings it up, and is left out.
Times measured(graph::Prepared& own, Guest& guest, int replays) {
  Times times;
  for (int turn = 0; turn <= kTurns; ++turn) {
    if (turn == 1) times = {};
    for (int i = 0; i < replays; ++i) times.own.push_back(or_exit(own.time()).device_us);
    for (int i = 0; i < replays; ++i) times.once.push_back(guest.run_once());
    for (int i = 0; i < replays; ++i) times.anew.push_back(guest.run_anew());
  }
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    print_log("guest_bench MODEL.onnx [batch] [replays]\n");
    return 2;
  }
  const int64_t batch = argc > 2 ? std::atoll(argv[2]) : 1;
  const int replays = argc > 3 ? std::atoi(argv[3]) : 300;
  const graph::Graph graph = graph_of(argv[1]);
  const Tensors inputs = inputs_of(graph, batch);

  Host own(or_exit(Device::open({}, {})), graph);
  const Tensors expected = or_exit(own.model.run(inputs));
  Guest guest(graph, inputs, expected);
  const Times times = measured(*or_exit(own.model.prepare(graph::shapes_of(inputs))), guest, replays);

  const bool are_equal = guest.has(expected);
  const double own_us = median(times.own), once_us = median(times.once), anew_us = median(times.anew);
  std::printf(
      "%s: own device %.1f us; guest, recorded once %.1f us (%+.2f %%), for each frame %.1f us (%+.2f %%); outputs "
      "%s\n",
      own.device.profile().name.c_str(), own_us, once_us, (once_us / own_us - 1) * 100, anew_us,
      (anew_us / own_us - 1) * 100, are_equal ? "equal" : "DIFFERENT");
  return are_equal ? 0 : 1;
}
