// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/measure/request_formats.h"

#include <gtest/gtest.h>

#include "registry.h"
#include "runtime/engine/operators/shipped.h"

namespace qgen::measure {
namespace {

struct FormatsCase {
  const char* name;
  std::string_view op;
  Request request;
  std::map<std::string, size_t, std::less<>> ranks;
  std::string_view formats;  // a line each
};

// clang-format off
const FormatsCase kCases[] = {
    {"image_of_floats", "choose_qparams_affine", {.inputs = {{"input", zeros(DType::f32, {2, 3})}}},
     {{"input", 2}, {"scale", 2}, {"zero_point", 2}},
     "plain buffers\n"
     "input texture3d width_packed\n"
     "input texture3d height_packed\n"
     "input texture3d channels_packed\n"
     "plain buffers, f16\n"
     "input texture3d width_packed, f16\n"
     "input texture3d height_packed, f16\n"
     "input texture3d channels_packed, f16\n"},
    {"halves_stay_halves", "choose_qparams_affine", {.inputs = {{"input", zeros(DType::f16, {3})}}},
     {{"input", 1}, {"scale", 1}, {"zero_point", 1}},
     "plain buffers\n"
     "input texture3d width_packed\n"
     "input texture3d height_packed\n"
     "input texture3d channels_packed\n"},
    {"rank_five_has_no_texture", "choose_qparams_affine", {.inputs = {{"input", zeros(DType::f16, {1, 1, 1, 1, 3})}}},
     {{"input", 5}, {"scale", 5}, {"zero_point", 5}}, "plain buffers\n"},
    // The floating-point side is the output: an attribute sets its dtype.
    {"halves_as_output", "dequantize_affine", {.inputs = {{"input", zeros(DType::i8, {1, 1, 1, 1, 3})}}},
     {{"input", 5}, {"output", 5}}, "plain buffers\nplain buffers, f16\n"},
    {"output_dtype_is_given", "dequantize_affine",
     {.inputs = {{"input", zeros(DType::i8, {1, 1, 1, 1, 3})}}, .attributes = {{"output_dtype", "float16"}}},
     {{"input", 5}, {"output", 5}}, "plain buffers\n"},
    // Kernels of its steps make int8 too, in packed layouts; it does not.
    {"steps_take_more_than_the_whole", "linear_q8ta_q8csw", {.inputs = {{"input", zeros(DType::f32, {2, 3})}}},
     {{"input", 2}, {"output", 2}}, "plain buffers\nplain buffers, f16\n"},
    // Without the attribute such an operator's output has its inputs' dtype: there is nothing to set.
    {"output_dtype_follows", "fused_relu",
     {.inputs = {{"input", zeros(DType::i8, {3})}, {"output_scale", zeros(DType::f32, {})}}},
     {{"input", 1}, {"output", 1}}, "plain buffers\n"},
};
// clang-format on

class RequestFormatsTest : public ::testing::TestWithParam<FormatsCase> {};

TEST_P(RequestFormatsTest, AllThereAre) {
  const auto& [name, op, request, ranks, expected] = GetParam();
  const auto library = KernelLibrary::open(generated::library());
  ASSERT_TRUE(library);
  std::string text;
  for (const RequestFormats& way :
       formats_of(*find_operator(op), *kernels_of(*find_operator(op), *library), request, ranks))
    text += to_text(way) + "\n";
  EXPECT_EQ(text, expected);
}

INSTANTIATE_TEST_SUITE_P(Requests, RequestFormatsTest, ::testing::ValuesIn(kCases),
                         [](const auto& row) { return row.param.name; });

TEST(Ways, TwoOperandsGoThroughEveryPair) {
  const auto library = KernelLibrary::open(generated::library());
  ASSERT_TRUE(library);
  const auto formats =
      formats_of(*find_operator("dequantize_affine"), *library->find("dequantize_affine"),
                 {.inputs = {{"input", zeros(DType::i8, {3})}}, .attributes = {{"output_dtype", "float16"}}},
                 {{"input", 1}, {"output", 1}});
  EXPECT_EQ(formats.size(), 16u);
}

TEST(Ways, HalvesAreOfTheRealSideOnly) {
  const auto library = KernelLibrary::open(generated::library());
  ASSERT_TRUE(library);
  const Request request{.inputs = {{"input", zeros(DType::f32, {3})}, {"scale", zeros(DType::f32, {1})}}};
  const Request half =
      in_formats(request, {.is_half = true}, *find_operator("quantize_affine"), *library->find("quantize_affine"));
  EXPECT_EQ(half.inputs.at("input").dtype, DType::f16);
  EXPECT_EQ(half.inputs.at("scale").dtype, DType::f32);
}

}  // namespace
}  // namespace qgen::measure
