// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// One work at a time: specializations, long grids, small types, textures, problems in buffers; and refusals.
#include <gtest/gtest.h>

#include "tests/runtime/engine/dispatch/executor_fixture.h"
#include "tests/support/expected_text.h"

namespace qgen {
namespace {

using testing::Count;
using testing::counting;
using testing::ExecutorTest;
using testing::groups_of;
using testing::iota;
using testing::KernelKit;
using testing::kit;
using testing::of;
using testing::Sketch;
using testing::sketches;
using testing::Wide;

constexpr Layout kPackings[] = {Layout::width_packed, Layout::height_packed, Layout::channels_packed};

TEST_F(ExecutorTest, CopiesWithEachSpecialization) {
  const std::vector<int32_t> values = iota(1000, 5);
  const DeviceTensor from = upload(of(values));
  for (size_t row = 0; row < 2; ++row) {
    const DeviceTensor to = allocate(DType::i32, {1000});
    ASSERT_TRUE(executor().fill(to, 0xee));
    const uint64_t workgroup = row == 0 ? 64 : 128;
    const Choice copy = kit().choice("copy.i32", {groups_of(1000, workgroup), 1, 1}, Count{1000, 0}, row);
    run({{&copy, {&from, &to}}});
    EXPECT_EQ(integers(to), values);
  }
}

TEST_F(ExecutorTest, FoldsLongGrids) {
  const uint32_t groups = device().profile().max_workgroup_count[0] > 100'000 ? 100 : 70'000;
  const uint32_t count = groups * 64 - 5;
  const DeviceTensor data = upload(of(iota(count)));
  const Choice add = kit().choice("add.i32", {groups, 1, 1}, Count{count, 7});
  run({{&add, {&data}}});
  EXPECT_EQ(integers(data), iota(count, 7));
}

TEST_F(ExecutorTest, SmallTypes) {
  const HostTensor bytes = counting(DType::i8, {2, 3, 7});
  const DeviceTensor i8 = upload(bytes), negated = allocate(DType::i8, bytes.shape);
  const Choice negate = kit().choice("negate.i8", {1, 1, 1}, Count{42, 0});
  const HostTensor halves = counting(DType::f16, {33});
  const DeviceTensor f16 = upload(halves), doubled = allocate(DType::f16, halves.shape);
  const Choice twice = kit().choice("double.f16", {1, 1, 1}, Count{33, 0});
  run({{&negate, {&i8, &negated}}, {&twice, {&f16, &doubled}}});
  const HostTensor got_bytes = download(negated), got_halves = download(doubled);
  for (int64_t i = 0; i < 42; ++i) EXPECT_EQ(element(got_bytes, i), -element(bytes, i));
  for (int64_t i = 0; i < 33; ++i) EXPECT_EQ(element(got_halves, i), 2 * element(halves, i));
}

TEST_F(ExecutorTest, Textures) {
  for (const Layout layout : kPackings) {
    const HostTensor tensor = counting(DType::f32, {2, 5, 3, 7});
    const DeviceTensor from = upload(tensor, Storage::texture3d, layout);
    const DeviceTensor to = allocate(DType::f32, tensor.shape, Storage::texture3d, layout);
    const Choice twice = kit().choice("texture.f32", {2, 2, 3}, Count{});
    run({{&twice, {&from, &to}}});
    const HostTensor got = download(to);
    for (int64_t i = 0; i < element_count(tensor.shape); ++i) EXPECT_EQ(element(got, i), 2 * element(tensor, i));
  }
}

TEST_F(ExecutorTest, ProblemBuffers) {
  Wide first{}, second{};
  for (uint32_t i = 0; i < 40; ++i) first.values[i] = i, second.values[i] = 100 + i;
  const DeviceTensor a = allocate(DType::i32, {40}), b = allocate(DType::i32, {40});
  const Choice to_a = kit().choice("wide.i32", {1, 1, 1}, first), to_b = kit().choice("wide.i32", {1, 1, 1}, second);
  run({{&to_a, {&a}}, {&to_b, {&b}}});
  EXPECT_EQ(integers(a), iota(40));
  EXPECT_EQ(integers(b), iota(40, 100));
}

TEST_F(ExecutorTest, OptionalOperands) {
  const DeviceTensor bias = upload(of(iota(10, 50))), output = allocate(DType::i32, {10});
  const Choice with = kit().choice("bias.i32", {1, 1, 1}, Count{10, 1});
  run({{&with, {&output, &bias}}});
  EXPECT_EQ(integers(output), iota(10, 50));
  const Choice without = kit().choice("bias.i32", {1, 1, 1}, Count{10, 0});
  run({{&without, {&output, nullptr}}});
  EXPECT_EQ(integers(output), std::vector<int32_t>(10, 1));
}

TEST_F(ExecutorTest, EmptyGridsDoNothing) {
  const DeviceTensor data = upload(of({1, 2, 3}));
  const Choice nothing = kit().choice("add.i32", {0, 1, 1}, Count{3, 5});
  Recording recording = record({{&nothing, {&data}}});
  run(recording);
  EXPECT_EQ(integers(data), (std::vector<int32_t>{1, 2, 3}));
  const auto timing = executor().time(recording);
  ASSERT_TRUE(timing) << to_text(timing.error());
  EXPECT_EQ(timing->intervals_us.size(), 1u);
  EXPECT_GT(timing->submit_us, 0);
  Recording empty = record({});
  run(empty);
}

TEST_F(ExecutorTest, SubgroupSizes) {
  const DeviceProfile& profile = device().profile();
  if (!profile.has_subgroup_size_control) GTEST_SKIP() << "this device has one subgroup size";
  for (uint32_t size = profile.min_subgroup_size; size <= profile.max_subgroup_size; size *= 2) {
    std::vector<Sketch> all = sketches();
    const auto sketch = std::find_if(all.begin(), all.end(), [](const Sketch& s) { return s.id == "subgroup.i32"; });
    Sketch one = *sketch;
    one.required_subgroup_size = static_cast<uint8_t>(size);
    const KernelKit own({one});
    const KernelLibrary own_library = own.library();
    auto own_executor = Executor::create(device(), own_library, {});
    ASSERT_TRUE(own_executor) << to_text(own_executor.error());
    auto output = own_executor->allocate(DType::i32, {64}, Storage::buffer);
    const Choice choice = own.choice("subgroup.i32", {1, 1, 1}, Count{});
    const Work work{&choice, {&*output}};
    auto recording = own_executor->record({&work, 1});
    ASSERT_TRUE(recording) << to_text(recording.error());
    ASSERT_TRUE(own_executor->run(*recording));
    const auto host = own_executor->download(*output);
    for (const int32_t value : host->as<int32_t>()) EXPECT_EQ(value, static_cast<int32_t>(size));
  }
}

TEST_F(ExecutorTest, RefusesWhatKernelsDoNotTake) {
  const DeviceTensor f32 = allocate(DType::f32, {8}), i32 = allocate(DType::i32, {8});
  const DeviceTensor tall = allocate(DType::f32, {8}, Storage::texture3d, Layout::height_packed);
  const Choice copy = kit().choice("copy.i32", {1, 1, 1}, Count{8, 0});
  const Choice picky = kit().choice("picky.f32", {1, 1, 1}, Count{});
  EXPECT_TEXT(refusal({{&copy, {&f32, &i32}}}),
              "operand 'input' of kernel 'copy.i32' takes i32 buffer, and was given f32 buffer strided");
  EXPECT_TEXT(refusal({{&picky, {&tall, &f32}}}),
              "operand 'input' of kernel 'picky.f32' takes f32 texture3d width_packed, and was given f32 texture3d "
              "height_packed");
  EXPECT_TEXT(refusal({{&copy, {&i32, nullptr}}}), "operand 'output' of kernel 'copy.i32' is left out");
  EXPECT_TEXT(refusal({{&copy, {&i32}}}), "'copy.i32' was given 1 operands, and takes 2");
}

TEST_F(ExecutorTest, RefusesKernelsThatTheDeviceCannotRun) {
  if (device().profile().features & bit(Feature::bfloat16)) GTEST_SKIP() << "this device has what the kernel needs";
  const DeviceTensor data = allocate(DType::i32, {8});
  const Choice starving = kit().choice("starving.i32", {1, 1, 1}, Count{});
  EXPECT_TEXT(refusal({{&starving, {&data}}}), "kernel 'starving.i32' needs bfloat16, which the device lacks");
}

}  // namespace
}  // namespace qgen
