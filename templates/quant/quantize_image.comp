// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Quantizes [N, C, H, W] to packed_4c by a scale and a zero point on the device, and adds the integers of each pixel
// (lib/quantize_pixels.glsl).
#version 450
${extensions()}
#extension GL_EXT_control_flow_attributes : require
${local_size(workgroup)}
${declare(input)}
${declare(scale)}
${declare(zero_point)}
${declare_words(output)}
${declare(channel_sums)}
${declare_problem()}
$include "lib/real_elements.glsl" load

// Four channels of a pixel from `channel` on.
vec4 four_at(uint pixel, uint channel) {
  const uint image = pixel / problem.plane, first = image * problem.channels + channel;
  const uint lanes = min(problem.channels - channel, 4u);
  vec4 x = vec4(0.0);
  for (uint lane = 0u; lane < lanes; ++lane)
    x[lane] = load_real((first + lane) * problem.plane + pixel % problem.plane);
  return x;
}

void store_word(uint index, uint word) { output_words[index] = word; }

$include "lib/quantize_pixels.glsl"

void main() { quantize_pixels(problem.image_pixels, problem.channels, scale_data[0], zero_point_data[0]); }
