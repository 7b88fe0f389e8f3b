// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Representations and dtypes by short names, for tables.
#pragma once

#include "runtime/models/planner/representation.h"

namespace qgen::planner::testing {

using enum DType;

constexpr Representation form(Layout layout) { return *Representation::of(layout); }

constexpr Representation kStrided = form(Layout::strided);
constexpr Representation kWidth = form(Layout::width_packed);
constexpr Representation kHeight = form(Layout::height_packed);
constexpr Representation kChannels = form(Layout::channels_packed);
constexpr Representation k4W = form(Layout::packed_4w);
constexpr Representation k4C = form(Layout::packed_4c);
constexpr Representation k4W4C = form(Layout::packed_4w4c);
constexpr Representation k4H4W = form(Layout::packed_4h4w);
constexpr Representation k4C1W = form(Layout::packed_4c1w);

constexpr RepresentationSet kAny = any_representation();
inline const RepresentationSet kTextures = {kWidth, kHeight, kChannels};
inline const RepresentationSet kBuffers = kAny - kTextures;
inline const RepresentationSet kWords = kBuffers - kStrided;  // packed int8

}  // namespace qgen::planner::testing
