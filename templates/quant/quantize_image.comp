// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Quantizes [N, C, H, W] to packed_4c with the quotient by a scale on the device (docs/affine.md has the formula), and
// adds the integers less the zero point of each pixel. A workgroup has sixteen pixels. Four neighbouring invocations
// share a pixel: each takes every fourth word of four channels. Padding channels are the zero point.
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
$include "lib/grid.glsl"
$include "lib/words.glsl"
$include "lib/load_real.glsl"
$include "lib/quotient_quantizer.glsl"

const uint kTeam = 4u;
shared ivec4 team_sums[${workgroup} / kTeam];

// Four channels of a pixel, whose channel `channel` is at `first`.
vec4 four_at(uint first, uint channel) {
  vec4 x = vec4(0.0);
  const uint lanes = min(problem.channels - channel, 4u);
  for (uint lane = 0u; lane < lanes; ++lane) x[lane] = load_real(first + lane * problem.plane);
  return x;
}

void main() {
  const uint member = gl_LocalInvocationIndex % kTeam, team = gl_LocalInvocationIndex / kTeam;
  const uint pixel = workgroup_index() * (${workgroup} / kTeam) + team;
  const uint words = (problem.channels + 3u) / 4u;
  const int zero_point = zero_point_data[0];
  const Block block = make_block(scale_data[0], zero_point);
  ivec4 sums = ivec4(0);
  if (pixel < problem.image_pixels) {
    const uint corner = pixel / problem.plane * problem.channels * problem.plane + pixel % problem.plane;
    for (uint word = member; word < words; word += kTeam) {
      const ivec4 q = quantize(four_at(corner + 4u * word * problem.plane, 4u * word), block);
      output_words[pixel * words + word] = pack_i8(q);
      sums += q - zero_point;
    }
  }
  team_sums[team][member] = sums.x + sums.y + sums.z + sums.w;
  barrier();
  if (member != 0u || pixel >= problem.image_pixels) return;
  const ivec4 all = team_sums[team];
  channel_sums_data[pixel] = all.x + all.y + all.z + all.w;
}
