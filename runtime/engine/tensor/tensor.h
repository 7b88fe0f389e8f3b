// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Shapes, strides and host tensors. Dimensions count from the outermost, as in NumPy; rank 0 to 8.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/library/error.h"
#include "runtime/engine/library/kernel_info.h"

namespace qgen {

constexpr size_t kMaxRank = 8;

using Shape = std::vector<int64_t>;
using Strides = std::vector<int64_t>;  // in elements

// Everything below expects shapes for which this holds: rank at most 8, no negative dimension, and the product of the
// dimensions that are not 0 below 2^60 (so that no stride and no size in bytes overflows).
Done check_shape(const Shape& shape);

// 1 of the empty shape; 0 if a side is 0. It and the strides saturate, so that a message may mention a shape that is
// not checked yet.
int64_t element_count(const Shape& shape);
Strides row_major_strides(const Shape& shape);
// Whether the strides address the shape's elements in row-major order without gaps. Sides of 1 may have any stride, and
// a tensor without elements any strides.
bool is_row_major(const Shape& shape, const Strides& strides);
std::string to_text(const Shape& shape);  // "[2, 3, 4]"

// A dense row-major array in host memory.
struct HostTensor {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<std::byte> data;

  template <typename T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(data.data()), data.size() / sizeof(T)};
  }
  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)};
  }
};
HostTensor zeros(DType dtype, const Shape& shape);
// The data are as many bytes as dtype and shape take. Every function that takes a HostTensor from outside calls this
// first; code that reads single elements relies on it. `what` begins the sentence: "scale", "input 'x'"; empty: "a host
// tensor".
Done check_host_tensor(const HostTensor& tensor, std::string_view what = {});

// A tensor of the given values; T is the dtype's own C++ type (uint16_t of f16 and bf16).
template <typename T>
HostTensor make_tensor(DType dtype, const Shape& shape, std::span<const T> values) {
  assert(sizeof(T) == static_cast<size_t>(bytes(dtype)) && values.size() == static_cast<size_t>(element_count(shape)));
  const auto raw = std::as_bytes(values);
  return {dtype, shape, std::vector<std::byte>(raw.begin(), raw.end())};
}

// One element as a double, and a double as an element: rounded half to even to the dtype, in one step. Past the range,
// floats become infinite and integers saturate; NaN becomes the integer 0.
double element(const HostTensor& tensor, int64_t index);
void set_element(HostTensor& tensor, int64_t index, double value);

// Exact in the one direction, half to even in the other; NaN stays NaN with the leading bits of its payload.
float f16_to_f32(uint16_t half);
uint16_t f32_to_f16(float value);
float bf16_to_f32(uint16_t value);
uint16_t f32_to_bf16(float value);

}  // namespace qgen
