// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The texels of a tensor's elements.
#include "runtime/engine/dispatch/texels.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/expected_text.h"

namespace qgen::dispatch {
namespace {

struct ExtentCase {
  Shape shape;
  Layout layout;
  Extent extent;
};

const ExtentCase kExtents[] = {
    {{}, Layout::width_packed, {1, 1, 1}},
    {{5}, Layout::width_packed, {2, 1, 1}},
    {{5}, Layout::height_packed, {5, 1, 1}},
    {{5}, Layout::channels_packed, {5, 1, 1}},
    {{3, 5}, Layout::width_packed, {2, 3, 1}},
    {{3, 5}, Layout::height_packed, {5, 1, 1}},
    {{2, 3, 5}, Layout::channels_packed, {5, 3, 1}},
    {{2, 5, 3, 8}, Layout::width_packed, {2, 3, 10}},
    {{2, 5, 3, 8}, Layout::height_packed, {8, 1, 10}},
    {{2, 5, 3, 8}, Layout::channels_packed, {8, 3, 4}},
    {{2, 0, 1 << 20, 8}, Layout::channels_packed, {1, 1, 1}},  // empty
};

TEST(Texels, Extents) {
  for (const ExtentCase& c : kExtents) {
    const auto extent = texture_extent(DType::f32, c.shape, c.layout);
    ASSERT_TRUE(extent) << to_text(extent.error());
    EXPECT_EQ(*extent, c.extent) << to_text(c.shape) << " " << name(c.layout);
  }
}

TEST(Texels, RefusesInWords) {
  EXPECT_TEXT(texture_extent(DType::f32, {1, 2, 3, 4, 5}, Layout::width_packed).error().message,
              "shape [1, 2, 3, 4, 5] has rank 5, and textures hold ranks up to 4");
  EXPECT_TEXT(texture_extent(DType::f32, {4}, Layout::strided).error().message,
              "a texture cannot have the layout strided");
  EXPECT_TEXT(texture_extent(DType::bf16, {4}, Layout::width_packed).error().message,
              "bf16 has no image format, so it cannot be held in a texture");
}

HostTensor counting(const Shape& shape) {
  HostTensor tensor = zeros(DType::i32, shape);
  std::iota(tensor.as<int32_t>().begin(), tensor.as<int32_t>().end(), 1);
  return tensor;
}

std::vector<int32_t> packed(const HostTensor& tensor, Layout layout) {
  const auto extent = texture_extent(tensor.dtype, tensor.shape, layout);
  std::vector<int32_t> lanes((*extent)[0] * (*extent)[1] * (*extent)[2] * 4, -1);
  pack_texels(tensor, layout, std::as_writable_bytes(std::span(lanes)));
  return lanes;
}

// [2, 3] holds 1 2 3 / 4 5 6.
TEST(Texels, PadWithZero) {
  EXPECT_EQ(packed(counting({2, 3}), Layout::width_packed), (std::vector<int32_t>{1, 2, 3, 0, 4, 5, 6, 0}));
  EXPECT_EQ(packed(counting({2, 3}), Layout::height_packed),
            (std::vector<int32_t>{1, 4, 0, 0, 2, 5, 0, 0, 3, 6, 0, 0}));
  EXPECT_EQ(packed(counting({5}), Layout::width_packed), (std::vector<int32_t>{1, 2, 3, 4, 5, 0, 0, 0}));
}

// Batches do not share a texel, however few channels they have.
TEST(Texels, FoldBatchesIntoDepth) {
  EXPECT_EQ(packed(counting({2, 2, 1, 2}), Layout::channels_packed),
            (std::vector<int32_t>{1, 3, 0, 0, 2, 4, 0, 0, /* second batch */ 5, 7, 0, 0, 6, 8, 0, 0}));
}

template <typename T>
void round_trip(DType dtype, const Shape& shape, Layout layout) {
  HostTensor tensor = zeros(dtype, shape);
  T next = 1;
  for (T& value : tensor.as<T>()) value = next++;
  const auto extent = texture_extent(dtype, shape, layout);
  std::vector<std::byte> texels((*extent)[0] * (*extent)[1] * (*extent)[2] * 4 * sizeof(T), std::byte{0xee});
  pack_texels(tensor, layout, texels);
  HostTensor back = zeros(dtype, shape);
  unpack_texels(texels, layout, back);
  EXPECT_EQ(back.data, tensor.data) << to_text(shape) << " " << name(layout);
}

TEST(Texels, ComeBack) {
  for (const Layout layout : {Layout::width_packed, Layout::height_packed, Layout::channels_packed}) {
    for (const Shape& shape : {Shape{}, {1}, {7}, {4, 4}, {3, 5}, {2, 3, 5}, {2, 5, 3, 8}, {3, 4, 1, 1}, {0, 3}}) {
      round_trip<uint8_t>(DType::u8, shape, layout);
      round_trip<uint16_t>(DType::f16, shape, layout);
      round_trip<uint32_t>(DType::u32, shape, layout);
    }
  }
}

}  // namespace
}  // namespace qgen::dispatch
