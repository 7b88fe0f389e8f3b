// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Every operator has a kernel on a device that has no more than bytes and halves in buffers: no f16 arithmetic, no
// integer dot product, no cooperative matrices, no arithmetic of subgroups.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "registry.h"
#include "runtime/operators/bmm.h"
#include "runtime/operators/elementwise.h"
#include "runtime/operators/embedding.h"
#include "runtime/operators/linear.h"
#include "runtime/operators/packed.h"
#include "runtime/operators/weight_linear.h"
#include "runtime/operators/weight_packing.h"

namespace qgen {
namespace {

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
    expect_kernel(linear_q8csw_call(x, weight, scales, scales, {}));
    expect_kernel(linear_q4gsw_call(x, weight, scales, scales, {}));
    expect_kernel(linear_q4gsw_backward_call({GetParam(), {rows, 10}}, weight, scales));
    expect_kernel(linear_dq8ca_q8csw_call(x, weight, scales, scales, {}));
    expect_kernel(linear_dq8ca_q4gsw_call(x, weight, scales, scales, {}));
    expect_kernel(linear_q8ta_q8csw_call(x, weight, scales, scales, {}));
  }
  expect_kernel(q8ta_linear_call(bytes, weight, scales, scales, {}));
  expect_kernel(embedding_q4gsw_call({DType::i32, {3}}, weight, scales, {.output_dtype = GetParam()}));
  expect_kernel(pack_weight_call({DType::i8, {10, 64}}, Layout::weight_q4_rows));
  expect_kernel(quantize_q4gsw_call({GetParam(), {10, 64}}, scales, {}));
}

TEST_P(PlainDevice, MovesAndOperates) {
  const TensorDesc reals{GetParam(), {2, 5, 3, 7}}, bytes{DType::i8, {2, 5, 3, 7}}, one{DType::f32, {}};
  for (const Layout layout : {Layout::strided, Layout::packed_4w, Layout::packed_4w4c}) {
    expect_kernel(q8ta_quantize_call(view(reals), {}, layout));
    expect_kernel(
        q8ta_dequantize_call({DType::i8, {2, 5, 3, 7}, Storage::buffer, layout}, {}, {.output_dtype = GetParam()}));
    expect_kernel(q8ta_clone_call(bytes, layout));
    expect_kernel(q8ta_unary_call(bytes, relu, {.layout = layout}));
  }
  expect_kernel(q8ta_binary_call(bytes, bytes, {}));
  expect_kernel(quantize_affine_call(view(reals), one, {}, {}));
  expect_kernel(dequantize_affine_call(bytes, one, {}, {.output_dtype = GetParam()}));
  expect_kernel(choose_qparams_affine_call(view(reals), {}));
  expect_kernel(fused_relu_call({reals, {}, {}}, {DType::i8, one, {}, {}}));
  expect_kernel(fused_add_call({reals, {}, {}}, {bytes, one, {}}, {GetParam(), {}, {}, {}}, 1));
}

TEST_P(PlainDevice, MultipliesMatrices) {
  const TensorDesc reals{GetParam(), {2, 5, 8}}, bytes{DType::i8, {2, 8, 3}}, one{DType::f32, {}};
  expect_kernel(fused_bmm_call({reals, {}, {}}, {bytes, one, {}}, {GetParam(), {}, {}, {}}));
  expect_kernel(bmm_call({{DType::i8, {2, 5, 8}}, one, {}}, {bytes, one, {}}, {GetParam(), {}, {}, {}}));
  expect_kernel(bmm_call({{DType::i8, {2, 5, 8}}, one, {}}, {bytes, one, {}}, {DType::i8, one, {}, {}}));
}

INSTANTIATE_TEST_SUITE_P(Reals, PlainDevice, ::testing::Values(DType::f32, DType::f16),
                         [](const auto& real) { return std::string(name(real.param)); });

}  // namespace
}  // namespace qgen
