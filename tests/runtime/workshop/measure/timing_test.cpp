// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The numbers with which measurements are compared, without a device.
#include "runtime/workshop/measure/timing.h"

#include <gtest/gtest.h>

#include "linear_q4gsw.h"
#include "q8ta_unary.h"

namespace qgen::measure {
namespace {

Call call_of(const OperatorInfo& op, std::vector<std::optional<TensorDesc>> operands) {
  Call call;
  call.problem.op = &op;
  call.operands = std::move(operands);
  return call;
}

TEST(BytesMoved, AreThoseOfAllOperands) {
  const TensorDesc bytes{DType::i8, {3, 5}};
  EXPECT_EQ(bytes_moved(call_of(generated::q8ta_unary::op, {bytes, bytes})), 2u * 15);
}

// Of a weight of four bits there are two elements in a byte; an operand that is left out takes none.
TEST(BytesMoved, CountWeightsByTheirBits) {
  const TensorDesc input{DType::f32, {2, 64}}, weight{DType::i8, {8, 64}, Storage::buffer, Layout::weight_q4_rows};
  const TensorDesc scales{DType::f32, {8, 1}}, output{DType::f32, {2, 8}};
  EXPECT_EQ(bytes_moved(call_of(generated::linear_q4gsw::op, {input, weight, scales, std::nullopt, output})),
            4u * (128 + 8 + 16) + 256);
}

TEST(ColdCache, TakesCopiesOfTwiceItsSize) {
  EXPECT_EQ(copies_beyond(1000, 100), 21u);
  EXPECT_EQ(copies_beyond(1000, 1500), 2u);
  EXPECT_EQ(copies_beyond(1000, 2001), 1u);
  EXPECT_EQ(copies_beyond(1 << 20, 1), 1024u);
  EXPECT_EQ(copies_beyond(1000, 0), 1u);
}

}  // namespace
}  // namespace qgen::measure
