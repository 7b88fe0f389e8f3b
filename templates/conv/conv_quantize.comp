// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Quantizes floating-point [N, C, H, W] to int8 in packed_4c, per tensor (lib/affine.glsl has the formula). An
// invocation computes four channels of a pixel; padding channels are 0.
#version 450
${extensions()}
${local_size(workgroup)}
${declare_words(quantized)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/words.glsl"
$include "lib/affine.glsl"
$include "lib/conv_boxes.glsl"

$if input_dtype == f16
${declare_bits(reals)}
float real_at(uint index) { return f16_to_f32(uint(reals_bits[index])); }
$else
${declare(reals)}
float real_at(uint index) { return reals_data[index]; }
$end

void main() {
  const uint words = (problem.all_channels + 3u) / 4u;
  const uvec2 place = row_and_unit(words);
  if (place.x >= problem.input_pixels || place.y >= words) return;
  const uint plane = problem.input_sides[0] * problem.input_sides[1];
  const uint channel = 4u * place.y;
  const uint first = (place.x / plane * problem.all_channels + channel) * plane + place.x % plane;
  ivec4 q = ivec4(0);
  for (uint lane = 0u; lane < min(problem.all_channels - channel, 4u); ++lane) {
    q[lane] = quantize(real_at(first + lane * plane), problem.input_inverse_scale, problem.input_zero_point, -128, 127);
  }
  quantized_words[place.x * words + place.y] = pack_i8(q);
}
