// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Keys of the shipped operators' problems: each leads back to its problem, and layers that differ only in fields
// without influence on a choice share one.
#include <gtest/gtest.h>

#include <cstring>

#include "operators.h"
#include "registry.h"

namespace qgen {
namespace {

using namespace generated::operators;

// A problem of numbers that tell each field from the others.
Problem numbered_problem(const OperatorInfo& op) {
  Problem problem{.op = &op, .fields = std::vector<std::byte>(op.problem_bytes)};
  uint32_t number = 0;
  for (const FieldInfo& field : op.fields) {
    for (size_t i = 0; i < field.count && !field.is_data; ++i, ++number) {
      std::memcpy(problem.fields.data() + field.offset + i * sizeof(number), &number, sizeof(number));
    }
  }
  for (size_t i = 0; i < op.operands.size(); ++i) {
    problem.operands.push_back({.dtype = static_cast<DType>(i % 4), .is_present = i % 3 != 2});
  }
  return problem;
}

TEST(Keys, LeadBackToTheProblemsOfEveryOperator) {
  const auto library = KernelLibrary::open(generated::library());
  ASSERT_TRUE(library);
  for (const OperatorInfo* op : library->operators()) {
    const Problem problem = numbered_problem(*op);
    const auto read = problem_of(key_of(problem), *library);
    ASSERT_TRUE(read) << to_text(read.error());
    EXPECT_EQ(read->fields, problem.fields) << key_of(problem);
    EXPECT_EQ(key_of(*read), key_of(problem));
  }
}

std::string key_of_layer(const Q8taLinearAttributes& attributes) {
  const TensorDesc weight{DType::i8, {64, 128}, Storage::buffer, Layout::weight_q8_rows};
  const auto call = q8ta_linear_call(
      {.input = TensorDesc{DType::i8, {16, 128}}, .weight = weight, .weight_scales = TensorDesc{DType::f32, {64}}},
      attributes);
  return call ? key_of(call->problem) : to_text(call.error());
}

TEST(Keys, OfLayersWithOtherScalesAreOne) {
  const std::string key = key_of_layer({.input_scale = 0.1, .output_scale = 0.5});
  EXPECT_EQ(key.substr(0, key.find(" input")), "q8ta_linear m=16 n=64 k=128 activation=none");
  EXPECT_EQ(key_of_layer({.input_scale = 0.2, .input_zero_point = 3, .output_scale = 2, .output_zero_point = -9}), key);
}

}  // namespace
}  // namespace qgen
