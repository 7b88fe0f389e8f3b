// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The limits of a file's size and of the data that it names.
#pragma once

#include <cstddef>

namespace qgen::onnx {

struct ReadLimits {
  size_t file_bytes = size_t{1} << 31;  // protobuf reads no more
  size_t nodes = 200'000;
  size_t data_bytes = size_t{1} << 36;  // of all initializers, including those in separate files
};

}  // namespace qgen::onnx
