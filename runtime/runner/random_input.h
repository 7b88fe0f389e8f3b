// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Inputs made up for timing: "4096x4096:f32" is uniform in -1 to 1, "4096x4096:i8" all integers alike, "1:f32=0.05" one
// value, "64x64:i8=-8..7" all that lie between, alike. A number that the dtype holds only as another one (300 as i8,
// 1e40 as f32) is refused; nan and inf are numbers of the real dtypes.
#pragma once

#include <string_view>

#include "runtime/tensor/tensor.h"

namespace qgen::runner {

Expected<HostTensor> made_up_input(std::string_view text);
// As a text without '=' has it.
Expected<HostTensor> made_up_input(DType dtype, const Shape& shape);

}  // namespace qgen::runner
