// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The fields that templates/lib/qparams.glsl reads: the numbers of its formulas that depend on no data, each rounded
// once, as docs/affine.md says.
#pragma once

#include <limits>

#include "runtime/operators/affine.h"

namespace qgen {

// eps, unless one is given: the smallest normal of the input's dtype.
constexpr float least_scale(DType input) { return input == DType::f16 ? 0x1p-14f : std::numeric_limits<float>::min(); }

template <typename Fields>
void fill_mapping(Fields& fields, MappingType mapping, IntegerRange range) {
  fields.mapping = mapping;
  fields.range = static_cast<float>(range.max - range.min);
  fields.half_range = fields.range / 2;
  fields.quant_min_real = static_cast<float>(range.min);
  fields.quant_max_real = static_cast<float>(range.max);
  fields.quant_min = static_cast<int32_t>(range.min);
  fields.quant_max = static_cast<int32_t>(range.max);
  fields.symmetric_zero_point = static_cast<int32_t>((range.max + range.min + 1) / 2);
}

}  // namespace qgen
