// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// q8ta_clone on every kernel: all pairs of layouts, at the shapes where tiles end.
#include "runtime/operators/packed.h"

#include <algorithm>

#include "q8ta_clone.h"
#include "runtime/library/layout_table.h"
#include "runtime/tensor/packed_layout.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

using testing::Random;

constexpr runner::VerifyOptions kEverything{.all_kernels = true};
constexpr runner::VerifyOptions kEveryVariant{.all_kernels = true, .all_specializations = false};

HostTensor bytes_of(DType dtype, const Shape& shape, uint32_t seed) {
  return Random(seed).integers(dtype, shape, dtype == DType::i8 ? -128 : 0, dtype == DType::i8 ? 127 : 255);
}

// OPERATORS' own list, then what it lacks: no side of 1, sides about a tile and a box, primes.
const Shape kShapes[] = {
    {144}, {90}, {1, 144}, {1, 90}, {1, 4}, {3, 32}, {1, 16, 32}, {1, 3, 64}, {1, 3, 16, 16}, {1, 8, 32, 32},
    {1, 16, 24, 24}, {1, 32, 12, 12}, {1, 4, 16, 16}, {1, 8, 20, 20}, {1, 16, 14, 14}, {1, 3, 15, 15}, {1, 13, 31, 31},
    {1, 17, 23, 23},
    {}, {1}, {2, 5, 3, 7}, {3, 4, 4, 4}, {2, 33, 5, 31}, {2, 32, 4, 33}, {1, 1, 1, 257}, {1, 257, 1, 1}, {1, 1, 257, 1},
    {5, 1, 1, 1}, {2, 3, 5, 2, 9}, {2, 1, 3, 2, 6, 5},
};

// Packed on the host, with a byte of our own in the padding.
std::vector<std::byte> packed_with(const HostTensor& tensor, const PackedDimInfo& dims, std::byte padding) {
  const auto size = static_cast<size_t>(packed_layout(tensor.shape, dims).elements());
  HostTensor ones = tensor;
  std::ranges::fill(ones.data, std::byte{1});
  std::vector<std::byte> packed(size), is_element(size);
  pack_elements(tensor, dims, packed);
  pack_elements(ones, dims, is_element);
  for (size_t i = 0; i < size; ++i) {
    if (is_element[i] == std::byte{0}) packed[i] = padding;
  }
  return packed;
}

// Those that some kernel takes at an operand.
std::vector<LayoutInfo> packed_layouts_of(const OperatorInfo& op, size_t operand) {
  std::vector<LayoutInfo> layouts;
  for (const Place& place : runner::places_of(op, operand)) {
    if (info(place.layout).is_packed_bytes()) layouts.push_back(info(place.layout));
  }
  return layouts;
}

class PackedTest : public testing::KernelTest {
 protected:
  void expect_clone(DType dtype, const Shape& shape, const runner::VerifyOptions& options) {
    SCOPED_TRACE(to_text(shape));
    expect_reference("q8ta_clone", {.inputs = {{"input", bytes_of(dtype, shape, 1)}}}, options);
  }
};

TEST_F(PackedTest, CloneBetweenAllLayouts) {
  for (const Shape& shape : kShapes) expect_clone(DType::i8, shape, kEveryVariant);
  for (const Shape& shape : {Shape{2, 5, 3, 7}, Shape{1, 8, 20, 20}}) expect_clone(DType::u8, shape, kEverything);
}

TEST_F(PackedTest, CloneOfEverySmallShape) {
  constexpr int64_t kSides[] = {1, 3, 4, 5};
  for (const int64_t c : kSides) {
    for (const int64_t h : kSides) {
      for (const int64_t w : kSides) expect_clone(DType::i8, {2, c, h, w}, kEveryVariant);
    }
  }
}

TEST_F(PackedTest, CloneOfEmptyTensors) {
  for (const Shape& shape : {Shape{0}, {0, 5, 3, 7}, {2, 0, 3, 7}, {2, 5, 0, 7}, {2, 5, 3, 0}, {2, 0, 5, 3, 7}}) {
    expect_clone(DType::i8, shape, kEveryVariant);
  }
}

// What a kernel writes is what the host would have packed, padding and all, even from padding that is not zero.
TEST_F(PackedTest, CloneWritesEveryByteOfItsLayout) {
  Context on_device = context();
  for (const Shape& shape : {Shape{2, 5, 3, 7}, Shape{1, 6, 3, 5}, Shape{8, 8, 8}}) {
    const HostTensor host = bytes_of(DType::i8, shape, 2);
    for (const LayoutInfo& read : packed_layouts_of(generated::q8ta_clone::op, 0)) {
      for (const LayoutInfo& written : packed_layouts_of(generated::q8ta_clone::op, 1)) {
        const auto call = q8ta_clone_call({DType::i8, shape, Storage::buffer, read.layout}, written.layout);
        ASSERT_TRUE(call) << to_text(call.error());
        auto input = on_device.executor.allocate(DType::i8, shape, Storage::buffer, read.layout);
        ASSERT_TRUE(input && on_device.executor.write_stored(*input, packed_with(host, read.dims, std::byte{0xee})));
        auto made = run_for_one(on_device, call, {&*input, {}});
        ASSERT_TRUE(made) << to_text(made.error());
        EXPECT_EQ(*on_device.executor.download_stored(*made), packed_with(host, written.dims, std::byte{0}))
            << to_text(shape) << " from " << read.name << " to " << written.name;
      }
    }
  }
}

}  // namespace
}  // namespace qgen
