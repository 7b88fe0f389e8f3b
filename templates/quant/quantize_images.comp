// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Quantizes up to four images [N, C, H, W], joined along their channels, to packed_4c, by the range of all of them.
// Each workgroup joins the ranges that image_ranges.comp wrote, and computes scale and zero point (lib/qparams.glsl).
// The first workgroup writes both. A source that is left out has no channels.
#version 450
${extensions()}
#extension GL_EXT_control_flow_attributes : require
${local_size(workgroup)}
${declare(input_1)}
${declare(input_2)}
${declare(input_3)}
${declare(input_4)}
${declare(ranges)}
${declare(scale)}
${declare(zero_point)}
${declare_words(quantized)}
${declare(channel_sums)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/qparams.glsl"
$include "lib/team_max.glsl"

// The element of a pixel in the source that has the channel; 0: none has it.
float element_at(uint pixel, uint channel) {
  const uint image = pixel / problem.plane, place = pixel % problem.plane;
$for i in range(4)
  const uint channels_${i} = problem.source_channels[${i}];
  if (channel < channels_${i}) return input_${i + 1}_data[(image * channels_${i} + channel) * problem.plane + place];
  channel -= channels_${i};
$end
  return 0.0;
}

vec4 four_at(uint pixel, uint channel) {
  return vec4(element_at(pixel, channel), element_at(pixel, channel + 1u), element_at(pixel, channel + 2u),
              element_at(pixel, channel + 3u));
}

void store_word(uint index, uint word) { quantized_words[index] = word; }

$include "lib/quantize_pixels.glsl"

shared ivec2 all_extremes;

void main() {
  const uint lane = gl_LocalInvocationIndex;
  ivec2 mine = ivec2(0);
  const uint slices = problem.range_slices;
  for (uint slice = lane; slice < slices; slice += ${workgroup}) {
    mine = max(mine, ivec2(ranges_data[2u * slice], ranges_data[2u * slice + 1u]));
  }
  const ivec2 extremes = team_max(mine, ${workgroup}, lane);
  if (lane == 0u) all_extremes = extremes;
  barrier();
  const Qparams qparams = qparams_of(all_extremes);
  if (lane == 0u && workgroup_index() == 0u) {
    scale_data[0] = qparams.scale;
    zero_point_data[0] = qparams.zero_point;
  }
  quantize_pixels(problem.input_pixels, problem.all_channels, qparams.scale, qparams.zero_point);
}
