// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Workgroup counts within the device's limits. A one-dimensional grid that is too long is folded:
//
//   70000 groups, limits 65535 x 65535 x 65535   ->   35000 x 2 x 1
//
// A kernel computes its linear index as x + y * num_x + z * num_x * num_y (templates/lib/grid.glsl). It checks its
// bounds, since the folded grid may be a little larger. Grids of more dimensions mean something and are never folded.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/engine/library/error.h"

namespace qgen::dispatch {

// Errors: more groups than the device can number, with both counts.
Expected<std::array<uint32_t, 3>> fold_grid(const std::array<uint64_t, 3>& groups,
                                            const std::array<uint32_t, 3>& limits);

}  // namespace qgen::dispatch
