// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Affine quantization as docs/affine.md defines it, one element at a time. Kernels are judged against this.
#pragma once

#include <span>

#include "runtime/engine/tensor/tensor.h"
#include "words.h"

namespace qgen::reference {

using namespace generated::words;

struct IntegerBounds {
  int32_t min, max;
};

struct ScaleAndZeroPoint {
  float scale;
  int32_t zero_point;
};

// One value, by the reciprocal of the scale, and by the scale as ONNX divides.
int32_t quantize(float x, float scale, int32_t zero_point, IntegerBounds bounds);
int32_t quantize_linear(float x, float scale, int32_t zero_point, IntegerBounds bounds);
using Quantize = decltype(&quantize);
float dequantize(int32_t q, float scale, int32_t zero_point);
// One block.
ScaleAndZeroPoint choose_qparams(std::span<const float> block, MappingType mapping, IntegerBounds bounds, float eps);

// Whole tensors: floating-point of any dtype to i8, with one scale and zero point for all.
HostTensor quantized(const HostTensor& reals, const ScaleAndZeroPoint& to);
// `zero_point` may be null or have one element.
HostTensor quantize_affine(const HostTensor& input, const Shape& block, const HostTensor& scale,
                           const HostTensor* zero_point, DType output_dtype, IntegerBounds bounds,
                           Quantize one = quantize);
HostTensor dequantize_affine(const HostTensor& input, const Shape& block, const HostTensor& scale,
                             const HostTensor* zero_point, DType output_dtype);
struct QparamsTensors {
  HostTensor scale, zero_point;
};
QparamsTensors choose_qparams_affine(const HostTensor& input, const Shape& block, MappingType mapping,
                                     IntegerBounds bounds, float eps);

// Rows, which are the last dimension, as an int8 cache has them (docs/movement.md): a scale for each, and integers.
struct QuantizedRows {
  HostTensor codes, scales;  // the scales without the last dimension
};
QuantizedRows quantized_rows(const HostTensor& reals);

}  // namespace qgen::reference
