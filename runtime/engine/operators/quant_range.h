// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The integer range that an operator's quant_min and quant_max define.
#pragma once

#include <optional>

#include "runtime/engine/library/error.h"
#include "runtime/engine/tensor/quant_params.h"

namespace qgen {

// Error: an empty range.
Expected<IntegerRange> checked_range(int64_t min, int64_t max);
// A missing bound is that of `dtype`, an integer type. Errors: an empty range, or one that exceeds the dtype's.
Expected<IntegerRange> checked_range(DType dtype, std::optional<int64_t> min, std::optional<int64_t> max);

}  // namespace qgen
