// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What the operators on packed layouts refuse. Errors start with the operand's name.
#pragma once

#include <span>
#include <string_view>

#include "runtime/operators/call.h"

namespace qgen {

// A tensor whose elements kernels can count in 32 bits, of one of `dtypes`.
Done check_tensor(std::string_view operand, const TensorDesc& tensor, std::span<const DType> dtypes);
// The same in a buffer, plain or packed.
Done check_packed(std::string_view operand, const TensorDesc& tensor, std::span<const DType> dtypes);

}  // namespace qgen
