// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Whether an output may be written over an input, if its kernel allows it (OperandInfo::in_place). Then each element of
// the output must have the offset of the same element of the input.
#pragma once

#include "runtime/engine/dispatch/device_tensor.h"

namespace qgen {

inline bool lie_alike(const DeviceTensor& a, const DeviceTensor& b) {
  return a.storage() == Storage::buffer && b.storage() == Storage::buffer && a.dtype() == b.dtype() &&
         a.shape() == b.shape() && a.layout() == b.layout();
}

}  // namespace qgen
