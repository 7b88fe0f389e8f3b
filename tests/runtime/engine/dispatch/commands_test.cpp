// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen as a guest: works in command buffers of an engine, on the engine's memory, between the engine's own commands.
#include "runtime/engine/dispatch/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "runtime/engine/dispatch/device_tensor.h"
#include "runtime/engine/dispatch/pipelines.h"
#include "tests/runtime/engine/dispatch/executor_fixture.h"
#include "tests/support/expected_text.h"
#include "tests/support/guest.h"

namespace qgen {
namespace {

using testing::Count;
using testing::groups_of;
using testing::iota;
using testing::kit;
using testing::of;

constexpr uint32_t kCount = 1000;

class CommandsTest : public testing::LentDevice {
 protected:
  void SetUp() override {
    LentDevice::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    library_.emplace(kit().library());
    owner_executor_.emplace(make(owner(), {}));
    executor_.emplace(make(guest(), {}));
  }
  void TearDown() override {
    executor_.reset();
    owner_executor_.reset();
    LentDevice::TearDown();
  }

  Executor make(const Device& device, const ExecutorOptions& options) {
    auto made = Executor::create(device, *library_, options);
    EXPECT_TRUE(made) << to_text(made.error());
    return *std::move(made);
  }
  Executor& executor() { return *executor_; }

  // The engine's memory, as it has it, and as qgen sees it.
  DeviceTensor engine_tensor(const std::vector<int32_t>& values) {
    auto made = owner_executor_->upload(of(values), Storage::buffer);
    EXPECT_TRUE(made) << to_text(made.error());
    return *std::move(made);
  }
  DeviceTensor wrapped(const DeviceTensor& engine, const Shape& shape) {
    auto made = executor().wrap(engine.place(), DType::i32, shape);
    EXPECT_TRUE(made) << to_text(made.error());
    return *std::move(made);
  }
  DeviceTensor wrapped(const DeviceTensor& engine) { return wrapped(engine, engine.shape()); }
  std::vector<int32_t> integers(const DeviceTensor& engine) {
    const auto host = owner_executor_->download(engine);
    EXPECT_TRUE(host) << to_text(host.error());
    const auto values = host->as<int32_t>();
    return {values.begin(), values.end()};
  }

  Commands make_commands(const CommandsOptions& options = {}) {
    auto made = executor().commands(options);
    EXPECT_TRUE(made) << to_text(made.error());
    return *std::move(made);
  }
  static std::shared_ptr<const Choice> shared(Choice choice) {
    return std::make_shared<const Choice>(std::move(choice));
  }
  static std::shared_ptr<const Choice> mirror(uint32_t value) {
    return shared(kit().choice("mirror.i32", {groups_of(kCount), 1, 1}, Count{kCount, value}));
  }
  static void expect(const Done& done) { EXPECT_TRUE(done) << to_text(done.error()); }
  static std::string reason(const Done& done) { return done ? "not refused" : done.error().message; }
  static Done record(Commands& commands, const std::shared_ptr<const Choice>& choice,
                     std::vector<const DeviceTensor*> operands) {
    return commands.record(choice, operands);
  }

 private:
  std::optional<KernelLibrary> library_;
  std::optional<Executor> owner_executor_, executor_;
};

// Copies of the engine, works of qgen, and a copy again, all in one command buffer; each reads the previous one's
// output.
TEST_P(CommandsTest, WorkBetweenTheEnginesCommands) {
  const DeviceTensor from = engine_tensor(iota(kCount)), a = engine_tensor(iota(kCount, 7)),
                     b = engine_tensor(iota(kCount)), to = engine_tensor(iota(kCount));
  const DeviceTensor x = wrapped(a), y = wrapped(b);
  Commands frame = make_commands();
  const auto one = mirror(1), two = mirror(2);
  for (int round = 0; round < 3; ++round) {
    const VkCommandBuffer commands = engine().begin();
    engine().copy(from.place(), a.place());
    expect(frame.begin(commands));
    expect(record(frame, one, {&x, &y}));
    expect(record(frame, two, {&y, &x}));
    expect(record(frame, one, {&x, &y}));
    expect(frame.end());
    engine().copy(b.place(), to.place());
    engine().run();
    std::vector<int32_t> expected = iota(kCount, 4);
    std::ranges::reverse(expected);
    EXPECT_EQ(integers(to), expected);
  }
}

TEST_P(CommandsTest, GoOnBehindTheEnginesCommands) {
  const DeviceTensor a = engine_tensor(iota(kCount)), b = engine_tensor(iota(kCount));
  const DeviceTensor x = wrapped(a), y = wrapped(b);
  Commands frame = make_commands();
  const VkCommandBuffer commands = engine().begin();
  expect(frame.begin(commands));
  expect(record(frame, mirror(1), {&x, &y}));
  expect(frame.end());
  engine().copy(b.place(), a.place());
  expect(frame.resume(commands));
  expect(record(frame, mirror(1), {&x, &y}));
  expect(frame.end());
  engine().run();
  EXPECT_EQ(integers(b), iota(kCount, 2));
}

// Tensors of the frame and scratch are in the engine's arena, and nothing else is allocated.
TEST_P(CommandsTest, LiesInTheEnginesArena) {
  const DeviceTensor memory = engine_tensor(std::vector<int32_t>(5000, -1)), a = engine_tensor(iota(kCount)),
                     b = engine_tensor(iota(kCount));
  const LentBuffer place = memory.place();
  const auto arena = executor().wrap(LentBuffer{place.buffer, place.offset + 1024, 8192}, DType::u8, {8192});
  ASSERT_TRUE(arena) << to_text(arena.error());
  const DeviceTensor x = wrapped(a), y = wrapped(b);
  Commands frame = make_commands({.arena = &*arena});
  for (int round = 0; round < 2; ++round) {
    expect(frame.begin(engine().begin()));
    const auto h = frame.allocate(DType::i32, {kCount}, Storage::buffer);
    ASSERT_TRUE(h) << to_text(h.error());
    EXPECT_EQ(h->place().buffer, place.buffer);
    EXPECT_EQ(h->place().offset, place.offset + 1024);
    expect(record(frame, mirror(1), {&x, &*h}));
    expect(record(frame, mirror(1), {&*h, &y}));
    EXPECT_EQ(frame.arena_bytes_used(), 4000u);
    const auto too_many = frame.allocate(DType::i32, {2 * kCount}, Storage::buffer);
    ASSERT_FALSE(too_many);
    EXPECT_EQ(too_many.error().message, "the arena of 8192 bytes is full: 4096 are taken, and 8000 more are needed");
    expect(frame.end());
    engine().run();
    EXPECT_EQ(integers(b), iota(kCount, 2));
  }
  const std::vector<int32_t> all = integers(memory);
  EXPECT_EQ(all[255], -1) << "before the arena";
  EXPECT_EQ(all[256], 1000);
  EXPECT_EQ(all[256 + kCount], -1) << "behind the tensor";
}

TEST_P(CommandsTest, HasMemoryOfItsOwnWithoutAnArena) {
  const DeviceTensor a = engine_tensor(iota(kCount)), b = engine_tensor(iota(kCount));
  const DeviceTensor x = wrapped(a), y = wrapped(b);
  Commands frame = make_commands();
  expect(frame.begin(engine().begin()));
  {
    const auto h = frame.allocate(DType::i32, {kCount}, Storage::buffer);
    ASSERT_TRUE(h) << to_text(h.error());
    expect(record(frame, mirror(1), {&x, &*h}));
    expect(record(frame, mirror(1), {&*h, &y}));
  }  // the frame keeps the objects of its commands
  expect(frame.end());
  engine().run();
  EXPECT_EQ(integers(b), iota(kCount, 2));
}

// Problem blocks and operands that are left out.
TEST_P(CommandsTest, BindsWhatTheCallerDoesNotGive) {
  testing::Wide wide{};
  for (uint32_t i = 0; i < 40; ++i) wide.values[i] = i * i;
  const auto choice = shared(kit().choice("wide.i32", {1, 1, 1}, wide));
  const auto without_bias = shared(kit().choice("bias.i32", {1, 1, 1}, Count{40, 0}));
  const DeviceTensor a = engine_tensor(iota(40)), b = engine_tensor(iota(40));
  const DeviceTensor x = wrapped(a), y = wrapped(b);
  Commands frame = make_commands();
  for (int round = 0; round < 2; ++round) {
    expect(frame.begin(engine().begin()));
    expect(record(frame, choice, {&x}));
    expect(record(frame, without_bias, {&y, nullptr}));
    expect(frame.end());
    engine().run();
    EXPECT_EQ(integers(a)[39], 39 * 39);
    EXPECT_EQ(integers(b), std::vector<int32_t>(40, 1));
  }
}

TEST_P(CommandsTest, RecordsARecordingOnOtherTensors) {
  const DeviceTensor a = engine_tensor(iota(kCount)), b = engine_tensor(iota(kCount)),
                     other_a = engine_tensor(iota(kCount, 50)), other_b = engine_tensor(iota(kCount));
  const DeviceTensor x = wrapped(a), y = wrapped(b), other_x = wrapped(other_a), other_y = wrapped(other_b);
  const auto between = executor().allocate(DType::i32, {kCount}, Storage::buffer);
  ASSERT_TRUE(between);
  const auto choice = mirror(1);
  const std::vector<Work> works = {{choice.get(), {&x, &*between}}, {choice.get(), {&*between, &y}}};
  const auto recording = executor().record(works);
  ASSERT_TRUE(recording) << to_text(recording.error());
  Commands frame = make_commands();
  expect(frame.begin(engine().begin()));
  expect(frame.record(*recording));
  const std::vector<Rebinding> rebindings = {{&x, &other_x}, {&y, &other_y}};
  expect(frame.record(*recording, rebindings));
  expect(frame.end());
  engine().run();
  EXPECT_EQ(integers(b), iota(kCount, 2));
  EXPECT_EQ(integers(other_b), iota(kCount, 52));

  const DeviceTensor short_one = wrapped(a, {kCount / 2});
  const std::vector<Rebinding> wrong = {{&x, &short_one}}, overlapping = {{&*between, &x}};
  expect(frame.begin(engine().begin()));
  EXPECT_TEXT(reason(frame.record(*recording, wrong)),
              "a tensor of i32 [500] strided cannot replace i32 [1000] strided");
  EXPECT_TEXT(reason(frame.record(*recording, overlapping)),
              "two replacements in a recording share bytes, and one of them is written");
  expect(frame.end());
  engine().run();
}

TEST_P(CommandsTest, HasTheBarriersThatTheCallerWants) {
  const DeviceTensor a = engine_tensor(iota(kCount)), b = engine_tensor(iota(kCount));
  const DeviceTensor x = wrapped(a), y = wrapped(b);
  Commands frame = make_commands({.edges = {.before = {}, .after = {}}});
  const VkCommandBuffer commands = engine().begin();
  expect(frame.begin(commands));
  expect(record(frame, mirror(1), {&x, &y}));
  expect(frame.end());
  engine().run();
  EXPECT_EQ(integers(b).front(), 1000);
}

TEST_P(CommandsTest, SaysWhatIsWrong) {
  const DeviceTensor a = engine_tensor(iota(kCount)), x = wrapped(a), y = wrapped(a);
  Commands frame = make_commands();
  EXPECT_EQ(reason(record(frame, mirror(1), {&x, &y})), "these commands were not begun");
  EXPECT_EQ(reason(frame.end()), "these commands were not begun");
  EXPECT_EQ(reason(frame.begin(nullptr)), "the command buffer is null");
  expect(frame.begin(engine().begin()));
  EXPECT_TEXT(reason(record(frame, mirror(1), {&x, &y})),
              "operand 'input' and operand 'output' of 'mirror.i32' share memory, and one is written");
  EXPECT_TEXT(reason(record(frame, mirror(1), {&x})), "'mirror.i32' was given 1 operands, and takes 2");
  EXPECT_TEXT(reason(record(frame, mirror(1), {&a, &x})), "a tensor of i32 [1000] belongs to another executor");
  EXPECT_TEXT(reason(record(frame, nullptr, {&x})), "a work has no choice");
  expect(frame.end());
  engine().run();
  Commands moved = std::move(frame);
  EXPECT_EQ(reason(frame.end()), "the commands object was moved from");
}

// ---- memory ---------------------------------------------------------------------------------------------------------

// Sets come from the engine's pool, which it resets between frames: as many as three calls, so that no frame keeps more.
// The validation layer hears of a set too many, and of one that is freed.
TEST_P(CommandsTest, TakesSetsFromTheEnginesPool) {
  const Device::Handles& handles = *owner().handles();
  const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 6};
  VkDescriptorPoolCreateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  info.maxSets = 3;
  info.poolSizeCount = 1;
  info.pPoolSizes = &size;
  VkDescriptorPool pool = VK_NULL_HANDLE;
  ASSERT_EQ(handles.vk.vkCreateDescriptorPool(handles.device, &info, nullptr, &pool), VK_SUCCESS);
  {
    const DeviceTensor a = engine_tensor(iota(kCount)), b = engine_tensor(iota(kCount));
    const DeviceTensor x = wrapped(a), y = wrapped(b);
    Commands frame = make_commands({.descriptor_pool = pool});
    for (int round = 1; round <= 3; ++round) {
      ASSERT_EQ(handles.vk.vkResetDescriptorPool(handles.device, pool, 0), VK_SUCCESS);
      expect(frame.begin(engine().begin()));
      expect(record(frame, mirror(1), {&x, &y}));
      expect(record(frame, mirror(1), {&y, &x}));
      expect(record(frame, mirror(0), {&x, &y}));
      expect(frame.end());
      engine().run();
      EXPECT_EQ(integers(a), iota(kCount, 2 * round));
    }
  }
  handles.vk.vkDestroyDescriptorPool(handles.device, pool, nullptr);
}

TEST_P(CommandsTest, WrapsRangesOfABuffer) {
  const DeviceTensor a = engine_tensor(iota(kCount));
  const LentBuffer all = a.place();
  const uint32_t alignment = guest().profile().storage_buffer_alignment_bytes;
  const auto wrap = [&](const LentBuffer& memory, const Shape& shape) {
    return executor().wrap(memory, DType::i32, shape);
  };
  const auto part = wrap({all.buffer, 256, 128}, {32});
  ASSERT_TRUE(part) << to_text(part.error());
  const auto host = executor().download(*part);
  ASSERT_TRUE(host) << to_text(host.error());
  EXPECT_EQ(host->as<int32_t>()[0], 64);
  EXPECT_EQ(wrap({nullptr, 0, 128}, {32}).error().message, "the lent buffer is null");
  EXPECT_TEXT(wrap({all.buffer, 0, 100}, {26}).error().message,
              "i32 [26] takes 112 bytes as strided, and the lent buffer has 100");
  if (alignment > 4) {
    EXPECT_THAT(wrap({all.buffer, 4, 128}, {32}).error().message,
                ::testing::HasSubstr("the lent buffer's offset is 4"));
  }
  // Ranges beyond the buffer's end.
  const uint64_t far = uint64_t{1} << 40, last = ~uint64_t{0} & ~uint64_t{4095};
  for (const auto& [offset, bytes] : {std::pair(far, uint64_t{128}), {0, far}, {last, 128}, {256, ~uint64_t{0}}}) {
    EXPECT_THAT(wrap({all.buffer, offset, bytes}, {32}).error().message,
                ::testing::StartsWith(
                    fmt::format("{} bytes at offset {} were lent, and the buffer's memory has ", bytes, offset)));
  }
}

TEST_P(CommandsTest, WrapsAnImage) {
  const auto texture = executor().allocate(DType::f32, {2, 8}, Storage::texture3d, Layout::width_packed);
  ASSERT_TRUE(texture) << to_text(texture.error());
  for (const VkImageView view : {VkImageView{}, texture->memory().image.view()}) {
    const auto lent =
        executor().wrap(LentImage{texture->memory().image.handle(), view}, DType::f32, {2, 8}, Layout::width_packed);
    ASSERT_TRUE(lent) << to_text(lent.error());
    HostTensor values = zeros(DType::f32, {2, 8});
    for (int64_t i = 0; i < 16; ++i) set_element(values, i, static_cast<double>(i));
    expect(executor().write(*lent, values));
    const auto read = executor().download(*texture);
    ASSERT_TRUE(read) << to_text(read.error());
    EXPECT_EQ(read->data, values.data);
  }
  const auto large = executor().wrap(LentImage{texture->memory().image.handle(), VkImageView{}}, DType::f32,
                                     {64, 64, 4096}, Layout::width_packed);
  ASSERT_FALSE(large);
  EXPECT_THAT(large.error().message, ::testing::HasSubstr("and the lent image has "));
}

TEST_P(CommandsTest, AllocatesByTheCallersFunctions) {
  // An engine's allocator, by an executor of the engine's.
  Executor allocator = make(owner(), {});
  std::atomic<int> live = 0;
  ExecutorOptions options;
  EXPECT_TEXT(
      Executor::create(guest(), kit().library(), {.memory = {.free_buffer = [](const MadeBuffer&) {}}}).error().message,
      "MemoryCallbacks has some of its four functions and lacks others");
  const auto handles = owner().handles();
  options.memory.make_buffer = [&](const VkBufferCreateInfo& info, MemoryUse use, MadeBuffer& made) -> int32_t {
    auto shared = dispatch::Allocator::create(handles, {});
    auto buffer = std::make_unique<dispatch::Buffer>();
    auto got = dispatch::Buffer::make(*shared, info.size, use);
    if (!got) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    *buffer = *std::move(got);
    made = {buffer->handle(), use == MemoryUse::device ? nullptr : buffer->mapped().data(), buffer.get()};
    (void)buffer.release();
    ++live;
    return VK_SUCCESS;
  };
  options.memory.free_buffer = [&](const MadeBuffer& made) {
    delete static_cast<dispatch::Buffer*>(made.token);
    --live;
  };
  options.memory.make_image = [](const VkImageCreateInfo&, MadeImage&) -> int32_t {
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  };
  options.memory.free_image = [](const MadeImage&) {};
  {
    Executor executor = make(guest(), options);
    const auto data = executor.upload(of(iota(kCount)), Storage::buffer);
    ASSERT_TRUE(data) << to_text(data.error());
    EXPECT_GT(live, 1) << "the tensor, and what it was copied through";
    const auto read = executor.download(*data);
    ASSERT_TRUE(read) << to_text(read.error());
    EXPECT_EQ(read->as<int32_t>()[999], 999);
    const auto texture = executor.allocate(DType::f32, {4}, Storage::texture3d, Layout::width_packed);
    ASSERT_FALSE(texture);
    EXPECT_THAT(texture.error().message, ::testing::HasSubstr("VK_ERROR_OUT_OF_DEVICE_MEMORY"));
  }
  EXPECT_EQ(live, 0);
}

// ---- submissions ----------------------------------------------------------------------------------------------------

TEST_P(CommandsTest, SubmitsWithoutWaiting) {
  const auto data = executor().upload(of(std::vector<int32_t>(kCount, 0)), Storage::buffer);
  ASSERT_TRUE(data);
  const Choice add = kit().choice("add.i32", {groups_of(kCount), 1, 1}, Count{kCount, 1});
  const Work work{&add, {&*data}};
  auto recording = executor().record({&work, 1});
  ASSERT_TRUE(recording) << to_text(recording.error());
  Submitted last;
  for (uint64_t i = 1; i <= 20; ++i) {
    const auto submitted = executor().submit(*recording);
    ASSERT_TRUE(submitted) << to_text(submitted.error());
    EXPECT_EQ(submitted->value, i);
    last = *submitted;
  }
  // Another one, after the semaphore of the first.
  Executor other = *Executor::create_beside(executor());
  auto others = other.record({&work, 1});
  ASSERT_TRUE(others);
  const auto behind = other.submit(*others, {.wait = {{last.semaphore, last.value}}});
  ASSERT_TRUE(behind) << to_text(behind.error());
  expect(other.wait(*behind));
  EXPECT_TRUE(*executor().is_done(last));
  expect(executor().wait(last));
  const auto read = executor().download(*data);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->as<int32_t>()[0], 21);
  ASSERT_TRUE(executor().submit(*recording));
}  // the recording is destroyed while it runs

TEST_P(CommandsTest, LocksTheCallersQueue) {
  testing::Lease lease(owner());
  std::atomic<int> locked = 0, uses = 0;
  lease.info.lock_queue = [&] { EXPECT_EQ(locked++, 0); };
  lease.info.unlock_queue = [&] {
    EXPECT_EQ(--locked, 0);
    ++uses;
  };
  const auto device = Device::adopt(lease.info);
  ASSERT_TRUE(device) << to_text(device.error());
  Executor executor = make(*device, {});
  ASSERT_TRUE(executor.upload(of({1, 2, 3}), Storage::buffer));
  EXPECT_EQ(uses, 1);
}

TEST_P(CommandsTest, WithoutAQueueItSubmitsNothing) {
  testing::Lease lease(owner());
  lease.info.queue = nullptr;
  const auto device = Device::adopt(lease.info);
  ASSERT_TRUE(device) << to_text(device.error());
  Executor executor = make(*device, {});
  const auto uploaded = executor.upload(of({1, 2, 3}), Storage::buffer);
  ASSERT_FALSE(uploaded);
  EXPECT_EQ(uploaded.error().message, "the device was lent without a queue, so qgen submits nothing to it");
  const DeviceTensor a = engine_tensor(iota(kCount)), b = engine_tensor(iota(kCount));
  const auto x = executor.wrap(a.place(), DType::i32, {kCount}), y = executor.wrap(b.place(), DType::i32, {kCount});
  auto frame = executor.commands({});
  ASSERT_TRUE(frame && x && y);
  expect(frame->begin(engine().begin()));
  expect(record(*frame, mirror(1), {&*x, &*y}));
  expect(frame->end());
  engine().run();
  EXPECT_EQ(integers(b).front(), 1000);
}

// ---- pipelines ------------------------------------------------------------------------------------------------------

TEST_P(CommandsTest, KeepsAsManyPipelinesAsItMay) {
  dispatch::Pipelines pipelines(guest().handles(), kit().library(), {.most_pipelines = 2});
  ASSERT_TRUE(pipelines.init());
  const auto get = [&](std::string_view id) {
    const OperatorInfo& op = kit().op(id);
    auto made = pipelines.get({&op, &op.kernels.front(), 0});
    EXPECT_TRUE(made) << to_text(made.error());
    return *std::move(made);
  };
  const auto first = get("copy.i32");
  const auto second = get("mirror.i32");
  EXPECT_EQ(get("copy.i32"), first);
  get("add.i32");
  EXPECT_EQ(pipelines.count(), 2u);
  EXPECT_EQ(get("copy.i32"), first) << "it was asked for more lately";
  EXPECT_NE(get("mirror.i32"), second);
  EXPECT_EQ(pipelines.count(), 2u);
}

TEST_P(CommandsTest, MakesPipelinesOnTheCallersThreads) {
  std::atomic<size_t> jobs = 0;
  const auto caller = std::this_thread::get_id();
  ExecutorOptions options;
  options.parallel_for = [&](size_t count, const std::function<void(size_t)>& job) {
    jobs += count;
    for (size_t i = 0; i < count; ++i) job(i);
  };
  VkPipelineCache cache = VK_NULL_HANDLE;
  const Device::Handles& handles = *owner().handles();
  const VkPipelineCacheCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  ASSERT_EQ(handles.vk.vkCreatePipelineCache(handles.device, &info, nullptr, &cache), VK_SUCCESS);
  options.pipeline_cache = cache;
  {
    Executor executor = make(guest(), options);
    const std::vector<Choice> choices = {*mirror(1), kit().choice("copy.i32", {1, 1, 1}, Count{1, 0})};
    size_t told = 0;
    executor.make_pipelines(choices, [&](size_t, size_t) {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      ++told;
    });
    EXPECT_EQ(jobs, 2u);
    EXPECT_EQ(told, 2u);
    expect(executor.save_pipeline_cache());
  }
  size_t bytes = 0;
  EXPECT_EQ(handles.vk.vkGetPipelineCacheData(handles.device, cache, &bytes, nullptr), VK_SUCCESS)
      << "it is still there";
  handles.vk.vkDestroyPipelineCache(handles.device, cache, nullptr);
}

// ---- threads --------------------------------------------------------------------------------------------------------

// Each thread has its own commands and executor; pipelines and inputs are shared.
TEST_P(CommandsTest, RecordOnManyThreads) {
  const DeviceTensor a = engine_tensor(iota(kCount));
  const DeviceTensor x = wrapped(a);
  constexpr size_t kThreads = 4;
  std::vector<DeviceTensor> engine_outputs, outputs;
  std::vector<std::unique_ptr<testing::EngineCommands>> buffers;
  std::vector<Commands> frames;
  for (size_t i = 0; i < kThreads; ++i) {
    engine_outputs.push_back(engine_tensor(iota(kCount)));
    outputs.push_back(wrapped(engine_outputs.back()));
    buffers.push_back(std::make_unique<testing::EngineCommands>(owner()));
    frames.push_back(make_commands());
  }
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        expect(frames[i].begin(buffers[i]->begin()));
        for (uint32_t value = 0; value <= i; ++value) expect(record(frames[i], mirror(value), {&x, &outputs[i]}));
        expect(frames[i].end());
      });
    }
  }
  for (size_t i = 0; i < kThreads; ++i) {
    buffers[i]->run();
    EXPECT_EQ(integers(engine_outputs[i]).front(), static_cast<int32_t>(999 + i));
  }
}

// ---- order of destruction -------------------------------------------------------------------------------------------

TEST_P(CommandsTest, AreDestroyedInAnyOrder) {
  for (int order = 0; order < 3; ++order) {
    auto device = std::make_unique<Device>(*Device::adopt(testing::Lease(owner()).info));
    auto executor = std::make_unique<Executor>(make(*device, {}));
    auto memory = std::make_unique<DeviceTensor>(engine_tensor(iota(kCount)));
    auto tensor = std::make_unique<DeviceTensor>(*executor->wrap(memory->place(), DType::i32, {kCount}));
    auto frame = std::make_unique<Commands>(*executor->commands({}));
    auto buffer = std::make_unique<testing::EngineCommands>(owner());
    const auto add = shared(kit().choice("add.i32", {groups_of(kCount), 1, 1}, Count{kCount, 1}));
    expect(frame->begin(buffer->begin()));
    expect(record(*frame, add, {tensor.get()}));
    expect(frame->end());
    buffer->run();
    if (order == 0) {
      buffer.reset();
      memory.reset();
    }
    if (order == 2) frame.reset();
    device.reset();
    executor.reset();
    frame.reset();
    tensor.reset();
  }
}

INSTANTIATE_TEST_SUITE_P(Descriptors, CommandsTest, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "pushed" : "sets"; });

}  // namespace
}  // namespace qgen
