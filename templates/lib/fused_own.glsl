// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Loads four elements of the inputs of fused_binary as floats, for dtypes that are parameters of the module.
$include "lib/fused_source.glsl"
$include "lib/fused_result.glsl"
$include "lib/zero_point.glsl"
$gives vec4 input_quad(uint quad, Source source)
$gives vec4 other_quad(uint quad, Source source)
$gives Source input_source(uint parameter)
$gives Source other_source(uint parameter)

vec4 input_quad(uint quad, Source source) { return reals(unpack_${input_dtype}(input_words[quad]), source); }
vec4 other_quad(uint quad, Source source) { return reals(unpack_${other_dtype}(other_words[quad]), source); }

Source input_source(uint parameter) {
$if is_float(input_dtype)
  return real_source();
$else
  const int zero_point = zero_point_of(input_zero_point_data, problem.input_zero_points, parameter);
  return integer_source(input_scale_data[parameter], zero_point);
$end
}

Source other_source(uint parameter) {
$if is_float(other_dtype)
  return real_source();
$else
  const int zero_point = zero_point_of(other_zero_point_data, problem.other_zero_points, parameter);
  return integer_source(other_scale_data[parameter], zero_point);
$end
}
