// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The attributes of windows, and the number of output positions.
#include "runtime/engine/operators/window.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/expected_text.h"

namespace qgen {
namespace {

using List = std::vector<int64_t>;
using Given = std::optional<List>;

std::string text_of(const PerAxis& numbers) {
  return fmt::format("{}x{}", numbers[kAlongHeight], numbers[kAlongWidth]);
}

std::string text_of(const Window& window) {
  return fmt::format("taps {}, stride {}, dilation {}, padding {} and {}", text_of(window.taps), text_of(window.stride),
                     text_of(window.dilation), text_of(window.before), text_of(window.after));
}

struct ListCase {
  const char* name;
  size_t rank;
  List taps;
  Given stride, padding, dilation;
  std::string_view says;  // or how it is refused
};

constexpr int64_t kMost = int64_t{1} << 30;

const ListCase kLists[] = {
    {"nothing_said", 4, {3, 5}, {}, {}, {}, "taps 3x5, stride 1x1, dilation 1x1, padding 0x0 and 0x0"},
    {"one_for_both", 4, {3}, List{2}, List{1}, List{4}, "taps 3x3, stride 2x2, dilation 4x4, padding 1x1 and 1x1"},
    {"each", 4, {3, 5}, List{2, 1}, List{0, 2}, List{1, 2}, "taps 3x5, stride 2x1, dilation 1x2, padding 0x2 and 0x2"},
    {"all_ends", 4, {3}, {}, List{1, 2, 3, 4}, {}, "taps 3x3, stride 1x1, dilation 1x1, padding 1x2 and 3x4"},
    {"row", 3, {5}, List{2}, List{1}, List{3}, "taps 1x5, stride 1x2, dilation 1x3, padding 0x1 and 0x1"},
    {"row_with_ends", 3, {5}, {}, List{1, 2}, {}, "taps 1x5, stride 1x1, dilation 1x1, padding 0x1 and 0x2"},
    {"no_taps", 4, {3, 0}, {}, {}, {}, "kernel is 0, and can be 1 to 1073741824"},
    {"empty", 4, {}, {}, {}, {}, "kernel has 0 numbers, and an image has one or [height, width]"},
    {"too_many", 4, {1, 2, 3}, {}, {}, {}, "kernel has 3 numbers, and an image has one or [height, width]"},
    {"row_with_height", 3, {1, 2}, {}, {}, {}, "kernel has 2 numbers, and a row has one"},
    {"no_stride", 4, {3}, List{0}, {}, {}, "stride is 0, and can be 1 to 1073741824"},
    {"negative_padding", 4, {3}, {}, List{0, 0, -1, 0}, {}, "padding is -1, and can be 0 to 1073741824"},
    {"three_paddings",
     4,
     {3},
     {},
     List{1, 2, 3},
     {},
     "padding has 3 numbers, and an image has one, [height, width], or [top, left, bottom, right]"},
    {"row_with_four_paddings",
     3,
     {3},
     {},
     List{1, 2, 3, 4},
     {},
     "padding has 4 numbers, and a row has one, or [left, right]"},
    {"huge_padding", 4, {3}, {}, List{INT64_MAX}, {}, "padding is 9223372036854775807, and can be 0 to 1073741824"},
    {"negative_dilation",
     4,
     {3},
     {},
     {},
     List{INT64_MIN},
     "dilation is -9223372036854775808, and can be 1 to 1073741824"},
    {"far_reach",
     4,
     {3},
     {},
     {},
     List{kMost},
     "a window of 3 taps, 1073741824 apart, extends over more than "
     "1073741824 elements"},
};

class WindowOf : public ::testing::TestWithParam<ListCase> {};

TEST_P(WindowOf, SaysWhatCallersMean) {
  const ListCase& c = GetParam();
  const auto window = window_of(c.rank, {c.taps, "kernel", &c.stride, &c.padding, &c.dilation});
  EXPECT_TEXT(window ? text_of(*window) : window.error().message, c.says);
}

INSTANTIATE_TEST_SUITE_P(Lists, WindowOf, ::testing::ValuesIn(kLists), [](const auto& row) { return row.param.name; });

// How many places there are, one after the other.
int64_t count_places(const Window& window, int64_t side, bool covers_the_end) {
  const int64_t padded = side + window.before[0] + window.after[0];
  int64_t places = 0, begin = 0, end = reach(window, 0);
  while (end <= padded || (covers_the_end && end - window.stride[0] < padded)) {
    ++places;
    begin += window.stride[0];
    end += window.stride[0];
  }
  // With the end covered, a last window that begins after the image is left out, as in PyTorch.
  if (covers_the_end && begin - window.stride[0] >= side + window.before[0]) --places;
  return places;
}

TEST(PlacesOf, EverySmallWindow) {
  size_t windows = 0;
  for (int64_t n = 0; n < 6 * 4 * 3 * 3 * 4 * 3 * 2; ++n) {
    int64_t rest = n;
    const auto next = [&](int64_t choices) { return std::exchange(rest, rest / choices) % choices; };
    const int64_t side = next(6);
    Window window{.taps = {next(4) + 1, 1}, .stride = {next(3) + 1, 1}};
    window.before[0] = next(3);
    window.after[0] = next(4);
    window.dilation[0] = next(3) + 1;
    const bool covers_the_end = next(2) == 1;
    const auto places = places_of(window, {1, 1, side}, covers_the_end);
    const bool fits = reach(window, 0) <= side + window.before[0] + window.after[0];
    ASSERT_EQ(static_cast<bool>(places), fits) << text_of(window);
    if (!fits) continue;
    ++windows;
    ASSERT_EQ((*places)[kAlongWidth], count_places(window, side, covers_the_end)) << text_of(window) << " of " << side;
    ASSERT_EQ((*places)[kAlongHeight], 1);
  }
  EXPECT_GT(windows, 3000u);
}

TEST(PlacesOf, AreRefusedWhereThereAreNone) {
  const auto refusal = [](const Window& window, const Shape& shape) {
    const auto places = places_of(window, shape);
    return places ? text_of(*places) : to_text(places.error());
  };
  EXPECT_EQ(refusal({.taps = {3, 2}}, {1, 4, 5, 7}), "4x5");
  EXPECT_TEXT(refusal({.taps = {3, 3}, .before = {0, 1}}, {1, 4, 1, 7}),
              "a window that extends over 3 elements does not fit into the input's height of 1, padded to 2\n"
              "  hint: pad the input, or use a smaller window");
  EXPECT_TEXT(refusal({}, {1, 0, int64_t{1} << 59, 2}),
              "the input's height is 576460752303423488, padded to 576460752303423488, and can be up to 1073741824\n"
              "  hint: split the image");
}

TEST(Rows, AreImagesOfHeightOne) {
  EXPECT_EQ(as_image({2, 3, 7}), (Shape{2, 3, 1, 7}));
  EXPECT_EQ(as_image({2, 3, 5, 7}), (Shape{2, 3, 5, 7}));
  EXPECT_EQ(shape_like({2, 3, 7}, 4, {6, 1}), (Shape{2, 4, 6}));
  EXPECT_EQ(shape_like({2, 3, 5, 7}, 4, {6, 1}), (Shape{2, 4, 1, 6}));
  EXPECT_EQ(image_sides({2, 3, 7}), (std::array<uint32_t, 4>{7, 1, 3, 2}));
  EXPECT_EQ(image_strides({DType::i8, {2, 3, 7}}), (std::array<uint32_t, 4>{1, 7, 7, 21}));
}

TEST(Rows, LieInPlainBuffers) {
  EXPECT_TRUE(check_lies_as_image("input", {DType::i8, {2, 3, 7}}));
  EXPECT_TRUE(check_lies_as_image("input", {DType::i8, {2, 3, 1, 7}, Storage::buffer, Layout::packed_4c}));
  EXPECT_TEXT(to_text(check_lies_as_image("input", {DType::i8, {2, 3, 7}, Storage::buffer, Layout::packed_4c}).error()),
              "input of shape [2, 3, 7] is packed_4c, and rows [N, C, W] must be in plain buffers\n"
              "  hint: give it as an image [N, C, 1, W]");
}

}  // namespace
}  // namespace qgen
