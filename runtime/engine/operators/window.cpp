// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/operators/window.h"

#include <fmt/format.h>

#include "runtime/engine/operators/packed_walk.h"
#include "vocabulary/layouts.h"

namespace qgen {
namespace {

constexpr size_t kRowRank = 3;
constexpr int64_t kMost = int64_t{1} << 30;  // so that kernels compute places in 32 bits

struct List {
  std::string_view name;
  std::span<const int64_t> numbers;
  int64_t least;
};

Error wrong_length(const List& list, std::string_view possible) {
  return refused(fmt::format("{} has {} numbers, and {}", list.name, list.numbers.size(), possible));
}

// [height, width] or one number for both; of a row one number, and `otherwise` for its height.
Expected<PerAxis> per_axis(const List& list, size_t rank, int64_t otherwise) {
  const bool is_row = rank == kRowRank;
  const size_t most = is_row ? 1 : 2;
  if (list.numbers.empty() || list.numbers.size() > most)
    return wrong_length(list, is_row ? "a row has one" : "an image has one or [height, width]");
  for (const int64_t number : list.numbers) {
    if (number < list.least || number > kMost)
      return refused(fmt::format("{} is {}, and can be {} to {}", list.name, number, list.least, kMost));
  }
  return PerAxis{list.numbers.back(), is_row ? otherwise : list.numbers.front()};
}

using MaybeList = const std::optional<std::vector<int64_t>>*;

std::span<const int64_t> numbers_of(MaybeList given, std::span<const int64_t> otherwise) {
  return given && *given ? std::span<const int64_t>(**given) : otherwise;
}

constexpr int64_t kOne[] = {1}, kNone[] = {0};

// [top, left, bottom, right] of an image and [left, right] of a row say both ends.
Done read_padding(MaybeList given, size_t rank, Window& window) {
  const auto numbers = numbers_of(given, kNone);
  const size_t axes = rank == kRowRank ? 1 : 2;
  const bool says_ends = numbers.size() == 2 * axes;
  if (!says_ends && (numbers.empty() || numbers.size() > axes)) {
    return wrong_length({"padding", numbers, 0},
                        axes == 1 ? "a row has one, or [left, right]"
                                  : "an image has one, [height, width], or [top, left, bottom, right]");
  }
  const auto before = per_axis({"padding", says_ends ? numbers.first(axes) : numbers, 0}, rank, 0);
  if (!before) return before.error();
  const auto after = per_axis({"padding", says_ends ? numbers.last(axes) : numbers, 0}, rank, 0);
  if (!after) return after.error();
  window.before = *before;
  window.after = *after;
  return std::monostate{};
}

constexpr std::string_view kAxisNames[] = {"width", "height"};

}  // namespace

Expected<Window> window_of(size_t rank, const WindowLists& lists) {
  Window window;
  const auto taps = per_axis({lists.taps_name, lists.taps, 1}, rank, 1);
  if (!taps) return taps.error();
  const auto stride = per_axis({"stride", numbers_of(lists.stride, kOne), 1}, rank, 1);
  if (!stride) return stride.error();
  const auto dilation = per_axis({"dilation", numbers_of(lists.dilation, kOne), 1}, rank, 1);
  if (!dilation) return dilation.error();
  if (Done padding = read_padding(lists.padding, rank, window); !padding) return padding.error();
  window.taps = *taps;
  window.stride = *stride;
  window.dilation = *dilation;
  for (const size_t axis : {kAlongHeight, kAlongWidth}) {
    if (reach(window, axis) <= kMost) continue;
    return refused(fmt::format("a window of {} taps, {} apart, extends over more than {} elements", window.taps[axis],
                               window.dilation[axis], kMost));
  }
  return window;
}

int64_t reach(const Window& window, size_t axis) { return window.dilation[axis] * (window.taps[axis] - 1) + 1; }

Expected<PerAxis> places_of(const Window& window, const Shape& image, bool covers_the_end) {
  const Shape shape = as_image(image);
  PerAxis places{};
  for (const size_t axis : {kAlongHeight, kAlongWidth}) {
    const int64_t side = shape[shape.size() - 1 - axis];
    const int64_t padded = side + window.before[axis] + window.after[axis];
    const int64_t room = padded - reach(window, axis);
    if (room < 0) {
      return refused(fmt::format("a window that extends over {} elements does not fit into the input's {} of {}, "
                                 "padded to {}",
                                 reach(window, axis), kAxisNames[axis], side, padded),
                     "pad the input, or use a smaller window");
    }
    if (padded > kMost) {
      return refused(
          fmt::format("the input's {} is {}, padded to {}, and can be up to {}", kAxisNames[axis], side, padded, kMost),
          "split the image");
    }
    places[axis] = room / window.stride[axis] + 1;
    if (!covers_the_end) continue;
    if (room % window.stride[axis] != 0) ++places[axis];
    if ((places[axis] - 1) * window.stride[axis] >= side + window.before[axis]) --places[axis];
  }
  return places;
}

Shape as_image(const Shape& shape) { return shape.size() == kRowRank ? Shape{shape[0], shape[1], 1, shape[2]} : shape; }

Shape shape_like(const Shape& like, int64_t channels, const PerAxis& sides) {
  if (like.size() == kRowRank) return {like[0], channels, sides[kAlongWidth]};
  return {like[0], channels, sides[kAlongHeight], sides[kAlongWidth]};
}

Done check_lies_as_image(std::string_view operand, const TensorDesc& tensor) {
  if (tensor.shape.size() != kRowRank || tensor.layout == Layout::strided) return std::monostate{};
  return Error{Error::Kind::unsupported,
               fmt::format("{} of shape {} is {}, and rows [N, C, W] must be in plain buffers", operand,
                           to_text(tensor.shape), name(tensor.layout)),
               "give it as an image [N, C, 1, W]"};
}

std::array<uint32_t, kDims> image_sides(const Shape& shape) { return in_words(sides_of(as_image(shape))); }

std::array<uint32_t, kDims> image_strides(const TensorDesc& tensor) {
  return block_strides(as_image(tensor.shape), tensor.layout);
}

generated::fields::Window window_fields(const Window& window, const TensorDesc& input, const TensorDesc& output) {
  return {.input_sides = image_sides(input.shape),
          .output_sides = image_sides(output.shape),
          .input_strides = image_strides(input),
          .output_strides = image_strides(output),
          .taps = in_words(window.taps),
          .stride = in_words(window.stride),
          .padding = in_words(window.before),
          .dilation = in_words(window.dilation)};
}

}  // namespace qgen
