// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Reads elements of both operands as floats, for dtypes that are parameters of the module.
$include "lib/affine.glsl"
$include "lib/float16.glsl"
$include "lib/bmm_bytes.glsl"
$include "lib/zero_point.glsl"
$gives float input_at(uint element, uint parameter)
$gives float other_at(uint element, uint parameter)

float input_at(uint element, uint parameter) {
$if input_dtype == f16
  return f16_to_f32(uint(input_bits[element]));
$elif input_dtype == f32
  return flush_subnormal(uintBitsToFloat(input_bits[element]));
$else
  const int zero_point = zero_point_of(input_zero_point_data, problem.input_zero_points, parameter);
  const int q = input_integer(element) + int(problem.input_flip);
  return dequantize(q, flush_subnormal(input_scale_data[parameter]), zero_point);
$end
}

float other_at(uint element, uint parameter) {
$if other_dtype == f16
  return f16_to_f32(uint(other_bits[element]));
$elif other_dtype == f32
  return flush_subnormal(uintBitsToFloat(other_bits[element]));
$else
  const int zero_point = zero_point_of(other_zero_point_data, problem.other_zero_points, parameter);
  const int q = other_integer(element) + int(problem.other_flip);
  return dequantize(q, flush_subnormal(other_scale_data[parameter]), zero_point);
$end
}
