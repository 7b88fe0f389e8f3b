// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Typed operator functions on a device, as in a program.
#include <gtest/gtest.h>

#include "operators.h"
#include "registry.h"
#include "runtime/engine/operators/affine/dequantize_to.h"
#include "tests/support/device_test.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

using namespace generated::operators;

template <typename T>
T value_of(Expected<T> result) {
  EXPECT_TRUE(result) << to_text(result.error());
  return *std::move(result);
}

class RunTest : public testing::DeviceTest {
 protected:
  KernelLibrary library = value_of(KernelLibrary::open(generated::library()));
  Executor executor = value_of(Executor::create(device(), library, {}));
  Context context{.profile = device().profile(), .library = library, .executor = executor};

  DeviceTensor uploaded(const HostTensor& tensor) { return value_of(executor.upload(tensor, Storage::buffer)); }
  std::vector<double> values_of(const DeviceTensor& tensor) {
    const HostTensor host = value_of(executor.download(tensor));
    std::vector<double> values;
    for (int64_t i = 0; i < element_count(host.shape); ++i) values.push_back(element(host, i));
    return values;
  }
};

using Values = std::vector<double>;

// The golden values of an asymmetric 8-bit block, there and back.
TEST_F(RunTest, ChoosesQuantizesAndDequantizes) {
  const DeviceTensor x = uploaded(testing::tensor_of(DType::f32, {4}, {-1.2, 0.5, 2.0, 3.1}));
  const auto params = value_of(choose_qparams_affine(context, {.input = x}));
  EXPECT_EQ(values_of(params.scale), Values{0.016862746328115463});
  EXPECT_EQ(values_of(params.zero_point), Values{-57});
  const DeviceTensor q =
      value_of(quantize_affine(context, {.input = x, .scale = params.scale, .zero_point = &params.zero_point}));
  EXPECT_EQ(values_of(q), (Values{-128, -27, 62, 127}));
  const DeviceTensor y =
      value_of(dequantize_affine(context, {.input = q, .scale = params.scale, .zero_point = &params.zero_point}));
  EXPECT_EQ(values_of(y)[1], static_cast<double>(30 * 0.016862746328115463f));
}

TEST_F(RunTest, ReadsAndWritesViews) {
  const DeviceTensor x = uploaded(testing::tensor_of(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6}));
  const DeviceTensor scale = uploaded(testing::tensor_of(DType::f32, {}, {0.5}));
  const View transposed{{3, 2}, {1, 3}, 0};
  const DeviceTensor q = value_of(quantize_affine(context, {.input = ViewedTensor(x, transposed), .scale = scale}));
  EXPECT_EQ(q.shape(), (Shape{3, 2}));
  EXPECT_EQ(values_of(q), (Values{2, 8, 4, 10, 6, 12}));
  const DeviceTensor y = uploaded(zeros(DType::f32, {2, 3}));
  value_of(dequantize_affine_to(context, {.input = q, .scale = scale}, std::nullopt, {y, transposed}));
  EXPECT_EQ(values_of(y), (Values{1, 2, 3, 4, 5, 6}));
}

TEST_F(RunTest, ForcesAKernelAndTells) {
  const DeviceTensor x = uploaded(testing::tensor_of(DType::f32, {4}, {1}));
  const DeviceTensor scale = uploaded(testing::tensor_of(DType::f32, {}, {0.5}));
  std::string chosen;
  context.on_selection = [&](const Selection& selection) { chosen = selection.ranked.front().id; };
  context.force_kernel = "quantize_affine.f32.i8.buffer.buffer.vec1/workgroup64.items1";
  EXPECT_EQ(values_of(value_of(quantize_affine(context, {.input = x, .scale = scale}))), (Values{2, 2, 2, 2}));
  EXPECT_EQ(chosen, context.force_kernel);
}

TEST_F(RunTest, SaysWhyNoKernelFits) {
  const DeviceTensor x = uploaded(testing::tensor_of(DType::f32, {4}, {1}));
  const DeviceTensor scale = uploaded(testing::tensor_of(DType::f32, {}, {0.5}));
  context.force_kernel = "quantize_affine.f16.i8.buffer.buffer.vec4";
  const auto q = quantize_affine(context, {.input = x, .scale = scale});
  ASSERT_FALSE(q);
  EXPECT_EQ(q.error().kind, Error::Kind::unsupported);
  EXPECT_NE(q.error().message.find("takes input as f16 buffer, given f32 buffer"), std::string::npos)
      << to_text(q.error());
}

}  // namespace
}  // namespace qgen
