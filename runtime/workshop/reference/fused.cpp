// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/reference/fused.h"

#include <algorithm>
#include <cmath>

#include "runtime/engine/tensor/quant_params.h"
#include "runtime/workshop/reference/exponential.h"
#include "runtime/workshop/reference/float32.h"

namespace qgen::reference {
namespace {

float relu(float x) { return std::isnan(x) || x > 0 ? x : 0.0f; }

float hardswish(float x) {
  const float shifted = x + 3.0f;
  const float gate = std::isnan(shifted) ? shifted : std::clamp(shifted, 0.0f, 6.0f);
  return quotient(product(x, gate), 6.0f);
}

float sigmoid(float x) { return std::isnan(x) ? x : quotient(1.0f, 1.0f + exponential(std::clamp(-x, -87.0f, 88.0f))); }

float clip(float x, float low, float high) { return std::isnan(x) ? x : x < low ? low : x > high ? high : x; }

float apply(FusedOperation operation, float x, float y, const FusedNumbers& numbers) {
  switch (operation) {
    case FusedOperation::copy: return x;
    case FusedOperation::relu: return relu(x);
    case FusedOperation::hardswish: return hardswish(x);
    case FusedOperation::sigmoid: return sigmoid(x);
    case FusedOperation::clip: return clip(x, flushed(numbers.low), flushed(numbers.high));
    case FusedOperation::add: return flushed(x + product(numbers.alpha, y));
    case FusedOperation::multiply: return product(x, y);
  }
  return x;
}

Shape broadcast(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < result.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    result[result.size() - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

// The element of a tensor of shape `from` that stands at row-major `index` of shape `to`.
int64_t repeated(const Shape& from, const Shape& to, int64_t index) {
  int64_t result = 0, stride = 1;
  for (size_t i = 0; i < to.size(); ++i) {
    const int64_t side = to[to.size() - 1 - i], c = index % side;
    index /= side;
    if (i >= from.size()) continue;
    const int64_t own = from[from.size() - 1 - i];
    if (own != 1) result += c * stride;
    stride *= own;
  }
  return result;
}

}  // namespace

HostTensor made_real(const FusedOperand& operand) {
  const HostTensor& tensor = *operand.tensor;
  if (operand.scale) {
    const Shape block = *block_of(tensor.shape, operand.scale->shape);
    return dequantize_affine(tensor, block, *operand.scale, operand.zero_point, DType::f32);
  }
  HostTensor reals = zeros(DType::f32, tensor.shape);
  for (int64_t i = 0; i < element_count(tensor.shape); ++i) {
    reals.as<float>()[i] =
        tensor.dtype == DType::f16 ? f16_to_f32(tensor.as<uint16_t>()[i]) : flushed(tensor.as<float>()[i]);
  }
  return reals;
}

HostTensor made_output(const HostTensor& reals, const FusedOutput& output) {
  if (output.scale) {
    const Shape block = *block_of(reals.shape, output.scale->shape);
    return quantize_affine(reals, block, *output.scale, output.zero_point, output.dtype, output.bounds);
  }
  if (output.dtype == DType::f32) return reals;
  HostTensor halves = zeros(DType::f16, reals.shape);
  for (int64_t i = 0; i < element_count(reals.shape); ++i) halves.as<uint16_t>()[i] = f32_to_f16(reals.as<float>()[i]);
  return halves;
}

HostTensor fused(FusedOperation operation, const FusedOperand& input, const FusedOperand* other,
                 const FusedNumbers& numbers, const FusedOutput& output) {
  const HostTensor x = made_real(input);
  const HostTensor y = other ? made_real(*other) : zeros(DType::f32, {});
  HostTensor result = zeros(DType::f32, other ? broadcast(x.shape, y.shape) : x.shape);
  for (int64_t i = 0; i < element_count(result.shape); ++i) {
    const float of_x = x.as<float>()[repeated(x.shape, result.shape, i)];
    const float of_y = y.as<float>()[repeated(y.shape, result.shape, i)];
    result.as<float>()[i] = apply(operation, of_x, of_y, numbers);
  }
  return made_output(result, output);
}

}  // namespace qgen::reference
