// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The indirect launch of attention with counted slices: what its counter is told, and what a compiled model keeps.
#include "attention_count.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "operators.h"
#include "registry.h"
#include "runtime/models/graph/compiled.h"
#include "runtime/models/graph/model.h"
#include "runtime/models/graph/own_kernels.h"
#include "runtime/models/graph/schedule.h"
#include "tests/runtime/engine/operators/h200.h"
#include "tests/support/device_test.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

using namespace generated::operators;
using ::testing::HasSubstr;

const KernelLibrary& library() {
  static const KernelLibrary opened = *KernelLibrary::open(generated::library());
  return opened;
}

Selection forced(std::string_view recipe, int64_t keys, bool has_lengths) {
  const TensorDesc query{DType::f16, {8, 1, 32, 128}}, key{DType::f16, {8, keys, 8, 128}};
  AttentionInputs<Described> inputs{.query = query, .key = key, .value = key};
  if (has_lengths) inputs.key_lengths = TensorDesc{DType::i32, {8}};
  const auto call = attention_call(inputs, {.causal = generated::words::Causal::to_last});
  EXPECT_TRUE(call) << to_text(call.error());
  return select(call->problem, testing::h200(), library(), {.force = fmt::format("attention.{}", recipe)});
}

TEST(AttentionCount, CounterKnowsTheMostWorkgroups) {
  for (const std::string_view recipe : {"split_128_counted", "split_512_counted", "matrices_split_512_counted"}) {
    const Selection selection = forced(recipe, 8192, true);
    ASSERT_FALSE(selection.ranked.empty()) << explain(selection);
    const std::vector<Launch>& launches = selection.ranked.front().launches;
    ASSERT_EQ(launches.size(), 3);
    const auto& counter = *reinterpret_cast<const generated::attention_count::Problem*>(launches[0].problem.data());
    EXPECT_EQ(launches[1].groups[0], counter.most_workgroups);
    EXPECT_EQ(counter.most_workgroups % counter.slices, 0u) << "each slice has as many";
    EXPECT_EQ(launches[0].indirect, kAbsent);
    ASSERT_TRUE(launches[0].operands[1].is_scratch);
    EXPECT_EQ(launches[1].indirect, launches[0].operands[1].index);
    EXPECT_EQ(launches[2].indirect, kAbsent);
  }
}

TEST(AttentionCount, NeedsLengths) {
  const Selection selection = forced("split_128_counted", 8192, false);
  ASSERT_TRUE(selection.ranked.empty());
  EXPECT_THAT(selection.rejected.front().reason, HasSubstr("needs key_lengths, which is left out"));
}

TEST(AttentionCount, CompiledModelsKeepIt) {
  const Selection selection = forced("split_128_counted", 8192, true);
  ASSERT_FALSE(selection.ranked.empty()) << explain(selection);
  graph::Step step;
  step.choice = std::make_shared<const Choice>(selection.ranked.front());
  const auto own = graph::OwnKernels::of({&step, 1}, library());
  ASSERT_TRUE(own) << to_text(own.error());
  const auto read = graph::read_compiled(graph::write_compiled({.own_kernels = *own}));
  ASSERT_TRUE(read) << to_text(read.error());
  const std::vector<Launch>& kept = read->own_kernels->choices().front().launches;
  ASSERT_EQ(kept.size(), step.choice->launches.size());
  for (size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(kept[i].indirect, step.choice->launches[i].indirect);
}

TEST(AttentionCount, CompiledModelsRefuseScratchThatIsNotThere) {
  const Selection selection = forced("split_128_counted", 8192, true);
  ASSERT_FALSE(selection.ranked.empty()) << explain(selection);
  graph::Step step;
  step.choice = std::make_shared<const Choice>(selection.ranked.front());
  graph::OwnKernels::Parts parts = (*graph::OwnKernels::of({&step, 1}, library()))->parts();
  parts.choices.front().launches[1].indirect = 2;
  const auto made = graph::OwnKernels::create(std::move(parts));
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("names scratch that does not exist"));
}

// Two layers, one after the other. With the numbers of a GPU (masked.nvidia-h200.graph) both count their slices.
class AttentionCountModel : public testing::DeviceTest {
 protected:
  static constexpr int64_t kBatches = 8, kHeads = 8, kKeyHeads = 4, kKeys = 9000, kWidth = 16;

  static graph::Graph two_layers() {
    graph::Graph made;
    const graph::ValueId key = made.add_input("key", DType::f32, {kBatches, kKeys, kKeyHeads, kWidth});
    const graph::ValueId value = made.add_input("value", DType::f32, {kBatches, kKeys, kKeyHeads, kWidth});
    const graph::ValueId lengths = made.add_input("lengths", DType::i32, {kBatches});
    graph::ValueId x = made.add_input("query", DType::f32, {kBatches, 1, kHeads, kWidth});
    for (int layer = 0; layer < 2; ++layer)
      x = made.add(
          {.op = "attention", .inputs = {{"query", x}, {"key", key}, {"value", value}, {"key_lengths", lengths}}});
    made.add_output("output", x);
    return made;
  }

  static double element(const HostTensor& tensor, int64_t batch, int64_t row, int64_t head, int64_t i) {
    const Shape& shape = tensor.shape;
    return tensor.as<float>()[static_cast<size_t>(((batch * shape[1] + row) * shape[2] + head) * shape[3] + i)];
  }

  static HostTensor attention(const HostTensor& query, const Tensors& inputs) {
    HostTensor output = zeros(DType::f32, query.shape);
    for (int64_t row = 0; row < kBatches * kHeads; ++row) {
      const int64_t batch = row / kHeads, head = row % kHeads, key_head = head / (kHeads / kKeyHeads);
      const int64_t count = inputs.at("lengths").as<int32_t>()[static_cast<size_t>(batch)];
      std::vector<double> sums(kWidth);
      double total = 0;
      for (int64_t key = 0; key < count; ++key) {
        double score = 0;
        for (int64_t i = 0; i < kWidth; ++i)
          score += element(query, batch, 0, head, i) * element(inputs.at("key"), batch, key, key_head, i);
        const double weight = std::exp(score / std::sqrt(kWidth));
        total += weight;
        for (int64_t i = 0; i < kWidth; ++i)
          sums[static_cast<size_t>(i)] += weight * element(inputs.at("value"), batch, key, key_head, i);
      }
      for (int64_t i = 0; i < kWidth; ++i) set_element(output, row * kWidth + i, sums[static_cast<size_t>(i)] / total);
    }
    return output;
  }
};

TEST_F(AttentionCountModel, OneRecordingServesAllLengths) {
  auto executor = Executor::create(device(), library(), {});
  ASSERT_TRUE(executor) << to_text(executor.error());
  Context context{device().profile(), library(), *executor};
  graph::Model model = graph::Model::create(context, entries(), two_layers(), {});
  testing::Random random(5);
  Tensors inputs{{"query", random.reals(DType::f32, {kBatches, 1, kHeads, kWidth}, -1, 1)},
                 {"key", random.reals(DType::f32, {kBatches, kKeys, kKeyHeads, kWidth}, -1, 1)},
                 {"value", random.reals(DType::f32, {kBatches, kKeys, kKeyHeads, kWidth}, -1, 1)}};
  for (const int64_t most : {400, 1, 1200, 129}) {
    inputs["lengths"] = random.integers(DType::i32, {kBatches}, 1, most);
    const auto outputs = model.run(inputs);
    ASSERT_TRUE(outputs) << to_text(outputs.error());
    const HostTensor expected = attention(attention(inputs.at("query"), inputs), inputs);
    for (int64_t i = 0; i < element_count(expected.shape); ++i)
      ASSERT_NEAR(outputs->at("output").as<float>()[static_cast<size_t>(i)],
                  expected.as<float>()[static_cast<size_t>(i)], 1e-5)
          << "lengths up to " << most << ", element " << i;
  }
}

}  // namespace
}  // namespace qgen
