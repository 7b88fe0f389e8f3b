// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The small problems on which kernels of a large one are verified.
#include "runtime/workshop/tuner/relatives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace qgen::tuner {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;

testing::Matcher<const runner::RequestText&> shapes(const std::vector<std::string>& wanted) {
  return Field(&runner::RequestText::shapes, wanted);
}

TEST(Relatives, OfALinearLayer) {
  const auto relatives = relatives_of({.shapes = {"input=4096x4096:i8", "weight=4096x4096:i8=-8..7"}});
  EXPECT_THAT(relatives, ElementsAre(shapes({"input=19x19:i8", "weight=19x19:i8=-8..7"}),
                                     shapes({"input=192x192:i8", "weight=192x192:i8=-8..7"}),
                                     shapes({"input=3x4096:i8", "weight=4096x4096:i8=-8..7"})));
}

// Each group of 64 channels reads 32: other numbers of channels would have to agree in that.
TEST(Relatives, OfGroupedConvolutionsKeepChannels) {
  const auto relatives = relatives_of({.shapes = {"input=1x64x128x128:i8", "weight=64x32x3x3:i8", "bias=64:f32"}});
  EXPECT_THAT(relatives, Contains(shapes({"input=1x64x15x15:i8", "weight=64x32x3x3:i8", "bias=64:f32"})));
}

// By a stride of two the residual has half the input's sides, and so it has in the small.
TEST(Relatives, OfConvolutionsWithResidualsKeepProportions) {
  const auto relatives =
      relatives_of({.shapes = {"input=32x512x28x28:i8", "weight=1024x512x1x1:i8", "residual=32x1024x14x14:i8"},
                    .attributes = {"stride=2"}});
  EXPECT_THAT(relatives, Contains(shapes({"input=3x512x7x7:i8", "weight=1024x512x1x1:i8", "residual=3x1024x4x4:i8"})));
}

}  // namespace
}  // namespace qgen::tuner
