// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Random inputs from a text: "4096x4096:f32" is uniform in -1 to 1, "4096x4096:i8" uniform over all integers.
// "1:f32=0.05" has a single value, and "64x64:i8=-8..7" is uniform over this range. A number that the dtype cannot hold
// (300 as i8, 1e40 as f32) is refused; nan and inf are numbers of the floating-point dtypes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/engine/tensor/tensor.h"

namespace qgen::runner {

// A parsed text. random_input() makes the values, which may take gigabytes, so check the shape first.
struct RandomInput {
  DType dtype = DType::f32;
  Shape shape;
  std::string values;  // the text after '='; empty: uniform noise

  HostTensor description() const { return {dtype, shape, {}}; }  // without data
};
Expected<RandomInput> parse_random_input(std::string_view text);

// Errors: it takes more memory than the host has available.
Expected<HostTensor> random_input(const RandomInput& what);
Expected<HostTensor> random_input(std::string_view text);
Expected<HostTensor> random_input(DType dtype, const Shape& shape);  // the same as a text without '='

// Bytes that the system can give to programs without swapping; nullopt: unknown.
std::optional<uint64_t> available_host_bytes();

}  // namespace qgen::runner
