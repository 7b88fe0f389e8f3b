// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Loads four floats of `input` from `at` on, neighbours along the packed dimension, which is width in a strided buffer.
// Lanes past the end of the dimension are undefined.
$gives vec4 input_reals(uvec4 at)

$if input_storage == texture3d
vec4 input_reals(uvec4 at) {
  const uint groups = ${packed(input_layout)} == 2 ? (problem.sides[2] + 3u) / 4u : problem.sides[2];
  at[${packed(input_layout)}] /= 4u;
  return imageLoad(input_image, ivec3(at.xy, at.w * groups + at.z));
}
$else
$include "lib/words.glsl"
$include "lib/load_real.glsl"

// The same memory as `input`, four elements at a time.
${declare_words(input, bytes(input_dtype))}

vec4 input_reals(uvec4 at) {
  const uint width_stride = uint(problem.input_strides[0]);
  const uint first = problem.input_first + at.x * width_stride + at.y * uint(problem.input_strides[1]) +
                     at.z * uint(problem.input_strides[2]) + at.w * uint(problem.input_strides[3]);
  if (problem.input_aligned != 0u) return unpack_${input_dtype}(input_words[first / 4u]);
  const uint last = problem.sides[0] - 1u - at.x;
  return vec4(load_real(first), load_real(first + min(1u, last) * width_stride),
              load_real(first + min(2u, last) * width_stride), load_real(first + min(3u, last) * width_stride));
}
$end
