// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "runtime/models/onnx/match.h"

namespace qgen::onnx::matching {
namespace {

Expected<Pending> image_mean(const Node& node, Arguments arguments, Expected<Pending::Operand> operand) {
  if (!operand) return operand.error();
  const Dims& input = arguments[0]->shape;
  if (!is_image(input))
    return unsupported(fmt::format("its input {} is neither an image [N, C, H, W] nor a row [N, C, L]", to_text(input)),
                       "qgen averages images and rows along all axes from the third on; a Reshape can make one");
  if (node.integer("channels_last", 0) != 0) return unsupported("its channels are last");
  Pending pending{.name = node.name, .shape = input};
  std::fill(pending.shape.begin() + 2, pending.shape.end(), Number{1});
  pending.operands.push_back(*std::move(operand));
  return pending;
}

Expected<Pending::Operand> bytes_at(Builder& builder, Arguments arguments) {
  const auto view = view_at(builder, arguments, 0);
  if (!view) return view.error();
  return Pending::Operand{"input", *view, arguments[0]->shape};
}

Expected<Pending::Operand> reals_at(Builder& builder, Arguments arguments) {
  const auto real = real_at(builder, arguments, 0);
  if (!real) return real.error();
  return Pending::Operand{"input", *real, arguments[0]->shape};
}

// A mean along all spatial axes of an image is a global pool.
Expected<Pending> axes_mean(const Node& node, Arguments arguments, Expected<Pending> pending) {
  if (!pending) return pending;
  const auto rank = static_cast<int64_t>(pending->shape.size());
  std::vector<int64_t> axes = node.integers("axes");
  if (const Known* said = at(arguments, 1)) {
    const TensorPtr tensor = said->tensor();
    if (!tensor || is_real(tensor->type)) return unsupported("its axes are not constant");
    for (int64_t i = 0; i < tensor->size() && i < rank; ++i) axes.push_back(tensor->integer(i));
  }
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::ranges::sort(axes);
  std::vector<int64_t> image(static_cast<size_t>(rank - 2));
  std::iota(image.begin(), image.end(), 2);
  if (axes != image)
    return unsupported(
        fmt::format("its axes are [{}], and qgen averages along all axes from the third on", fmt::join(axes, ", ")),
        "a Transpose or a Reshape can bring them there");
  if (node.integer("keepdims", 1) == 0) pending->reshaped = Dims(pending->shape.begin(), pending->shape.begin() + 2);
  return pending;
}

Expected<Pending> windows_mean(Builder& builder, const Node& node, Arguments arguments, Expected<Pending> pending) {
  if (!pending) return pending;
  const Dims input = arguments[0]->shape;
  const auto window = window_of(node, node.integers("kernel_shape"), input);
  if (!window) return window.error();
  auto shape = places(*window, input, builder.symbols);
  if (!shape) return shape.error();
  pending->shape = *std::move(shape);
  set_window(pending->attributes, *window);
  pending->attributes.insert_or_assign("kernel_size", AttributeValue(window->kernel));
  pending->attributes.insert_or_assign("ceil_mode", AttributeValue(window->ceil));
  pending->attributes.insert_or_assign("count_include_pad", AttributeValue(node.integer("count_include_pad", 0) != 0));
  return pending;
}

}  // namespace

Expected<Pending> mean_of_all(Builder& builder, const Node& node, Arguments arguments) {
  return image_mean(node, arguments, bytes_at(builder, arguments));
}
Expected<Pending> mean_of_all_reals(Builder& builder, const Node& node, Arguments arguments) {
  return image_mean(node, arguments, reals_at(builder, arguments));
}

Expected<Pending> mean_along(Builder& builder, const Node& node, Arguments arguments) {
  return axes_mean(node, arguments, mean_of_all(builder, node, arguments));
}
Expected<Pending> mean_of_reals_along(Builder& builder, const Node& node, Arguments arguments) {
  return axes_mean(node, arguments, mean_of_all_reals(builder, node, arguments));
}

Expected<Pending> mean_of_windows(Builder& builder, const Node& node, Arguments arguments) {
  return windows_mean(builder, node, arguments, mean_of_all(builder, node, arguments));
}
Expected<Pending> mean_of_windows_of_reals(Builder& builder, const Node& node, Arguments arguments) {
  return windows_mean(builder, node, arguments, mean_of_all_reals(builder, node, arguments));
}

}  // namespace qgen::onnx::matching
