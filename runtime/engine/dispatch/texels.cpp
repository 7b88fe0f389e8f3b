// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/dispatch/texels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "vocabulary/layouts.h"

namespace qgen::dispatch {
namespace {

constexpr int64_t kLanes = 4;

struct Sides {
  int64_t n = 1, c = 1, h = 1, w = 1;
};

Sides sides_of(const Shape& shape) {
  Sides sides;
  int64_t* const from_innermost[] = {&sides.w, &sides.h, &sides.c, &sides.n};
  for (size_t i = 0; i < shape.size(); ++i) *from_innermost[i] = shape[shape.size() - 1 - i];
  return sides;
}

constexpr int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }

// The index of element (n, c, h, w): its texel's index, times four, plus its lane.
class Placement {
 public:
  Placement(const Sides& sides, Layout layout) : packed_(info(layout).dims.packed) {
    const int64_t w = sides.w, h = sides.h, c = sides.c;
    row_ = packed_ == Dim::width ? ceil_div(w, kLanes) : w;
    slice_ = row_ * (packed_ == Dim::height ? ceil_div(h, kLanes) : h);
    batch_ = slice_ * (packed_ == Dim::channels ? ceil_div(c, kLanes) : c);
  }

  int64_t operator()(int64_t n, int64_t c, int64_t h, int64_t w) const {
    switch (packed_) {
      case Dim::width: return at(n, c, h, w / kLanes, w % kLanes);
      case Dim::height: return at(n, c, h / kLanes, w, h % kLanes);
      case Dim::channels: return at(n, c / kLanes, h, w, c % kLanes);
      case Dim::batch: break;
    }
    return 0;
  }

 private:
  int64_t at(int64_t n, int64_t z, int64_t y, int64_t x, int64_t lane) const {
    return (n * batch_ + z * slice_ + y * row_ + x) * kLanes + lane;
  }

  Dim packed_;
  int64_t row_, slice_, batch_;  // in texels
};

// Calls visit(index of the element in row-major order, its place among the texels' lanes) for every element.
template <typename Visit>
void for_each_element(const Shape& shape, Layout layout, Visit visit) {
  if (element_count(shape) == 0) return;  // its other sides may be long
  const Sides sides = sides_of(shape);
  const Placement place(sides, layout);
  int64_t index = 0;
  for (int64_t n = 0; n < sides.n; ++n) {
    for (int64_t c = 0; c < sides.c; ++c) {
      for (int64_t h = 0; h < sides.h; ++h) {
        for (int64_t w = 0; w < sides.w; ++w) visit(index++, place(n, c, h, w));
      }
    }
  }
}

// Calls copy with a constant element size, so that each memcpy becomes one move.
template <typename Copy>
void with_element_bytes(DType dtype, Copy copy) {
  switch (bytes(dtype)) {
    case 1: return copy(std::integral_constant<size_t, 1>());
    case 2: return copy(std::integral_constant<size_t, 2>());
    case 4: return copy(std::integral_constant<size_t, 4>());
  }
}

}  // namespace

Expected<Extent> texture_extent(DType dtype, const Shape& shape, Layout layout) {
  if (dtype == DType::bf16) {
    return Error{Error::Kind::unsupported, "bf16 has no image format, so it cannot be held in a texture",
                 "keep bf16 tensors in buffers"};
  }
  if (shape.size() > 4) {
    return Error{Error::Kind::unsupported,
                 fmt::format("shape {} has rank {}, and textures hold ranks up to 4", to_text(shape), shape.size()),
                 "keep it in a buffer, or merge some of its dimensions"};
  }
  if (info(layout).storage != Storage::texture3d) {
    return Error{Error::Kind::invalid_argument, fmt::format("a texture cannot have the layout {}", name(layout)),
                 "name width_packed, height_packed or channels_packed"};
  }
  if (element_count(shape) == 0) return Extent{1, 1, 1};
  const Sides s = sides_of(shape);
  const auto side = [&](int64_t elements, Dim dim) {
    return static_cast<uint64_t>(dim == info(layout).dims.packed ? ceil_div(elements, kLanes) : elements);
  };
  return Extent{side(s.w, Dim::width), side(s.h, Dim::height), static_cast<uint64_t>(s.n) * side(s.c, Dim::channels)};
}

void pack_texels(const HostTensor& from, Layout layout, std::span<std::byte> texels) {
  std::fill(texels.begin(), texels.end(), std::byte{0});
  with_element_bytes(from.dtype, [&](auto size) {
    for_each_element(from.shape, layout, [&](int64_t index, int64_t place) {
      std::memcpy(texels.data() + place * size(), from.data.data() + index * size(), size());
    });
  });
}

void unpack_texels(std::span<const std::byte> texels, Layout layout, HostTensor& to) {
  with_element_bytes(to.dtype, [&](auto size) {
    for_each_element(to.shape, layout, [&](int64_t index, int64_t place) {
      std::memcpy(to.data.data() + index * size(), texels.data() + place * size(), size());
    });
  });
}

}  // namespace qgen::dispatch
