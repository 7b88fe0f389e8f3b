// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Any bytes as an .npy file: refused in words, or a tensor that keeps its promises and comes back from being written.
#include <cstdint>
#include <cstdlib>

#include "runtime/engine/tensor/npy.h"

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto tensor = qgen::read_npy(std::as_bytes(std::span(data, size)));
  if (!tensor) {
    check(!tensor.error().message.empty());
    return 0;
  }
  check(static_cast<bool>(qgen::check_shape(tensor->shape)));
  check(static_cast<int64_t>(tensor->data.size()) == qgen::element_count(tensor->shape) * qgen::bytes(tensor->dtype));
  const auto again = qgen::read_npy(qgen::write_npy(*tensor));
  check(again && again->dtype == tensor->dtype && again->shape == tensor->shape && again->data == tensor->data);
  return 0;
}
