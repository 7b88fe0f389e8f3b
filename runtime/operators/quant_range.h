// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The range of integers that an operator's attributes say.
#pragma once

#include <optional>

#include "runtime/library/error.h"
#include "runtime/tensor/quant_params.h"

namespace qgen {

// Without a bound that of `dtype`, which holds integers. Errors: a range without integers, or past those of the dtype.
Expected<IntegerRange> checked_range(DType dtype, std::optional<int64_t> min, std::optional<int64_t> max);

}  // namespace qgen
