// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Measures the CPU time to record calls into the caller's command buffer, warm, on one core, compared with the driver's
// own time for the same commands. Each call has a descriptor write, a barrier and a dispatch; nothing is submitted.
//
//   by_hand     the same Vulkan commands, written out: the driver's share
//   replayed    a Recording, put into the command buffer again: no descriptor is written
//   rebound     the same on other tensors
//   recorded    a choice that was recorded before, on its operands
//   typed       an operator's function: checks, shapes, the choice from the cache, its output given
#include <benchmark/benchmark.h>

#include <cstdlib>

#include "common/log.h"
#include "operators.h"
#include "registry.h"
#include "runtime/engine/calls/call.h"
#include "runtime/engine/device/handles.h"
#include "runtime/engine/dispatch/commands.h"
#include "runtime/engine/dispatch/recorder.h"

namespace qgen {
namespace {

using generated::operators::q8ta_relu;
using generated::operators::q8ta_relu_call;

constexpr size_t kCalls = 256;  // of a command buffer

template <typename T>
T or_exit(Expected<T> result) {
  if (result) return *std::move(result);
  print_log("recording_bench: {}\n", to_text(result.error()));
  std::exit(3);
}
void or_exit(const Done& done) {
  if (done) return;
  print_log("recording_bench: {}\n", to_text(done.error()));
  std::exit(3);
}

// A chain of q8ta_relu from one tensor to another and back: each waits for the one before.
class Chain {
 public:
  explicit Chain(bool has_push_descriptors)
      : device_(or_exit(Device::open({}, {.push_descriptors = has_push_descriptors}))),
        library_(or_exit(KernelLibrary::open(generated::library()))),
        executor_(or_exit(Executor::create(device_, library_, {}))),
        decisions_(device_.profile(), library_),
        context_{.profile = device_.profile(), .library = library_, .executor = executor_, .decisions = &decisions_},
        commands_(or_exit(executor_.commands({}))) {
    for (int i = 0; i < 4; ++i) tensors_.push_back(or_exit(executor_.allocate(DType::i8, {64, 1024}, Storage::buffer)));
    const Call call = or_exit(q8ta_relu_call({.input = desc_of(tensors_[0])}, kScales));
    choice_ = decisions_.best(call.problem);
    std::vector<Work> works;
    for (size_t i = 0; i < kCalls; ++i) works.push_back({choice_.get(), {from(i), to(i)}});
    recording_.emplace(or_exit(executor_.record(works)));
    make_command_buffer();
  }
  ~Chain() { vk().vkDestroyCommandPool(handles().device, pool_, nullptr); }
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  template <typename Record>
  void measure(benchmark::State& state, const Record& record) {
    record();  // warm
    end();
    for (auto _ : state) {
      state.PauseTiming();
      begin();
      state.ResumeTiming();
      record();
      state.PauseTiming();
      end();
      state.ResumeTiming();
    }
    state.counters["of_a_call"] =
        benchmark::Counter(kCalls, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  }

  void by_hand(benchmark::State& state) {
    begin();
    measure(state, [&] {
      for (const dispatch::Dispatch& dispatch : recording_->state()->dispatches) {
        dispatch::put_barrier(dispatch::Barrier::shaders, vk(), buffer_);
        dispatch::encode(dispatch, dispatch.set, vk(), buffer_);
      }
    });
  }
  void replayed(benchmark::State& state) {
    begin();
    measure(state, [&] { or_exit(commands_.record(*recording_)); });
  }
  void rebound(benchmark::State& state) {
    const std::vector<Rebinding> rebindings = {{&tensors_[0], &tensors_[2]}, {&tensors_[1], &tensors_[3]}};
    begin();
    measure(state, [&] { or_exit(commands_.record(*recording_, rebindings)); });
  }
  void recorded(benchmark::State& state) {
    begin();
    measure(state, [&] {
      for (size_t i = 0; i < kCalls; ++i) {
        const std::array<const DeviceTensor*, 2> operands = {from(i), to(i)};
        or_exit(commands_.record(choice_, operands));
      }
    });
  }
  void typed(benchmark::State& state) {
    context_.commands = &commands_;
    begin();
    measure(state, [&] {
      for (size_t i = 0; i < kCalls; ++i)
        (void)or_exit(q8ta_relu(context_, {.input = *from(i), .output = to(i)}, kScales));
    });
    context_.commands = nullptr;
  }

 private:
  static constexpr generated::operators::Q8taReluAttributes kScales{.input_scale = 1.0, .output_scale = 1.0};

  const Device::Handles& handles() const { return *device_.handles(); }
  const vulkan::DeviceFunctions& vk() const { return handles().vk; }
  const DeviceTensor* from(size_t call) const { return &tensors_[call % 2]; }
  const DeviceTensor* to(size_t call) const { return &tensors_[1 - call % 2]; }

  void make_command_buffer() {
    VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool.queueFamilyIndex = handles().queue_family;
    vk().vkCreateCommandPool(handles().device, &pool, nullptr, &pool_);
    VkCommandBufferAllocateInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    info.commandPool = pool_;
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    vk().vkAllocateCommandBuffers(handles().device, &info, &buffer_);
  }
  void begin() {
    const VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    vk().vkBeginCommandBuffer(buffer_, &info);
    or_exit(commands_.begin(buffer_));
  }
  void end() {
    or_exit(commands_.end());
    vk().vkEndCommandBuffer(buffer_);
  }

  Device device_;
  KernelLibrary library_;
  Executor executor_;
  DecisionCache decisions_;
  Context context_;
  Commands commands_;
  std::vector<DeviceTensor> tensors_;
  std::shared_ptr<const Choice> choice_;
  std::optional<Recording> recording_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer buffer_ = VK_NULL_HANDLE;
};

void add(const char* name, void (Chain::*measure)(benchmark::State&)) {
  for (const bool has_push_descriptors : {false, true}) {
    const std::string title = std::string(name) + (has_push_descriptors ? "/push_descriptors" : "/descriptor_sets");
    benchmark::RegisterBenchmark(title.c_str(), [=](benchmark::State& state) {
      Chain chain(has_push_descriptors);
      (chain.*measure)(state);
    });
  }
}

}  // namespace
}  // namespace qgen

int main(int argc, char** argv) {
  using qgen::Chain;
  benchmark::Initialize(&argc, argv);
  qgen::add("by_hand", &Chain::by_hand);
  qgen::add("replayed", &Chain::replayed);
  qgen::add("rebound", &Chain::rebound);
  qgen::add("recorded", &Chain::recorded);
  qgen::add("typed", &Chain::typed);
  benchmark::RunSpecifiedBenchmarks();
}
