// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Dequantizes int8 in any layout to floating-point values, per tensor (lib/q8ta.glsl has the formula). An invocation
// computes a tile, and transposes it while it is still int8.
#version 450
${extensions()}
${local_size(workgroup)}
${declare_problem()}
${declare_blocks(input, across(input_layout, output_layout))}
${declare(output)}
$include "lib/packed_tile.glsl" load
$include "lib/words.glsl"

// Stores four floats to `output` from `at` on, neighbours along the packed dimension, which is width in a strided
// buffer. Lanes past the end of the dimension are not stored in a buffer, and become 0 in a texel.
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

$include "lib/real_elements.glsl" store

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

$include "lib/q8ta.glsl"

void store_layer(uvec4 at, uvec4 rows) {
  const uint count = problem.sides[kRows] - at[kRows];
$for row in range(4)
  if (${row}u < count) {
    output_store_reals(moved(at, kRows, ${row}u), dequantized(rows[${row}], problem.scale, problem.zero_point));
  }
$end
}

void main() {
  const uvec4 at = tile_of_invocation();
  if (is_outside(at)) return;
$if third(output_layout, input_layout) == 3
  store_layer(at, load_tile(at));
$else
  uvec4 layer_0, layer_1, layer_2, layer_3;
  load_tile(at, layer_0, layer_1, layer_2, layer_3);
  const uint layers = problem.sides[kLayers] - at[kLayers];
$for layer in range(4)
  if (${layer}u < layers) store_layer(moved(at, kLayers, ${layer}u), layer_${layer});
$end
$end
}
