// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/planner/representation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/library/integer.h"

namespace qgen::planner {
namespace {

constexpr bool has_rows_of_layout() {
  return info(representation(Layout::strided)).layout == "strided" &&
         info(representation(Layout::width_packed)).layout == "width_packed" &&
         info(representation(Layout::height_packed)).layout == "height_packed" &&
         info(representation(Layout::channels_packed)).layout == "channels_packed";
}
static_assert(has_rows_of_layout(), "the words of Layout stand first in kRepresentations");
static_assert(kRepresentations.size() <= 16, "plan() keeps rows in the bits of a mask and their sets in tables");

// Batch, channels, height, width; missing outer dimensions are 1, all beyond the fourth fold into the batch.
struct Sides {
  Integer batch = 1;
  std::array<Integer, 3> of{1, 1, 1};  // by Dim

  explicit Sides(const Shape& shape) {
    for (size_t from_inner = 0; from_inner < shape.size(); ++from_inner) {
      const int64_t side = shape[shape.size() - 1 - from_inner];
      if (from_inner < of.size()) {
        of[from_inner] = side;
      } else {
        batch = batch * side;
      }
    }
  }
  Integer& operator[](Dim dim) { return of[static_cast<size_t>(dim)]; }
};

// A plan asks for this a hundred times a tensor, mostly of blocks of one, and dividing takes long.
Integer padded(Integer side, uint8_t block) { return block == 1 ? side : ceil_div(side, block) * block; }

}  // namespace

std::string name(Representation r) { return fmt::format("{}.{}", name(info(r).storage), info(r).layout); }

std::optional<Representation> find_representation(std::string_view text) {
  for (Representation r : any_representation()) {
    if (name(r) == text) return r;
  }
  return std::nullopt;
}

uint8_t rank(Representation r, Storage preferred) {
  const RepresentationSet first = any_of(preferred);
  const auto before = [&](RepresentationSet set) {
    return (set & RepresentationSet::from_bits((1u << r.row) - 1)).size();
  };
  const int place = first.contains(r) ? before(first) : first.size() + before(any_representation() - first);
  return static_cast<uint8_t>(place);
}

std::string to_text(RepresentationSet set) {
  if (set == any_representation()) return "any representation";
  std::vector<std::string> names;
  for (Representation r : set) names.push_back(name(r));
  return names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, " or "));
}

RepresentationSet any_of(Storage storage) {
  RepresentationSet set;
  for (Representation r : any_representation()) {
    if (info(r).storage == storage) set = set | r;
  }
  return set;
}

RepresentationSet any_packed_int8() {
  RepresentationSet set;
  for (Representation r : any_representation()) {
    if (info(r).int8_only) set = set | r;
  }
  return set;
}

DeviceModel device_model(const DeviceNumbers& numbers) {
  const int64_t extent = numbers.max_image_extent;
  return {.image_extent = {extent, extent, extent},
          .buffer_bytes = numbers.max_storage_buffer_bytes,
          .bytes_per_us = numbers.bytes_per_us,
          .launch_us = numbers.launch_us};
}

int64_t stored_bytes(const Shape& shape, DType dtype, Representation r) {
  const auto& row = info(r);
  Sides sides(shape);
  sides[row.packed] = padded(sides[row.packed], row.block);
  sides[row.outer] = padded(sides[row.outer], row.outer_block);
  return (sides.batch * sides.of[0] * sides.of[1] * sides.of[2] * bytes(dtype)).value;
}

std::array<int64_t, 3> image_extents(const Shape& shape, Representation r) {
  const auto& row = info(r);
  Sides sides(shape);
  sides[row.packed] = ceil_div(sides[row.packed], row.block);
  return {sides[Dim::width].value, sides[Dim::height].value, (sides[Dim::channels] * sides.batch).value};
}

std::string refusal(const Shape& shape, DType dtype, Representation r, const DeviceModel& device) {
  const auto& row = info(r);
  if (row.int8_only && bytes(dtype) != 1) return fmt::format("holds 8-bit integers, not {}", name(dtype));
  if (row.storage == Storage::buffer) {
    const int64_t size = stored_bytes(shape, dtype, r);
    if (size <= device.buffer_bytes) return "";
    return fmt::format("{} bytes pass the device's {} bytes a buffer", size, device.buffer_bytes);
  }
  if (shape.size() > 4) return fmt::format("rank {} is above the four dimensions of a texture", shape.size());
  const auto extents = image_extents(shape, r);
  constexpr std::array kAxes{"width", "height", "depth"};
  for (size_t axis = 0; axis < 3; ++axis) {
    if (extents[axis] <= device.image_extent[axis]) continue;
    return fmt::format("{} texels pass the device's image {} of {}", extents[axis], kAxes[axis],
                       device.image_extent[axis]);
  }
  return "";
}

}  // namespace qgen::planner
