// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/calls/tensor_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "vocabulary/integer.h"

namespace qgen {
namespace {

View whole(const Shape& shape) { return {shape, row_major_strides(shape), 0}; }

std::string text_of(const View& view) {
  return fmt::format("{} with strides {} from element {}", to_text(view.shape), to_text(view.strides), view.offset);
}

}  // namespace

ViewedTensor::ViewedTensor(const DeviceTensor& all) : tensor(&all), view(whole(all.shape())) {}
ViewedDesc::ViewedDesc(TensorDesc all) : tensor(std::move(all)), view(whole(tensor.shape)) {}

ViewedDesc desc_of(const ViewedTensor& viewed) { return {desc_of(*viewed.tensor), viewed.view}; }

bool is_row_major(const View& view) { return is_row_major(view.shape, view.strides); }

Done check_view(std::string_view operand, const ViewedDesc& viewed) {
  const auto& [tensor, view] = viewed;
  if (Done sane = check_shape(view.shape); !sane) return sane;
  if (view.strides.size() != view.shape.size()) {
    return refused(fmt::format("{} of shape {} has {} strides", operand, to_text(view.shape), view.strides.size()),
                   "give one per dimension, in elements");
  }
  if (tensor.storage == Storage::texture3d && (view.shape != tensor.shape || !is_row_major(view) || view.offset != 0)) {
    return refused(
        fmt::format("{} is {}, and the tensor is a texture of {}", operand, text_of(view), to_text(tensor.shape)),
        "a texture is read as a whole; strides are for buffers");
  }
  if (element_count(view.shape) == 0) return std::monostate{};
  Integer lowest = view.offset, highest = view.offset;
  for (size_t d = 0; d < view.shape.size(); ++d) {
    const Integer reach = Integer(view.shape[d] - 1) * Integer(view.strides[d]);
    lowest = lowest + min(reach, 0);
    highest = highest + max(reach, 0);
  }
  const int64_t count = element_count(tensor.shape);
  if (lowest.value >= 0 && highest.value < count) return std::monostate{};
  return refused(fmt::format("{} is {}, which reaches elements {} to {} of a tensor that has {}", operand,
                             text_of(view), lowest.value, highest.value, count));
}

// Along dimensions sorted by stride, each step must pass everything that the smaller ones reach.
Done check_is_injective(std::string_view operand, const View& view) {
  if (element_count(view.shape) == 0) return std::monostate{};
  std::vector<std::pair<int64_t, int64_t>> dimensions;  // stride, side
  for (size_t d = 0; d < view.shape.size(); ++d) {
    if (view.shape[d] > 1) dimensions.emplace_back(std::abs(view.strides[d]), view.shape[d]);
  }
  std::ranges::sort(dimensions);
  Integer reach = 0;
  for (const auto& [stride, side] : dimensions) {
    if (Integer(stride) <= reach) {
      return refused(fmt::format("{} is {}, whose elements share memory", operand, text_of(view)),
                     "each element of a written tensor needs separate memory");
    }
    reach = reach + Integer(stride) * Integer(side - 1);
  }
  return std::monostate{};
}

}  // namespace qgen
