// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Every operator on shapes that no model has: sides of 0 among sides past 32 bits, in which kernels count. Each is
// refused in a sentence, or becomes a Call from which select() can choose; an output without elements, a choice
// without work.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "operators.h"
#include "registry.h"
#include "tests/runtime/operators/h200.h"

namespace qgen {
namespace {

using namespace generated::operators;

constexpr int64_t kSides[] = {0, 1, 3, 8, int64_t{1} << 31, int64_t{1} << 32, (int64_t{1} << 32) + 5, int64_t{1} << 59};

std::vector<Shape> shapes_of_rank(size_t rank) {
  if (rank == 0) return {{}};
  std::vector<Shape> shapes;
  for (const Shape& inner : shapes_of_rank(rank - 1)) {
    for (const int64_t side : kSides) {
      shapes.push_back(inner);
      shapes.back().insert(shapes.back().begin(), side);
    }
  }
  return shapes;
}

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (size_t rank = 0; rank <= 3; ++rank) std::ranges::copy(shapes_of_rank(rank), std::back_inserter(all));
  for (const Shape& shape : shapes_of_rank(2)) {  // batches of several dimensions
    all.push_back({shape[0], 3, 1, shape[1]});
    all.push_back({shape[0], shape[1], 0, 1, 2});
    all.push_back({2, shape[0], 1, shape[1], 4, 1});
  }
  return all;
}

class HostileShapes : public ::testing::Test {
 protected:
  // A Call that was made is one that the selector can read; or why there is none.
  void expect_sound(const Expected<Call>& call) {
    if (!call) {
      EXPECT_FALSE(call.error().message.empty());
      ++refused;
      return;
    }
    ++made;
    const OperatorInfo& op = *call->problem.op;
    bool is_empty = true;
    for (size_t i = 0; i < call->operands.size(); ++i) {
      if (!call->operands[i]) continue;
      EXPECT_TRUE(check_shape(call->operands[i]->shape)) << op.name << " " << op.operands[i].name;
      is_empty &= op.operands[i].access == Access::read || element_count(call->operands[i]->shape) == 0;
    }
    const Selection selection = select(call->problem, device, library, {.best_only = true});
    if (selection.ranked.empty() || !is_empty) return;
    for (const auto& [x, y, z] : {selection.ranked.front().launches.back().groups}) {
      EXPECT_EQ(x * y * z, 0u) << selection.question << ": " << selection.ranked.front().id;
    }
  }

  KernelLibrary library = *KernelLibrary::open(generated::library());
  DeviceProfile device = testing::h200();
  int made = 0, refused = 0;
};

constexpr Layout kByteLayouts[] = {Layout::strided, Layout::packed_4w, Layout::packed_4w4c, Layout::packed_4h4w};

TensorDesc of(DType dtype, const Shape& shape, Layout layout = Layout::strided) {
  return {dtype, shape, Storage::buffer, layout};
}

TEST_F(HostileShapes, OfPackedBytes) {
  for (const Shape& shape : shapes()) {
    for (const Layout layout : kByteLayouts) {
      const TensorDesc bytes = of(DType::i8, shape, layout);
      const Place there{Storage::buffer, layout};
      const Q8taAddAttributes ones{.input_scale = 1, .other_scale = 1, .output_scale = 1};
      expect_sound(q8ta_relu_call({.input = bytes}, {.input_scale = 1, .output_scale = 1}, {.output = Place{}}));
      expect_sound(q8ta_relu_call({.input = bytes}, {.input_scale = 1, .output_scale = 1}, {.output = there}));
      expect_sound(q8ta_clone_call({.input = bytes}, {.output = Place{Storage::buffer, Layout::packed_4c}}));
      expect_sound(q8ta_quantize_call({.input = of(DType::f32, shape)}, {.output_scale = 1}, {.output = there}));
      expect_sound(q8ta_dequantize_call({.input = bytes}, {.input_scale = 1}));
      for (const int64_t factor : {1, 2, 1 << 15}) {
        expect_sound(
            q8ta_pixel_shuffle_call({.input = bytes}, {.input_scale = 1, .output_scale = 1, .upscale_factor = factor}));
      }
      for (const int64_t axis : {-1, 1, 7}) {
        expect_sound(q8ta_concat_call({.input_1 = bytes, .input_2 = bytes},
                                      {.axis = axis, .input_1_scale = 1, .input_2_scale = 1, .output_scale = 1}));
      }
      expect_sound(q8ta_add_call({.input = bytes, .other = bytes}, ones, {.output = there}));
      expect_sound(q8ta_add_call({.input = of(DType::i8, {8, 1, 1}, layout), .other = bytes}, ones, {.output = there}));
    }
  }
  EXPECT_GT(made, 1000);
  EXPECT_GT(refused, 1000);
}

TEST_F(HostileShapes, OfWhatModelsKeep) {
  using List = std::vector<int64_t>;
  using Limits = std::numeric_limits<int64_t>;
  for (const Shape& shape : shapes()) {
    const TensorDesc x = of(DType::f16, shape);
    expect_sound(softmax_call({.input = x}));
    expect_sound(layer_norm_call({.input = x}));
    expect_sound(permute_call({.input = x}));
    for (const int64_t number : {int64_t{0}, int64_t{1}, int64_t{-2}, int64_t{1} << 30, Limits::min(), Limits::max()}) {
      const List numbers(shape.size(), number), ones(shape.size(), 1), none(shape.size(), 0);
      expect_sound(permute_call({.input = x}, {.permutation = numbers}));
      for (const int64_t end : {Limits::min(), int64_t{3}, Limits::max()}) {
        const List ends(shape.size(), end);
        expect_sound(slice_call({.input = x}, {.starts = numbers, .ends = ends}));
        expect_sound(slice_call({.input = x}, {.starts = none, .ends = ends, .steps = numbers}));
      }
      expect_sound(expand_call({.input = x}, {.sizes = numbers}));
      expect_sound(pad_call({.input = x}, {.before = numbers, .after = ones}));
      for (const auto mode : {generated::words::PadMode::edge, generated::words::PadMode::reflect})
        expect_sound(pad_call({.input = x}, {.before = ones, .after = numbers, .mode = mode}));
    }
  }
  EXPECT_GT(made, 1000);
  EXPECT_GT(refused, 1000);
}

TEST_F(HostileShapes, UnderWindows) {
  using List = std::vector<int64_t>;
  using Limits = std::numeric_limits<int64_t>;
  const std::optional<List> kLists[] = {std::nullopt,
                                        List{},
                                        List{1},
                                        List{2, 3},
                                        List{1, 2, 3, 4},
                                        List{0},
                                        List{int64_t{1} << 30},
                                        List{Limits::min(), Limits::max()}};
  for (const Shape& shape : shapes()) {
    for (const Layout layout : {Layout::strided, Layout::packed_4w4c}) {
      const TensorDesc bytes = of(DType::i8, shape, layout);
      const Place there{Storage::buffer, layout};
      for (const std::optional<List>& sizes : kLists) {
        if (!sizes) continue;
        expect_sound(q8ta_resize2d_call({.input = bytes}, {.sizes = *sizes}));
        expect_sound(resize2d_call({.input = of(DType::f32, shape)},
                                   {.sizes = *sizes, .mode = generated::words::ResizeMode::linear}));
      }
      for (const std::optional<List>& kernel : kLists) {
        for (const std::optional<List>& other : kLists) {
          expect_sound(
              q8ta_max_pool2d_call({.input = bytes}, {.kernel_size = kernel, .stride = other}, {.output = there}));
          expect_sound(
              q8ta_max_pool2d_call({.input = bytes}, {.kernel_size = kernel, .padding = other, .ceil_mode = true}));
          expect_sound(q8ta_max_pool2d_call({.input = bytes}, {.kernel_size = kernel, .dilation = other}));
          expect_sound(max_pool2d_call({.input = of(DType::f16, shape)}, {.kernel_size = kernel, .padding = other}));
          expect_sound(avg_pool2d_call({.input = of(DType::f32, shape)}, {.kernel_size = kernel, .stride = other}));
        }
        expect_sound(q8ta_avg_pool2d_call(
            {.input = bytes}, {.kernel_size = kernel, .input_scale = 1, .output_scale = 1}, {.output = there}));
      }
    }
  }
  EXPECT_GT(made, 1000);
  EXPECT_GT(refused, 1000);
}

TEST_F(HostileShapes, OfConvolutions) {
  using List = std::vector<int64_t>;
  const int64_t sides[] = {0, 1, 5, int64_t{1} << 30, int64_t{1} << 31, int64_t{1} << 59};
  const List lists[] = {{1}, {3}, {int64_t{1} << 30}, {int64_t{1} << 40}, {2, 0, 1, 3}};
  for (const int64_t side : sides) {
    for (const int64_t taps : sides) {
      for (const int64_t channels : sides) {
        for (const Layout layout : {Layout::strided, Layout::packed_4w4c}) {
          const TensorDesc image = of(DType::i8, {side, channels, 4, side}, layout);
          const TensorDesc weight = of(DType::i8, {4, channels, 1, taps}, Layout::weight_q8_rows);
          const TensorDesc turned = of(DType::i8, {channels, 2, taps, 1}, Layout::weight_q8_rows);
          for (const List& list : lists) {
            expect_sound(q8ta_conv2d_call({.input = image, .weight = weight, .weight_scales = of(DType::f32, {4})},
                                          {.stride = list, .padding = list, .input_scale = 1, .output_scale = 1}));
            expect_sound(q8ta_conv2d_transposed_call(
                {.input = image, .weight = turned, .weight_scales = of(DType::f32, {4})},
                {.stride = list, .dilation = list, .groups = 2, .input_scale = 1, .output_scale = 1}));
            const TensorDesc reals = of(DType::f16, image.shape);
            expect_sound(
                conv2d_q8ta_q8csw_call({.input = reals, .weight = weight, .weight_scales = of(DType::f32, {4})},
                                       {.stride = list, .padding = list, .input_scale = 1}));
            expect_sound(conv2d_q8csw_call({.input = reals, .weight = weight, .weight_scales = of(DType::f32, {4})},
                                           {.stride = list, .padding = list}));
          }
        }
      }
    }
  }
  EXPECT_GT(made, 10);
  EXPECT_GT(refused, 1000);
}

TEST_F(HostileShapes, OfReals) {
  for (const Shape& shape : shapes()) {
    const TensorDesc real = of(DType::f32, shape);
    Shape ones(shape.size(), 1), last = ones;
    if (!last.empty()) last.back() = shape.back();
    for (const Shape& parameters : {Shape{}, ones, last, shape}) {
      const TensorDesc scale = of(DType::f32, parameters), zero_point = of(DType::i32, parameters);
      const TensorDesc bytes = of(DType::i8, shape);
      expect_sound(quantize_affine_call({.input = real, .scale = scale, .zero_point = zero_point}));
      expect_sound(dequantize_affine_call({.input = bytes, .scale = scale}));
      expect_sound(fused_relu_call({.input = bytes, .input_scale = scale, .input_zero_point = zero_point}));
      expect_sound(fused_add_call({.input = bytes, .input_scale = scale, .other = real}, {.alpha = 2}));
    }
    for (const bool keepdim : {false, true}) {
      expect_sound(choose_qparams_affine_call({.input = real}, {.keepdim = keepdim}));
      expect_sound(choose_qparams_affine_call({.input = real}, {.block_size = ones, .keepdim = keepdim}));
    }
  }
  EXPECT_GT(made, 1000);
  EXPECT_GT(refused, 1000);
}

TEST_F(HostileShapes, OfMatrices) {
  const auto matrices = shapes_of_rank(2);
  for (const Shape& weight_shape : matrices) {
    const int64_t n = weight_shape[0], k = weight_shape[1];
    for (const int64_t m : kSides) {
      for (const DType dtype : {DType::f32, DType::i8}) {
        const TensorDesc left = of(dtype, {m, k}), right = of(dtype, {k, n});
        const std::optional<TensorDesc> scale = dtype == DType::i8 ? std::optional(of(DType::f32, {})) : std::nullopt;
        expect_sound(fused_bmm_call({.input = left, .input_scale = scale, .other = right, .other_scale = scale}));
        if (scale)
          expect_sound(bmm_call({.input = left, .input_scale = *scale, .other = right, .other_scale = *scale}));
      }
      const TensorDesc eight = of(DType::i8, weight_shape, Layout::weight_q8_rows);
      const TensorDesc four = of(DType::i8, weight_shape, Layout::weight_q4_rows);
      for (const int64_t groups : kSides) {
        const TensorDesc scales = of(DType::f32, {n, groups});
        const TensorDesc x = of(DType::f32, {m, k}), dy = of(DType::f32, {m, n}), rows = of(DType::i32, {m});
        expect_sound(linear_q4gsw_call({.input = x, .weight = four, .weight_scales = scales}));
        expect_sound(linear_q4gsw_backward_call({.d_output = dy, .weight = four, .weight_scales = scales}));
        expect_sound(linear_dq8ca_q4gsw_call({.input = x, .weight = four, .weight_scales = scales}));
        expect_sound(embedding_q4gsw_call({.indices = rows, .weight = four, .weight_scales = scales}));
        expect_sound(quantize_q4gsw_call({.input = of(DType::f32, weight_shape), .weight_scales = scales}));
      }
      const TensorDesc scales = of(DType::f32, {n});
      const TensorDesc bytes = of(DType::i8, {m, k}), x = of(DType::f32, {m, k});
      expect_sound(q8ta_linear_call({.input = bytes, .weight = eight, .weight_scales = scales},
                                    {.input_scale = 1, .output_scale = 1}));
      expect_sound(linear_q8ta_q8csw_call({.input = x, .weight = eight, .weight_scales = scales}, {.input_scale = 1}));
      expect_sound(linear_q8csw_call({.input = x, .weight = eight, .weight_scales = scales}));
      expect_sound(linear_dq8ca_q8csw_call({.input = x, .weight = eight, .weight_scales = scales}));
    }
    for (const Layout form : {Layout::weight_q8_panels, Layout::weight_q4_8n4k}) {
      expect_sound(pack_weight_call({.source = of(DType::i8, weight_shape)}, {.form = form}));
    }
  }
  EXPECT_GT(made, 500);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace qgen
