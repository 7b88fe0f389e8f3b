// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A representation of a tensor: a storage and a layout, for tensors of any shape. It is a row of
// vocabulary/layout_rows.inc that is not a weight form. The planner has no table of layouts, so a plan may use a new
// layout as soon as it has a row there.
//
//   const Representation tiles = *Representation::of(Layout::packed_4w4c);
//   info(tiles).dims.block                 // 4 channels in a word; and outer_block: 4 columns of words in a block
//   stored_bytes({1, 6, 3, 5}, i8, tiles)  // 192: padded to 1 x 8 x 3 x 8
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/engine/tensor/tensor.h"
#include "vocabulary/layouts.h"

namespace qgen::planner {

constexpr size_t kRepresentationCount = kTensorLayoutCount;
static_assert(kRepresentationCount <= 16, "plan() keeps rows in the bits of a mask and their sets in tables");

class Representation {
 public:
  constexpr Representation() = default;  // buffer.strided
  // None for a layout of weights.
  static constexpr std::optional<Representation> of(Layout layout) {
    return holds_tensors(layout) ? std::optional(Representation(layout)) : std::nullopt;
  }

  constexpr Layout layout() const { return layout_; }
  // Its place in the order of the table, below kRepresentationCount.
  constexpr size_t row() const { return static_cast<size_t>(layout_); }
  friend constexpr auto operator<=>(const Representation&, const Representation&) = default;

 private:
  friend class RepresentationSet;
  constexpr explicit Representation(Layout layout) : layout_(layout) {}

  Layout layout_ = Layout::strided;
};

constexpr const LayoutInfo& info(Representation r) { return qgen::info(r.layout()); }
std::string name(Representation r);  // "buffer.packed_4w4c"
// Its place in the table with the buffers first.
int rank(Representation r);

// A set of rows. Iterates in the order of the table.
class RepresentationSet {
 public:
  constexpr RepresentationSet() = default;
  constexpr RepresentationSet(Representation r) : bits_(1u << r.row()) {}  // NOLINT(google-explicit-constructor)
  constexpr RepresentationSet(std::initializer_list<Representation> list) {
    for (Representation r : list) bits_ |= 1u << r.row();
  }
  // Bits that are no row's are dropped.
  static constexpr RepresentationSet from_bits(uint32_t bits) {
    RepresentationSet set;
    set.bits_ = bits & ((1u << kRepresentationCount) - 1);
    return set;
  }

  constexpr uint32_t bits() const { return bits_; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr int size() const { return std::popcount(bits_); }
  constexpr bool contains(Representation r) const { return (bits_ >> r.row() & 1) != 0; }
  constexpr Representation first() const { return *begin(); }                         // of a set that is not empty
  friend constexpr auto operator<=>(RepresentationSet, RepresentationSet) = default;  // for use as a key
  friend constexpr RepresentationSet operator&(RepresentationSet a, RepresentationSet b) {
    return from_bits(a.bits_ & b.bits_);
  }
  friend constexpr RepresentationSet operator|(RepresentationSet a, RepresentationSet b) {
    return from_bits(a.bits_ | b.bits_);
  }
  friend constexpr RepresentationSet operator-(RepresentationSet a, RepresentationSet b) {
    return from_bits(a.bits_ & ~b.bits_);
  }

  class Iterator {
   public:
    constexpr explicit Iterator(uint32_t bits) : bits_(bits) {}
    constexpr Representation operator*() const {
      assert(bits_ != 0 && "there is a representation here");
      return Representation(static_cast<Layout>(std::countr_zero(bits_)));
    }
    constexpr Iterator& operator++() {
      bits_ &= bits_ - 1;
      return *this;
    }
    friend constexpr bool operator==(Iterator, Iterator) = default;

   private:
    uint32_t bits_;
  };
  constexpr Iterator begin() const { return Iterator(bits_); }
  constexpr Iterator end() const { return Iterator(0); }

 private:
  uint32_t bits_ = 0;
};

std::string to_text(RepresentationSet set);  // "buffer.packed_4w or buffer.packed_4c"; "nothing"

constexpr RepresentationSet any_representation() { return RepresentationSet::from_bits(~0u); }

// set_of([](Representation r) { return info(r).is_packed_bytes(); })
template <typename Predicate>
RepresentationSet set_of(const Predicate& is_member) {
  RepresentationSet set;
  for (Representation r : any_representation()) {
    if (is_member(r)) set = set | r;
  }
  return set;
}

// A device's limits: the only ones that planning needs.
struct DeviceModel {
  std::array<int64_t, 3> image_extent{16384, 16384, 2048};  // width, height, depth of a 3-D image
  int64_t buffer_bytes = int64_t{1} << 27;
  friend bool operator==(const DeviceModel&, const DeviceModel&) = default;
};
DeviceModel device_model(const DeviceNumbers& numbers);

// With the padding that the layout's blocks bring. Saturates.
int64_t stored_bytes(const Shape& shape, DType dtype, Representation r);
// Texels along x, y and z: width, height, and channels of all batches, four packed elements a texel. Rank <= 4.
std::array<int64_t, 3> image_extents(const Shape& shape, Representation r);

// Why a device cannot hold such a tensor, or empty if it can.
std::string refusal(const Shape& shape, DType dtype, Representation r, const DeviceModel& device);

}  // namespace qgen::planner
