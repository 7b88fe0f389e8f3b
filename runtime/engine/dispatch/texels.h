// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The texels of a dense tensor in a 3-D image, four elements each, and the conversion both ways on the host.
//
//   shape [N, C, H, W], with leading sides of 1 where the rank is less than 4; lane i of a texel is element 4 * pos + i
//
//   width_packed      x = ceil(W / 4)   y = H             z = n * C + c
//   height_packed     x = W             y = ceil(H / 4)   z = n * C + c
//   channels_packed   x = W             y = H             z = n * ceil(C / 4) + c / 4
//
// Lanes past the packed side are padding: zero after pack_texels(), unread by unpack_texels().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/engine/library/error.h"
#include "runtime/engine/tensor/tensor.h"

namespace qgen::dispatch {

using Extent = std::array<uint64_t, 3>;  // texels along x, y, z; never 0: an empty tensor takes one texel

// Errors: a rank past 4, a layout that is no texture's, a dtype without an image format.
Expected<Extent> texture_extent(DType dtype, const Shape& shape, Layout layout);

// `texels` holds extent[0] * extent[1] * extent[2] * 4 elements, x fastest.
void pack_texels(const HostTensor& from, Layout layout, std::span<std::byte> texels);
void unpack_texels(std::span<const std::byte> texels, Layout layout, HostTensor& to);

}  // namespace qgen::dispatch
