// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Quantizes floating-point values to int8 in any layout, by a quantized() of four values that is defined before this
// file. An invocation computes a tile. If input and output pack different dimensions, the tile is transposed while it
// is still floating-point, which costs nothing.
$include "lib/packed_tile.glsl" store
$needs quantized

// Loads four floats of `input` from `at` on, neighbours along the packed dimension, which is width in a strided buffer.
// Lanes past the end of the dimension are undefined.
$if input_storage == texture3d
vec4 input_reals(uvec4 at) {
  const uint groups = ${packed(input_layout)} == 2 ? (problem.sides[2] + 3u) / 4u : problem.sides[2];
  at[${packed(input_layout)}] /= 4u;
  return imageLoad(input_image, ivec3(at.xy, at.w * groups + at.z));
}
$else
$include "lib/words.glsl"
$include "lib/real_elements.glsl" load

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

uvec4 quantized_layer(uvec4 at) {
  const uint kInputRows = ${across(input_layout, output_layout)}u;
$for row in range(4)
  const vec4 row_${row} = input_reals(moved_inside(at, kInputRows, ${row}u));
$end
$if packed(input_layout) == packed(output_layout)
  return uvec4(quantized(row_0), quantized(row_1), quantized(row_2), quantized(row_3));
$else
  const mat4 columns = transpose(mat4(row_0, row_1, row_2, row_3));
  return uvec4(quantized(columns[0]), quantized(columns[1]), quantized(columns[2]), quantized(columns[3]));
$end
}

void main() {
  const uvec4 at = tile_of_invocation();
  if (is_outside(at)) return;
$if third(output_layout, input_layout) == 3
  store_tile(at, quantized_layer(at), problem.padding);
$else
$for layer in range(4)
  const uvec4 layer_${layer} = quantized_layer(moved_inside(at, kLayers, ${layer}u));
$end
  store_tile(at, layer_0, layer_1, layer_2, layer_3, problem.padding);
$end
}
