// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The problem fields of templates/lib/qparams.glsl: the numbers of its formulas that depend on no data, each rounded
// once, as docs/affine.md defines.
#pragma once

#include <limits>

#include "runtime/engine/tensor/quant_params.h"

namespace qgen {

// eps, unless one is given: the smallest normal of the input's dtype.
constexpr float least_scale(DType input) { return input == DType::f16 ? 0x1p-14f : std::numeric_limits<float>::min(); }

// Of a range of at most 2^32 integers.
struct Mapping {
  float range, half_range, quant_min_real, quant_max_real;
  int32_t quant_min, quant_max, symmetric_zero_point;
};
constexpr Mapping mapping_of(IntegerRange range) {
  const auto length = static_cast<float>(range.max - range.min);
  return {length,
          length / 2,
          static_cast<float>(range.min),
          static_cast<float>(range.max),
          static_cast<int32_t>(range.min),
          static_cast<int32_t>(range.max),
          static_cast<int32_t>((range.max + range.min + 1) / 2)};
}

}  // namespace qgen
