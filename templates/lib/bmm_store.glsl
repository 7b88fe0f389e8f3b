// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Stores a float as an element of the output: unchanged, or quantized with this parameter of its block.
$include "lib/affine.glsl"
$gives void store_output(uint element, float y, uint parameter)

$if is_float(output_dtype)
$if output_dtype == f32
${declare(output)}
$end
$include "lib/store_real.glsl"

void store_output(uint element, float y, uint parameter) { store_real(element, y); }
$else
${declare_bits(output)}
$include "lib/zero_point.glsl"

void store_output(uint element, float y, uint parameter) {
  const int zero_point = zero_point_of(output_zero_point_data, problem.output_zero_points, parameter);
  const float inverse_scale = quantizer(output_scale_data[parameter]);
  const int q = quantize(y, inverse_scale, zero_point, problem.quant_min, problem.quant_max);
$if bytes(output_dtype) == 1
  output_bits[element] = uint8_t(uint(q));
$elif bytes(output_dtype) == 2
  output_bits[element] = uint16_t(uint(q));
$else
  output_bits[element] = uint(q);
$end
}
$end
