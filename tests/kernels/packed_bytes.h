// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Compares all bytes of packed tensors, padding included.
#pragma once

#include <algorithm>
#include <vector>

#include "runtime/engine/tensor/packed_layout.h"
#include "runtime/workshop/measure/request_formats.h"
#include "vocabulary/layouts.h"

namespace qgen::testing {

// Packed on the host, with a byte of our own in the padding.
inline std::vector<std::byte> packed_with(const HostTensor& tensor, const PackedDimInfo& dims, std::byte padding) {
  const auto size = static_cast<size_t>(packed_layout(tensor.shape, dims).elements());
  HostTensor ones = tensor;
  std::ranges::fill(ones.data, std::byte{1});
  std::vector<std::byte> packed(size), is_element(size);
  pack_elements(tensor, dims, packed);
  pack_elements(ones, dims, is_element);
  for (size_t i = 0; i < size; ++i) {
    if (is_element[i] == std::byte{0}) packed[i] = padding;
  }
  return packed;
}

// Those that some kernel takes at an operand.
inline std::vector<LayoutInfo> packed_layouts_of(const OperatorInfo& op, size_t operand) {
  std::vector<LayoutInfo> layouts;
  for (const Representation& place : measure::representations_of(op, operand)) {
    if (info(place.layout).is_packed_bytes()) layouts.push_back(info(place.layout));
  }
  return layouts;
}

}  // namespace qgen::testing
