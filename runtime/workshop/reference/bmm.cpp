// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/reference/bmm.h"

#include <algorithm>
#include <cmath>

#include "runtime/engine/tensor/quant_params.h"
#include "runtime/workshop/reference/float32.h"

namespace qgen::reference {
namespace {

// Coordinates of row-major `index`.
Shape coordinates(const Shape& shape, int64_t index) {
  Shape at(shape.size());
  for (size_t d = shape.size(); d-- > 0; index /= shape[d]) at[d] = index % shape[d];
  return at;
}

// The element of `shape` in the batch of `at`, sides of 1 and missing ones repeated, at the given row and column.
int64_t element_in(const Shape& shape, const Shape& at, int64_t row, int64_t column) {
  int64_t index = 0;
  for (size_t d = 0; d + 2 < shape.size(); ++d) {
    const int64_t c = at[at.size() - shape.size() + d];
    index = index * shape[d] + (shape[d] == 1 ? 0 : c);
  }
  return (index * shape[shape.size() - 2] + row) * shape.back() + column;
}

struct Parameters {
  const FusedOperand& operand;
  Shape block;

  explicit Parameters(const FusedOperand& of) : operand(of), block(*block_of(of.tensor->shape, of.scale->shape)) {}
  int64_t index(int64_t element) const { return param_index(operand.tensor->shape, block, element); }
  float scale(int64_t element) const { return operand.scale->as<float>()[index(element)]; }
  int64_t zero_point(int64_t element) const {
    if (!operand.zero_point) return 0;
    const auto values = operand.zero_point->as<int32_t>();
    return values.size() == 1 ? values[0] : values[index(element)];
  }
};

bool has_one_parameter_along(const FusedOperand& operand, size_t from_last) {
  if (!operand.scale) return false;
  const Shape& shape = operand.scale->shape;
  const bool is_singleton = element_count(shape) == 1;
  return is_singleton || shape[shape.size() - 1 - from_last] == 1;
}

bool is_byte(const FusedOperand& operand) {
  return operand.tensor->dtype == DType::i8 || operand.tensor->dtype == DType::u8;
}

int64_t integer(const HostTensor& tensor, int64_t index) { return static_cast<int64_t>(element(tensor, index)); }

// Of integers modulo 2^64, which the sum is far from unless zero points are huge.
float exact(const FusedOperand& input, const FusedOperand& other, int64_t k, const std::vector<int64_t>& of_input,
            const std::vector<int64_t>& of_other) {
  const Parameters a(input), b(other);
  const int64_t z = a.zero_point(of_input[0]), w = b.zero_point(of_other[0]);
  uint64_t sum = 0;
  for (size_t i = 0; i < static_cast<size_t>(k); ++i) {
    const int64_t x = integer(*input.tensor, of_input[i]) - z, y = integer(*other.tensor, of_other[i]) - w;
    sum += static_cast<uint64_t>(x) * static_cast<uint64_t>(y);
  }
  return static_cast<float>(static_cast<int64_t>(sum)) * product(a.scale(of_input[0]), b.scale(of_other[0]));
}

}  // namespace

HostTensor fused_bmm(const FusedOperand& input, const FusedOperand& other, const FusedOutput& output) {
  const HostTensor x = made_real(input), y = made_real(other);
  const int64_t m = x.shape[x.shape.size() - 2], k = x.shape.back(), n = y.shape.back();
  Shape shape(std::max(x.shape.size(), y.shape.size()), 1);
  for (size_t i = 2; i < shape.size(); ++i) {
    const int64_t one = i < x.shape.size() ? x.shape[x.shape.size() - 1 - i] : 1;
    shape[shape.size() - 1 - i] = one != 1 || i >= y.shape.size() ? one : y.shape[y.shape.size() - 1 - i];
  }
  shape[shape.size() - 2] = m;
  shape.back() = n;
  const bool is_exact = k > 0 && is_byte(input) && is_byte(other) && has_one_parameter_along(input, 0) &&
                        has_one_parameter_along(other, 1);

  HostTensor result = zeros(DType::f32, shape);
  std::vector<int64_t> of_input(static_cast<size_t>(k)), of_other(static_cast<size_t>(k));
  for (int64_t i = 0; i < element_count(shape); ++i) {
    const Shape at = coordinates(shape, i);
    for (int64_t j = 0; j < k; ++j) {
      of_input[static_cast<size_t>(j)] = element_in(x.shape, at, at[at.size() - 2], j);
      of_other[static_cast<size_t>(j)] = element_in(y.shape, at, j, at.back());
    }
    float sum = 0;
    if (is_exact) {
      sum = exact(input, other, k, of_input, of_other);
    } else {
      for (size_t j = 0; j < of_input.size(); ++j) {
        sum = flushed(sum + product(x.as<float>()[of_input[j]], y.as<float>()[of_other[j]]));
      }
    }
    result.as<float>()[i] = sum;
  }
  return made_output(result, output);
}

}  // namespace qgen::reference
