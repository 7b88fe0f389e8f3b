// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Checks of an operand's storage, layout, dtype and size. Errors have the given and the possible
// values.
#pragma once

#include "runtime/engine/calls/call.h"
#include "runtime/engine/library/signature_info.h"

namespace qgen {

// `given` is one of `dtypes`, a mask.
Done check_dtype(std::string_view operand, DType given, uint32_t dtypes);
std::vector<std::string_view> names_in(uint32_t dtypes);  // of a mask

// Sound, and with elements (padding too) that kernels can number with 32 bits; in a texture of rank 4 or less.
Done check_size(std::string_view operand, const TensorDesc& tensor);
// Whether the operand's row has the storage and the layout.
bool can_lie(const TensorInfo& operand, Storage storage, Layout layout);
// Both.
Done check_representation(const TensorInfo& info, const TensorDesc& tensor);

}  // namespace qgen
