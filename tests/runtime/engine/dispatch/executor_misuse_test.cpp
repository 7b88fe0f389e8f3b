// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Wrong uses of works, recordings and lifetimes. Each is an error or is harmless: no tensor is written that was not
// given, and nothing crashes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "common/sanitizers.h"
#include "tests/runtime/engine/dispatch/executor_fixture.h"
#include "tests/support/expected_text.h"

namespace qgen {
namespace {

using testing::Count;
using testing::ExecutorTest;
using testing::groups_of;
using testing::iota;
using testing::KernelKit;
using testing::kit;
using testing::of;

// ---- choices --------------------------------------------------------------------------------------------------------

// The result of select(): a choice that knows its operands.
Choice chosen_for(Choice choice, std::vector<OperandDesc> operands) {
  const Launch& launch = choice.launches.front();
  choice.problem = std::make_shared<const Problem>(Problem{launch.op, launch.problem, std::move(operands)});
  return choice;
}

constexpr int64_t kCount = 1000;

class ChosenTest : public ExecutorTest {
 protected:
  OperandDesc ints(int64_t count) { return {.dtype = DType::i32, .shape = Shape{count}}; }
  Choice copy() {
    return chosen_for(kit().choice("copy.i32", {groups_of(kCount), 1, 1}, Count{kCount, 0}),
                      {ints(kCount), ints(kCount)});
  }
};

// A call of [1000] that was given an output of [4] wrote past it, and said that all was well.
TEST_F(ChosenTest, OtherShapesAreRefused) {
  const Choice choice = copy();
  const DeviceTensor whole = upload(of(iota(kCount))), small = upload(of({1, 2, 3, 4}));
  const DeviceTensor folded = allocate(DType::i32, {kCount / 10, 10});
  EXPECT_TEXT(refusal({{&choice, {&whole, &small}}}),
              "operand 'output' of 'copy.i32' is i32 [4] buffer strided, and the choice was made for i32 [1000] "
              "buffer strided");
  EXPECT_TEXT(refusal({{&choice, {&small, &whole}}}),
              "operand 'input' of 'copy.i32' is i32 [4] buffer strided, and the choice was made for i32 [1000] "
              "buffer strided");
  EXPECT_TEXT(refusal({{&choice, {&folded, &whole}}}),
              "operand 'input' of 'copy.i32' is i32 [100, 10] buffer strided, and the choice was made for i32 [1000] "
              "buffer strided");
  EXPECT_EQ(integers(small), (std::vector<int32_t>{1, 2, 3, 4}));
  const DeviceTensor output = allocate(DType::i32, {kCount});
  run({{&choice, {&whole, &output}}});
  EXPECT_EQ(integers(output), iota(kCount));
}

// A kernel may take several layouts, and its Problem has the strides of one.
TEST_F(ChosenTest, OtherFormsAreRefused) {
  const OperandDesc bytes{.dtype = DType::i8, .layout = Layout::packed_4c, .shape = Shape{4, 8}};
  const Choice choice = chosen_for(kit().choice("negate.i8", {1, 1, 1}, Count{32, 0}), {bytes, bytes});
  const DeviceTensor channels = allocate(DType::i8, {4, 8}, Storage::buffer, Layout::packed_4c);
  const DeviceTensor width = allocate(DType::i8, {4, 8}, Storage::buffer, Layout::packed_4w);
  const DeviceTensor ints = allocate(DType::i32, {4, 8});
  EXPECT_TEXT(
      refusal({{&choice, {&width, &channels}}}),
      "operand 'input' of 'negate.i8' is i8 [4, 8] buffer packed_4w, and the choice was made for i8 [4, 8] buffer "
      "packed_4c");
  EXPECT_TEXT(refusal({{&choice, {&channels, &ints}}}),
              "operand 'output' of 'negate.i8' is i32 [4, 8] buffer strided, and the choice was made for i8 [4, 8] "
              "buffer packed_4c");
  // A Problem without shapes leaves them to its author.
  const OperandDesc any{.dtype = DType::i32};
  const Choice open = chosen_for(kit().choice("copy.i32", {1, 1, 1}, Count{8, 0}), {any, any});
  const DeviceTensor eight = upload(of(iota(8))), ten = allocate(DType::i32, {10});
  run({{&open, {&eight, &ten}}});
  EXPECT_EQ(integers(ten)[7], 7);
}

TEST_F(ChosenTest, CountsAndNullsAreRefused) {
  const Choice choice = copy(), by_hand = kit().choice("copy.i32", {1, 1, 1}, Count{4, 0});
  const DeviceTensor a = allocate(DType::i32, {kCount}), b = allocate(DType::i32, {kCount});
  EXPECT_TEXT(refusal({{nullptr, {&a, &b}}}), "a work has no choice");
  EXPECT_TEXT(refusal({{&choice, {}}}), "'copy.i32' was given 0 operands, and takes 2");
  EXPECT_TEXT(refusal({{&choice, {&a}}}), "'copy.i32' was given 1 operands, and takes 2");
  EXPECT_TEXT(refusal({{&choice, {&a, &b, &b}}}), "'copy.i32' was given 3 operands, and takes 2");
  EXPECT_TEXT(refusal({{&by_hand, {&a, &b, nullptr}}}), "'copy.i32' was given 3 operands, and takes 2");
  EXPECT_TEXT(refusal({{&choice, {&a, nullptr}}}),
              "operand 'output' of 'copy.i32' is null, and was not when the choice was made");
  const Choice without = chosen_for(kit().choice("bias.i32", {1, 1, 1}, Count{4, 0}),
                                    {ints(kCount), {.dtype = DType::i32, .is_present = false}});
  EXPECT_TEXT(refusal({{&without, {&a, &b}}}),
              "operand 'bias' of 'bias.i32' is given, and was left out when the choice was made");
}

TEST_F(ChosenTest, ChoicesThatAreNotWholeAreRefused) {
  const DeviceTensor a = allocate(DType::i32, {8}), b = allocate(DType::i32, {8});
  const auto refused = [&](auto spoil) {
    Choice choice = kit().choice("copy.i32", {1, 1, 1}, Count{8, 0});
    spoil(choice);
    return refusal({{&choice, {&a, &b}}});
  };
  constexpr std::string_view kStart = "the choice 'copy.i32' is incomplete: launch 1 ";
  const auto fault = [&](auto spoil) {
    const std::string text = refused([&](Choice& choice) { spoil(choice.launches.front()); });
    return text.starts_with(kStart) ? text.substr(kStart.size()) : text;
  };
  EXPECT_TEXT(refused([](Choice& c) { c.launches.clear(); }), "the choice 'copy.i32' launches nothing");
  EXPECT_TEXT(refused([](Choice& c) { c.scratch_elements = {4}; }),
              "the choice 'copy.i32' has sizes for 1 scratch buffers, and its recipe has 0");
  EXPECT_TEXT(refused([](Choice& c) { c.problem = std::make_shared<const Problem>(); }),
              "the choice 'copy.i32' was made for an incomplete problem");
  EXPECT_TEXT(fault([](Launch& l) { l.op = nullptr; }), "names no operator");
  EXPECT_TEXT(fault([](Launch& l) { l.kernel = nullptr; }), "names no kernel of 'copy'");
  EXPECT_TEXT(fault([](Launch& l) { l.kernel = &kit().op("add.i32").kernels.front(); }), "names no kernel of 'copy'");
  EXPECT_TEXT(fault([](Launch& l) { l.specialization = 2; }), "names specialization 2 of 2");
  EXPECT_TEXT(fault([](Launch& l) { l.operands.pop_back(); }), "has 1 operands, and 'copy' takes 2");
  EXPECT_TEXT(fault([](Launch& l) { l.problem.resize(7); }),
              "has a problem of 7 bytes, which is not the size of a "
              "problem of 'copy'");
  EXPECT_TEXT(fault([](Launch& l) { l.operands[0] = {true, 0}; }), "names scratch that the choice does not have");
  EXPECT_TEXT(fault([](Launch& l) { l.operands[1].index = 200; }),
              "the choice 'copy.i32' names 201 operands, and has 2");
}

// Modules are numbered within a library: the third of another is some other kernel here.
TEST_F(ChosenTest, ChoicesOfAnotherLibraryAreRefused) {
  const KernelKit other(testing::sketches());
  const Choice foreign = other.choice("copy.i32", {1, 1, 1}, Count{8, 0});
  const DeviceTensor a = allocate(DType::i32, {8}), b = allocate(DType::i32, {8});
  EXPECT_TEXT(refusal({{&foreign, {&a, &b}}}),
              "the choice 'copy.i32' is incomplete: launch 1 is of operator 'copy' of another kernel library");
}

// All of it, as one tensor or as two at one place of an arena; never a part, and nothing that is seen otherwise.
TEST_F(ChosenTest, AnOutputMayTakeAnInputsPlaceWhereTheKernelHasLeave) {
  const Choice increment = kit().choice("increment.i32", {2, 1, 1}, Count{100, 5});
  const DeviceTensor tensor = upload(of(iota(100)));
  run({{&increment, {&tensor, &tensor}}, {&increment, {&tensor, &tensor}}});
  EXPECT_EQ(integers(tensor), iota(100, 10));

  const DeviceTensor arena = allocate(DType::u8, {2048});
  const auto at = [&](uint64_t offset, DType dtype, const Shape& shape) {
    auto placed = executor().place(arena, offset, dtype, shape, Layout::strided);
    EXPECT_TRUE(placed) << to_text(placed.error());
    return *std::move(placed);
  };
  const DeviceTensor input = at(0, DType::i32, {100}), output = at(0, DType::i32, {100});
  ASSERT_TRUE(executor().write(input, of(iota(100))));
  run({{&increment, {&input, &output}}});
  EXPECT_EQ(integers(output), iota(100, 5));
  const DeviceTensor shifted = at(256, DType::i32, {100}), real = at(0, DType::f32, {100});
  const DeviceTensor matrix = at(0, DType::i32, {10, 10});
  constexpr std::string_view kShared =
      "operand 'input' and operand 'output' of 'increment.i32' share memory, and one is written";
  EXPECT_EQ(refusal({{&increment, {&input, &shifted}}}), kShared);
  EXPECT_EQ(refusal({{&increment, {&input, &real}}}), kShared);
  EXPECT_EQ(refusal({{&increment, {&input, &matrix}}}), kShared);
}

// Kernels declare their operands `restrict`, and a recipe's last step may read an input of its first one.
TEST_F(ChosenTest, WhatIsWrittenIsNoOtherOperand) {
  const Choice copy = kit().choice("copy.i32", {1, 1, 1}, Count{8, 0});
  const DeviceTensor a = upload(of(iota(8))), b = allocate(DType::i32, {8});
  EXPECT_TEXT(refusal({{&copy, {&a, &a}}}),
              "operand 'input' and operand 'output' of 'copy.i32' share memory, and one is written");
  // Read and written as one operand, or by works in turn, it is the program's intention.
  const Choice add = kit().choice("add.i32", {1, 1, 1}, Count{8, 1});
  run({{&add, {&a}}, {&copy, {&a, &b}}, {&copy, {&b, &a}}});
  EXPECT_EQ(integers(a), iota(8, 1));
}

// ---- lifetimes ------------------------------------------------------------------------------------------------------

// The memory of the operand went to the next tensor, and the replay wrote into it.
TEST_F(ExecutorTest, RecordingsKeepTheirOperands) {
  const Choice add = kit().choice("add.i32", {1, 1, 1}, Count{8, 5});
  std::optional<DeviceTensor> data = upload(of(iota(8)));
  Recording recording = record({{&add, {&*data}}});
  data.reset();
  std::vector<DeviceTensor> later;
  for (int i = 0; i < 64; ++i) later.push_back(upload(of(std::vector<int32_t>(8, -1))));
  for (int i = 0; i < 3; ++i) run(recording);
  for (const DeviceTensor& tensor : later) EXPECT_EQ(integers(tensor), std::vector<int32_t>(8, -1));
  ASSERT_TRUE(executor().time(recording));
}

// The objects of a recording of an Executor of a Device are destroyed in every order; the remaining ones work.
TEST_F(ExecutorTest, ObjectsMayBeDestroyedInAnyOrder) {
  const Choice copy = kit().choice("copy.i32", {1, 1, 1}, Count{8, 0});
  std::vector<int> order = {0, 1, 2, 3};
  do {
    std::optional<Device> own_device;
    std::optional<KernelLibrary> own_library = kit().library();
    std::optional<Executor> own;
    {
      auto opened = Device::open({}, {.validation = testing::validation_is_wanted()});
      ASSERT_TRUE(opened) << to_text(opened.error());
      own_device = *std::move(opened);
      auto made = Executor::create(*own_device, *own_library, {});
      ASSERT_TRUE(made) << to_text(made.error());
      own = *std::move(made);
    }
    std::optional<DeviceTensor> tensor = *own->upload(of(iota(8)), Storage::buffer);
    const DeviceTensor b = *own->allocate(DType::i32, {8}, Storage::buffer);
    const Work work{&copy, {&*tensor, &b}};
    std::optional<Recording> recording = *own->record({&work, 1});
    const std::function<void()> destroy[] = {[&] { own_device.reset(), own_library.reset(); }, [&] { own.reset(); },
                                             [&] { tensor.reset(); }, [&] { recording.reset(); }};
    for (const int which : order) {
      destroy[which]();
      if (own && recording) {
        const Done ran = own->run(*recording);
        EXPECT_TRUE(ran) << to_text(ran.error());
        EXPECT_EQ(own->download(b)->as<int32_t>()[7], 7);
      }
      if (own && tensor) {  // a pipeline that is there, and one that is not
        const Choice other = kit().choice("copy.i32", {1, 1, 1}, Count{8, 0}, 1);
        for (const Choice* choice : {&copy, &other}) {
          const Work again{choice, {&*tensor, &b}};
          const auto recorded = own->record({&again, 1});
          EXPECT_TRUE(recorded) << to_text(recorded.error());
        }
      }
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

// After a timeout the device still works on the commands: their objects are freed when it is done.
TEST_F(ExecutorTest, ObjectsOfASubmissionThatTimedOutMayBeDestroyed) {
  constexpr uint32_t kMany = QGEN_SANITIZED ? 1 << 17 : 1 << 22;
  Executor hasty = make_executor({.timeout_ms = 0});
  std::optional<DeviceTensor> data = *hasty.allocate(DType::i32, {kMany}, Storage::buffer);
  const Choice add = kit().choice("add.i32", {groups_of(kMany), 1, 1}, Count{kMany, 1});
  const Work work{&add, {&*data}};
  std::optional<Recording> recording = *hasty.record(std::vector<Work>(16, work));
  const Done ran = hasty.run(*recording);
  if (!ran) {
    EXPECT_TEXT(ran.error().message, "the device did not finish within 0 ms");
    EXPECT_TEXT(hasty.run(*recording).error().message,
                "an earlier submission failed or did not end, so nothing more is submitted");
  }
  data.reset();
  recording.reset();
}

// Transfers have no recording that would wait for them.
TEST_F(ExecutorTest, TensorsOfATransferThatTimedOutMayBeDestroyed) {
  constexpr uint32_t kMany = QGEN_SANITIZED ? 1 << 17 : 1 << 22;
  for (int trial = 0; trial < 4; ++trial) {
    Executor hasty = make_executor({.timeout_ms = 0});
    std::optional<DeviceTensor> data = *hasty.allocate(DType::i32, {kMany}, Storage::buffer);
    const auto read = hasty.download(*data);
    if (!read) EXPECT_TEXT(read.error().message, "the device did not finish within 0 ms");
    data.reset();
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(hasty.allocate(DType::i32, {kMany}, Storage::buffer));
  }
}

// The child has none of the driver's threads: it would wait forever.
TEST_F(ExecutorTest, AChildOfAForkIsRefused) {
  const DeviceTensor tensor = upload(of({1, 2}));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(20);
    const auto read = executor().download(tensor);
    ::_exit(!read && read.error().message == "the device belongs to the process that opened it, and this is another one"
                ? 0
                : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(executor().download(tensor));
}

TEST_F(ExecutorTest, WhatWasMovedFromIsRefused) {
  const auto reason = [](const auto& refused) {
    return refused ? std::string("not refused") : refused.error().message;
  };
  DeviceTensor tensor = upload(of({1, 2}));
  const Choice add = kit().choice("add.i32", {1, 1, 1}, Count{2, 1});
  const Work work{&add, {&tensor}};
  Recording recording = record({work});
  const DeviceTensor moved = std::move(tensor);
  const Recording moved_recording = std::move(recording);
  EXPECT_EQ(tensor.shape(), Shape{});  // NOLINT(bugprone-use-after-move): the test's subject
  EXPECT_TEXT(reason(executor().download(tensor)), "the tensor was moved from");
  EXPECT_TEXT(reason(executor().record({&work, 1})), "the tensor was moved from");
  EXPECT_TEXT(reason(executor().run(recording)), "the recording was moved from");
  EXPECT_TEXT(reason(executor().time(recording)), "the recording was moved from");

  Executor one = make_executor({});
  Executor other = std::move(one);
  EXPECT_TEXT(reason(one.allocate(DType::f32, {1}, Storage::buffer)), "the executor was moved from");
  EXPECT_TEXT(reason(one.upload(of({1}), Storage::buffer)), "the executor was moved from");
  EXPECT_TEXT(reason(one.download(moved)), "the executor was moved from");
  EXPECT_TEXT(reason(one.record({})), "the executor was moved from");
  EXPECT_TEXT(reason(one.save_pipeline_cache()), "the executor was moved from");
  auto device_here = Device::open();
  ASSERT_TRUE(device_here);
  const Device device_there = *std::move(device_here);
  EXPECT_TEXT(reason(Executor::create(*device_here, library(), {})), "the device was moved from");
}

TEST_F(ExecutorTest, TornHostTensorsAreRefused) {
  HostTensor torn = of({1, 2, 3});
  torn.data.resize(5);
  const auto refused = [&](Storage storage, Layout layout) {
    const auto made = executor().upload(torn, storage, layout);
    return made ? "accepted" : made.error().message;
  };
  constexpr std::string_view kReason = "a host tensor of i32 holds 5 bytes, and its shape [3] takes 12";
  EXPECT_EQ(refused(Storage::buffer, Layout::strided), kReason);
  EXPECT_EQ(refused(Storage::texture3d, Layout::width_packed), kReason);
}

// ---- bounds ---------------------------------------------------------------------------------------------------------

// With robust buffers, a kernel with a wrong index spoils only its own operands.
TEST_F(ExecutorTest, RobustBuffersKeepOtherTensors) {
  ASSERT_TRUE(device().has_robust_buffer_access()) << "Vulkan 1.0 asks it of each device";
  if (testing::validation_is_wanted()) GTEST_SKIP() << "the layer reports what this does";
  std::vector<DeviceTensor> neighbours;
  for (int i = 0; i < 8; ++i) neighbours.push_back(upload(of(std::vector<int32_t>(64, i))));
  const DeviceTensor data = upload(of(std::vector<int32_t>(64, 7)));
  for (int i = 8; i < 16; ++i) neighbours.push_back(upload(of(std::vector<int32_t>(64, i))));
  for (const uint32_t place : {64u, 100u, 4096u, 1u << 20, (1u << 30) - 1}) {
    const Choice poke = kit().choice("poke.i32", {1, 1, 1}, Count{place, 99});
    run({{&poke, {&data}}});
  }
  for (size_t i = 0; i < neighbours.size(); ++i) {
    EXPECT_EQ(integers(neighbours[i]), std::vector<int32_t>(64, static_cast<int32_t>(i)));
  }
}

}  // namespace
}  // namespace qgen
