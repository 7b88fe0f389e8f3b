// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Operators and models in command buffers of an engine, on its device and its memory.
#include "tests/support/guest.h"

#include <gmock/gmock.h>

#include "graph_nodes.h"
#include "operators.h"
#include "registry.h"
#include "runtime/models/graph/model.h"
#include "tests/support/expected_text.h"
#include "tests/support/networks.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

class GuestTest : public testing::LentDevice {
 protected:
  void SetUp() override {
    LentDevice::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    library_.emplace(*KernelLibrary::open(generated::library()));
    owner_executor_.emplace(*Executor::create(owner(), *library_, {}));
    executor_.emplace(*Executor::create(guest(), *library_, {}));
    decisions_.emplace(guest().profile(), *library_);
    context_.emplace(
        Context{.profile = guest().profile(), .library = *library_, .executor = *executor_, .decisions = &*decisions_});
  }
  void TearDown() override {
    context_.reset();
    executor_.reset();
    owner_executor_.reset();
    LentDevice::TearDown();
  }

  Executor& executor() { return *executor_; }
  Context& context() { return *context_; }
  template <typename T>
  static T whole(Expected<T> result) {
    EXPECT_TRUE(result) << to_text(result.error());
    return *std::move(result);
  }
  static void expect(const Done& done) { EXPECT_TRUE(done) << to_text(done.error()); }
  static std::string reason(const Done& done) { return done ? "not refused" : done.error().message; }

  // The engine's memory, `guard` bytes into a buffer.
  DeviceTensor engine_memory(uint64_t bytes) {
    return whole(owner_executor_->allocate(DType::u8, {static_cast<int64_t>(bytes)}, Storage::buffer));
  }
  DeviceTensor engine_tensor(const HostTensor& values) {
    return whole(owner_executor_->upload(values, Storage::buffer));
  }
  HostTensor downloaded(const DeviceTensor& engine) { return whole(owner_executor_->download(engine)); }
  DeviceTensor wrapped(const DeviceTensor& engine, DType dtype, const Shape& shape) {
    return whole(executor().wrap(engine.place(), dtype, shape));
  }
  DeviceTensor wrapped(const DeviceTensor& engine) { return wrapped(engine, engine.dtype(), engine.shape()); }

 private:
  std::optional<KernelLibrary> library_;
  std::optional<Executor> owner_executor_, executor_;
  std::optional<DecisionCache> decisions_;
  std::optional<Context> context_;
};

HostTensor picture(const Shape& shape, uint32_t seed) { return testing::Random(seed).reals(DType::f32, shape, -1, 1); }

// Immediate execution and a recording give the same.
TEST_P(GuestTest, RecordsTypedCalls) {
  using namespace generated::operators;
  const HostTensor values = picture({4, 64}, 1);
  const DeviceTensor x = whole(executor().upload(values, Storage::buffer));
  const DeviceTensor at_once = whole(softmax(context(), {.input = x}));
  const HostTensor expected = whole(executor().download(at_once));

  const DeviceTensor engine_x = engine_tensor(values), engine_y = engine_tensor(zeros(DType::f32, {4, 64}));
  const DeviceTensor lent_x = wrapped(engine_x), lent_y = wrapped(engine_y);
  Commands frame = whole(executor().commands({}));
  context().commands = &frame;
  expect(frame.begin(engine().begin()));
  const DeviceTensor codes = whole(q8ta_quantize(context(), {.input = lent_x}, {.output_scale = 0.01}));
  const DeviceTensor made = whole(softmax(context(), {.input = lent_x, .output = &lent_y}));
  EXPECT_EQ(made.place().buffer, lent_y.place().buffer);
  EXPECT_EQ(codes.dtype(), DType::i8);
  const auto wrong = softmax(context(), {.input = lent_x, .output = &codes});
  ASSERT_FALSE(wrong);
  EXPECT_TEXT(wrong.error().message,
              "output is i8 [4, 64] buffer strided, and the call was made for f32 [4, 64] buffer strided");
  expect(frame.end());
  engine().run();
  EXPECT_EQ(downloaded(engine_y).data, expected.data);
}

// A given output has its own representation.
TEST_P(GuestTest, WritesIntoALayoutThatIsGiven) {
  using namespace generated::operators;
  const DeviceTensor x = whole(executor().upload(picture({2, 8, 3, 3}, 1), Storage::buffer));
  const DeviceTensor y = whole(executor().allocate(DType::i8, {2, 8, 3, 3}, Storage::buffer, Layout::packed_4c));
  const DeviceTensor made = whole(q8ta_quantize(context(), {.input = x, .output = &y}, {.output_scale = 0.01}));
  EXPECT_EQ(made.layout(), Layout::packed_4c);
  const DeviceTensor plain = whole(q8ta_quantize(context(), {.input = x}, {.output_scale = 0.01}));
  EXPECT_EQ(whole(executor().download(y)).data, whole(executor().download(plain)).data);
}

TEST_P(GuestTest, RecordsAModelOnTheEnginesMemory) {
  const Shape shape{2, 3, 20, 20};
  const auto operators = generated::operators::entries();
  graph::Model model = graph::Model::create(context(), operators, testing::residual_network(2), {});
  const uint64_t bytes = whole(model.arena_bytes({{"image", shape}}));
  EXPECT_GT(bytes, 0u);
  const DeviceTensor engine_arena = engine_memory(bytes);
  const DeviceTensor arena = wrapped(engine_arena);
  graph::Prepared* prepared = whole(model.prepare({{"image", shape}}, &arena));
  EXPECT_EQ(whole(model.arena_bytes({{"image", shape}})), bytes);
  EXPECT_EQ(prepared->input("image")->place().buffer, engine_arena.place().buffer);
  EXPECT_FALSE(prepared->input("scores"));

  // Two frames in one command buffer, each with its own tensors.
  Commands frame = whole(executor().commands({}));
  std::vector<DeviceTensor> inputs, outputs, lent;
  for (uint32_t i = 0; i < 2; ++i) {
    inputs.push_back(engine_tensor(picture(shape, i)));
    outputs.push_back(engine_tensor(zeros(DType::f32, {2, 10})));
    lent.push_back(wrapped(inputs.back()));
    lent.push_back(wrapped(outputs.back()));
  }
  expect(frame.begin(engine().begin()));
  expect(model.record(frame, {{"image", &lent[0]}}, {{"scores", &lent[1]}}));
  expect(model.record(frame, {{"image", &lent[2]}}, {{"scores", &lent[3]}}));
  EXPECT_EQ(reason(prepared->record(frame, {{"picture", &lent[0]}})), "the model has no input 'picture'");
  EXPECT_EQ(reason(prepared->record(frame, {{"image", nullptr}})), "input 'image' is null");
  EXPECT_TEXT(reason(prepared->record(frame, {{"image", &lent[1]}})),
              "'image' is f32 [2, 3, 20, 20] in a buffer, and was given f32 [2, 10] in a buffer");
  expect(frame.end());
  engine().run();
  for (uint32_t i = 0; i < 2; ++i) {
    EXPECT_EQ(downloaded(inputs[i]).data, picture(shape, i).data) << "an input is only read";
    const auto at_once = model.run({{"image", picture(shape, i)}});
    ASSERT_TRUE(at_once) << to_text(at_once.error());
    EXPECT_EQ(downloaded(outputs[i]).data, at_once->at("scores").data);
  }
}

TEST_P(GuestTest, SaysThatAnArenaIsTooSmall) {
  graph::Model model =
      graph::Model::create(context(), generated::operators::entries(), testing::residual_network(1), {});
  const DeviceTensor engine_arena = engine_memory(256);
  const DeviceTensor arena = wrapped(engine_arena);
  const auto prepared = model.prepare({{"image", {1, 3, 20, 20}}}, &arena);
  ASSERT_FALSE(prepared);
  EXPECT_THAT(prepared.error().message, ::testing::HasSubstr("arena of 256 bytes"));
}

// Reshapes of an input and of an output have their memory, also where that is the engine's.
TEST_P(GuestTest, SeesReshapedTensorsInTheEnginesMemory) {
  graph::Builder net;
  const auto x = net.input("x", DType::f32, {4, 6});
  const auto seen = net.reshape(x, {2, 12});
  const auto y = generated::operators::softmax(net, {.input = seen});
  net.output("y", net.reshape(y, {24}));
  net.output("same", net.reshape(x, {24}));
  graph::Model model = graph::Model::create(context(), generated::operators::entries(), std::move(net).graph(), {});
  const DeviceTensor input = engine_tensor(picture({4, 6}, 3)), output = engine_tensor(zeros(DType::f32, {24}));
  const DeviceTensor lent_input = wrapped(input), lent_output = wrapped(output);
  Commands frame = whole(executor().commands({}));
  expect(frame.begin(engine().begin()));
  expect(model.record(frame, {{"x", &lent_input}}, {{"y", &lent_output}}));
  EXPECT_TEXT(reason(model.record(frame, {{"x", &lent_input}}, {{"same", &lent_output}})),
              "output 'same' is an input that is passed through, and no kernel writes it");
  expect(frame.end());
  engine().run();
  const auto at_once = model.run({{"x", picture({4, 6}, 3)}});
  ASSERT_TRUE(at_once) << to_text(at_once.error());
  EXPECT_EQ(downloaded(output).data, at_once->at("y").data);
}

INSTANTIATE_TEST_SUITE_P(Descriptors, GuestTest, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "pushed" : "sets"; });

}  // namespace
}  // namespace qgen
