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

// Of a device that moves 1e4 bytes, and does 2e4 operations of products, in a microsecond.
TEST(Relatives, FitAProblemToADevice) {
  struct Row {
    runner::RequestText request, fit;
  };
  const Row rows[] = {
      {{.shapes = {"input=64x256:f32", "scale=1x1:f32=0.05"}}, {.shapes = {"input=64x256:f32", "scale=1x1:f32=0.05"}}},
      {{.shapes = {"input=8192x8192:f32", "scale=1x1:f32=0.05"}},
       {.shapes = {"input=1024x8192:f32", "scale=1x1:f32=0.05"}}},
      {{.shapes = {"input=8192x8192:f32"}, .attributes = {"block_size=8192,1"}},
       {.shapes = {"input=1024x8192:f32"}, .attributes = {"block_size=1024,1"}}},
      // The weight's rows are the result's channels.
      {{.shapes = {"input=512x4096:i8", "weight=14336x4096:i8", "weight_scales=14336:f32=0.01"}},
       {.shapes = {"input=1x4096:i8", "weight=14336x4096:i8", "weight_scales=14336:f32=0.01"}}},
      {{.shapes = {"input=8x256x128x128:i8", "weight=256x256x3x3:i8"}, .attributes = {"stride=1", "padding=1"}},
       {.shapes = {"input=1x256x8x8:i8", "weight=256x256x3x3:i8"}, .attributes = {"stride=1", "padding=1"}}},
      {{.shapes = {"query=1x2048x32x128:f16", "key=1x2048x8x128:f16", "value=1x2048x8x128:f16"}},
       {.shapes = {"query=1x64x32x128:f16", "key=1x64x8x128:f16", "value=1x64x8x128:f16"}}},
      {{.shapes = {"input=16384x4096:f16", "indices=8192:i32=0..16383"}},
       {.shapes = {"input=16384x4096:f16", "indices=8192:i32=0..16383"}}},
  };
  for (const Row& row : rows) {
    const runner::RequestText fit = fitted(row.request, {1e4, 1e6, 2e4}, 5000);
    EXPECT_EQ(fit.shapes, row.fit.shapes);
    EXPECT_EQ(fit.attributes, row.fit.attributes);
  }
  // One that is slow at calculating.
  EXPECT_THAT(fitted({.shapes = {"input=1024x1024:f32"}}, {1e4, 1e3, 1e3}, 5000), shapes({"input=128x1024:f32"}));
}

}  // namespace
}  // namespace qgen::tuner
