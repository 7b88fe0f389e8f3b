// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/calls/placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

#include "runtime/engine/tensor/packed_layout.h"
#include "vocabulary/layouts.h"

namespace qgen {
namespace {

constexpr size_t kMaxTextureRank = 4;

int64_t elements_of(const TensorDesc& tensor) {
  const LayoutInfo& layout = info(tensor.layout);
  return layout.is_packed_bytes() ? packed_layout(tensor.shape, layout.dims).elements() : element_count(tensor.shape);
}

}  // namespace

bool can_lie(const TensorInfo& operand, Storage storage, Layout layout) {
  return (operand.storages & bit(storage)) != 0 && info(layout).storage == storage &&
         has_layout(operand.layouts, storage, layout);
}

std::vector<std::string_view> names_in(uint32_t dtypes) {
  std::vector<std::string_view> names;
  for (const DTypeInfo& row : kDTypes) {
    if ((dtypes & bit(row.dtype)) != 0) names.push_back(row.name);
  }
  return names;
}

Done check_dtype(std::string_view operand, DType given, uint32_t dtypes) {
  if ((dtypes & bit(given)) != 0) return std::monostate{};
  return refused(fmt::format("{} is {}, and can be {}", operand, name(given), fmt::join(names_in(dtypes), ", ")));
}

Done check_size(std::string_view operand, const TensorDesc& tensor) {
  if (const Done sane = check_shape(tensor.shape); !sane)
    return refused(fmt::format("{}: {}", operand, sane.error().message));
  if (tensor.storage == Storage::texture3d && tensor.shape.size() > kMaxTextureRank) {
    return refused(fmt::format("{} of shape {} has rank {}, and a texture holds rank {}", operand,
                               to_text(tensor.shape), tensor.shape.size(), kMaxTextureRank),
                   "put it into a buffer");
  }
  constexpr int64_t kMost = std::numeric_limits<uint32_t>::max();
  if (elements_of(tensor) <= kMost) return std::monostate{};
  return refused(fmt::format("{} of shape {} takes {} elements as {}, and kernels count at most {}", operand,
                             to_text(tensor.shape), elements_of(tensor), name(tensor.layout), kMost),
                 "split the tensor");
}

Done check_representation(const TensorInfo& operand, const TensorDesc& tensor) {
  if (!can_lie(operand, tensor.storage, tensor.layout)) {
    std::vector<std::string_view> possible;
    for (const LayoutInfo& row : kLayouts) {
      if (can_lie(operand, row.storage, row.layout)) possible.push_back(row.name);
    }
    return refused(fmt::format("{} is {} in a {}, and can be {}", operand.name, name(tensor.layout),
                               name(tensor.storage), fmt::join(possible, ", ")));
  }
  return check_size(operand.name, tensor);
}

}  // namespace qgen
