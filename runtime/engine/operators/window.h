// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The window that convolutions and pools move over an image: the lists that describe it, and the number of its
// positions.
//
//   stride    [2, 2] or 2       [height, width], or one number for both
//   padding   [1, 1] or 1       the same; or [top, left, bottom, right]
//
// An image is [N, C, H, W]. A row [N, C, W] is an image of height 1. Its lists have one number, its padding one or
// [left, right], and its result is a row again.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "runtime/engine/calls/call.h"
#include "runtime/engine/tensor/packed_layout.h"
#include "window_fields.h"

namespace qgen {

enum Axis : size_t { kAlongWidth, kAlongHeight };  // as Dim
using PerAxis = std::array<int64_t, 2>;

struct Window {
  PerAxis taps{1, 1};  // the size of the window, in elements that it reads
  PerAxis stride{1, 1};
  PerAxis before{}, after{};  // padding: left and top, right and bottom
  PerAxis dilation{1, 1};     // from tap to tap
};

// Lists as callers give them; nullopt: strides and dilations of 1, no padding.
struct WindowLists {
  std::span<const int64_t> taps;
  std::string_view taps_name = "the window";  // in refusals
  const std::optional<std::vector<int64_t>>* stride = nullptr;
  const std::optional<std::vector<int64_t>>* padding = nullptr;
  const std::optional<std::vector<int64_t>>* dilation = nullptr;
};
// The window for an image or a row of this rank. Errors: a list whose length is not the number of axes, a stride or
// dilation below 1, a window without taps, negative padding, numbers above 2^30.
Expected<Window> window_of(size_t rank, const WindowLists& lists);

// From the first tap to the last.
int64_t reach(const Window& window, size_t axis);

// The number of output positions along each axis, rounded down. With `covers_the_end` it is rounded up. The last window
// may then extend beyond the padding on the right, if it begins in the image or in the padding on the left. Errors: the
// window has no position.
Expected<PerAxis> places_of(const Window& window, const Shape& image, bool covers_the_end = false);

// [N, C, H, W] of an image, [N, C, 1, W] of a row.
Shape as_image(const Shape& shape);
// [N, channels, H, W] or [N, channels, W], with the rank and N of `like` and these sizes.
Shape shape_like(const Shape& like, int64_t channels, const PerAxis& sides);

// Rows must be in plain buffers: packed layouts would use their channels as a height. Errors: a row in another layout.
Done check_lies_as_image(std::string_view operand, const TensorDesc& tensor);

// The sizes and strides that kernels read. A row is an image of height 1 here too.
std::array<uint32_t, kDims> image_sides(const Shape& shape);
std::array<uint32_t, kDims> image_strides(const TensorDesc& tensor);

// The fields of the fragment specs/lib/window.yaml.
generated::fields::Window window_fields(const Window& window, const TensorDesc& input, const TensorDesc& output);

}  // namespace qgen
