// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Small networks on a device, in one arena, compared with the definitions of their operators: every value is an
// integer, and all are equal.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "runtime/workshop/model/judge.h"
#include "tests/support/expected_text.h"
#include "tests/support/networks.h"
#include "tests/support/shipped_test.h"

namespace qgen::graph {
namespace {

using testing::depthwise_network;
using ::testing::HasSubstr;
using testing::joined_network;
using testing::Random;
using testing::residual_network;

OperatorEntries operators() { return generated::operators::entries(); }

class PreparedTest : public testing::ShippedTest {
 protected:
  static void expect_reference(const Graph& graph, const Tensors& inputs, const Tensors& outputs) {
    const auto expected = model::by_reference(graph, operators(), inputs);
    ASSERT_TRUE(expected) << to_text(expected.error());
    for (const Named& output : graph.outputs) {
      const HostTensor& want = (*expected)[output.value];
      EXPECT_EQ(outputs.at(output.name).shape, want.shape) << output.name;
      EXPECT_TRUE(outputs.at(output.name).data == want.data) << output.name;
    }
  }
};

TEST_F(PreparedTest, ResidualNetworkIsItsReference) {
  const Graph graph = residual_network(2);
  Model model = model_of(graph);
  for (const uint32_t seed : {1u, 2u}) {  // the second time in memory that the first has used
    const Tensors inputs{{"image", Random(seed).reals(DType::f32, {2, 3, 20, 20}, -4, 4)}};
    const auto outputs = model.run(inputs);
    ASSERT_TRUE(outputs) << to_text(outputs.error());
    expect_reference(graph, inputs, *outputs);
  }
}

TEST_F(PreparedTest, JoinedNetworkIsItsReference) {
  const Graph graph = joined_network(2);
  Model model = model_of(graph);
  const Tensors inputs{{"image", Random(5).reals(DType::f32, {2, 3, 8, 12}, -4, 4)}};
  const auto outputs = model.run(inputs);
  ASSERT_TRUE(outputs) << to_text(outputs.error());
  expect_reference(graph, inputs, *outputs);
}

// The constants are on the device alone after the first of them.
TEST_F(PreparedTest, DepthwiseNetworkIsItsReferenceAtAnyBatch) {
  const Graph graph = depthwise_network();
  Model model = Model::create(context(), operators(), graph, {.most_prepared = 2});
  for (const int64_t batch : {1, 3, 2, 1}) {
    const Tensors inputs{{"image", Random(7).reals(DType::f32, {batch, 5, 9, 7}, -4, 4)}};
    const auto outputs = model.run(inputs);
    ASSERT_TRUE(outputs) << to_text(outputs.error());
    expect_reference(graph, inputs, *outputs);
  }
}

// Kernels bind each tensor in it separately.
TEST_F(PreparedTest, TheArenaMayBeLongerThanWhatIsBoundAtOnce) {
  const Graph graph = residual_network(16);
  Model whole = model_of(graph);
  const auto planned = whole.prepare({});
  ASSERT_TRUE(planned) << to_text(planned.error());
  const Schedule& schedule = (*planned)->schedule();
  uint64_t largest = 0;
  for (const PlacedValue& lies : schedule.tensors) {
    const TensorDesc& value = schedule.values[lies.value];
    largest = std::max(largest, buffer_bytes(value.dtype, value.shape, lies.layout));
  }
  ASSERT_LT(largest, schedule.memory.bytes);
  const auto outputs_with = [&](uint64_t limit, const Tensors& inputs) -> Expected<Tensors> {
    const auto mask = profiles::read_mask({.limits = {fmt::format("storage_buffer_bytes={}", limit)}});
    if (!mask) return mask.error();
    const auto device = Device::open({}, {.robust_buffer_access = true, .mask = *mask});
    if (!device) return device.error();
    auto executor = Executor::create(*device, context().library, {});
    if (!executor) return executor.error();
    Context lesser{device->profile(), context().library, *executor};
    return Model::create(lesser, operators(), graph, {}).run(inputs);
  };
  const Tensors inputs{{"image", Random(3).reals(DType::f32, {16, 3, 20, 20}, -4, 4)}};
  const auto outputs = outputs_with(largest, inputs);
  ASSERT_TRUE(outputs) << to_text(outputs.error());
  expect_reference(graph, inputs, *outputs);
  const auto refused = outputs_with(largest - 1, inputs);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("no kernel of 'q8ta_quantize_0' (q8ta_quantize)"));
  EXPECT_THAT(refused.error().message, HasSubstr(fmt::format("{} bytes exceed the device's limit", largest)));
}

// Of two that may stay, the one that was not used last goes.
TEST_F(PreparedTest, ShapesThatWereUsedLastStay) {
  size_t plans = 0;
  const auto count = [&](std::string_view what, size_t done, size_t total) {
    plans += what == "plan" && done == total;
  };
  Model model = Model::create(context(), operators(), depthwise_network(), {.most_prepared = 2, .on_progress = count});
  const auto prepared_for = [&](int64_t batch) {
    const auto prepared = model.prepare({{"image", {batch, 5, 9, 7}}});
    EXPECT_TRUE(prepared) << to_text(prepared.error());
    return prepared ? *prepared : nullptr;
  };
  const Prepared* one = prepared_for(1);
  const uint64_t bytes = model.constant_bytes();
  EXPECT_NE(prepared_for(3), one);
  EXPECT_EQ(prepared_for(1), one);
  prepared_for(2);  // in the place of three
  EXPECT_EQ(prepared_for(1), one);
  EXPECT_EQ(plans, 3u);
  prepared_for(3);
  EXPECT_EQ(plans, 4u);
  EXPECT_EQ(model.constant_bytes(), bytes);
}

TEST_F(PreparedTest, ThreadsShareWeights) {
  const Graph graph = residual_network(1);
  Model model = model_of(graph);
  ASSERT_TRUE(model.prepare({}));
  const uint64_t bytes = model.constant_bytes();
  EXPECT_GT(bytes, 0u);
  constexpr size_t kThreads = 4;
  std::vector<Tensors> inputs;
  for (uint32_t i = 0; i < kThreads; ++i)
    inputs.push_back({{"image", Random(i).reals(DType::f32, {1, 3, 20, 20}, -4, 4)}});
  std::vector<Expected<Tensors>> outputs(kThreads, Expected<Tensors>(Tensors()));
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        auto executor = Executor::create_beside(context().executor);
        if (!executor) {
          outputs[i] = executor.error();
          return;
        }
        Context beside{device().profile(), context().library, *executor};
        Model own = model.beside(beside);
        for (int replay = 0; replay < 3; ++replay) outputs[i] = own.run(inputs[i]);
        EXPECT_EQ(own.constant_bytes(), bytes);
      });
    }
  }
  for (size_t i = 0; i < kThreads; ++i) {
    ASSERT_TRUE(outputs[i]) << to_text(outputs[i].error());
    expect_reference(graph, inputs[i], *outputs[i]);
  }
}

TEST_F(PreparedTest, CompiledIsTheSame) {
  const Tensors inputs{{"image", Random(3).reals(DType::f32, {2, 3, 20, 20}, -4, 4)}};
  Model model = model_of(residual_network(2));
  const auto outputs = model.run(inputs);
  ASSERT_TRUE(outputs) << to_text(outputs.error());
  const auto compiled = model.compiled();
  ASSERT_TRUE(compiled) << to_text(compiled.error());
  const std::vector<std::byte> file = write_compiled(*compiled);

  auto read = read_compiled(file);
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(write_compiled(*read), file);
  Model again = Model::create(context(), operators(), *std::move(read), {});
  const auto outputs_again = again.run(inputs);
  ASSERT_TRUE(outputs_again) << to_text(outputs_again.error());
  EXPECT_FALSE(again.is_chosen_anew());
  EXPECT_TRUE(outputs->at("scores").data == outputs_again->at("scores").data);
}

// At another batch, and as though it came from another device: kernels are chosen anew, weights packed again.
TEST_F(PreparedTest, CompiledForOthersIsChosenAnew) {
  const Graph graph = depthwise_network();
  Model model = model_of(graph);
  ASSERT_TRUE(model.prepare({{"image", {1, 5, 9, 7}}}));
  auto compiled = model.compiled();
  ASSERT_TRUE(compiled) << to_text(compiled.error());
  for (const int64_t batch : {1, 5}) {
    Compiled other = *compiled;
    if (batch == 1) other.digests.front() ^= 1;
    Model again = Model::create(context(), operators(), std::move(other), {});
    const Tensors inputs{{"image", Random(7).reals(DType::f32, {batch, 5, 9, 7}, -4, 4)}};
    const auto outputs = again.run(inputs);
    ASSERT_TRUE(outputs) << to_text(outputs.error());
    EXPECT_TRUE(again.is_chosen_anew());
    expect_reference(graph, inputs, *outputs);
  }
}

// Not one byte may differ; a truncated file, or one with further bytes, is no model either.
TEST_F(PreparedTest, DamagedFilesAreRefused) {
  Model model = model_of(depthwise_network());
  ASSERT_TRUE(model.prepare({{"image", {1, 5, 9, 7}}}));
  const auto compiled = model.compiled();
  ASSERT_TRUE(compiled) << to_text(compiled.error());
  const std::vector<std::byte> file = write_compiled(*compiled);
  for (size_t at = 0; at < file.size(); at += at < 64 ? 1 : 97) {
    std::vector<std::byte> other = file;
    other[at] ^= std::byte{1};
    EXPECT_FALSE(read_compiled(other)) << at;
  }
  for (const size_t length : {size_t{0}, size_t{31}, size_t{40}, file.size() / 2, file.size() - 1})
    EXPECT_FALSE(read_compiled(std::span(file).first(length))) << length;
  std::vector<std::byte> longer = file;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(read_compiled(longer));
}

TEST_F(PreparedTest, SharesMemory) {
  Model model = model_of(residual_network(2));
  const auto prepared = model.prepare({});
  ASSERT_TRUE(prepared) << to_text(prepared.error());
  const MemoryPlan& memory = (*prepared)->schedule().memory;
  EXPECT_EQ(memory.bytes, memory.lower_bound);
  EXPECT_LT(memory.bytes, memory.naive);
}

// An output replaces an input that nobody reads any more, also through a reshape; not if the input is read again, or is
// the graph's.
TEST_F(PreparedTest, FunctionsOfElementsAreInPlace) {
  const Graph graph = testing::elementwise_network(2);
  Model model = model_of(graph);
  const Tensors inputs{{"image", Random(6).integers(DType::i8, {2, 3, 8, 5}, -128, 127)}};
  const auto outputs = model.run(inputs);
  ASSERT_TRUE(outputs) << to_text(outputs.error());
  expect_reference(graph, inputs, *outputs);

  const auto prepared = model.prepare({});
  ASSERT_TRUE(prepared) << to_text(prepared.error());
  const Schedule& schedule = (*prepared)->schedule();
  std::map<std::string, bool> is_in_place;
  for (const Step& step : schedule.steps) {
    const auto at = [&](size_t operand) { return schedule.memory.offsets[step.operands[operand].index]; };
    is_in_place[step.name] = at(0) == at(step.operands.size() - 1);
  }
  EXPECT_EQ(is_in_place, (std::map<std::string, bool>{{"q8ta_hardswish_0", false},  // of the graph's input
                                                      {"q8ta_sigmoid_1", false},    // of a value that is read again
                                                      {"q8ta_add_2", true},
                                                      {"q8ta_add_3", true},  // of one tensor twice
                                                      {"q8ta_relu_5", true},
                                                      {"q8ta_hardswish_6", false}}));  // of an output
  // Seven tensors of 240 bytes each, in the memory of the two that live at once.
  EXPECT_EQ(schedule.memory.bytes, 2 * kTensorAlignment);
  EXPECT_EQ(schedule.memory.lower_bound, 2 * kTensorAlignment);
  EXPECT_EQ(schedule.memory.naive, 7 * kTensorAlignment);
}

TEST_F(PreparedTest, TimesEachStep) {
  Model model = model_of(residual_network(1));
  const auto prepared = model.prepare({});
  ASSERT_TRUE(prepared) << to_text(prepared.error());
  const auto times = (*prepared)->step_times_us();
  ASSERT_TRUE(times) << to_text(times.error());
  EXPECT_EQ(times->size(), (*prepared)->schedule().steps.size());
}

TEST_F(PreparedTest, RefusesOtherInputs) {
  Model model = model_of(residual_network(1));
  const auto prepared = model.prepare({});
  ASSERT_TRUE(prepared) << to_text(prepared.error());
  const HostTensor image = zeros(DType::f32, {1, 3, 20, 20});
  const auto missing = (*prepared)->run({});
  ASSERT_FALSE(missing);
  EXPECT_TEXT(missing.error().message, "input 'image' is missing");
  const auto unknown = (*prepared)->run({{"image", image}, {"label", image}});
  ASSERT_FALSE(unknown);
  EXPECT_TEXT(to_text(unknown.error()), "the model has no input 'label'\n  hint: the only one is 'image'");
  const auto smaller = (*prepared)->run({{"image", zeros(DType::f32, {1, 3, 19, 20})}});
  ASSERT_FALSE(smaller);
  EXPECT_TEXT(smaller.error().message,
              "input 'image': f32 [1, 3, 19, 20] cannot be written to a tensor of f32 [1, 3, 20, 20]");
}

}  // namespace
}  // namespace qgen::graph
