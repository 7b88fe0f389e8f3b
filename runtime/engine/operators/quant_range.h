// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The integer range that an operator's quant_min and quant_max define, and the problem fields of
// templates/lib/qparams.glsl for it: the numbers of its formulas that depend on no data, each rounded once, as
// docs/affine.md defines.
#pragma once

#include <limits>
#include <optional>

#include "qparams_fields.h"
#include "runtime/engine/library/error.h"
#include "runtime/engine/tensor/quant_params.h"

namespace qgen {

// Error: an empty range.
Expected<IntegerRange> checked_range(int64_t min, int64_t max);
// A missing bound is that of `dtype`, an integer type. Errors: an empty range, or one that exceeds the dtype's.
Expected<IntegerRange> checked_range(DType dtype, std::optional<int64_t> min, std::optional<int64_t> max);

// eps, unless one is given: the smallest normal of the input's dtype.
constexpr float least_scale(DType input) { return input == DType::f16 ? 0x1p-14f : std::numeric_limits<float>::min(); }

// The fields of the fragment specs/lib/qparams.yaml, for a range of at most 2^32 integers.
inline generated::fields::Qparams qparams_fields(generated::words::MappingType mapping, IntegerRange range, float eps) {
  const auto length = static_cast<float>(range.max - range.min);
  return {.mapping = mapping,
          .range = length,
          .half_range = length / 2,
          .quant_min_real = static_cast<float>(range.min),
          .quant_max_real = static_cast<float>(range.max),
          .eps = eps,
          .quant_min = static_cast<int32_t>(range.min),
          .quant_max = static_cast<int32_t>(range.max),
          .symmetric_zero_point = static_cast<int32_t>((range.max + range.min + 1) / 2)};
}

}  // namespace qgen
