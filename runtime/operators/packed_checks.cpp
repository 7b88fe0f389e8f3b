// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/operators/packed_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "runtime/library/layout_table.h"
#include "runtime/tensor/packed_layout.h"

namespace qgen {
namespace {

constexpr size_t kMaxTextureRank = 4;

// Padding too: a kernel numbers the words of a layout.
Done check_size(std::string_view operand, const TensorDesc& tensor) {
  constexpr int64_t kMost = std::numeric_limits<uint32_t>::max();
  const int64_t elements = tensor.storage == Storage::buffer
                               ? packed_layout(tensor.shape, info(tensor.layout).dims).elements()
                               : element_count(tensor.shape);
  if (elements <= kMost) return std::monostate{};
  return refused(fmt::format("{} of shape {} takes {} elements in {}, and kernels count to {}", operand,
                             to_text(tensor.shape), elements, name(tensor.layout), kMost),
                 "split the tensor");
}

}  // namespace

Done check_tensor(std::string_view operand, const TensorDesc& tensor, std::span<const DType> dtypes) {
  if (std::ranges::find(dtypes, tensor.dtype) == dtypes.end()) {
    std::vector<std::string_view> names;
    for (const DType dtype : dtypes) names.push_back(name(dtype));
    return refused(fmt::format("{} is {}, and can be {}", operand, name(tensor.dtype), fmt::join(names, " or ")));
  }
  if (Done sane = check_shape(tensor.shape); !sane) return sane;
  if (info(tensor.layout).storage != tensor.storage) {
    return refused(fmt::format("{} is {} in a {}, and that is a layout of a {}", operand, name(tensor.layout),
                               name(tensor.storage), name(info(tensor.layout).storage)));
  }
  if (tensor.storage == Storage::texture3d && tensor.shape.size() > kMaxTextureRank) {
    return refused(fmt::format("{} of shape {} has rank {}, and a texture holds rank {}", operand,
                               to_text(tensor.shape), tensor.shape.size(), kMaxTextureRank),
                   "put it into a buffer");
  }
  return check_size(operand, tensor);
}

Done check_packed(std::string_view operand, const TensorDesc& tensor, std::span<const DType> dtypes) {
  const bool is_known = tensor.layout == Layout::strided || info(tensor.layout).is_packed_bytes();
  if (tensor.storage == Storage::buffer && is_known) return check_tensor(operand, tensor, dtypes);
  std::vector<std::string_view> layouts = {name(Layout::strided)};
  for (const LayoutInfo& row : kLayouts) {
    if (row.is_packed_bytes()) layouts.push_back(row.name);
  }
  return refused(
      fmt::format("{} is {}, and can be {} in a buffer", operand, name(tensor.layout), fmt::join(layouts, ", ")));
}

}  // namespace qgen
