// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Shapes, strides and host tensors. Dimensions count from the outermost, as in NumPy; rank 0 to 8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/library/error.h"
#include "runtime/library/kernel_info.h"

namespace qgen {

constexpr size_t kMaxRank = 8;

using Shape = std::vector<int64_t>;
using Strides = std::vector<int64_t>;  // in elements

int64_t element_count(const Shape& shape);     // 1 of the empty shape; 0 if a side is 0
Strides row_major_strides(const Shape& shape);
bool is_row_major(const Shape& shape, const Strides& strides);  // sides of 1 may have any stride
std::string to_text(const Shape& shape);       // "[2, 3, 4]"

// A dense row-major array in host memory.
struct HostTensor {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<std::byte> data;

  template <typename T>
  std::span<T> as() { return {reinterpret_cast<T*>(data.data()), data.size() / sizeof(T)}; }
  template <typename T>
  std::span<const T> as() const { return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)}; }
};
HostTensor zeros(DType dtype, const Shape& shape);

// One element as a double, and a double as an element (rounded half to even to the dtype, saturating; integers too).
double element(const HostTensor& tensor, int64_t index);
void set_element(HostTensor& tensor, int64_t index, double value);

float f16_to_f32(uint16_t half);
uint16_t f32_to_f16(float value);  // half to even
float bf16_to_f32(uint16_t value);
uint16_t f32_to_bf16(float value);  // half to even

}  // namespace qgen
