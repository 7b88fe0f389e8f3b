// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/tensor/packed_layout.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <tuple>

namespace qgen {
namespace {

// Buffers whose elements follow each other, by the innermost dimension.
constexpr PackedDimInfo kWidthFirst{Dim::width, 1, Dim::height, 1};
constexpr PackedDimInfo kHeightFirst{Dim::height, 1, Dim::width, 1};
constexpr PackedDimInfo kChannelsFirst{Dim::channels, 1, Dim::width, 1};

// As shapes are written.
Sides nchw(int64_t n, int64_t c, int64_t h, int64_t w) { return {w, h, c, n}; }

// Expected values of an independent implementation, for the shape [1, 6, 3, 5].
struct GoldenCase {
  std::string_view name;
  PackedDimInfo dims;
  Sides strides;
  Sides padded;
  int64_t elements;
  int64_t offsets[6];  // at the coordinates of kCoordinates
};

const Sides kCoordinates[] = {nchw(0, 0, 0, 1), nchw(0, 1, 0, 0), nchw(0, 0, 1, 0),
                              nchw(0, 5, 2, 4), nchw(0, 4, 1, 3), nchw(0, 3, 0, 2)};

const GoldenCase kGolden[] = {
    {"width", kWidthFirst, nchw(90, 15, 5, 1), nchw(1, 6, 3, 5), 90, {1, 15, 5, 89, 68, 47}},
    {"height", kHeightFirst, nchw(90, 15, 1, 3), nchw(1, 6, 3, 5), 90, {3, 15, 1, 89, 70, 51}},
    {"channels", kChannelsFirst, nchw(90, 1, 30, 6), nchw(1, 6, 3, 5), 90, {6, 1, 30, 89, 52, 15}},
    {"4w", info(Layout::packed_4w).dims, nchw(36, 6, 2, 1), nchw(1, 6, 3, 8), 144, {1, 24, 8, 140, 107, 74}},
    {"4c", info(Layout::packed_4c).dims, nchw(30, 1, 10, 2), nchw(1, 8, 3, 5), 120, {8, 1, 40, 117, 68, 19}},
    {"4w4c", info(Layout::packed_4w4c).dims, nchw(12, 1, 4, 2), nchw(1, 8, 3, 8), 192, {4, 1, 64, 177, 92, 11}},
    {"4h4w", info(Layout::packed_4h4w).dims, nchw(12, 2, 2, 1), nchw(1, 6, 4, 8), 192, {1, 32, 4, 184, 135, 98}},
    {"4c1w", info(Layout::packed_4c1w).dims, nchw(30, 5, 10, 1), nchw(1, 8, 3, 5), 120, {4, 1, 40, 117, 72, 11}},
};

TEST(PackedLayout, HasTheGoldenOffsets) {
  for (const GoldenCase& c : kGolden) {
    const PackedLayout layout = packed_layout({1, 6, 3, 5}, c.dims);
    EXPECT_EQ(layout.strides, c.strides) << c.name;
    EXPECT_EQ(layout.padded, c.padded) << c.name;
    EXPECT_EQ(layout.elements(), c.elements) << c.name;
    for (size_t i = 0; i < std::size(kCoordinates); ++i)
      EXPECT_EQ(layout.offset(kCoordinates[i]), c.offsets[i]) << c.name;
  }
}

struct RankCase {
  Shape shape;
  Sides sides;
  int64_t elements_4w4c;  // padded
};

const RankCase kRanks[] = {
    {{}, nchw(1, 1, 1, 1), 16},
    {{5}, nchw(1, 1, 1, 5), 32},
    {{3, 5}, nchw(1, 1, 3, 5), 96},
    {{6, 3, 5}, nchw(1, 6, 3, 5), 192},
    {{2, 6, 3, 5}, nchw(2, 6, 3, 5), 384},
    {{3, 2, 6, 3, 5}, nchw(6, 6, 3, 5), 1152},
    {{1, 2, 1, 3, 2, 6, 3, 5}, nchw(12, 6, 3, 5), 2304},
    {{3, 0, 6, 3, 5}, nchw(0, 6, 3, 5), 0},
    {{2, 6, 0, 5}, nchw(2, 6, 0, 5), 0},
    {{0}, nchw(1, 1, 1, 0), 0},
};

TEST(PackedLayout, FoldsLeadingDimensionsIntoTheBatch) {
  for (const RankCase& c : kRanks) {
    const PackedLayout layout = packed_layout(c.shape, info(Layout::packed_4w4c).dims);
    EXPECT_EQ(layout.sides, c.sides) << to_text(c.shape);
    EXPECT_EQ(layout.elements(), c.elements_4w4c) << to_text(c.shape);
  }
}

TEST(PackedLayout, KeepsStridesOfShapesWithoutElements) {
  EXPECT_EQ(packed_layout({2, 6, 0, 5}, info(Layout::packed_4w).dims).strides, nchw(12, 2, 2, 1));
  EXPECT_EQ(packed_layout({2, 0, 3, 5}, info(Layout::packed_4c1w).dims).strides, nchw(15, 5, 5, 1));
}

TEST(PackedLayout, SaturatesWhatNoMemoryHolds) {
  EXPECT_EQ(packed_layout({int64_t{1} << 60, 1, 1, 1}, info(Layout::packed_4w4c).dims).elements(), INT64_MAX);
}

// Every element has a separate index within the buffer, and the round trip returns it.
TEST(PackedLayout, PacksAndUnpacksEveryLayoutAtEveryRank) {
  for (const LayoutInfo& row : kLayouts) {
    if (row.storage != Storage::buffer) continue;
    for (const RankCase& c : kRanks) {
      for (const DType dtype : {DType::i8, DType::u8}) {
        HostTensor tensor = zeros(dtype, c.shape);
        for (size_t i = 0; i < tensor.data.size(); ++i) tensor.data[i] = static_cast<std::byte>(i * 7 + 1);
        std::vector<std::byte> packed(static_cast<size_t>(packed_layout(c.shape, row.dims).elements()),
                                      std::byte{0xee});
        pack_elements(tensor, row.dims, packed);
        HostTensor back = zeros(dtype, c.shape);
        unpack_elements(packed, row.dims, back);
        EXPECT_EQ(back.data, tensor.data) << row.name << " " << to_text(c.shape);
      }
    }
  }
}

TEST(PackedLayout, HasNoTwoElementsAtOnePlace) {
  for (const LayoutInfo& row : kLayouts) {
    const PackedLayout layout = packed_layout({2, 7, 5, 6}, row.dims);
    std::set<int64_t> places;
    for (int64_t n = 0; n < 2; ++n) {
      for (int64_t c = 0; c < 7; ++c) {
        for (int64_t h = 0; h < 5; ++h) {
          for (int64_t w = 0; w < 6; ++w) places.insert(layout.offset(nchw(n, c, h, w)));
        }
      }
    }
    EXPECT_EQ(places.size(), 2u * 7 * 5 * 6) << row.name;
    EXPECT_GE(*places.begin(), 0) << row.name;
    EXPECT_LT(*places.rbegin(), layout.elements()) << row.name;
  }
}

TEST(PackedLayout, PadsWithZero) {
  HostTensor ones = zeros(DType::i8, {3, 1, 2});
  std::fill(ones.data.begin(), ones.data.end(), std::byte{1});
  std::vector<std::byte> packed(16, std::byte{0xee});
  pack_elements(ones, info(Layout::packed_4w4c).dims, packed);
  std::vector<int> values;
  for (const std::byte b : packed) values.push_back(std::to_integer<int>(b));
  EXPECT_EQ(values, (std::vector{1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

// ---- rows of the table ----------------------------------------------------------------------------------------------

struct RowCase {
  Layout layout;
  std::string_view name;
  Dim order[kDims];  // of blocks, slowest first
};

const RowCase kRows[] = {
    {Layout::strided, "strided", {Dim::batch, Dim::channels, Dim::height, Dim::width}},
    {Layout::packed_4w, "packed_4w", {Dim::batch, Dim::channels, Dim::height, Dim::width}},
    {Layout::packed_4c, "packed_4c", {Dim::batch, Dim::height, Dim::width, Dim::channels}},
    {Layout::packed_4w4c, "packed_4w4c", {Dim::batch, Dim::height, Dim::width, Dim::channels}},
    {Layout::packed_4h4w, "packed_4h4w", {Dim::batch, Dim::channels, Dim::height, Dim::width}},
    {Layout::packed_4c1w, "packed_4c1w", {Dim::batch, Dim::height, Dim::channels, Dim::width}},
};

// A layout was four bits a field in a word, and a block of sixteen ran over into the next field. Here it is a separate
// number, and no two rows are equal.
TEST(LayoutTable, A10_EveryLayoutHasANumberOfItsOwn) {
  for (const LayoutInfo& a : kLayouts) {
    EXPECT_EQ(find_layout(a.name), a.layout);
    for (const LayoutInfo& b : kLayouts) {
      if (&a == &b || a.is_weight || b.is_weight) continue;
      const auto key = [](const LayoutInfo& row) {
        return std::tuple(row.storage, row.dims.packed, row.dims.block, row.dims.outer, row.dims.outer_block,
                          row.dims.is_transposed);
      };
      EXPECT_NE(key(a), key(b)) << a.name << " and " << b.name;
    }
  }
}

TEST(LayoutTable, SaysInWhichOrderBlocksLie) {
  for (const RowCase& c : kRows) {
    EXPECT_EQ(name(c.layout), c.name);
    EXPECT_EQ(find_layout(c.name), c.layout);
    const auto order = info(c.layout).dims.order();
    EXPECT_TRUE(std::equal(order.begin(), order.end(), c.order)) << c.name;
  }
  EXPECT_EQ(find_layout("packed_3w"), std::nullopt);
}

TEST(LayoutTable, SaysWhichFormsTakeALayout) {
  const uint32_t only_4c = 1u << static_cast<unsigned>(Layout::packed_4c);
  EXPECT_TRUE(takes({DType::i8, Storage::buffer, 0}, DType::i8, Storage::buffer, Layout::strided));
  EXPECT_FALSE(takes({DType::i8, Storage::buffer, 0}, DType::i8, Storage::buffer, Layout::packed_4c));
  EXPECT_TRUE(takes({DType::i8, Storage::buffer, only_4c}, DType::i8, Storage::buffer, Layout::packed_4c));
  EXPECT_FALSE(takes({DType::i8, Storage::buffer, only_4c}, DType::u8, Storage::buffer, Layout::packed_4c));
  EXPECT_FALSE(takes({DType::i8, Storage::buffer, only_4c}, DType::i8, Storage::buffer, Layout::strided));
  EXPECT_TRUE(takes({DType::i8, Storage::texture3d, 0}, DType::i8, Storage::texture3d, Layout::height_packed));
}

TEST(LayoutTable, SaysWhereTilesOfTwoLayoutsLie) {
  EXPECT_EQ(across(Layout::packed_4w, Layout::packed_4c), Dim::channels);
  EXPECT_EQ(across(Layout::packed_4c, Layout::packed_4w), Dim::width);
  EXPECT_EQ(across(Layout::packed_4c, Layout::packed_4c1w), Dim::width);
  EXPECT_EQ(across(Layout::packed_4w, Layout::packed_4h4w), Dim::height);
  EXPECT_EQ(third(Layout::packed_4w, Layout::packed_4w4c), Dim::batch);
  EXPECT_EQ(third(Layout::packed_4w, Layout::packed_4h4w), Dim::batch);
  EXPECT_EQ(third(Layout::packed_4c, Layout::packed_4h4w), Dim::height);
  EXPECT_EQ(third(Layout::packed_4h4w, Layout::packed_4c1w), Dim::height);
}

struct WalkCase {
  Layout written, read;
  Dim axes[kDims];
};

const WalkCase kWalks[] = {
    {Layout::packed_4w, Layout::packed_4c, {Dim::width, Dim::channels, Dim::height, Dim::batch}},
    {Layout::packed_4c, Layout::packed_4w, {Dim::channels, Dim::width, Dim::height, Dim::batch}},
    {Layout::packed_4c1w, Layout::packed_4c, {Dim::width, Dim::channels, Dim::height, Dim::batch}},
    {Layout::packed_4c1w, Layout::packed_4w, {Dim::width, Dim::channels, Dim::height, Dim::batch}},
    {Layout::packed_4w4c, Layout::packed_4c, {Dim::channels, Dim::width, Dim::height, Dim::batch}},
    {Layout::packed_4h4w, Layout::strided, {Dim::width, Dim::height, Dim::channels, Dim::batch}},
    {Layout::packed_4c, Layout::channels_packed, {Dim::channels, Dim::width, Dim::height, Dim::batch}},
};

TEST(LayoutTable, WalksAlongWhatIsFastest) {
  for (const WalkCase& c : kWalks) {
    const auto axes = walk(c.written, c.read);
    EXPECT_TRUE(std::equal(axes.begin(), axes.end(), c.axes)) << name(c.written) << " from " << name(c.read);
  }
}

}  // namespace
}  // namespace qgen
