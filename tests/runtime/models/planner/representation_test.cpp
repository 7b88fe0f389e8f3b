// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Sets of representations, and those that a device can hold.
#include "runtime/models/planner/representation.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/runtime/models/planner/forms.h"
#include "tests/support/expected_text.h"

namespace qgen::planner {
namespace {

using namespace testing;

// The layouts that hold weights are none.
TEST(Representations, AreTheLayoutsOfTensors) {
  for (const LayoutInfo& row : kLayouts) {
    const auto r = Representation::of(row.layout);
    EXPECT_EQ(r.has_value(), !row.is_weight) << row.name;
    if (!r) continue;
    EXPECT_EQ(name(*r), std::string(name(row.storage)) + "." + std::string(row.name));
  }
}

// ---- sets -----------------------------------------------------------------------------------------------------------

TEST(RepresentationSet, EmptyHoldsNothing) {
  const RepresentationSet set;
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(set.size(), 0);
  EXPECT_EQ(set.begin(), set.end());
  EXPECT_EQ(to_text(set), "nothing");
  for (Representation r : any_representation()) EXPECT_FALSE(set.contains(r)) << name(r);
}

TEST(RepresentationSet, HoldsWhatItWasMadeOf) {
  const RepresentationSet set{k4W, kWidth};
  EXPECT_FALSE(set.empty());
  EXPECT_EQ(set.size(), 2);
  EXPECT_TRUE(set.contains(k4W));
  EXPECT_TRUE(set.contains(kWidth));
  EXPECT_FALSE(set.contains(kStrided));
}

TEST(RepresentationSet, TexturesOnlyAndBuffersOnly) {
  EXPECT_EQ(set_of([](Representation r) { return info(r).storage == Storage::texture3d; }), kTextures);
  EXPECT_EQ(set_of([](Representation r) { return info(r).storage == Storage::buffer; }), kBuffers);
  EXPECT_EQ(set_of([](Representation r) { return info(r).is_packed_bytes(); }), kWords);
  EXPECT_EQ(kTextures | kBuffers, any_representation());
  EXPECT_TRUE((kTextures & kBuffers).empty());
}

TEST(RepresentationSet, EqualityIsOfMembers) {
  EXPECT_EQ((RepresentationSet{k4W, k4C}), (RepresentationSet{k4C, k4W}));
  EXPECT_NE((RepresentationSet{k4W, k4C}), RepresentationSet(k4W));
  EXPECT_NE(RepresentationSet(kWidth), RepresentationSet(k4W));
}

TEST(RepresentationSet, CopiesAreIndependent) {
  const RepresentationSet set{k4W, k4C};
  RepresentationSet copy = set;
  EXPECT_EQ(copy, set);
  copy = copy - k4W;
  EXPECT_NE(copy, set);
  EXPECT_TRUE(set.contains(k4W));
}

TEST(RepresentationSet, IntersectionUnionAndDifference) {
  const RepresentationSet a{kStrided, k4W, kWidth}, b{k4W, kWidth, k4C};
  EXPECT_EQ(a & b, (RepresentationSet{k4W, kWidth}));
  EXPECT_EQ(a | b, (RepresentationSet{kStrided, k4W, kWidth, k4C}));
  EXPECT_EQ(a - b, RepresentationSet(kStrided));
  EXPECT_TRUE((RepresentationSet{k4W, k4C} & RepresentationSet{kWidth, kStrided}).empty());
}

TEST(RepresentationSet, IteratesInTheOrderOfTheTableHoweverItWasMade) {
  std::vector<std::string> names;
  for (Representation r : RepresentationSet{k4C1W, kChannels, kStrided, k4W}) names.push_back(name(r));
  EXPECT_EQ(names, (std::vector<std::string>{"buffer.strided", "texture3d.channels_packed", "buffer.packed_4w",
                                             "buffer.packed_4c1w"}));
  EXPECT_EQ((RepresentationSet{k4C1W, kChannels}).first(), kChannels);
}

TEST(RepresentationSet, NamesTellAllApart) {
  std::set<std::string> names;
  for (Representation r : any_representation()) EXPECT_TRUE(names.insert(name(r)).second) << name(r);
}

TEST(RepresentationSet, DropsBitsOfNoRepresentation) {
  EXPECT_TRUE(RepresentationSet::from_bits(bit(Layout::weight_q8_rows)).empty());
  EXPECT_EQ(RepresentationSet::from_bits(~0u), any_representation());
}

TEST(RepresentationSet, RanksPutBuffersFirst) {
  int expected = 0;
  for (Representation r : kBuffers) EXPECT_EQ(rank(r), expected++) << name(r);
  for (Representation r : kTextures) EXPECT_EQ(rank(r), expected++) << name(r);
}

// ---- bytes and texels: the padded sizes of tensor (1, 6, 3, 5) ------------------------------------------------------

TEST(StoredBytes, ArePaddedToTheBlocks) {
  const Shape shape{1, 6, 3, 5};
  EXPECT_EQ(stored_bytes(shape, DType::i8, kStrided), 90);
  EXPECT_EQ(stored_bytes(shape, DType::i8, k4W), 144);
  EXPECT_EQ(stored_bytes(shape, DType::i8, k4C), 120);
  EXPECT_EQ(stored_bytes(shape, DType::i8, k4W4C), 192);
  EXPECT_EQ(stored_bytes(shape, DType::i8, k4H4W), 192);
  EXPECT_EQ(stored_bytes(shape, DType::i8, k4C1W), 120);
  EXPECT_EQ(stored_bytes(shape, DType::f32, kWidth), 1 * 6 * 3 * 8 * 4);
  EXPECT_EQ(stored_bytes(shape, DType::f32, kChannels), 1 * 8 * 3 * 5 * 4);
}

TEST(StoredBytes, OfAnyRank) {
  EXPECT_EQ(stored_bytes({}, DType::i8, kStrided), 1);
  EXPECT_EQ(stored_bytes({}, DType::i8, k4W), 4);
  EXPECT_EQ(stored_bytes({7}, DType::i8, k4W), 8);
  EXPECT_EQ(stored_bytes({2, 7}, DType::i8, k4C), 2 * 7 * 4) << "a matrix has one channel, padded to four";
  EXPECT_EQ(stored_bytes({2, 2, 2, 4, 3, 5}, DType::i8, k4W4C), 8 * 4 * 3 * 8);
  EXPECT_EQ(stored_bytes({3, 0, 5}, DType::f32, kStrided), 0);
}

TEST(ImageExtents, FoldTheBatchIntoTheDepth) {
  EXPECT_EQ(image_extents({2, 6, 3, 5}, kChannels), (std::array<int64_t, 3>{5, 3, 4}));
  EXPECT_EQ(image_extents({2, 6, 3, 5}, kWidth), (std::array<int64_t, 3>{2, 3, 12}));
  EXPECT_EQ(image_extents({7}, kWidth), (std::array<int64_t, 3>{2, 1, 1}));
}

struct HoldCase {
  std::string_view name;
  Shape shape;
  DType dtype;
  Representation form;
  std::string_view refusal;
};

TEST(Refusals, NameTheLimit) {
  const DeviceModel device{.image_extent = {100, 50, 25}, .buffer_bytes = 4000};
  const HoldCase kCases[] = {
      {"fits", {10, 10, 10}, DType::f32, kStrided, ""},
      {"one element too many", {10, 10, 10, 2}, DType::i16, kStrided, ""},
      {"bytes, not elements",
       {10, 10, 10, 2},
       DType::f32,
       kStrided,
       "8000 bytes exceed the device's limit of 4000 bytes per buffer"},
      {"padding counts", {1001, 1, 1}, DType::i8, k4W, "4004 bytes exceed the device's limit of 4000 bytes per buffer"},
      {"width",
       {1, 1, 1, 101},
       DType::f32,
       kChannels,
       "101 texels exceed the device's limit of 100 for the image width"},
      {"width in texels", {1, 1, 1, 400}, DType::f32, kWidth, ""},
      {"width in texels, one more",
       {1, 1, 1, 401},
       DType::f32,
       kWidth,
       "101 texels exceed the device's limit of 100 for the image width"},
      {"height", {51, 1}, DType::f32, kWidth, "51 texels exceed the device's limit of 50 for the image height"},
      {"depth of all batches",
       {13, 8, 1, 1},
       DType::f32,
       kChannels,
       "26 texels exceed the device's limit of 25 for the image depth"},
      {"rank four", {1, 1, 1, 1}, DType::f32, kWidth, ""},
      {"rank five", {1, 1, 1, 1, 1}, DType::f32, kWidth, "rank 5 is above the four dimensions of a texture"},
      {"rank eight in a buffer", {1, 1, 1, 1, 1, 1, 1, 1}, DType::f32, kStrided, ""},
      {"words of int8", {4}, DType::u8, k4W, ""},
      {"words of floats", {4}, DType::f32, k4W, "holds 8-bit integers, not f32"},
      {"no elements", {0, 1000000}, DType::f32, kStrided, ""},
  };
  for (const HoldCase& row : kCases)
    EXPECT_TEXT(refusal(row.shape, row.dtype, row.form, device), row.refusal) << row.name;
}

TEST(Devices, GiveTheirNumbersToTheModel) {
  DeviceNumbers numbers;
  numbers.max_image_extent = 2048;
  numbers.max_storage_buffer_bytes = 1000;
  EXPECT_EQ(device_model(numbers), (DeviceModel{{2048, 2048, 2048}, 1000}));
}

}  // namespace
}  // namespace qgen::planner
