// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The fields of the fragments walked_axes and boxes: how invocations divide the tiles of a packed tensor.
#pragma once

#include "boxes_fields.h"
#include "runtime/engine/operators/packed_walk.h"
#include "walked_axes_fields.h"

namespace qgen {

inline generated::fields::WalkedAxes axes_fields(const Walk& walk) { return {.axes = walk.axes}; }
inline generated::fields::Boxes boxes_fields(const Walk& walk) {
  return {.boxes = walk.boxes, .box_shifts = walk.box_shifts, .dividers = walk.dividers};
}

}  // namespace qgen
