// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The reference for sums of -0: a product of a negative sum and a scale that counts as zero, and a bias of
// -0.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/workshop/reference/linear.h"
#include "runtime/workshop/reference/real_sums.h"

namespace qgen::reference {
namespace {

struct OfZero {
  Activation activation;
  bool is_negative;  // of its result for -0
};
// docs/linear.md: relu is y where y > 0, else +0.
constexpr OfZero kOfZero[] = {
    {Activation::none, true}, {Activation::relu, false}, {Activation::relu6, false}, {Activation::hardswish, true}};

float output(float scale, float bias, Activation activation) {
  const HostTensor scales = make_tensor(DType::f32, {1}, std::span<const float>(&scale, 1));
  const HostTensor biases = make_tensor(DType::f32, {1}, std::span<const float>(&bias, 1));
  return output_of(-1, 0, scales, &biases, {.input_scale = 1, .activation = activation});
}

TEST(Activation, OfMinusZero) {
  for (const auto& [activation, is_negative] : kOfZero) {
    const float y = output(0, -0.0f, activation);
    EXPECT_EQ(y, 0.0f);
    EXPECT_EQ(std::signbit(y), is_negative) << static_cast<int>(activation);
  }
}

TEST(Activation, OfOtherSums) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(output(1, 3, Activation::relu), 2);
  EXPECT_EQ(output(1, -3, Activation::relu), 0);
  EXPECT_FALSE(std::signbit(output(1, -3, Activation::relu)));
  EXPECT_EQ(output(1, kInfinity, Activation::relu), kInfinity);
  EXPECT_EQ(output(1, kInfinity, Activation::relu6), 6);
  EXPECT_EQ(output(1, 5, Activation::relu6), 4);
  EXPECT_EQ(output(1, -kInfinity, Activation::relu6), 0);
  for (const Activation activation : {Activation::relu, Activation::relu6}) {
    EXPECT_TRUE(std::isnan(output(1, std::numeric_limits<float>::quiet_NaN(), activation)));
  }
}

}  // namespace
}  // namespace qgen::reference
