// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Stores four floats to `output` from `at` on, neighbours along the packed dimension, which is width in a strided
// buffer. Lanes past the end of the dimension are not stored in a buffer, and become 0 in a texel.
$include "lib/words.glsl"
$gives void output_store_reals(uvec4 at, vec4 x)

$if output_storage == texture3d
void output_store_reals(uvec4 at, vec4 x) {
  const uint lanes = problem.sides[${packed(output_layout)}] - at[${packed(output_layout)}];
  x = mix(x, vec4(0.0), greaterThanEqual(uvec4(0u, 1u, 2u, 3u), uvec4(lanes)));
$if output_dtype == f16
  // Rounded here, so that the store has nothing left to round.
  x = unpack_f16(pack_f16(x));
$end
  const uint groups = ${packed(output_layout)} == 2 ? (problem.sides[2] + 3u) / 4u : problem.sides[2];
  at[${packed(output_layout)}] /= 4u;
  imageStore(output_image, ivec3(at.xy, at.w * groups + at.z), x);
}
$else
// The same memory as `output`, four elements at a time.
${declare_words(output, bytes(output_dtype))}

$include "lib/store_real.glsl"

void output_store_reals(uvec4 at, vec4 x) {
  const uint width_stride = uint(problem.output_strides[0]);
  const uint first = problem.output_first + at.x * width_stride + at.y * uint(problem.output_strides[1]) +
                     at.z * uint(problem.output_strides[2]) + at.w * uint(problem.output_strides[3]);
  const uint lanes = problem.sides[0] - at.x;
  if (problem.output_aligned != 0u && lanes >= 4u) {
    output_words[first / 4u] = pack_${output_dtype}(x);
    return;
  }
  store_real(first, x.x);
  if (lanes > 1u) store_real(first + width_stride, x.y);
  if (lanes > 2u) store_real(first + 2u * width_stride, x.z);
  if (lanes > 3u) store_real(first + 3u * width_stride, x.w);
}
$end
