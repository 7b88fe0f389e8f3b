// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The indirect launch of attention with counted slices: what its counter is told, and what a compiled model keeps.
#include "attention_count.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operators.h"
#include "registry.h"
#include "runtime/models/graph/compiled.h"
#include "runtime/models/graph/own_kernels.h"
#include "runtime/models/graph/schedule.h"
#include "tests/runtime/engine/operators/h200.h"

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

}  // namespace
}  // namespace qgen
