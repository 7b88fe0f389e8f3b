// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Whether one tensor may be written in the other's bytes, where a kernel has leave (OperandInfo::in_place): each
// element then lies where the other's does.
#pragma once

#include "runtime/dispatch/device_tensor.h"

namespace qgen {

inline bool lie_alike(const DeviceTensor& a, const DeviceTensor& b) {
  return a.storage() == Storage::buffer && b.storage() == Storage::buffer && a.dtype() == b.dtype() &&
         a.shape() == b.shape() && a.layout() == b.layout();
}

}  // namespace qgen
