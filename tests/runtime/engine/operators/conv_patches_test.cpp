// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// When a convolution uses explicit im2col, and when it does not: docs/convolution.md.
#include <gtest/gtest.h>

#include <algorithm>

#include "operators.h"
#include "registry.h"
#include "tests/runtime/engine/operators/h200.h"

namespace qgen {
namespace {

using namespace generated::operators;

class ConvPatches : public ::testing::Test {
 protected:
  Selection selected(const Expected<Call>& call) {
    EXPECT_TRUE(call) << to_text(call.error());
    return select(call->problem, device_, library_);
  }

  // Of a window of 3 x 3, with an output in packed_4c.
  Selection selected_for_image(int64_t channels, Layout layout) {
    TensorDesc weight{DType::i8, {48, channels, 3, 3}, Storage::buffer, Layout::weight_q8_rows};
    weight.other_layouts = bit(Layout::weight_q8_4k4n);
    return selected(q8ta_conv2d_call({.input = TensorDesc{DType::i8, {1, channels, 112, 112}, Storage::buffer, layout},
                                      .weight = weight,
                                      .weight_scales = TensorDesc{DType::f32, {48}}},
                                     {.input_scale = 1, .output_scale = 1},
                                     {.output = Representation{Storage::buffer, Layout::packed_4c}}));
  }

  // Of floating-point input and an integer weight, with a window of one tap.
  Selection selected_for_reals(int64_t side, DType dtype) {
    return selected(
        conv2d_q8csw_call({.input = TensorDesc{dtype, {1, 960, side, side}},
                           .weight = TensorDesc{DType::i8, {240, 960, 1, 1}, Storage::buffer, Layout::weight_q8_rows},
                           .weight_scales = TensorDesc{DType::f32, {240}}}));
  }

  DeviceProfile device_ = testing::h200();
  const KernelLibrary library_ = *KernelLibrary::open(generated::library());
};

// The recipe that is chosen, as "coopmat".
std::string recipe_of(const Selection& selection) {
  if (selection.ranked.empty()) return explain(selection);
  const std::string& id = selection.ranked.front().id;
  return id.substr(id.find('.') + 1, id.find('(') - id.find('.') - 1);
}

TEST_F(ConvPatches, AreWrittenWhereTheInputLiesPlainly) {
  EXPECT_EQ(recipe_of(selected_for_image(32, Layout::packed_4c)), "coopmat");
  EXPECT_EQ(recipe_of(selected_for_image(24, Layout::packed_4c)), "coopmat");
  EXPECT_EQ(recipe_of(selected_for_image(32, Layout::strided)), "im2col_coopmat");
}

TEST_F(ConvPatches, AreRefusedWhereTheyDoNotFitABuffer) {
  device_.numbers.max_storage_buffer_bytes = 110 * 110 * 9 * 32 - 1;
  const Selection selection = selected_for_image(24, Layout::packed_4c);
  const auto refused = std::ranges::find(selection.rejected, "q8ta_conv2d.im2col_coopmat", &Rejection::id);
  ASSERT_NE(refused, selection.rejected.end()) << explain(selection);
  EXPECT_TRUE(refused->reason.ends_with("m = 12100, k = 216, channels = 24, device.max_storage_buffer_bytes = 3484799"))
      << refused->reason;
}

TEST_F(ConvPatches, OfOnePixelAreThePixel) {
  EXPECT_EQ(recipe_of(selected_for_reals(1, DType::f32)), "linear_gemv");
  EXPECT_EQ(recipe_of(selected_for_reals(1, DType::f16)), "linear_gemv");
  EXPECT_EQ(recipe_of(selected_for_reals(14, DType::f32)), "tiled");
  EXPECT_EQ(recipe_of(selected_for_reals(14, DType::f16)), "matrices");
}

}  // namespace
}  // namespace qgen
