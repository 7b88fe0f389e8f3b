// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Every operator has a kernel on a device that only has 8- and 16-bit storage buffers. It has no f16 arithmetic,
// integer dot products, cooperative matrices or subgroup arithmetic.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "operators.h"
#include "registry.h"

namespace qgen {
namespace {

using namespace generated::operators;

DeviceProfile plain_device() {
  DeviceProfile device;
  device.name = "Plain GPU";
  device.kind = DeviceProfile::Kind::integrated;
  device.features = bit(Feature::storage_buffer_8bit) | bit(Feature::storage_buffer_16bit);
  device.max_workgroup_count = {65535, 65535, 65535};
  device.max_workgroup_size = {256, 256, 64};
  device.min_subgroup_size = device.max_subgroup_size = 16;
  device.max_push_constants_bytes = 128;
  device.max_storage_buffers_per_stage = 16;
  device.numbers.subgroup_size = 16;
  device.numbers.max_workgroup_invocations = 256;
  device.numbers.max_workgroup_size_x = 256;
  return device;
}

class PlainDevice : public ::testing::TestWithParam<DType> {
 protected:
  void expect_kernel(const Expected<Call>& call) {
    ASSERT_TRUE(call) << to_text(call.error());
    const Selection selection = select(call->problem, device_, library_);
    EXPECT_FALSE(selection.ranked.empty()) << explain(selection);
  }

  const DeviceProfile device_ = plain_device();
  const KernelLibrary library_ = *KernelLibrary::open(generated::library());
};

TEST_P(PlainDevice, RunsLinearLayers) {
  const TensorDesc bytes{DType::i8, {5, 64}}, scales{DType::f32, {10}};
  TensorDesc weight{DType::i8, {10, 64}, Storage::buffer, Layout::weight_q8_rows};
  weight.other_layouts = bit(Layout::weight_q8_4k4n) | bit(Layout::weight_q4_rows);
  for (const int64_t rows : {1, 5, 70}) {
    const TensorDesc x{GetParam(), {rows, 64}};
    expect_kernel(linear_q8csw_call({.input = x, .weight = weight, .weight_scales = scales, .bias = scales}));
    expect_kernel(linear_q4gsw_call({.input = x, .weight = weight, .weight_scales = scales, .bias = scales}));
    expect_kernel(linear_q4gsw_backward_call(
        {.d_output = TensorDesc{GetParam(), {rows, 10}}, .weight = weight, .weight_scales = scales}));
    expect_kernel(linear_dq8ca_q8csw_call({.input = x, .weight = weight, .weight_scales = scales, .bias = scales}));
    expect_kernel(linear_dq8ca_q4gsw_call({.input = x, .weight = weight, .weight_scales = scales, .bias = scales}));
    expect_kernel(linear_q8ta_q8csw_call({.input = x, .weight = weight, .weight_scales = scales, .bias = scales},
                                         {.input_scale = 1}));
  }
  expect_kernel(q8ta_linear_dequantize_call({.input = bytes, .weight = weight, .weight_scales = scales, .bias = scales},
                                            {.input_scale = 1, .output_dtype = GetParam()}));
  expect_kernel(q8ta_linear_call({.input = bytes, .weight = weight, .weight_scales = scales, .bias = scales},
                                 {.input_scale = 1, .output_scale = 1}));
  expect_kernel(
      embedding_q4gsw_call({.indices = TensorDesc{DType::i32, {3}}, .weight = weight, .weight_scales = scales},
                           {.output_dtype = GetParam()}));
  expect_kernel(pack_weight_call({.source = TensorDesc{DType::i8, {10, 64}}}, {.form = Layout::weight_q4_rows}));
  expect_kernel(quantize_q4gsw_call({.input = TensorDesc{GetParam(), {10, 64}}, .weight_scales = scales}));
}

TEST_P(PlainDevice, Convolves) {
  const TensorDesc reals{GetParam(), {2, 6, 5, 7}}, bytes{DType::i8, {2, 6, 5, 7}}, scales{DType::f32, {4}};
  for (const int64_t groups : {1, 2}) {
    TensorDesc weight{DType::i8, {4, 6 / groups, 3, 3}, Storage::buffer, Layout::weight_q8_rows};
    weight.other_layouts = bit(Layout::weight_q8_4k4n);
    expect_kernel(conv2d_q8csw_call({.input = reals, .weight = weight, .weight_scales = scales, .bias = scales},
                                    {.groups = groups}));
    const TensorDesc real_weight{GetParam(), weight.shape};
    expect_kernel(conv2d_call({.input = reals, .weight = real_weight, .bias = scales}, {.groups = groups}));
    expect_kernel(conv2d_q8ta_q8csw_call({.input = reals, .weight = weight, .weight_scales = scales, .bias = scales},
                                         {.groups = groups, .input_scale = 1}));
    expect_kernel(
        q8ta_conv2d_dequantize_call({.input = bytes, .weight = weight, .weight_scales = scales, .bias = scales},
                                    {.groups = groups, .input_scale = 1, .output_dtype = GetParam()}));
    expect_kernel(q8ta_conv2d_call({.input = bytes, .weight = weight, .weight_scales = scales, .bias = scales},
                                   {.groups = groups, .input_scale = 1, .output_scale = 1}));
  }
}

TEST_P(PlainDevice, ConvolvesTransposed) {
  const TensorDesc reals{GetParam(), {2, 6, 5, 7}}, weight{GetParam(), {6, 2, 3, 3}}, bias{DType::f32, {4}};
  expect_kernel(conv2d_transposed_call({.input = reals, .weight = weight, .bias = bias}, {.groups = 2}));
}

TEST_P(PlainDevice, MovesAndOperates) {
  const TensorDesc reals{GetParam(), {2, 5, 3, 7}}, bytes{DType::i8, {2, 5, 3, 7}}, one{DType::f32, {}};
  for (const Layout layout : {Layout::strided, Layout::packed_4w, Layout::packed_4w4c}) {
    const TensorDesc packed{DType::i8, bytes.shape, Storage::buffer, layout};
    const Representation there{Storage::buffer, layout};
    expect_kernel(q8ta_quantize_call({.input = reals}, {.output_scale = 1}, {.output = there}));
    expect_kernel(q8ta_dequantize_call({.input = packed}, {.input_scale = 1, .output_dtype = GetParam()}));
    expect_kernel(q8ta_clone_call({.input = bytes}, {.output = there}));
    expect_kernel(q8ta_relu_call({.input = bytes}, {.input_scale = 1, .output_scale = 1}, {.output = there}));
  }
  expect_kernel(
      q8ta_add_call({.input = bytes, .other = bytes}, {.input_scale = 1, .other_scale = 1, .output_scale = 1}));
  expect_kernel(quantize_affine_call({.input = reals, .scale = one}));
  expect_kernel(dequantize_affine_call({.input = bytes, .scale = one}, {.output_dtype = GetParam()}));
  expect_kernel(choose_qparams_affine_call({.input = reals}));
  expect_kernel(fused_relu_call({.input = reals, .output_scale = one}));
  expect_kernel(fused_add_call({.input = reals, .other = bytes, .other_scale = one}, {.output_dtype = GetParam()}));
}

TEST_P(PlainDevice, MultipliesMatrices) {
  const TensorDesc reals{GetParam(), {2, 5, 8}}, left{DType::i8, {2, 5, 8}}, right{DType::i8, {2, 8, 3}};
  const TensorDesc one{DType::f32, {}};
  expect_kernel(fused_bmm_call({.input = reals, .other = right, .other_scale = one}, {.output_dtype = GetParam()}));
  expect_kernel(
      bmm_call({.input = left, .input_scale = one, .other = right, .other_scale = one}, {.output_dtype = GetParam()}));
  expect_kernel(bmm_call({.input = left, .input_scale = one, .other = right, .other_scale = one, .output_scale = one}));
}

INSTANTIATE_TEST_SUITE_P(Reals, PlainDevice, ::testing::Values(DType::f32, DType::f16),
                         [](const auto& real) { return std::string(name(real.param)); });

}  // namespace
}  // namespace qgen
