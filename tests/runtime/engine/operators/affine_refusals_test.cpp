// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The refusals of quantize_affine, dequantize_affine and choose_qparams_affine, with their messages.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "runtime/engine/operators/affine/dequantize_to.h"
#include "tests/support/expected_text.h"

namespace qgen {
namespace {

using namespace generated::operators;

TensorDesc buffer(DType dtype, const Shape& shape) { return {dtype, shape}; }
TensorDesc texture(DType dtype, const Shape& shape) { return {dtype, shape, Storage::texture3d, Layout::width_packed}; }
TensorDesc reals(const Shape& shape) { return buffer(DType::f32, shape); }
TensorDesc integers(const Shape& shape) { return buffer(DType::i32, shape); }

Expected<Call> quantize(const ViewedDesc& input, const TensorDesc& scale, const std::optional<TensorDesc>& zero_point,
                        const QuantizeAffineAttributes& attributes = {},
                        const QuantizeAffineRepresentations& representations = {}) {
  return quantize_affine_call({.input = input, .scale = scale, .zero_point = zero_point}, attributes, representations);
}
Expected<Call> dequantize(const TensorDesc& input, const ViewedDesc& output) {
  return dequantize_affine_to_call({.input = input, .scale = reals({})}, std::nullopt, output);
}

struct RefusalCase {
  const char* name;
  std::function<Expected<Call>()> call;
  std::string_view message;  // and hint
};

// clang-format off
const RefusalCase kRefusals[] = {
    {"integers_to_quantize", [] { return quantize(buffer(DType::i8, {4}), reals({}), {}); },
     "input is i8, and can be f32, f16"},
    {"reals_to_dequantize", [] { return dequantize_affine_call({.input = reals({4}), .scale = reals({})}); },
     "input is f32, and can be i8, u8, i16, i32"},
    {"output_of_no_integer_type",
     [] { return quantize(reals({4}), reals({}), {}, {.output_dtype = DType::u32}); },
     "output_dtype is 'u32', and must be one of i8, u8, i16, i32"},
    {"scale_of_halves", [] { return quantize(reals({4}), buffer(DType::f16, {}), {}); },
     "scale is f16, and can be f32"},
    {"scale_in_a_texture", [] { return quantize(reals({4}), texture(DType::f32, {1}), {}); },
     "scale is width_packed in a texture3d, and can be strided"},
    {"zero_point_of_bytes", [] { return quantize(reals({4}), reals({}), buffer(DType::i8, {})); },
     "zero_point is i8, and can be i32"},
    {"zero_points_too_few", [] { return quantize(reals({4, 6}), reals({4, 1}), integers({2, 1})); },
     "zero_point of shape [2, 1] has 2 elements, and there are 4 blocks\n"
     "  hint: give one per block, one for all blocks, or none"},
    {"scale_does_not_divide", [] { return quantize(reals({4, 6}), reals({4, 4}), {}); },
     "parameters of shape [4, 4] do not fit data of shape [4, 6]: dimension 1 has 6 elements and 4 parameters, which "
     "does not divide it"},
    {"block_does_not_divide", [] { return quantize(reals({4, 6}), reals({}), {}, {.block_size = Shape{1, 4}}); },
     "blocks of shape [1, 4] do not fit data of shape [4, 6]: dimension 1 has 6 elements in blocks of 4, which does "
     "not divide it"},
    {"block_of_another_rank", [] { return quantize(reals({4, 6}), reals({}), {}, {.block_size = Shape{6}}); },
     "blocks of shape [6] do not fit data of shape [4, 6]: their ranks are 1 and 2\n"
     "  hint: a block needs one size per dimension; [4, 6] is the block for a single scale"},
    {"scale_does_not_fit_blocks",
     [] { return quantize(reals({4, 6}), reals({3}), {}, {.block_size = Shape{1, 6}}); },
     "scale of shape [3] has 3 elements, and data of shape [4, 6] has 4 blocks of [1, 6]\n"
     "  hint: a scale of shape [4, 1] has one element per block"},
    {"range_backwards", [] { return quantize(reals({4}), reals({}), {}, {.quant_min = 7, .quant_max = -8}); },
     "quant_min 7 is above quant_max -8"},
    {"range_too_wide", [] { return quantize(reals({4}), reals({}), {}, {.quant_min = -8, .quant_max = 255}); },
     "quant_min -8 and quant_max 255 exceed the range of i8, -128 to 127"},
    {"rank_too_high", [] { return quantize(reals({1, 1, 1, 1, 1, 1, 1, 1, 2}), reals({}), {}); },
     "input: shape [1, 1, 1, 1, 1, 1, 1, 1, 2] has rank 9, and the highest possible is 8"},
    {"rank_too_high_for_a_texture", [] { return quantize(texture(DType::f32, {1, 1, 2, 2, 2}), reals({}), {}); },
     "input of shape [1, 1, 2, 2, 2] has rank 5, and a texture holds rank 4\n  hint: put it into a buffer"},
    {"output_texture_of_high_rank",
     [] {
       return quantize(reals({1, 1, 2, 2, 2}), reals({}), {}, {},
                       {.output = Representation{Storage::texture3d, Layout::width_packed}});
     },
     "output of shape [1, 1, 2, 2, 2] has rank 5, and a texture holds rank 4\n  hint: put it into a buffer"},
    {"too_many_elements", [] { return quantize(reals({70000, 70000}), reals({}), {}); },
     "input of shape [70000, 70000] takes 4900000000 elements as strided, and kernels count at most 4294967295\n"
     "  hint: split the tensor"},
    {"strides_too_few", [] { return quantize(ViewedDesc{reals({12}), {{3, 4}, {4}, 0}}, reals({}), {}); },
     "input of shape [3, 4] has 1 strides\n"
     "  hint: give one per dimension, in elements"},
    {"view_past_the_end", [] { return quantize(ViewedDesc{reals({12}), {{3, 4}, {4, 1}, 1}}, reals({}), {}); },
     "input is [3, 4] with strides [4, 1] from element 1, which reaches elements 1 to 12 of a tensor that has 12"},
    {"view_before_the_start", [] { return quantize(ViewedDesc{reals({12}), {{3}, {-4}, 7}}, reals({}), {}); },
     "input is [3] with strides [-4] from element 7, which reaches elements -1 to 7 of a tensor that has 12"},
    {"view_of_a_texture", [] { return quantize(ViewedDesc{texture(DType::f32, {3, 4}), {{4, 3}, {1, 4}, 0}}, reals({}), {}); },
     "input is [4, 3] with strides [1, 4] from element 0, and the tensor is a texture of [3, 4]\n"
     "  hint: a texture is read as a whole; strides are for buffers"},
    {"output_elements_share_memory",
     [] { return dequantize(buffer(DType::i8, {3, 4}), {reals({12}), {{3, 4}, {3, 1}, 0}}); },
     "output is [3, 4] with strides [3, 1] from element 0, whose elements share memory\n"
     "  hint: each element of a written tensor needs separate memory"},
    {"output_repeats", [] { return dequantize(buffer(DType::i8, {3}), {reals({12}), {{3}, {0}, 0}}); },
     "output is [3] with strides [0] from element 0, whose elements share memory\n"
     "  hint: each element of a written tensor needs separate memory"},
    {"output_of_another_shape", [] { return dequantize(buffer(DType::i8, {3}), reals({4})); },
     "output has shape [4], and input [3]"},
    {"range_of_the_input",
     [] {
       return dequantize_affine_call({.input = buffer(DType::u8, {3}), .scale = reals({})},
                                     {.quant_min = -1, .quant_max = 255});
     },
     "quant_min -1 and quant_max 255 exceed the range of u8, 0 to 255"},
    {"choose_for_reals", [] { return choose_qparams_affine_call({.input = reals({4})}, {.target_dtype = DType::f16}); },
     "target_dtype is 'f16', and must be one of i8, u8, i16, i32"},
    {"choose_with_a_negative_eps", [] { return choose_qparams_affine_call({.input = reals({4})}, {.eps = -1.0}); },
     "eps is -1, and can be a finite number that is not below 0"},
    {"choose_with_a_nan", [] { return choose_qparams_affine_call({.input = reals({4})}, {.eps = std::nan("")}); },
     "eps is nan, and must be a finite number"},
    {"choose_a_block_too_large", [] { return choose_qparams_affine_call({.input = reals({4})}, {.block_size = Shape{8}}); },
     "blocks of shape [8] do not fit data of shape [4]: dimension 0 has 4 elements in blocks of 8, which is larger"},
};
// clang-format on

class AffineRefusals : public testing::TestWithParam<RefusalCase> {};

TEST_P(AffineRefusals, SaysWhatWasGivenAndWhatIsPossible) {
  const auto call = GetParam().call();
  ASSERT_FALSE(call);
  EXPECT_TEXT(to_text(call.error()), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(Mistakes, AffineRefusals, testing::ValuesIn(kRefusals),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace qgen
