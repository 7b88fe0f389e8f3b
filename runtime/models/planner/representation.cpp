// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Everything here is computed from a layout's row; a representation has no other facts.
#include "runtime/models/planner/representation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "runtime/engine/tensor/packed_layout.h"
#include "vocabulary/integer.h"

namespace qgen::planner {
namespace {

// A plan calls this a hundred times for each tensor, mostly for blocks of one, and division takes long.
Integer padded(Integer side, uint8_t block) { return block == 1 ? side : ceil_div(side, block) * block; }

}  // namespace

std::string name(Representation r) { return fmt::format("{}.{}", name(info(r).storage), info(r).name); }

int rank(Representation r) {
  const auto place = [](Representation one) { return std::pair(info(one).storage != Storage::buffer, one.row()); };
  return set_of([&](Representation other) { return place(other) < place(r); }).size();
}

std::string to_text(RepresentationSet set) {
  if (set == any_representation()) return "any representation";
  std::vector<std::string> names;
  for (Representation r : set) names.push_back(name(r));
  return names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, " or "));
}

DeviceModel device_model(const DeviceNumbers& numbers) {
  const int64_t extent = numbers.max_image_extent;
  return {.image_extent = {extent, extent, extent}, .buffer_bytes = numbers.max_storage_buffer_bytes};
}

int64_t stored_bytes(const Shape& shape, DType dtype, Representation r) {
  const Sides sides = sides_of(shape);
  Integer count = bytes(dtype);
  for (size_t d = 0; d < kDims; ++d) count = count * padded(sides[d], info(r).dims.block_of(static_cast<Dim>(d)));
  return count.value;
}

std::array<int64_t, 3> image_extents(const Shape& shape, Representation r) {
  Sides sides = sides_of(shape);
  int64_t& packed = sides[index(info(r).dims.packed)];
  packed = ceil_div(packed, info(r).dims.block).value;
  return {sides[index(Dim::width)], sides[index(Dim::height)],
          (Integer(sides[index(Dim::channels)]) * sides[index(Dim::batch)]).value};
}

std::string refusal(const Shape& shape, DType dtype, Representation r, const DeviceModel& device) {
  const auto& row = info(r);
  if (row.is_packed_bytes() && bytes(dtype) != 1) return fmt::format("holds 8-bit integers, not {}", name(dtype));
  if (row.storage == Storage::buffer) {
    const int64_t size = stored_bytes(shape, dtype, r);
    if (size <= device.buffer_bytes) return "";
    return fmt::format("{} bytes exceed the device's limit of {} bytes per buffer", size, device.buffer_bytes);
  }
  if (shape.size() > 4) return fmt::format("rank {} is above the four dimensions of a texture", shape.size());
  const auto extents = image_extents(shape, r);
  constexpr std::array kAxes{"width", "height", "depth"};
  for (size_t axis = 0; axis < 3; ++axis) {
    if (extents[axis] <= device.image_extent[axis]) continue;
    return fmt::format("{0} texels exceed the device's limit of {2} for the image {1}", extents[axis], kAxes[axis],
                       device.image_extent[axis]);
  }
  return "";
}

}  // namespace qgen::planner
