// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Tensors for tests, made from a seed: the same on every machine.
#pragma once

#include <initializer_list>
#include <random>

#include "runtime/engine/tensor/tensor.h"

namespace qgen::testing {

// Values of `dtype`, each rounded to it; as many as the shape has elements, from the start again where they are fewer.
inline HostTensor tensor_of(DType dtype, const Shape& shape, std::span<const double> values) {
  HostTensor tensor = zeros(dtype, shape);
  for (int64_t i = 0; i < element_count(shape); ++i) {
    set_element(tensor, i, values[static_cast<size_t>(i) % values.size()]);
  }
  return tensor;
}
inline HostTensor tensor_of(DType dtype, const Shape& shape, std::initializer_list<double> values) {
  return tensor_of(dtype, shape, std::span(values.begin(), values.size()));
}

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}

  // std::uniform_*_distribution differ among libraries; the engine does not.
  double real(double low, double high) { return low + (high - low) * (static_cast<double>(engine_()) / 4294967296.0); }
  int64_t integer(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(static_cast<uint64_t>(engine_()) % static_cast<uint64_t>(high - low + 1));
  }
  HostTensor reals(DType dtype, const Shape& shape, double low, double high) {
    HostTensor tensor = zeros(dtype, shape);
    for (int64_t i = 0; i < element_count(shape); ++i) set_element(tensor, i, real(low, high));
    return tensor;
  }
  HostTensor integers(DType dtype, const Shape& shape, int64_t low, int64_t high) {
    HostTensor tensor = zeros(dtype, shape);
    for (int64_t i = 0; i < element_count(shape); ++i) set_element(tensor, i, static_cast<double>(integer(low, high)));
    return tensor;
  }

 private:
  std::mt19937 engine_;
};

}  // namespace qgen::testing
