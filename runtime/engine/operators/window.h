// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The window that convolutions and pools slide over an image: how callers say it, and how many places it has.
//
//   stride    [2, 2] or 2       [height, width], or one number for both
//   padding   [1, 1] or 1       the same; or [top, left, bottom, right]
//
// An image is [N, C, H, W]. A row [N, C, W] is an image of height 1: its window has one number a list, its padding one
// or [left, right], and what is made of it is a row again.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "runtime/engine/calls/call.h"
#include "runtime/engine/tensor/packed_layout.h"
#include "vocabulary/integer.h"

namespace qgen {

enum Axis : size_t { kAlongWidth, kAlongHeight };  // as Dim
using PerAxis = std::array<int64_t, 2>;

struct Window {
  PerAxis taps{1, 1};  // the sides of the window, in elements that it reads
  PerAxis stride{1, 1};
  PerAxis before{}, after{};  // padding: left and top, right and bottom
  PerAxis dilation{1, 1};     // from tap to tap
};

// Lists as callers say them; nullopt: strides and dilations of 1, no padding.
struct WindowLists {
  std::span<const int64_t> taps;
  std::string_view taps_name = "the window";  // in refusals
  const std::optional<std::vector<int64_t>>* stride = nullptr;
  const std::optional<std::vector<int64_t>>* padding = nullptr;
  const std::optional<std::vector<int64_t>>* dilation = nullptr;
};
// Of an image or a row of this rank. Errors: lists of another length than it has axes, a stride or dilation below 1, a
// window without taps, negative padding, numbers past 2^30.
Expected<Window> window_of(size_t rank, const WindowLists& lists);

// From the first tap to the last.
int64_t reach(const Window& window, size_t axis);

// Where the last window begins that begins within the image or its padding on the left counts too, although it may
// reach past the padding on the right: `covers_the_end`. Errors: the window has no place.
Expected<PerAxis> places_of(const Window& window, const Shape& image, bool covers_the_end = false);

// [N, C, H, W] of an image, [N, C, 1, W] of a row.
Shape as_image(const Shape& shape);
// As many sides as `like` has.
Shape shape_like(const Shape& like, int64_t channels, const PerAxis& sides);

// Rows lie in plain buffers only: packed layouts would take their channels for a height. Errors: what lies otherwise.
Done check_lies_as_image(std::string_view operand, const TensorDesc& tensor);

// What kernels read of the two sides, of which rows are images too.
std::array<uint32_t, kDims> image_sides(const Shape& shape);
std::array<uint32_t, kDims> image_strides(const TensorDesc& tensor);
inline std::array<uint32_t, 2> in_words(const PerAxis& numbers) { return {u32(numbers[0]), u32(numbers[1])}; }

// The fields of specs/lib/window.yaml within the braces of a Problem. A macro, since only what is named in the braces
// itself is checked to be all of them.
// clang-format off
#define QGEN_WINDOW_FIELDS(window, input, output) \
  .input_sides = image_sides((input).shape),      \
  .output_sides = image_sides((output).shape),    \
  .input_strides = image_strides(input),          \
  .output_strides = image_strides(output),        \
  .taps = in_words((window).taps),                \
  .stride = in_words((window).stride),            \
  .padding = in_words((window).before),           \
  .dilation = in_words((window).dilation)
// clang-format on

}  // namespace qgen
