// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The epilogue of int8 convolutions, four neighbouring channels of a pixel at a time:
//
//   store_pixel(uvec4(width, height, channel, image), sums, columns_at(channel));     // channel is a multiple of four
//
// Padding of a packed layout, of channels and of rows, gets the output's zero point. Floating-point outputs are in
// plain buffers.
$gives void store_pixel(uvec4 at, ivec4 sums, Columns columns)
$gives uint last_column()
$gives uint residual_at(uvec4 at)
$gives void store_bytes(uvec4 at, uint word)

uint last_column() { return problem.output_sides[2] - 1u; }
$include "lib/linear_outputs.glsl"

$if output_dtype == i8
${declare_packed(output)}

// Of four channels of a pixel, those that are no padding.
uint stored_bytes(uvec4 at) {
  return at.x < problem.output_sides[0] ? min(problem.output_sides[2] - at.z, 4u) : 0u;
}

// Four bytes of the residual that are added to the outputs from there on.
uint residual_at(uvec4 at) {
$if packed(output_layout) == 2
  return residual_word(output_word(at));
$else
  uint residual = 0u;
  for (uint lane = 0u; lane < stored_bytes(at); ++lane) {
    residual |= residual_byte(output_byte(at + uvec4(0u, 0u, lane, 0u))) << (8u * lane);
  }
  return residual;
$end
}

void store_bytes(uvec4 at, uint word) {
$if packed(output_layout) == 2
  output_store(at, padded(word, stored_bytes(at)));
$else
  const ivec4 stored = unpack_i8(word);
  for (uint lane = 0u; lane < stored_bytes(at); ++lane) {
    output_bytes[output_byte(at + uvec4(0u, 0u, lane, 0u))] = int8_t(stored[lane]);
  }
$end
}

void store_pixel(uvec4 at, ivec4 sums, Columns columns) {
  store_bytes(at, output_of(quantized_outputs(sums, columns), residual_at(at)));
}
$else
${declare(output)}
$include "lib/store_real.glsl"

void store_pixel(uvec4 at, ivec4 sums, Columns columns) {
  const vec4 y = linear_outputs(sums, columns);
  const uint count = min(problem.output_sides[2] - at.z, 4u);
  uint place = at.x + at.y * problem.output_strides[1] + at.z * problem.output_strides[2] +
               at.w * problem.output_strides[3];
  for (uint lane = 0u; lane < count; ++lane) {
    store_real(place, activate(flush_subnormal(y[lane])));
    place += problem.output_strides[2];
  }
}
$end

$include "lib/conv_place.glsl"
