// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Affine quantization of one value. docs/affine.md is the definition, and runtime/workshop/reference/affine.cpp the
// same in C++.
//
//   quantize:    t = round_half_even(x * RN(1 / scale));  q = clamp(t + zero_point, quant_min, quant_max)
//   dequantize:  x = RN(RN(q - zero_point) * scale), the difference saturating
//
// t saturates to int32 and is 0 where the product is NaN; subnormal x, scale and 1 / scale count as zero.
$include "lib/float32.glsl"
$gives int quantize(float x, float inverse_scale, int zero_point, int quant_min, int quant_max)
$gives float dequantize(int q, float scale, int zero_point)
$gives float quantizer(float scale)
$gives zero_point_of

// The zero point of a quantization block, by the index of its scale.
//
//   zero_point_of(input_zero_point_data, problem.input_zero_points, parameter)
//
// It is 0 if there are no zero points, and the same for all blocks if there is one. The load is always executed, so
// that nothing waits for a branch. It is a macro, because GLSL does not pass buffers.
#define zero_point_of(data, count, parameter) mix(data[min(parameter, max(count, 1u) - 1u)], 0, (count) == 0u)

// Values of a block's scale, computed once per block and used for each of its elements.
float quantizer(float scale) { return reciprocal(scale); }

int quantize(float x, float inverse_scale, int zero_point, int quant_min, int quant_max) {
  precise const float scaled = flush_subnormal(x) * inverse_scale;
  return clamp(saturating_add(round_to_int(scaled), zero_point), quant_min, quant_max);
}

// `scale` has been through flush_subnormal(). The product of an integer and a normal scale is zero or at least the
// scale.
float dequantize(int q, float scale, int zero_point) {
  precise const float real = to_float(saturating_subtract(q, zero_point)) * scale;
  return real;
}
