// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Each operation on floats is one RN of docs/affine.md. The code handles NaN and saturation explicitly.
#include "runtime/workshop/reference/affine.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/engine/tensor/quant_params.h"
#include "runtime/workshop/reference/float32.h"

namespace qgen::reference {
namespace {

// Half to even, saturating, NaN -> 0.
int32_t round_to_int(float x) {
  if (std::isnan(x)) return 0;
  constexpr double kLow = std::numeric_limits<int32_t>::min(), kHigh = std::numeric_limits<int32_t>::max();
  return static_cast<int32_t>(std::clamp(std::nearbyint(static_cast<double>(x)), kLow, kHigh));
}

int32_t clamped(int64_t value, IntegerBounds bounds) {
  return static_cast<int32_t>(std::clamp<int64_t>(value, bounds.min, bounds.max));
}

float real_element(const HostTensor& tensor, int64_t index) {
  return tensor.dtype == DType::f16 ? f16_to_f32(tensor.as<uint16_t>()[index]) : tensor.as<float>()[index];
}

void set_real_element(HostTensor& tensor, int64_t index, float value) {
  if (tensor.dtype == DType::f16) {
    tensor.as<uint16_t>()[index] = f32_to_f16(value);
  } else {
    tensor.as<float>()[index] = value;
  }
}

int32_t zero_point_element(const HostTensor* zero_point, int64_t parameter) {
  if (!zero_point) return 0;
  return zero_point->as<int32_t>()[element_count(zero_point->shape) == 1 ? 0 : parameter];
}

// clamp(quant_min - round_half_even(quotient), quant_min, quant_max); NaN is 0. A double holds the difference exactly
// wherever the clamp does not decide.
int32_t asymmetric_zero_point(float quotient, IntegerBounds bounds) {
  if (std::isnan(quotient)) return bounds.min;
  const double low = bounds.min, high = bounds.max;
  return static_cast<int32_t>(std::clamp(low - std::nearbyint(double{quotient}), low, high));
}

// The block that holds the element at row-major `index`, counted in row-major order of blocks.
int64_t block_index(const Shape& shape, const Shape& block, int64_t index) {
  int64_t result = 0, block_stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    result += index % shape[d] / block[d] * block_stride;
    block_stride *= shape[d] / block[d];
    index /= shape[d];
  }
  return result;
}

}  // namespace

int32_t quantize(float x, float scale, int32_t zero_point, IntegerBounds bounds) {
  const float inverse = quotient(1.0f, scale);
  const int32_t t = round_to_int(flushed(x) * inverse);
  return clamped(int64_t{t} + zero_point, bounds);
}

int32_t quantize_linear(float x, float scale, int32_t zero_point, IntegerBounds bounds) {
  return clamped(int64_t{round_to_int(quotient(x, scale))} + zero_point, bounds);
}

// The product of an integer and a scale that is not subnormal is zero or at least the scale.
float dequantize(int32_t q, float scale, int32_t zero_point) {
  constexpr IntegerBounds kInt32{std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
  const int32_t difference = clamped(int64_t{q} - zero_point, kInt32);
  return static_cast<float>(difference) * flushed(scale);
}

ScaleAndZeroPoint choose_qparams(std::span<const float> block, MappingType mapping, IntegerBounds bounds, float eps) {
  float mn = 0, mx = 0;
  bool has_nan = false;
  for (const float x : block) {
    has_nan |= std::isnan(x);
    mn = std::min(mn, flushed(x));
    mx = std::max(mx, flushed(x));
  }
  if (has_nan) mn = mx = std::numeric_limits<float>::quiet_NaN();

  const float range = static_cast<float>(int64_t{bounds.max} - bounds.min);
  float scale = 0;
  switch (mapping) {
    case MappingType::asymmetric: scale = quotient(mx - mn, range); break;
    case MappingType::symmetric: scale = quotient(std::max(mx, -mn), range / 2); break;
    case MappingType::symmetric_no_clipping_err: {
      const float by_lowest = quotient(mn, static_cast<float>(bounds.min));
      const float by_highest = quotient(mx, static_cast<float>(bounds.max));
      scale = by_lowest > by_highest ? by_lowest : by_highest;
      break;
    }
  }
  if (!std::isnan(scale)) scale = std::max(std::abs(flushed(eps)), scale);

  if (mapping != MappingType::asymmetric) {
    return {scale, static_cast<int32_t>((int64_t{bounds.max} + bounds.min + 1) / 2)};
  }
  return {scale, asymmetric_zero_point(quotient(mn, scale), bounds)};
}

HostTensor quantized(const HostTensor& reals, const ScaleAndZeroPoint& to) {
  HostTensor q = zeros(DType::i8, reals.shape);
  for (int64_t i = 0; i < element_count(reals.shape); ++i) {
    set_element(q, i, quantize(static_cast<float>(element(reals, i)), to.scale, to.zero_point, {-128, 127}));
  }
  return q;
}

HostTensor quantize_affine(const HostTensor& input, const Shape& block, const HostTensor& scale,
                           const HostTensor* zero_point, DType output_dtype, IntegerBounds bounds, Quantize one) {
  HostTensor output = zeros(output_dtype, input.shape);
  for (int64_t i = 0; i < element_count(input.shape); ++i) {
    const int64_t parameter = block_index(input.shape, block, i);
    const int32_t q =
        one(real_element(input, i), scale.as<float>()[parameter], zero_point_element(zero_point, parameter), bounds);
    set_element(output, i, q);
  }
  return output;
}

HostTensor dequantize_affine(const HostTensor& input, const Shape& block, const HostTensor& scale,
                             const HostTensor* zero_point, DType output_dtype) {
  HostTensor output = zeros(output_dtype, input.shape);
  for (int64_t i = 0; i < element_count(input.shape); ++i) {
    const int64_t parameter = block_index(input.shape, block, i);
    set_real_element(output, i,
                     dequantize(static_cast<int32_t>(element(input, i)), scale.as<float>()[parameter],
                                zero_point_element(zero_point, parameter)));
  }
  return output;
}

QparamsTensors choose_qparams_affine(const HostTensor& input, const Shape& block, MappingType mapping,
                                     IntegerBounds bounds, float eps) {
  const Shape counts = *params_shape(input.shape, block);
  std::vector<std::vector<float>> blocks(static_cast<size_t>(element_count(counts)));
  for (int64_t i = 0; i < element_count(input.shape); ++i) {
    blocks[block_index(input.shape, block, i)].push_back(real_element(input, i));
  }
  QparamsTensors result{zeros(DType::f32, counts), zeros(DType::i32, counts)};
  for (size_t b = 0; b < blocks.size(); ++b) {
    const auto [scale, zero_point] = choose_qparams(blocks[b], mapping, bounds, eps);
    result.scale.as<float>()[b] = scale;
    result.zero_point.as<int32_t>()[b] = zero_point;
  }
  return result;
}

QuantizedRows quantized_rows(const HostTensor& reals) {
  constexpr IntegerBounds kCodes{-127, 127};
  const int64_t width = reals.shape.back();
  QuantizedRows rows{zeros(DType::i8, reals.shape), zeros(DType::f32, {reals.shape.begin(), reals.shape.end() - 1})};
  for (int64_t row = 0; row < element_count(rows.scales.shape); ++row) {
    float greatest = 0;
    bool is_finite = true;
    for (int64_t i = row * width; i < (row + 1) * width; ++i) {
      const float x = std::abs(real_element(reals, i));
      is_finite = is_finite && std::isfinite(x);
      greatest = std::max(greatest, x);
    }
    const float scale = is_finite ? quotient(greatest, 127) : std::numeric_limits<float>::quiet_NaN();
    rows.scales.as<float>()[row] = scale;
    if (!is_finite || scale == 0) continue;
    for (int64_t i = row * width; i < (row + 1) * width; ++i)
      set_element(rows.codes, i, quantize(real_element(reals, i), scale, 0, kCodes));
  }
  return rows;
}

}  // namespace qgen::reference
