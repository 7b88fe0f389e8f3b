// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A recorded problem is read again as the same problem.
#include "runtime/workshop/runner/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operators.h"
#include "runtime/engine/operators/shipped.h"
#include "tests/support/expected_text.h"

namespace qgen::runner {
namespace {

using namespace generated::operators;
using ::testing::AllOf;
using ::testing::ElementsAre;

TensorDesc weight_of(const Shape& shape) {
  return {DType::i8, shape, Storage::buffer, Layout::weight_q8_rows, bit(Layout::weight_q8_4k4n)};
}

Call convolution(double scale) {
  const TensorDesc input{DType::i8, {1, 64, 28, 28}, Storage::buffer, Layout::packed_4c};
  return *q8ta_conv2d_call(
      {.input = input, .weight = weight_of({32, 64, 3, 3}), .weight_scales = TensorDesc{DType::f32, {32}}},
      {.padding = std::vector<int64_t>{1, 1}, .input_scale = scale, .output_scale = 0.5});
}

TEST(Trace, AsksForTheSameProblem) {
  Trace trace;
  const Call met = convolution(0.25);
  trace.add(met);
  trace.add(convolution(0.125));  // another scale is no other problem
  const auto tasks = read_tasks("trace.yaml", to_yaml(trace.tasks()));
  ASSERT_TRUE(tasks) << to_text(tasks.error());
  ASSERT_EQ(tasks->size(), 1u);
  const Task& task = tasks->front();
  EXPECT_EQ(task, trace.tasks().front());
  EXPECT_THAT(task.request.shapes,
              ElementsAre("input=1x64x28x28:i8", "weight=32x64x3x3:i8", "weight_scales=32:f32=0.01"));
  EXPECT_THAT(task.request.layouts, ElementsAre("input=packed_4c"));

  const OperatorEntry* entry = find_operator(operators(), task.op);
  ASSERT_NE(entry, nullptr);
  auto request = parse_request(*entry, task.request);
  ASSERT_TRUE(request) << to_text(request.error());
  const auto completed = complete(*entry, *std::move(request));
  ASSERT_TRUE(completed) << to_text(completed.error());
  const auto call = infer_call(*entry, *completed);
  ASSERT_TRUE(call) << to_text(call.error());
  // A weight on the host can be had in all of its forms, this one in two.
  const auto without_forms = [](const std::string& key) { return key.substr(0, key.find(" input=")); };
  EXPECT_EQ(without_forms(key_of(call->problem)), without_forms(key_of(met.problem)));
}

TEST(Trace, PassesOverCallsMadeByHand) {
  Trace trace;
  Call call = convolution(1);
  call.arguments = nullptr;
  trace.add(call);
  EXPECT_TRUE(trace.tasks().empty());
}

TEST(Tasks, MaySayWhichCacheTheyAreTimedWith) {
  const auto tasks = read_tasks("p.yaml", "- operator: a\n- {operator: a, cold: true}\n- {operator: a, cold: false}\n");
  ASSERT_TRUE(tasks) << to_text(tasks.error());
  EXPECT_EQ(*tasks, (std::vector<Task>{{"a", {}, {}}, {"a", {}, true}, {"a", {}, false}}));
  EXPECT_NE((*tasks)[0], (*tasks)[2]);
  const auto again = read_tasks("p.yaml", to_yaml(*tasks));
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(*again, *tasks);
}

TEST(Tasks, AreReadStrictly) {
  const auto fault = [](std::string_view text) { return to_text(read_tasks("p.yaml", text).error()); };
  EXPECT_TEXT(fault("- operator: a\n  shapes: [x]\n"),
              "p.yaml:2:3: error: unknown key 'shapes' in a problem\n"
              "    2 |   shapes: [x]\n"
              "      |   ^~~~~~\n"
              "  expected: one of operator, shape, set, storage, layout, cold\n"
              "  hint: did you mean 'shape'?");
  EXPECT_TEXT(fault("- shape: [x]\n"),
              "p.yaml:1:3: error: a problem lacks 'operator'\n"
              "    1 | - shape: [x]\n"
              "      |   ^");
  EXPECT_TEXT(fault("- operator: a\n  operator: b\n"),
              "p.yaml:2:3: error: 'operator' is given twice\n"
              "    2 |   operator: b\n"
              "      |   ^~~~~~~~\n"
              "  hint: first in line 1");
  EXPECT_TEXT(fault("- operator: [a]\n"),
              "p.yaml:1:13: error: operator must be a single value\n"
              "    1 | - operator: [a]\n"
              "      |             ^");
  EXPECT_TEXT(fault("operator: a\n"),
              "p.yaml:1:1: error: a file of problems must be a list\n"
              "    1 | operator: a\n"
              "      | ^\n"
              "  expected: items that begin with '- ', or [a, b]");
  EXPECT_TEXT(fault("- operator: a\n  cold: icy\n"),
              "p.yaml:2:9: error: cold is 'icy'\n"
              "    2 |   cold: icy\n"
              "      |         ^~~\n"
              "  expected: true or false");
  EXPECT_FALSE(read_tasks("p.yaml", "- {operator: a"));
}

}  // namespace
}  // namespace qgen::runner
