// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The table of docs/engines.md#threads, row by row: what several threads may use at once, and what each has one of. The
// values are checked here; the preset tsan looks for races.
#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "operators.h"
#include "registry.h"
#include "runtime/engine/calls/online_tuning.h"
#include "runtime/models/graph/model.h"
#include "tests/support/guest.h"
#include "tests/support/networks.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

using namespace generated::operators;

constexpr size_t kThreads = 4;
constexpr int kRounds = 6;
constexpr Q8taReluAttributes kScales{.input_scale = 1.0, .output_scale = 1.0};

template <typename Job>
void on_threads(const Job& job) {
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < kThreads; ++i) threads.emplace_back([&job, i] { job(i); });
}

template <typename T>
T whole(Expected<T> result) {
  EXPECT_TRUE(result) << to_text(result.error());
  return *std::move(result);
}
void expect(const Done& done) { EXPECT_TRUE(done) << to_text(done.error()); }

// An executor with its context, for one thread. What they choose is kept for all.
struct Worker {
  Worker(const Device& device, const KernelLibrary& library, Executor made, DecisionCache& decisions)
      : executor(std::move(made)),
        context{.profile = device.profile(), .library = library, .executor = executor, .decisions = &decisions} {}
  Executor executor;
  Context context;
};

// A guest on the device of an engine, which uses the queue too.
class ThreadsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    owner_.emplace(whole(Device::open({}, {.validation = testing::validation_is_wanted()})));
    lease_.emplace(*owner_);
    AdoptInfo info = lease_->info;
    info.lock_queue = [this] { queue_.lock(); };
    info.unlock_queue = [this] { queue_.unlock(); };
    guest_.emplace(whole(Device::adopt(info)));
    library_.emplace(whole(KernelLibrary::open(generated::library())));
    decisions_.emplace(guest_->profile(), *library_);
    start({});
  }
  void TearDown() override {
    workers_.clear();
    guest_.reset();
    for (const std::string& message : owner_->validation_messages()) ADD_FAILURE() << "validation: " << message;
  }

  // The first worker's executor, and others beside it.
  void start(const ExecutorOptions& options) {
    workers_.clear();
    add_worker(whole(Executor::create(*guest_, *library_, options)));
    while (workers_.size() < kThreads) add_worker(whole(Executor::create_beside(workers_.front()->executor)));
  }
  Worker& worker(size_t thread) { return *workers_[thread]; }

  DeviceTensor uploaded(const HostTensor& values) { return whole(worker(0).executor.upload(values, Storage::buffer)); }
  // The engine's own submission.
  void run(testing::EngineCommands& engine) {
    const std::lock_guard lock(queue_);
    engine.run();
  }

  const Device& owner() const { return *owner_; }
  const Device& guest() const { return *guest_; }
  const KernelLibrary& library() const { return *library_; }
  DecisionCache& decisions() { return *decisions_; }

 private:
  void add_worker(Executor executor) {
    workers_.push_back(std::make_unique<Worker>(*guest_, *library_, std::move(executor), *decisions_));
  }

  std::mutex queue_;
  std::optional<Device> owner_;
  std::optional<testing::Lease> lease_;
  std::optional<Device> guest_;
  std::optional<KernelLibrary> library_;
  std::optional<DecisionCache> decisions_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

HostTensor picture(const Shape& shape, uint32_t seed) { return testing::Random(seed).reals(DType::f32, shape, -1, 1); }

HostTensor bytes(const Shape& shape) {
  HostTensor made = zeros(DType::i8, shape);
  for (int64_t i = 0; i < element_count(shape); ++i) set_element(made, i, static_cast<double>(i % 251 - 125));
  return made;
}
HostTensor positive(HostTensor values) {
  for (int64_t i = 0; i < element_count(values.shape); ++i) set_element(values, i, std::max(0.0, element(values, i)));
  return values;
}

// ---- yes: from several threads at once ------------------------------------------------------------------------------

TEST_F(ThreadsTest, ShareALibraryAProfileAndDecisions) {
  const TimeBook times(library());
  on_threads([&](size_t) {
    for (int64_t rows = 1; rows < 40; ++rows) {
      const auto call = q8ta_relu_call({.input = TensorDesc{DType::i8, {rows % 7 + 1, 64}}}, kScales);
      ASSERT_TRUE(call) << to_text(call.error());
      const auto choice = decisions().best(call->problem);
      ASSERT_TRUE(choice);
      EXPECT_TRUE(library().blob().module(choice->launches.front().kernel->module));
      EXPECT_TRUE(times.of(call->problem, guest().profile()));
    }
  });
}

TEST_F(ThreadsTest, OpenDevicesAndAdoptOne) {
  on_threads([&](size_t thread) {
    if (thread % 2 == 0) {
      EXPECT_TRUE(Device::open({}, {}));
      return;
    }
    const testing::Lease lease(owner());
    const auto adopted = Device::adopt(lease.info);
    ASSERT_TRUE(adopted) << to_text(adopted.error());
    EXPECT_EQ(adopted->profile().name, owner().profile().name);
  });
}

// ---- one for each thread --------------------------------------------------------------------------------------------

// All read one tensor, and share pipelines, memory and what was decided.
TEST_F(ThreadsTest, RunOnExecutorsBesideEachOther) {
  const HostTensor values = bytes({4, 64}), expected = positive(values);
  const DeviceTensor x = uploaded(values);
  on_threads([&](size_t thread) {
    Worker& own = worker(thread);
    for (int round = 0; round < kRounds; ++round) {
      const DeviceTensor y = whole(q8ta_relu(own.context, {.input = x}, kScales));
      EXPECT_EQ(whole(own.executor.download(y)).data, expected.data);
    }
  });
}

// Each has a frame, and the queue is the engine's to lock.
TEST_F(ThreadsTest, RecordIntoCommandBuffersOfTheirOwn) {
  const HostTensor values = bytes({4, 64}), expected = positive(values);
  const DeviceTensor x = uploaded(values);
  on_threads([&](size_t thread) {
    Worker& own = worker(thread);
    testing::EngineCommands engine(owner());
    Commands frame = whole(own.executor.commands({}));
    own.context.commands = &frame;
    const DeviceTensor y = whole(own.executor.allocate(DType::i8, {4, 64}, Storage::buffer));
    for (int round = 0; round < kRounds; ++round) {
      expect(frame.begin(engine.begin()));
      const DeviceTensor h = whole(q8ta_relu(own.context, {.input = x}, kScales));
      EXPECT_TRUE(q8ta_relu(own.context, {.input = h, .output = &y}, kScales));
      expect(frame.end());
      run(engine);
      EXPECT_EQ(whole(own.executor.download(y)).data, expected.data);
    }
  });
}

TEST_F(ThreadsTest, SubmitRecordingsWithoutWaiting) {
  if (!guest().handles()->has_timeline_semaphores) GTEST_SKIP() << "the device has no timeline semaphores";
  const HostTensor values = bytes({4, 64}), expected = positive(values);
  const DeviceTensor x = uploaded(values);
  const Call call = whole(q8ta_relu_call({.input = desc_of(x)}, kScales));
  const auto choice = decisions().best(call.problem);
  ASSERT_TRUE(choice);
  on_threads([&](size_t thread) {
    Executor& executor = worker(thread).executor;
    const DeviceTensor y = whole(executor.allocate(DType::i8, {4, 64}, Storage::buffer));
    const Work work{choice.get(), {&x, &y}};
    Recording recording = whole(executor.record({&work, 1}));
    Submitted last;
    for (int round = 0; round < kRounds; ++round) last = whole(executor.submit(recording));
    expect(executor.wait(last));
    EXPECT_TRUE(whole(executor.is_done(last)));
    EXPECT_EQ(whole(executor.download(y)).data, expected.data);
  });
}

// Models beside each other share their weights.
TEST_F(ThreadsTest, RunModelsBesideEachOther) {
  const Shape shape{1, 3, 20, 20};
  const auto operators = entries();
  std::vector<graph::Model> models;
  models.push_back(graph::Model::create(worker(0).context, operators, testing::residual_network(1), {}));
  while (models.size() < kThreads) models.push_back(models.front().beside(worker(models.size()).context));
  std::array<std::vector<std::byte>, kThreads> scores;
  on_threads([&](size_t thread) {
    for (int round = 0; round < 2; ++round) {
      const auto outputs = models[thread].run({{"image", picture(shape, 1)}});
      ASSERT_TRUE(outputs) << to_text(outputs.error());
      scores[thread] = outputs->at("scores").data;
    }
  });
  for (const auto& each : scores) EXPECT_EQ(each, scores.front());
}

// ---- what executors share -------------------------------------------------------------------------------------------

std::vector<Choice> relu_choices(DecisionCache& decisions) {
  std::vector<Choice> choices;
  for (const int64_t columns : {64, 63, 96}) {
    const auto call = q8ta_relu_call({.input = TensorDesc{DType::i8, {2, columns}}}, kScales);
    choices.push_back(*decisions.best(call->problem));
  }
  return choices;
}

// The engine's threads make pipelines, for several executors at once.
TEST_F(ThreadsTest, MakePipelinesOnTheEnginesThreads) {
  std::atomic<size_t> jobs = 0;
  start({.parallel_for = [&](size_t count, const std::function<void(size_t)>& job) {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < count; ++i) threads.emplace_back([&, i] { job(i), ++jobs; });
  }});
  const std::vector<Choice> choices = relu_choices(decisions());
  on_threads([&](size_t thread) { worker(thread).executor.make_pipelines(choices); });
  EXPECT_GT(jobs, 0u);
}

// A bound on pipelines takes them from other threads, whose recordings keep what they use.
TEST_F(ThreadsTest, ShareABudgetOfPipelines) {
  start({.most_pipelines = 1});
  on_threads([&](size_t thread) {
    Worker& own = worker(thread);
    for (int round = 0; round < kRounds; ++round) {
      const HostTensor values = bytes({2, round % 2 == 0 ? 64 : 63});
      const DeviceTensor x = whole(own.executor.upload(values, Storage::buffer));
      const DeviceTensor y = whole(q8ta_relu(own.context, {.input = x}, kScales));
      EXPECT_EQ(whole(own.executor.download(y)).data, positive(values).data);
    }
  });
}

// Tensors may be freed on another thread than the one that made them.
TEST_F(ThreadsTest, FreeTensorsOnOtherThreads) {
  std::vector<std::optional<DeviceTensor>> tensors(kThreads * 8);
  for (auto& tensor : tensors) tensor = uploaded(bytes({4, 64}));
  on_threads([&](size_t thread) {
    for (size_t i = thread; i < tensors.size(); i += kThreads) {
      const DeviceTensor another = whole(worker(thread).executor.allocate(DType::f32, {32}, Storage::buffer));
      tensors[i].reset();
    }
  });
}

TEST_F(ThreadsTest, ShareOnlineTuning) {
  OnlineTuning online({.share = 1, .candidates = 2, .samples = 1});
  const HostTensor values = bytes({4, 64}), expected = positive(values);
  const DeviceTensor x = uploaded(values);
  on_threads([&](size_t thread) {
    Worker& own = worker(thread);
    own.context.online = &online;
    for (int round = 0; round < kRounds; ++round) {
      const DeviceTensor y = whole(q8ta_relu(own.context, {.input = x}, kScales));
      EXPECT_EQ(whole(own.executor.download(y)).data, expected.data);
    }
  });
  EXPECT_GT(online.times(library()).size(), 0u);
}

}  // namespace
}  // namespace qgen
