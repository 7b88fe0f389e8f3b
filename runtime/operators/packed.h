// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Tensors of bytes between the packed layouts of docs/layouts.md, and between them and plain order.
//
//   auto rows = q8ta_clone(context, tiles, Layout::packed_4w);
//
// Any rank, any sides. Both sides are buffers of i8 or u8 with fewer than 2^32 elements.
#pragma once

#include "runtime/operators/call.h"

namespace qgen {

// The same bytes in another layout; padding becomes 0.
Expected<Call> q8ta_clone_call(const TensorDesc& input, Layout output);
Expected<DeviceTensor> q8ta_clone(Context& context, const DeviceTensor& input, Layout output);

}  // namespace qgen
